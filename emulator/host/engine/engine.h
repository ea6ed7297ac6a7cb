// Engine: one NIC alive in a process: its lock, its link, its clock, its progress thread.
//
// Solely responsible for when the NIC runs. App threads run it to completion (post, poll); the progress thread serves
// passive targets and timers and sleeps in the kernel at 0 % CPU otherwise (progress_thread.h). It does not know the C
// ABI (verbs-shim) and no protocol (emulator/nic). After fork() the child's engine is on its own: its link is gone,
// frames vanish, the objects can still be destroyed (engine_fork.cc does this by itself).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/engine/acknowledgement_policy.h"
#include "emulator/host/engine/app_memory.h"
#include "emulator/host/engine/connection_service.h"
#include "emulator/host/engine/fair_timers.h"
#include "emulator/host/engine/poll_yield.h"
#include "emulator/host/engine/progress_thread.h"
#include "emulator/host/engine/sleep_plan.h"
#include "emulator/host/link/decorators.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/reach_hint.h"
#include "emulator/host/node/stats_file.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/fair_lock.h"
#include "emulator/nic/nic.h"

namespace verbena::host {

/// Receives what the NIC has to tell, outside the engine's lock, from whichever thread found it; never two calls at
/// once, in the NIC's order. A sink may call back into the engine.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void async_event(const nic::AsyncEvent& event) = 0;
  virtual void completion_event(const nic::CompletionEvent& event) = 0;
  virtual void connection_event(const cm::Event&) {}
};

class Engine final : private Progress {
 public:
  /// Joins the node: takes a process slot, opens the link, starts the progress thread (all signals blocked).
  /// The error is one line for the user, without a trailing newline.
  static Result<std::unique_ptr<Engine>, std::string> open(const EngineConfig& config, EventSink& events);
  /// Over a link that is open already (in_process_link.h): for tests and embedding.
  static Result<std::unique_ptr<Engine>, std::string> open_on(OpenedLink opened, const EngineConfig& config,
                                                              EventSink& events);
  /// Drains for a few milliseconds, then leaves the node.
  ~Engine() override;

  const nic::NicConfig& nic_config() const { return nic_->config(); }
  const nic::Counters& counters() const { return stats_->counters(); }

  /// Runs `call(nic, now)` under the lock, then sends what it gave rise to. For modify_qp, create_... . A call that
  /// takes the NIC only (post_receive) does not pay for the clock.
  template <class Call>
  auto run(Call&& call) {
    lock_.lock();
    if constexpr (std::is_invocable_v<Call, nic::Nic&>) {
      auto result = call(*nic_);
      finish_call(nic_->has_work() ? clock_.now() : last_now_);
      return result;
    } else {
      return run_timed(std::forward<Call>(call));
    }
  }

  /// The same for posting to send queues: an acknowledgement that waited for an answer leaves behind it.
  template <class Call>
  auto post(Call&& call) {
    lock_.lock();
    const Time now = clock_.now();
    auto result = call(*nic_, now);
    send_answer(now);
    finish_call(now);
    return result;
  }

  /// The same as run() for the communication manager. Who asks it for something is not about to answer: what was
  /// received before a DREQ is acknowledged before it.
  template <class Call>
  auto run_connections(Call&& call) {
    lock_.lock();
    const Time now = clock_.now();
    acknowledge_locked(now);
    auto result = call(connection_service_->manager(), now);
    connection_service_->note_activity();
    step_connections(now);
    finish_call(now);
    return result;
  }
  /// ibv_attach_mcast, ibv_detach_mcast: in the NIC, and on the network with a group's first and last member.
  nic::VerbsResult<void> attach_group(nic::QpHandle qp, const wire::Gid& group);
  nic::VerbsResult<void> detach_group(nic::QpHandle qp, const wire::Gid& group);

  const ServiceDirectory& services() const { return connection_service_->directory(); }
  const LinkKind& link_kind() const { return *find_link_kind(config_.link); }

  /// ibv_poll_cq: completions that wait, else one pass over the link. Never blocks.
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

  /// The process is about to end: waits for the peers' answers to DREQ, with the CM's repetitions in quick succession.
  void disconnect_all();

  /// The device is gone, and stays so as long as this engine lives (Nic::remove_device): its QPs are flushed, its
  /// connections are no more, and the sink has been told of both. Commands are refused; what there is can be polled and
  /// destroyed.
  bool is_removed() const { return is_removed_.load(std::memory_order_relaxed); }

  std::optional<wire::PathAddress> resolve(const wire::Gid& address);

  /// In the child after fork(): forgets threads and descriptors of the parent without touching what is shared with it.
  /// Called by the fork handler that open() installs; calling it again does nothing.
  void abandon_after_fork();

  /// How often the progress thread has left the kernel; for tests and statistics.
  std::uint64_t thread_wakes() const { return thread_ ? thread_->wakes() : 0; }
  /// The link itself, under the engine's lock: run([&](nic::Nic&, Time) { ... link() ... }).
  Link& link() { return *link_; }

