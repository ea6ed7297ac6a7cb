#include "emulator/host/engine/engine.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "emulator/host/engine/engine_fork.h"
#include "emulator/host/engine/thread_affinity.h"
#include "emulator/host/link/link_factory.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/drawn_numbers.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {
constexpr std::size_t kReceiveBudget = 64;   // frames per pass
constexpr std::size_t kTransmitBudget = 64;  // frames per pass or call; a ring holds about as many of the largest
constexpr std::uint32_t kPassesPerClock = 16;
constexpr int kPassesToLeave = 4;  // of an application's poll; frames that come without end are not its to take
constexpr std::size_t kEventsAtOnce = 16;
constexpr unsigned kFirstIdShift = 10;  // communication IDs go on about as fast as they can be used up

std::uint64_t ca_guid_of(const wire::Gid& address) {
  std::uint64_t guid = 0;
  for (const std::uint8_t octet : guid_of(node_mac(address))) guid = guid << 8 | octet;
  return guid;
}
}  // namespace

/// Hands frames to the NIC. The clock is read at the first frame of a pass, and only then.
class Engine::Sink final : public FrameSink {
 public:
  Sink(nic::Nic& nic, PassClock& clock, Time now, bool fresh) : now_(now), nic_(nic), clock_(clock), fresh_(fresh) {}
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override { nic_.receive(now(), frame, icrc); }
  Time now() {
    if (!fresh_) now_ = clock_.now();
    fresh_ = true;
    return now_;
  }
  bool fresh() const { return fresh_; }

 private:
  Time now_;
  nic::Nic& nic_;
  PassClock& clock_;
  bool fresh_;
};

Engine::Engine(const EngineConfig& config, EventSink& events)
    : acknowledgements_(config.prompt_answer.value_or(PingPongDetector::kPrompt)), config_(config), events_(events) {}

Result<std::unique_ptr<Engine>, std::string> Engine::open(const EngineConfig& config, EventSink& events) {
  settle_own_user();
  auto opened = open_link(config);
  if (!opened) return Failure{opened.error()};
  return open_on(std::move(*opened), config, events);
}

Result<std::unique_ptr<Engine>, std::string> Engine::open_on(OpenedLink opened, const EngineConfig& config,
                                                             EventSink& events) {
  std::unique_ptr<Engine> engine(new Engine(config, events));
  if (auto error = engine->take_link(opened); !error.empty()) return Failure{std::move(error)};
  engine->stats_ = StatsBlock::open(config.stats_path, config.fabric, config.address, opened.slot);

  nic::NicConfig nic_config;
  nic_config.qpn_base = qpn_base_of(opened.slot);
  nic_config.qpn_bits = kSlotShift;
  nic_config.mac = opened.address.mac();
  nic_config.gids[0] = config.address;
  if (const auto link_local = link_local_of(config.address); engine->link_kind().has_link_local && link_local)
    nic_config.gids[nic_config.gid_count++] = *link_local;
  nic_config.port_mtu_bytes = opened.mtu_bytes;
  nic_config.udp_source_port = opened.udp_source_port;
  if (opened.window_bytes != 0) nic_config.window_bytes = opened.window_bytes;
  DrawnNumbers numbers(config.seed);
  nic_config.seed = config.seed ? *config.seed : numbers();
  nic_config.port_is_up = engine->link_->has_signal();
  config.nic.apply(nic_config);
  install_fault_handler();
  engine->nic_ = std::make_unique<nic::Nic>(nic_config, engine->memory_, engine->stats_->counters());
  cm::Config cm_config;
  cm_config.address = config.address;
  cm_config.path_address = opened.address;
  cm_config.slot = opened.slot;
  cm_config.ca_guid = ca_guid_of(config.address);
  // Never from the seed: a peer may remember those of a process that had the same one.
  cm_config.first_id =
      static_cast<std::uint32_t>(config.seed ? std::uint64_t(clock_now().ns >> kFirstIdShift) : numbers());
  cm_config.udp_source_port = opened.udp_source_port;
  engine->connection_service_ = std::make_unique<ConnectionService>(
      cm_config, ServiceDirectory(config.fabric, opened.slot, config.address),
      engine->link_kind().reaches_by_slot ? ConnectionService::Peers::all_here : ConnectionService::Peers::anywhere,
      engine->parts_.last_words);
  engine->nic_->set_management(engine->connection_service_.get());
  if (config.nic.removed_after) engine->removal_at_ = clock_now() + *config.nic.removed_after;
  ForkRegistry::add(*engine);
  if (config.progress_thread) {
    auto thread = ProgressThread::create(*engine);
    if (!thread) return Failure{thread.error()};
    engine->thread_ = std::move(*thread);  // before it runs: it looks whether it is there
    if (auto started = engine->thread_->start(); !started) return Failure{started.error()};
  }
  return engine;
}

