// Engine: one NIC alive in a process: its lock, its link, its clock, its progress thread.
//
// Solely responsible for who runs the NIC, and when. App threads run it to completion (post, poll); the progress thread
// serves passive targets and timers and sleeps in the kernel at 0 % CPU otherwise (progress_thread.h). What one turn
// does is Pass's affair. It does not know the C ABI (verbs-shim) and no protocol (emulator/nic). After fork() the
// child's engine is on its own: its link is gone, frames vanish, the objects can still be destroyed (engine_fork.cc
// does this by itself).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/engine/app_activity.h"
#include "emulator/host/engine/event_dispatch.h"
#include "emulator/host/engine/live_nic.h"
#include "emulator/host/engine/pass.h"
#include "emulator/host/engine/progress_thread.h"
#include "emulator/host/engine/removal.h"
#include "emulator/host/engine/sleep_plan.h"
#include "emulator/host/engine/thread_sleep.h"
#include "emulator/host/engine/vain_polls.h"
#include "emulator/host/link/reach_hint.h"
#include "emulator/host/os/fair_lock.h"

namespace verbena::host {

class Engine final {
 public:
  /// Joins the node: takes a process slot, opens the link, starts the progress thread (all signals blocked).
  /// The error is one line for the user, without a trailing newline.
  static Result<std::unique_ptr<Engine>, std::string> open(const EngineConfig& config, EventSink& events);
  /// Over a link that is open already (in_process_link.h): for tests and embedding.
  static Result<std::unique_ptr<Engine>, std::string> open_on(OpenedLink opened, const EngineConfig& config,
                                                              EventSink& events);
  /// Drains for a few milliseconds, then leaves the node.
  ~Engine();

  const nic::NicConfig& nic_config() const { return live_.nic().config(); }
  const nic::Counters& counters(std::uint32_t port = 1) const { return live_.counters(port); }

  /// Runs `call(nic, now)` under the lock, then sends what it gave rise to. For modify_qp, create_... . A call that
  /// takes the NIC only (post_receive) does not pay for the clock.
  template <class Call>
  auto run(Call&& call) {
    lock_.lock();
    if constexpr (std::is_invocable_v<Call, nic::Nic&>) {
      auto result = call(live_.nic());
      finish_call(live_.nic().has_work() ? pass_.clock().now() : pass_.last_now());
      return result;
    } else {
      return run_timed(std::forward<Call>(call));
    }
  }

  /// The same for posting to send queues: an acknowledgement that waited for an answer leaves behind it.
  template <class Call>
  auto post(Call&& call) {
    lock_.lock();
    const Time now = pass_.clock().now();
    auto result = call(live_.nic(), now);
    pass_.send_answer(now);
    finish_call(now);
    return result;
  }

  /// The same as run() for the communication manager of a port, from 1. Who asks it for something is not about to
  /// answer: what was received before a DREQ is acknowledged before it.
  template <class Call>
  auto run_connections(Call&& call, std::uint32_t port = 1) {
    lock_.lock();
    const Time now = pass_.clock().now();
    pass_.acknowledge(now);
    ConnectionService& service = live_.connections().of_port(port);
    auto result = call(service.manager(), now);
    service.note_activity();
    pass_.step_connections(now);
    finish_call(now);
    return result;
  }
  /// ibv_attach_mcast, ibv_detach_mcast: in the NIC, and on the network with a group's first and last member.
  nic::VerbsResult<void> attach_group(nic::QpHandle qp, const wire::Gid& group);
  nic::VerbsResult<void> detach_group(nic::QpHandle qp, const wire::Gid& group);

  const ServiceDirectory& services(std::uint32_t port = 1) const {
    return live_.connections().of_port(port).directory();
  }
  const LinkKind& link_kind() const { return *find_link_kind(config_.link); }

