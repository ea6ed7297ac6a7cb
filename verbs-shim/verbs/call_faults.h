// CallFaults: the faults of a program's calls and completions (emulator/fabric/verb_faults.h), for all threads and
// devices of a process.
//
// Solely responsible for having one plan in a process and asking it under its lock; a call that is to be late waits
// here; completions and events are asked for by each device's NIC (judge_of()). There is none unless the environment
// names rules (host/config/environment.h) or the fabric has some for the node (outside_faults.h): then all that a verb
// pays is a look at a null pointer, and the verbs of the data path not even that (fault_boundary.h).
// Tested by: tests/shim/verbs/call_faults_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "emulator/fabric/verb_faults.h"
#include "emulator/host/node/stats_file.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::shim {

class CallFaults {
 public:
  /// Null: nothing is planned.
  static CallFaults* plan() { return plan_.load(std::memory_order_acquire); }
  /// Once, before the program has a device. It lives as long as the process.
  static void install(std::vector<fabric::VerbRule> rules, std::uint64_t seed, const host::FaultHits* hits);
  /// One that has none of its own, for rules that come later; the one that is there, if there is one.
  static CallFaults& plan_for_later(std::uint64_t seed);
  /// Of a program in a test, with no call under way. Null: none from now on.
  static CallFaults* replace_plan(CallFaults* plan) { return plan_.exchange(plan); }

  /// `hits`: where they are counted; null: nowhere.
  CallFaults(std::vector<fabric::VerbRule> rules, std::uint64_t seed, const host::FaultHits* hits = nullptr);
  ~CallFaults();

  /// Waits for as long as the rules say. Returns the errno with which the call is to fail; 0: it is to be done.
  int before(const fabric::VerbCall& call);
  /// What librdmacm's connection manager is to say instead of the step that a device's port has come to.
  fabric::ConnectionVerdict instead_of(fabric::ConnectionStep step, std::uint32_t device);
  bool concerns(fabric::Verb verb) const { return faults().concerns(verb); }

  /// From now on these rules are there beside those that it was made with, and no others that were added before. Those
  /// that were there before go on. `count` is told, under the lock, which of them have hit, by VerbRule::id; their IDs
  /// are kAdded and more.
  void replace_added(std::vector<fabric::VerbRule> rules, std::function<void(std::uint32_t rule)> count);
  static constexpr std::uint32_t kAdded = std::uint32_t{1} << 31;

  /// What the NIC of the device is to ask about its completions. Null: no rule speaks of any. It lives as long as this.
  nic::CompletionJudge* judge_of(std::uint32_t device);

  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  class DeviceJudge;
  static void put_in_force(CallFaults* plan);
  static std::atomic<CallFaults*> plan_;

  /// `ask(faults)` under the lock.
  template <class Ask>
  auto judge(Ask&& ask);

  /// What may be asked without the lock.
  const fabric::VerbFaults& faults() const { return *faults_.load(std::memory_order_acquire); }
  void count_hits(std::span<const std::uint32_t> rules) const;

  host::SpinLock mutex_;
  std::vector<std::unique_ptr<fabric::VerbFaults>> made_;  // the last one is in force; others may still be read
  std::atomic<fabric::VerbFaults*> faults_;
  const host::FaultHits* const hits_;
  std::function<void(std::uint32_t)> count_added_;
  std::vector<std::unique_ptr<nic::CompletionJudge>> judges_;
};

// What a call is about, by its first argument.
fabric::VerbCall call_about(fabric::Verb verb, const ibv_qp* qp);
fabric::VerbCall call_about(fabric::Verb verb, const ibv_device* device);
fabric::VerbCall call_about(fabric::Verb verb, const ibv_context* context);
template <class Object>
fabric::VerbCall call_about(fabric::Verb verb, const Object* object) {
  return call_about(verb, object->context);
}

}  // namespace verbena::shim