/// The link, its parts, and what stands in front of its port. Returns an error, or nothing.
std::string Engine::take_link(OpenedLink& opened) {
  link_ = std::move(opened.link);
  parts_ = opened.parts;
  kernel_frames_ = opened.fetches;
  auto decorators = make_decorators(*link_, config_, opened.slot);
  if (!decorators) return decorators.error();
  decorators_ = std::move(*decorators);
  port_ = &decorators_.outermost(*link_);
  is_decorated_ = port_ != link_.get();
  return {};
}

// -- Passes -----------------------------------------------------------------------------------------------------------

/// Outside of the lock: frames come out of the kernel. Only who is to run a timer needs to know that these are all.
FairTimers::Look Engine::fetch(std::size_t most) {
  if (!timers_.wants_all()) {
    link_->fetch(most);
    return {};
  }
  const Time since = clock_now();
  return {.since = since, .is_all = link_->fetch_all()};
}

/// Before receive(): what has arrived lies in the link's rings, unless a process between the ends or at the other one
/// has it in hand. Only who is to run a timer asks about that.
FairTimers::Look Engine::look_at_rings(Time now) {
  if (parts_.relay == nullptr && parts_.answers == nullptr) return {.since = now, .is_all = true};
  if (!timers_.wants_all()) return {};
  if (parts_.answers != nullptr) parts_.answers->look();
  return {.since = parts_.relay != nullptr ? parts_.relay->delivered_by(now) : now, .is_all = true};
}

Engine::Traffic Engine::pass_locked(bool fresh_clock, FairTimers::Look look, nic::Nic::Acknowledge when) {
  if (is_decorated_ || timers_.wants_all() || ++empty_passes_ % kPassesPerClock == 0) fresh_clock = true;
  const Time began = fresh_clock ? clock_.now() : last_now_;
  Sink sink(*nic_, clock_, began, fresh_clock);
  if (!kernel_frames_) look = look_at_rings(began);
  Traffic traffic;
  traffic.received = port_->receive(began, sink, kReceiveBudget);
  acknowledgements_.took(traffic.received == kReceiveBudget);
  if (sink.fresh()) run_timers(sink.now(), look, traffic.received);
  if (sink.fresh() && removal_at_ <= sink.now()) remove_device_locked(sink.now());
  if (nic_->has_work() || nic_->holds_acknowledgements())
    traffic.sent = transmit_received(sink.now(), traffic.received, when);
  if (traffic.sent != 0 || sink.fresh()) port_->publish();
  if (sink.fresh()) {
    last_now_ = sink.now();
    // No more often than timers are precise.
    if (parts_.answers != nullptr && traffic.received < kReceiveBudget && began - answered_by_ >= kTellAnsweredEvery)
      tell_answered_now(began);
  }
  if (nic_->has_events()) events_waiting_.store(true, std::memory_order_relaxed);
  return traffic;
}

void Engine::run_timers(Time now, const FairTimers::Look& look, std::size_t received) {
  timers_.look_after_departures(now, *nic_, *link_);
  const Time due = std::min(nic_->next_deadline().value_or(kNever), connection_service_->due());
  if (due > now) return timers_.rest();
  const auto until =
      timers_.allow(due, look, {.frames = received, .is_all = received < kReceiveBudget && !port_->holds_back()});
  if (!until) return;
  if (const auto timer = nic_->next_deadline(); timer && *timer <= *until) {
    timers_.look(*nic_, *link_);
    nic_->on_deadline(*until, timers_.left(), parts_.answers);
  }
  if (connection_service_->due() <= *until)
    step_connections(now, timers_.has_heard_all() ? ConnectionService::Arrived::all_taken
                                                  : ConnectionService::Arrived::perhaps_more);
}