  /// ibv_poll_cq: completions that wait, else one pass over the link. Who polls in vain on a core that others need
  /// leaves it to them for some microseconds (PollYield); else it never blocks.
  std::size_t poll_cq(nic::CqHandle cq, std::span<nic::Completion> into);

  /// The caller is about to sleep until an event (ibv_get_cq_event after ibv_req_notify_cq): peers ring the progress
  /// thread from now on. A hint: without it the first frame comes some microseconds later.
  void expect_sleep();

  /// The process is about to end, by exit(), maybe in a handler of a signal: lets the progress thread do `work(on)`,
  /// and waits as long as what is sent at exit may take. The calling thread must not be inside of a call
  /// (call_state.h). False: it has not been done, and our state is not to be touched any more.
  bool run_at_exit(void (*work)(void*), void* on);

  /// The process is about to end: an acknowledgement that waits for the application's answer waits no longer, and what
  /// the NIC has sent leaves.
  void before_exit();

  /// One pass (see link.h). Returns whether anything was received or sent.
  bool progress();

  /// The process is about to end: waits for the answers to DREQ of the peers of all these engines, with the CM's
  /// repetitions in quick succession. One thread runs them all.
  static void disconnect_all(std::span<Engine* const> engines);

  /// The device is gone, and stays so as long as this engine lives (Nic::remove_device): its QPs are flushed, its
  /// connections are no more, and the sink has been told of both. Commands are refused; what there is can be polled and
  /// destroyed.
  bool is_removed() const { return removal_.is_done(); }

  /// From one of the device's ports, as Link::resolve().
  std::optional<wire::PathAddress> resolve(const wire::Gid& address, std::uint32_t port = 1);

  /// In the child after fork(): forgets threads and descriptors of the parent without touching what is shared with it.
  /// Called by the fork handler that open() installs; calling it again does nothing.
  void abandon_after_fork();

  /// How often the progress thread has left the kernel; for tests and statistics.
  std::uint64_t thread_wakes() const { return thread_ ? thread_->wakes() : 0; }
  /// The link itself, under the engine's lock: run([&](nic::Nic&, Time) { ... link() ... }).
  Link& link() { return live_.link(); }

 private:
  friend class ForkRegistry;
  friend class JoinedRest;
  class ThreadSide;

  Engine(const EngineConfig& config, EventSink& events);

  template <class Call>
  auto run_timed(Call&& call) {
    const Time now = pass_.clock().now();
    pass_.acknowledge(now);  // the call may be the end of the QP that owes it
    if constexpr (std::is_void_v<std::invoke_result_t<Call, nic::Nic&, Time>>) {
      call(live_.nic(), now);
      finish_call(now);
    } else {
      auto result = call(live_.nic(), now);
      finish_call(now);
      return result;
    }
  }
  void finish_call(Time now);
  void after_unlock(bool kick);
  void recheck_connections();
  void disarm();
  bool leave_to_thread();
  bool thread_must_wake();
  void service();
  /// A change of the device that nobody has called for.
  template <class Change>
  void change(Change&& change) {
    lock_.lock();
    const Time now = pass_.clock().now();
    change(now);
    finish_call(now);
  }
  /// Runs passes until the NIC owes nothing (acknowledgements, posted work that may leave), at most for `limit`.
  void drain(Duration limit);

  FairLock lock_;  // guards live_, pass_, vain_polls_, sleep_plan_
  LiveNic live_;
  Pass pass_;
  VainPolls vain_polls_{live_};
  SleepPlan sleep_plan_;

  // Read without the lock.
  alignas(64) AppActivity activity_;
  alignas(64) ThreadSleep thread_sleep_;
  Removal removal_;
  EventDispatch events_;

  bool is_abandoned_ = false;
  EngineConfig config_;
  std::unique_ptr<ThreadSide> thread_side_;
  std::unique_ptr<ProgressThread> thread_;
  ReachHint reach_hint_{config_};
};

}  // namespace verbena::host
