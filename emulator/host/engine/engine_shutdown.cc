// Engine: what it does before it or its process goes.
#include <sched.h>

#include "emulator/host/engine/engine_thread.h"
#include "emulator/host/engine/joined_rest.h"
#include "emulator/host/os/cancellation_shield.h"

namespace verbena::host {
namespace {
constexpr Duration kCloseDrain = milliseconds(5);
constexpr Duration kDepartureMax = milliseconds(500);  // longer than a busy machine keeps a thread from its core
constexpr Duration kPause = microseconds(100);
// Longer than the peers' answers are waited for: kRetriesMax repetitions of a DREQ, kDisconnectRepeat apart and
// doubling.
constexpr Duration kExitMax = milliseconds(3000);

/// A SEND to an unreliable QP has completed by now. Another thread that has its datagram in hand ends with the process.
void await_departure(LiveNic& live, const EngineConfig& config) {
  for (const Time end = config.clock->now() + kDepartureMax; live.link().has_unsent() && config.clock->now() < end;) {
    config.sleeper->pause(kPause);
    live.flush();
  }
}

}  // namespace

Engine::~Engine() {
  if (!live_.is_open()) return;
  if (!is_abandoned_) drain(kCloseDrain);
  if (thread_ != nullptr) thread_->stop();
  JoinedRest::part_with(*this);
}

// A handler may have interrupted the application where it allocates: whoever allocates after that in the same thread
// may wait for itself. The progress thread has memory of its own, and if even it is caught, it is not waited for.
bool Engine::run_at_exit(void (*work)(void*), void* on) {
  const CancellationShield shield;
  if (thread_ != nullptr) return thread_->run_apart(work, on, kExitMax);
  work(on);
  return true;
}

void Engine::before_exit() {
  const CancellationShield shield;
  lock_.lock();
  const bool owes = live_.nic().holds_acknowledgements();
  pass_.acknowledge(pass_.clock().now());
  lock_.unlock();
  if (owes) live_.flush();
  await_departure(live_, config_);
}

void Engine::drain(Duration limit) {
  const CancellationShield shield;
  const Time end = config_.clock->now() + limit;
  for (;;) {
    progress();
    lock_.lock();
    const bool owes = live_.owes();
    lock_.unlock();
    if (!owes || config_.clock->now() >= end) break;
    sched_yield();
  }
  await_departure(live_, config_);
}

void Engine::disconnect_all(std::span<Engine* const> engines) {
  const CancellationShield shield;
  for (Engine* const engine : engines)
    for (std::uint32_t port = 1; port <= engine->nic_config().port_count; ++port)
      engine->run_connections(
          [](cm::ConnectionManager& manager, Time now) {
            manager.disconnect_all(now);
            return true;
          },
          port);
  // The repetitions end by themselves: those of the manager have a named maximum.
  for (bool waits = true; waits;) {
    waits = false;
    for (Engine* const engine : engines) {
      engine->service();  // the thread that does so otherwise may be the one that is here
      engine->progress();
      engine->lock_.lock();
      if (engine->live_.connections().awaits_disconnects()) waits = true;
      engine->lock_.unlock();
    }
    if (waits) engines.front()->config_.sleeper->pause(kPause);
  }
  for (Engine* const engine : engines) engine->drain(kCloseDrain);
}

}  // namespace verbena::host