/// The one way out of the NIC.
std::size_t Engine::transmit(Time now, nic::Nic::Acknowledge when) {
  const std::size_t sent = nic_->transmit(now, *port_, kTransmitBudget, when);
  if (sent != 0) timers_.built(now);
  return sent;
}

/// The same for what is no pass, which publishes by itself.
void Engine::send(Time now, nic::Nic::Acknowledge when) {
  if (transmit(now, when) != 0) port_->publish();
}

/// Sends what a pass gave rise to. `when`: at_once if nobody is awake who might answer.
std::size_t Engine::transmit_received(Time now, std::size_t received, nic::Nic::Acknowledge when) {
  when = acknowledgements_.of_pass(
      now, received, when == nic::Nic::Acknowledge::with_answer, nic_->holds_acknowledgements(),
      [&] { return parts_.scheduling != nullptr && parts_.scheduling->wants_one_answer_for_all(); });
  const nic::Counters& counters = stats_->counters();
  const std::uint64_t acknowledged = counters.get(nic::Counter::tx_acknowledges);
  const std::size_t sent = transmit(now, when);
  if (nic_->holds_acknowledgements() || counters.get(nic::Counter::tx_acknowledges) != acknowledged)
    acknowledgements_.executed(now);
  return sent;
}

void Engine::acknowledge_locked(Time now) {
  if (nic_->holds_acknowledgements()) send(now);
}

/// The peer is waiting for the answer; the acknowledgement goes after it.
void Engine::send_answer(Time now) {
  if (!nic_->has_work()) return;
  acknowledgements_.answered(now);
  if (!nic_->holds_acknowledgements()) return;
  send(now, nic::Nic::Acknowledge::with_answer);
  acknowledge_locked(now);
}

void Engine::step_connections(Time now, ConnectionService::Arrived arrived) {
  if (connection_service_->step(now, *port_, stats_->counters(), arrived) != 0) port_->publish();
  if (!connection_service_->manager().events().empty()) events_waiting_.store(true, std::memory_order_relaxed);
  if (connection_service_->has_questions(now)) questions_waiting_.store(true, std::memory_order_relaxed);
}

void Engine::recheck_connections() {
  const CancellationShield shield;
  questions_waiting_.store(false, std::memory_order_relaxed);
  if (!connection_service_->recheck(lock_, clock_now())) return;
  lock_.lock();
  step_connections(clock_now());
  const bool kick = thread_must_wake();
  lock_.unlock();
  flush();
  if (kick && thread_ != nullptr) thread_->kick();
}