 private:
  friend class ForkRegistry;
  class Sink;

  Engine(const EngineConfig& config, EventSink& events);

  // Progress: what the thread asks of us.
  Look pass() override;
  bool shares_core() override;
  Time prepare_sleep(bool listen, Time longest, bool& ready) override;
  void woke() override;
  void acknowledge_doorbell() override { link_->acknowledge_doorbell(); }
  void service() override;
  Link::WaitDescriptors wait_descriptors() const override { return link_->wait_descriptors(); }
  bool frames_need_kernel() const override { return kernel_frames_; }
  Activity activity() const override;

  std::string take_link(OpenedLink& opened);
  bool flush();
  bool arm();
  struct Traffic {
    std::size_t received = 0;
    std::size_t sent = 0;
  };
  FairTimers::Look fetch(std::size_t most);
  FairTimers::Look look_at_rings(Time now);
  Traffic pass_locked(bool fresh_clock, FairTimers::Look look,
                      nic::Nic::Acknowledge when = nic::Nic::Acknowledge::at_once);
  void run_timers(Time now, const FairTimers::Look& look, std::size_t received);
  std::size_t transmit(Time now, nic::Nic::Acknowledge when);
  void send(Time now, nic::Nic::Acknowledge when = nic::Nic::Acknowledge::at_once);
  std::size_t transmit_received(Time now, std::size_t received, nic::Nic::Acknowledge when);
  void send_answer(Time now);
  void acknowledge_locked(Time now);
  template <class Call>
  auto run_timed(Call&& call) {
    const Time now = clock_.now();
    acknowledge_locked(now);  // the call may be the end of the QP that owes it
    if constexpr (std::is_void_v<std::invoke_result_t<Call, nic::Nic&, Time>>) {
      call(*nic_, now);
      finish_call(now);
    } else {
      auto result = call(*nic_, now);
      finish_call(now);
      return result;
    }
  }
  void tell_answered_now(Time began);
  void disarm();
  bool app_stops_polling() const;
  PollYield::Kind yield_of_vain_poll(bool& asks_for_cores);
  void yield_core(PollYield::Kind kind);
  bool leave_to_thread();
  void step_connections(Time now, ConnectionService::Arrived arrived = ConnectionService::Arrived::perhaps_more);
  void recheck_connections();
  void remove_device();
  void remove_device_locked(Time now);
  void on_notice(Notice notice);
  void set_port_up(bool up);
  void finish_call(Time now);
  void after_unlock(bool kick);
  bool thread_must_wake();
  Time deadline_locked(Time now) const;
  Time acknowledgement_due() const;
  /// Runs passes until the NIC owes nothing (acknowledgements, posted work that may leave), at most for `limit`.
  void drain(Duration limit);
  void await_departure();
  void dispatch_events();

  FairLock lock_;  // guards nic_, the link's data path, clock_, last_now_, empty_passes_
  PassClock clock_;
  bool kernel_frames_ = true;
  bool is_decorated_ = false;  // captures and delays want the time of every pass
  bool abandoned_ = false;
  std::uint32_t empty_passes_ = 0;
  PollYield poll_yield_;
  std::atomic<bool> has_one_core_{false};  // the thread that polled in vain last
  Time last_now_{};
  Time answered_by_{};  // as told to the peers
  FairTimers timers_;
  Time removal_at_ = kNever;  // EngineConfig::nic.removed_after
  SleepPlan sleep_plan_;
  AcknowledgementPolicy acknowledgements_;
  std::unique_ptr<ConnectionService> connection_service_;  // outlives nic_
  std::unique_ptr<nic::Nic> nic_;
  std::unique_ptr<Link> link_;
  LinkParts parts_;            // of link_
  Decorators decorators_;      // around the link's port
  FramePort* port_ = nullptr;  // the outermost of them, or the link

  // Read by the progress thread without the lock.
  alignas(64) std::atomic<std::uint64_t> app_polls_{0};
  std::atomic<std::uint64_t> app_calls_{0};
  std::atomic<int> app_core_{-1};
  std::atomic<std::uint64_t> active_at_sleep_{0};  // polls and calls, when an application thread went to sleep
  // Until when the thread sleeps; kAwake: it does not. Changed under the lock, or by the thread when it wakes.
  alignas(64) std::atomic<std::int64_t> thread_sleeps_until_ns_{kAwake};
  std::atomic<bool> is_removed_{false};
  std::atomic<bool> events_waiting_{false};
  std::atomic<bool> questions_waiting_{false};
  std::atomic<std::uint32_t> dispatchers_{0};
  static constexpr std::int64_t kAwake = 0;
  static constexpr Duration kTellAnsweredEvery = microseconds(20);

  EngineConfig config_;
  EventSink& events_;
  AppMemory memory_;
  std::unique_ptr<StatsBlock> stats_;
  std::unique_ptr<ProgressThread> thread_;
  ReachHint reach_hint_{config_};
};

}  // namespace verbena::host
