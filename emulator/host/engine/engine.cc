#include "emulator/host/engine/engine.h"

#include <sched.h>

#include <string>
#include <utility>

#include "emulator/host/engine/engine_fork.h"
#include "emulator/host/engine/engine_thread.h"
#include "emulator/host/engine/joined_rest.h"
#include "emulator/host/link/link_factory.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/same_user.h"
#include "emulator/nic/planned_faults.h"

namespace verbena::host {
namespace {
constexpr int kPassesToLeave = 4;  // of an application's poll; frames that come without end are not its to take
}  // namespace

Engine::Engine(const EngineConfig& config, EventSink& events)
    : pass_(live_, config, events_, removal_), events_(events), config_(config), thread_side_(new ThreadSide(*this)) {}

Result<std::unique_ptr<Engine>, std::string> Engine::open(const EngineConfig& config, EventSink& events) {
  settle_own_user();
  auto opened = open_link(config);
  if (!opened) return Failure{opened.error()};
  return open_on(std::move(*opened), config, events);
}

Result<std::unique_ptr<Engine>, std::string> Engine::open_on(OpenedLink opened, const EngineConfig& config,
                                                             EventSink& events) {
  std::unique_ptr<Engine> engine(new Engine(config, events));
  install_fault_handler();
  if (auto error = engine->live_.open(std::move(opened), config); !error.empty()) return Failure{std::move(error)};
  if (config.nic.removed_after) engine->removal_.plan(config.clock->now() + *config.nic.removed_after);
  ForkRegistry::add(*engine);
  if (config.progress_thread) {
    auto thread = ProgressThread::create(*engine->thread_side_, *config.clock, *config.sleeper);
    if (!thread) return Failure{thread.error()};
    engine->thread_ = std::move(*thread);  // before it runs: it looks whether it is there
    if (auto started = engine->thread_->start(); !started) return Failure{started.error()};
  }
  return engine;
}

// -- Calls ------------------------------------------------------------------------------------------------------------

/// Under the lock, which it gives back.
void Engine::finish_call(Time now) {
  pass_.finish_call(now);
  activity_.called(sched_getcpu());
  if (live_.parts().scheduling != nullptr) live_.parts().scheduling->note_activity();
  if (sleep_plan_.app_calls(pass_.last_now(), [&] { return live_.nic().awaits_completions(); })) disarm();
  const bool kick = thread_must_wake();
  lock_.unlock();
  after_unlock(kick);
}

void Engine::after_unlock(bool kick) {
  // Whoever posts a datagram and leaves relies on its being gone, also if it is the first to that peer.
  while (live_.flush()) {
    const std::lock_guard guard(lock_);
    pass_.finish_call(pass_.clock().exact());
  }
  if (events_.is_due()) events_.dispatch(lock_, live_.nic(), live_.connections());
  if (pass_.has_questions()) recheck_connections();
  if (kick && thread_ != nullptr) thread_->kick();
}

void Engine::recheck_connections() {
  const CancellationShield shield;
  pass_.take_questions();
  if (!live_.connections().recheck(lock_, pass_.clock().exact())) return;
  lock_.lock();
  pass_.step_connections(pass_.clock().exact());
  const bool kick = thread_must_wake();
  lock_.unlock();
  live_.flush();
  if (kick && thread_ != nullptr) thread_->kick();
}

bool Engine::progress() {
  if (thread_ == nullptr) service();
  const FairTimers::Look look = pass_.fetch(Link::kAll);
  lock_.lock();
  const Pass::Traffic traffic = pass_.run(true, look, Pass::Acknowledge::at_once);
  lock_.unlock();
  after_unlock(false);
  return traffic.any();
}

std::size_t Engine::poll_cq(nic::CqHandle cq, std::span<nic::Completion> into) {
  FairTimers::Look look;
  lock_.lock();
  activity_.polled();
  nic::Nic& nic = live_.nic();
  std::size_t count = nic.poll_cq(cq, into);
  sleep_plan_.app_polls();
  if (count != 0 && nic.awaits_completions()) {
    disarm();
    lock_.unlock();
    return count;
  }
  if (count == 0) {
    if (live_.frames_need_kernel()) {
      const std::size_t most = pass_.acknowledgements().expects_answers() ? 1 : Link::kAll;
      lock_.unlock();
      look = pass_.fetch(most);
      lock_.lock();
    }
    disarm();
    activity_.seen_on(sched_getcpu());
  } else if (leave_to_thread()) {
    lock_.unlock();
    live_.flush();
    return count;
  }
  Pass::Traffic traffic = pass_.run(false, look, Pass::Acknowledge::with_answer);
  if (count == 0) count = nic.poll_cq(cq, into);
  // Frames that wait already are taken first: it may be long until their sender sees that nobody does.
  for (int passes = 0; count != 0 && pass_.app_stops_polling() && !leave_to_thread() && passes < kPassesToLeave;
       ++passes) {
    const Pass::Traffic more = pass_.run(true, {}, Pass::Acknowledge::with_answer);
    traffic.received += more.received;
    traffic.sent += more.sent;
  }
  const LinkParts& parts = live_.parts();
  const bool in_vain = !traffic.any() && count == 0;
  const bool yields = in_vain && parts.directed_yield != nullptr && parts.directed_yield->wants_to_yield();
  VainPolls::Decision decision;
  if (!in_vain)
    vain_polls_.found();
  else if (!yields)
    vain_polls_.missed(pass_.clock(), [&](Time now) { return pass_.deadline_of_rest(now); }, decision);
  const bool kick = traffic.any() && thread_must_wake();
  lock_.unlock();
  after_unlock(kick);
  if (traffic.any()) vain_polls_.took_frames();
  if (yields)
    parts.directed_yield->yield_core();
  else if (decision.was_due && JoinedRest::rest(*this, decision))
    return poll_cq(cq, into);  // which rests no more: that takes several polls
  else if (in_vain)
    lock_.rest_after_vain_hold();
  return count;
}

nic::VerbsResult<void> Engine::attach_group(nic::QpHandle qp, const wire::Gid& group) {
  const CancellationShield shield;
  return run([&](nic::Nic& nic, Time) {
    auto attached = nic.attach_group(qp, group);
    if (attached.ok() && live_.parts().groups != nullptr) live_.parts().groups->join(group);
    return attached;
  });
}

nic::VerbsResult<void> Engine::detach_group(nic::QpHandle qp, const wire::Gid& group) {
  const CancellationShield shield;
  return run([&](nic::Nic& nic, Time) {
    auto detached = nic.detach_group(qp, group);
    if (detached.ok() && live_.parts().groups != nullptr && !nic.has_members(group)) live_.parts().groups->leave(group);
    return detached;
  });
}

// -- What becomes of the device ---------------------------------------------------------------------------------------

void Engine::service() {
  live_.link().service();
  for (std::uint32_t port = 1; port <= live_.nic().config().port_count; ++port) {
    Link& link = live_.link().of_port(port);
    const auto set_port_up = [&](bool up) { change([&](Time) { live_.set_port_up(port, up); }); };
    bool was_of_port = false;
    bool may_have_faults = false;  // others than before
    while (const auto notice = link.take_notice()) {
      was_of_port = was_of_port || (*notice != Notice::device_removed && *notice != Notice::faults_changed);
      may_have_faults = may_have_faults || *notice == Notice::faults_changed || *notice == Notice::uplink_changed;
      switch (*notice) {
        case Notice::device_removed:
          change([&](Time now) { pass_.remove_device(now); });
          break;
        case Notice::port_down:
          set_port_up(false);
          break;
        case Notice::port_up:
          set_port_up(true);
          break;
        case Notice::subnet_changed:
        case Notice::uplink_changed:
        case Notice::faults_changed:
          break;  // looked at below
      }
    }
    // Who stood still for long has not heard all: what counts is how it is now.
    if (was_of_port) set_port_up(link.has_signal());
    if (!may_have_faults || config_.outside_faults == nullptr) continue;
    const std::uint32_t sequence = config_.outside_faults->look();
    if (nic::CompletionJudge* const judge = config_.outside_faults->judge(); judge != nullptr)
      change([&](Time) { nic::PlannedFaults::begin(live_.nic(), *judge); });
    live_.connections().of_port(port).tell_heard(sequence);
  }
}

std::optional<wire::PathAddress> Engine::resolve(const wire::Gid& address, std::uint32_t port) {
  const CancellationShield shield;
  reach_hint_.tell(address);
  return live_.link().of_port(port).resolve(address);
}

// -- fork() -----------------------------------------------------------------------------------------------------------

void Engine::abandon_after_fork() {
  if (is_abandoned_) return;
  is_abandoned_ = true;
  live_.abandon();
  if (thread_ != nullptr) {
    thread_->abandon();
    [[maybe_unused]] const ProgressThread* forgotten_thread = thread_.release();
  }
  vain_polls_.abandon();
  events_.abandon();
  thread_sleep_.ends();
}

}  // namespace verbena::host