void Engine::finish_call(Time now) {
  if (nic_->has_work()) send(now);
  last_now_ = std::max(last_now_, now);
  if (nic_->has_events()) events_waiting_.store(true, std::memory_order_relaxed);
  app_calls_.store(app_calls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  app_core_.store(sched_getcpu(), std::memory_order_relaxed);
  if (parts_.scheduling != nullptr) parts_.scheduling->note_activity();
  if (sleep_plan_.app_calls(last_now_, [&] { return nic_->awaits_completions(); })) disarm();
  const bool kick = thread_must_wake();
  lock_.unlock();
  after_unlock(kick);
}

/// Outside of the lock. Returns what Link::flush() does.
bool Engine::flush() {
  const bool has_new_ways = link_->flush();
  if (decorators_.capture != nullptr) decorators_.capture->write_if_due();
  return has_new_ways;
}

void Engine::after_unlock(bool kick) {
  // Whoever posts a datagram and leaves relies on its being gone, also if it is the first to that peer.
  while (flush()) {
    const std::lock_guard guard(lock_);
    last_now_ = std::max(last_now_, clock_now());
    if (nic_->has_work()) send(last_now_);
  }
  if (events_waiting_.load(std::memory_order_relaxed)) dispatch_events();
  if (questions_waiting_.load(std::memory_order_relaxed)) recheck_connections();
  if (kick && thread_ != nullptr) thread_->kick();
}

bool Engine::progress() {
  if (thread_ == nullptr) service();
  const FairTimers::Look look = fetch(Link::kAll);
  lock_.lock();
  const Traffic traffic = pass_locked(true, look);
  lock_.unlock();
  after_unlock(false);
  return traffic.received != 0 || traffic.sent != 0;
}

Progress::Look Engine::pass() {
  const FairTimers::Look look = fetch(Link::kAll);
  if (!lock_.try_lock_briefly()) return Look::kept_out;
  const bool app_sleeps = activity().sleeps;
  const Traffic traffic =
      pass_locked(true, look, app_sleeps ? nic::Nic::Acknowledge::at_once : nic::Nic::Acknowledge::with_answer);
  const bool worked = traffic.received != 0 || traffic.sent != 0;
  const bool in_the_way = !worked && parts_.scheduling != nullptr && parts_.scheduling->blocks_peer_cpu();
  lock_.unlock();
  after_unlock(false);
  if (worked) return Look::worked;
  return in_the_way ? Look::in_the_way : Look::nothing;
}

std::size_t Engine::poll_cq(nic::CqHandle cq, std::span<nic::Completion> into) {
  FairTimers::Look look;
  lock_.lock();
  app_polls_.store(app_polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::size_t count = nic_->poll_cq(cq, into);
  sleep_plan_.app_polls();
  if (count != 0 && nic_->awaits_completions()) {
    disarm();
    lock_.unlock();
    return count;
  }
  if (count == 0) {
    if (kernel_frames_) {
      const std::size_t most = acknowledgements_.expects_answers() ? 1 : Link::kAll;
      lock_.unlock();
      look = fetch(most);
      lock_.lock();
    }
    disarm();
    app_core_.store(sched_getcpu(), std::memory_order_relaxed);
  } else if (leave_to_thread()) {
    lock_.unlock();
    flush();
    return count;
  }
  Traffic traffic = pass_locked(false, look, nic::Nic::Acknowledge::with_answer);
  if (count == 0) count = nic_->poll_cq(cq, into);
  // Frames that wait already are taken first: it may be long until their sender sees that nobody does.
  for (int passes = 0; count != 0 && app_stops_polling() && !leave_to_thread() && passes < kPassesToLeave; ++passes) {
    const Traffic more = pass_locked(true, {}, nic::Nic::Acknowledge::with_answer);
    traffic.received += more.received;
    traffic.sent += more.sent;
  }
  const bool worked = traffic.received != 0 || traffic.sent != 0;
  const bool yields =
      !worked && count == 0 && parts_.directed_yield != nullptr && parts_.directed_yield->wants_to_yield();
  bool asks_for_cores = false;
  PollYield::Kind yield = PollYield::Kind::none;
  if (worked || count != 0)
    poll_yield_.found();
  else if (poll_yield_.is_due())
    yield = yield_of_vain_poll(asks_for_cores);
  const bool kick = worked && thread_must_wake();
  lock_.unlock();
  after_unlock(kick);
  if (yields)
    parts_.directed_yield->yield_core();
  else if (yield != PollYield::Kind::none)
    yield_core(yield);
  else if (!worked && count == 0)
    lock_.rest_after_vain_hold();
  if (asks_for_cores) has_one_core_.store(is_bound_to_one_core(), std::memory_order_relaxed);
  return count;
}

nic::VerbsResult<void> Engine::attach_group(nic::QpHandle qp, const wire::Gid& group) {
  const CancellationShield shield;
  return run([&](nic::Nic& nic, Time) {
    auto attached = nic.attach_group(qp, group);
    if (attached.ok() && parts_.groups != nullptr) parts_.groups->join(group);
    return attached;
  });
}

nic::VerbsResult<void> Engine::detach_group(nic::QpHandle qp, const wire::Gid& group) {
  const CancellationShield shield;
  return run([&](nic::Nic& nic, Time) {
    auto detached = nic.detach_group(qp, group);
    if (detached.ok() && parts_.groups != nullptr && !nic.has_members(group)) parts_.groups->leave(group);
    return detached;
  });
}

// -- What becomes of the device ---------------------------------------------------------------------------------------

void Engine::service() {
  link_->service();
  bool was_of_port = false;
  while (const auto notice = link_->take_notice()) {
    was_of_port = was_of_port || *notice != Notice::device_removed;
    on_notice(*notice);
  }
  // Who stood still for long has not heard all: what counts is how it is now.
  if (was_of_port) set_port_up(link_->has_signal());
}

void Engine::on_notice(Notice notice) {
  switch (notice) {
    case Notice::device_removed:
      return remove_device();
    case Notice::port_down:
      return set_port_up(false);
    case Notice::port_up:
      return set_port_up(true);
    case Notice::uplink_changed:
      return;  // service() looks
  }
}

void Engine::set_port_up(bool up) {
  lock_.lock();
  nic_->set_port_up(up);
  finish_call(clock_.now());
}

void Engine::remove_device() {
  lock_.lock();
  const Time now = clock_.now();
  remove_device_locked(now);
  finish_call(now);
}

void Engine::remove_device_locked(Time now) {
  removal_at_ = kNever;
  if (is_removed_.exchange(true, std::memory_order_relaxed)) return;
  nic_->remove_device(now);
  connection_service_->device_removed();
  events_waiting_.store(true, std::memory_order_relaxed);
}

std::optional<wire::PathAddress> Engine::resolve(const wire::Gid& address) {
  const CancellationShield shield;
  reach_hint_.tell(address);
  return link_->resolve(address);
}

// -- Events -----------------------------------------------------------------------------------------------------------

void Engine::dispatch_events() {
  const CancellationShield shield;
  // One thread dispatches at a time; the others leave a ticket, and it goes on until no ticket is left.
  std::uint32_t tickets = dispatchers_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (tickets != 1) return;
  do {
    for (;;) {
      std::array<nic::AsyncEvent, kEventsAtOnce> async;
      std::array<nic::CompletionEvent, kEventsAtOnce> completions;
      std::size_t async_count = 0;
      std::size_t completion_count = 0;
      std::optional<cm::Event> connection;
      {
        const std::lock_guard guard(lock_);
        while (async_count < async.size()) {
          const auto event = nic_->poll_event();
          if (!event) break;
          async[async_count++] = *event;
        }
        while (completion_count < completions.size()) {
          const auto event = nic_->poll_completion_event();
          if (!event) break;
          completions[completion_count++] = *event;
        }
        connection = connection_service_->manager().events().poll();
        events_waiting_.store(nic_->has_events() || !connection_service_->manager().events().empty(),
                              std::memory_order_relaxed);
      }
      if (async_count == 0 && completion_count == 0 && !connection) break;
      for (std::size_t i = 0; i < async_count; ++i) events_.async_event(async[i]);
      for (std::size_t i = 0; i < completion_count; ++i) events_.completion_event(completions[i]);
      if (connection) events_.connection_event(*connection);
    }
  } while (!dispatchers_.compare_exchange_strong(tickets, 0, std::memory_order_acq_rel));
}

// -- fork() -----------------------------------------------------------------------------------------------------------

void Engine::abandon_after_fork() {
  if (abandoned_) return;
  abandoned_ = true;
  if (parts_.fork_guard != nullptr) parts_.fork_guard->abandon_after_fork();
  parts_ = {};
  // The capture would write down what the parent writes as well: all is left alone, with what it holds.
  [[maybe_unused]] const CapturingLink* forgotten_capture = decorators_.capture.release();
  [[maybe_unused]] const FramePort* forgotten_faults = decorators_.faults.release();
  [[maybe_unused]] const Link* forgotten_link = link_.release();
  link_ = std::make_unique<NullLink>();
  port_ = link_.get();
  kernel_frames_ = false;
  if (thread_ != nullptr) {
    thread_->abandon();
    [[maybe_unused]] const ProgressThread* forgotten_thread = thread_.release();
  }
  connection_service_->abandon();
  stats_->make_private();
  dispatchers_.store(0, std::memory_order_relaxed);
  thread_sleeps_until_ns_.store(kAwake, std::memory_order_relaxed);
}

}  // namespace verbena::host
