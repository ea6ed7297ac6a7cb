// HostAgent: the one application of a simulated host: its PD and CQs, and whose a completion is.
//
// Solely responsible for handing completions and wake-ups to their owners, and for what a scenario does to a host's
// software: receives that are not posted for a while, the end of a life of the host (crash and restart). Verbs that
// fail are host_verbs.h's. It knows no workloads.
// Tested by: tests/scenarios/virtual/verbs_test.cc
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "emulator/sim/world.h"
#include "scenarios/workload/host_verbs.h"
#include "scenarios/workload/journal.h"
#include "scenarios/workload/set_up_listener.h"

namespace verbena::scenarios {

/// One end of a connection, as the host's software sees it.
class EndOwner {
 public:
  virtual ~EndOwner() = default;
  virtual void sent(const nic::Completion& completion, Time now) = 0;
  virtual void received(const nic::Completion& completion, Time now) = 0;
  /// A wake-up that it asked for is due.
  virtual void woken(Time now) = 0;
};

/// An owner's number on its host: the upper half of its work requests' wr_id.
using EndId = std::uint32_t;
constexpr std::uint64_t work_request_id(EndId end, std::uint64_t number) {
  return std::uint64_t{end} << 32 | (number & 0xffffffffu);
}

class HostAgent final : public sim::Application {
 public:
  /// `seed`: of its faults by chance.
  HostAgent(sim::World& world, sim::HostId host, Journal& journal, SetUpListener* listener, std::uint64_t seed)
      : world_(world), host_(host), journal_(journal), listener_(listener), verbs_(world, host, seed) {}

  /// Before the run: the owner outlives the agent's last run(). `work_requests`: what its QP may have outstanding.
  EndId add(EndOwner& owner, std::uint32_t send_requests, std::uint32_t receive_requests);

  void run(Time now) override;
  /// The owner is called at `time`; once for each call.
  void wake_at(Time time, EndId end);

  sim::HostId host() const { return host_; }
  nic::Nic& nic() { return world_.nic(host_); }
  HostVerbs& verbs() { return verbs_; }
  bool is_running() const { return running_; }
  /// It runs, and was not told that its device is gone: what failed may be tried again.
  bool may_connect() const { return running_ && !device_is_gone_; }
  /// Counts restarts: handles of an earlier life are invalid.
  std::uint32_t life() const { return life_; }
  void crashed() { running_ = false; }
  void restarted();

  /// Made when first asked for, in every life. False: the NIC has no more.
  bool make_ready();
  nic::PdHandle pd() const { return pd_; }
  nic::CqHandle send_cq() const { return send_cq_; }
  nic::CqHandle receive_cq() const { return receive_cq_; }

  // -- Failures of the host's software --------------------------------------------------------------------------------
  void hold_receives(Time until) { receives_held_until_ = std::max(receives_held_until_, until); }
  Time receives_held_until() const { return receives_held_until_; }
  /// Who hears of set-ups; null: nobody.
  SetUpListener* listener() { return listener_; }
  nic::VerbsResult<nic::MemoryRegion> register_memory(nic::MemoryRegionInit init);
  void deregister_memory(const nic::MemoryRegion& region);

 private:
  struct Wake {
    Time time;
    std::uint64_t order = 0;
    EndId end = 0;
    bool operator>(const Wake& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  void poll(nic::CqHandle cq, bool receives, Time now);
  void run_wakes(Time now);
  void drain_events(Time now);

  sim::World& world_;
  sim::HostId host_;
  Journal& journal_;
  SetUpListener* listener_;
  std::vector<EndOwner*> owners_;
  std::uint64_t send_requests_ = 0;
  std::uint64_t receive_requests_ = 0;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  std::uint64_t wakes_made_ = 0;
  nic::PdHandle pd_;
  nic::CqHandle send_cq_;
  nic::CqHandle receive_cq_;
  bool ready_ = false;
  bool running_ = true;
  bool device_is_gone_ = false;  // IBV_EVENT_DEVICE_FATAL: until the node starts again
  std::uint32_t life_ = 0;
  HostVerbs verbs_;
  Time receives_held_until_{0};
};

}  // namespace verbena::scenarios
