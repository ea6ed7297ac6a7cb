// VerbFaults: what happens to a program's calls and completions. Rules in, verdicts out.
//
// Solely the decision, a function of the seed, the rules and the order of the calls, and of time only where a rule says
// `after` or `at`. Carrying it out is the caller's: the verbs of a live program (verbs-shim/verbs/call_faults.h), a
// simulated application, or the NIC (nic/state/planned_completions.h). For one thread, or under a lock.
// Tested by: tests/fabric/verb_rule_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/nic/objects/completion_judge.h"
#include "wire/time.h"

namespace verbena::fabric {

/// What a call is about.
struct VerbCall {
  Verb verb = Verb::any;
  std::optional<std::uint32_t> qp;  // its number in the order in which the device's were made
  std::uint32_t device = 0;
};

/// What the connection manager has to say to the program.
enum class ConnectionStep : std::uint8_t {
  request,  // of a peer, to a listener
  address,  // that was asked for is there
  route,    // the same
  answer,   // the peer's yes to a request
  member,   // of a group
};
/// What it says instead.
struct ConnectionVerdict {
  PlannedEnd end = PlannedEnd::none;  // none: what was due
  int error = 0;                      // errno value, of all but `rejected`
  wire::RejectReason reason{};        // of `rejected`
};

struct VerbVerdict {
  int error = 0;       // it fails with this errno; 0: it is done
  Duration delay{0};   // first so much time passes
  bool kills = false;  // the process ends here
};

class VerbFaults {
 public:
  VerbFaults(std::vector<VerbRule> rules, std::uint64_t seed);

  /// From here on `after` and `at` count; without it from the first thing that is judged.
  void begin(Time now);
  /// Beside those that it was made with: these, and no others that were added before. One that was there before (by its
  /// VerbRule::id) goes on, the others begin now.
  void replace_added(std::vector<VerbRule> rules, Time now);
  // What follows may be asked without the lock.
  /// Whether there is nothing to judge: no rule fits, or the only one that does counts this and cannot hit it, which is
  /// done then. Else the caller asks judge(), which counts it.
  bool passes(const VerbCall& call) const;
  bool passes(const nic::JudgedCompletion& completion, std::uint32_t device) const;
  /// Whether verdicts depend on the time.
  bool needs_time() const { return needs_time_; }

  /// Of a call that is about to be done. All rules are asked; the first one that fails it says with what, delays add
  /// up.
  VerbVerdict judge(const VerbCall& call, Time now);

  /// The same of news for the program, by the device: the first rule that hits says what is said instead.
  ConnectionVerdict judge(ConnectionStep step, std::uint32_t device, Time now);

  /// The same of a completion of the device: its status, twice and so on add up; of several statuses the first counts.
  nic::CompletionVerdict judge(const nic::JudgedCompletion& completion, std::uint32_t device, Time now);

  /// When the next event of the device is due; kNever: there is none, or no verb has been called yet.
  Time next_event(std::uint32_t device) const;
  /// One that is due, once for each device.
  std::optional<nic::PlannedEvent> take_event(std::uint32_t device, Time now);
  /// It has found what it is of: that counts as a hit.
  void event_raised(const nic::PlannedEvent& event);

  /// VerbRule::id of those that hit what was judged, or the event that was raised, last.
  std::span<const std::uint32_t> struck() const { return struck_; }

  /// Whether any rule speaks of completions or events.
  bool concerns_completions() const;
  /// Whether any rule speaks of the verb.
  bool concerns(Verb verb) const;
  RuleCounters counters(std::size_t index) const { return entries_[index].counts->read(); }
  /// Of one that was added, by its VerbRule::id; 0: there is none.
  std::uint64_t hits(std::uint32_t id) const;

 private:
  /// Copies of a plan count together: one of before may still be asked.
  struct Counts {
    std::atomic<std::uint64_t> matched{0};
    std::atomic<std::uint64_t> applied{0};
    RuleCounters read() const {
      return {matched.load(std::memory_order_relaxed), applied.load(std::memory_order_relaxed)};
    }
  };
  struct Entry {
    VerbRule rule;
    std::uint64_t stream = 0;  // of chance: by it the rule is told from the others under the same seed
    std::shared_ptr<Counts> counts = std::make_shared<Counts>();
    std::vector<std::uint32_t> told{};  // the devices that have had the event
    std::optional<Time> began{};
    bool is_added = false;
  };
  bool strikes(Entry& entry, Time now);
  /// Whether the rule hits what fits it as the number-th, from 1.
  bool would_strike(const Entry& entry, std::uint64_t number) const;
  /// Whether the rule, the only one that fits, has counted it and does not hit it.
  bool counts_only(const Entry& entry) const;
  static Time event_time(const Entry& entry) { return *entry.began + entry.rule.at; }
  static bool is_due(const Entry& entry, std::uint32_t device);
  void settle();

  /// What a rule for completions asks of one, ready to be compared.
  struct Filter {
    Range devices{};
    Range cqs{};
    Range qps{};
    CompletionOf of = CompletionOf::either;
    bool is_for_failures = false;
    std::size_t place = 0;
    bool fits(const nic::JudgedCompletion& completion, std::uint32_t device) const {
      if (!qps.contains(completion.qp) || !cqs.contains(completion.cq) || !devices.contains(device)) return false;
      if (of != CompletionOf::either && (of == CompletionOf::receive) != completion.is_receive) return false;
      return !is_for_failures || completion.status != nic::CompletionStatus::success;
    }
  };

  std::vector<Entry> entries_;
  std::vector<Filter> filters_;     // of the rules for completions
  std::vector<std::size_t> calls_;  // the rules for calls, by their place
  std::vector<std::uint32_t> struck_;
  std::uint64_t seed_;
  bool has_begun_ = false;
  bool needs_time_ = false;
};

}  // namespace verbena::fabric
