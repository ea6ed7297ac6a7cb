#include "emulator/host/engine/engine_fork.h"

#include <pthread.h>

#include <algorithm>

#include "emulator/host/engine/engine.h"
#include "emulator/host/engine/progress_loop.h"
#include "emulator/host/os/call_state.h"

namespace verbena::host {

ForkRegistry& ForkRegistry::instance() {
  static auto* registry = new ForkRegistry;  // never destroyed: a fork may happen during exit
  return *registry;
}

void ForkRegistry::install() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(prepare, parent, child); });
}

void ForkRegistry::add(Engine& engine) {
  install();
  ForkRegistry& registry = instance();
  const std::lock_guard guard(registry.mutex_);
  registry.engines_.push_back(&engine);
}

void ForkRegistry::remove(Engine& engine) {
  ForkRegistry& registry = instance();
  const std::lock_guard guard(registry.mutex_);
  std::erase(registry.engines_, &engine);
}

void ForkRegistry::prepare() {
  if (is_state_lost()) return;
  call_state::enter();
  ForkRegistry& registry = instance();
  registry.mutex_.lock();
  for (Engine* engine : registry.engines_) {
    engine->lock_.lock();
    if (engine->live_.parts().fork_guard != nullptr) engine->live_.parts().fork_guard->hold_for_fork();
  }
  ProgressLoop::hold_for_fork();
}

void ForkRegistry::parent() {
  if (is_state_lost()) return;
  ForkRegistry& registry = instance();
  ProgressLoop::release_after_fork(false);
  for (Engine* engine : registry.engines_) {
    if (engine->live_.parts().fork_guard != nullptr) engine->live_.parts().fork_guard->release_after_fork();
    engine->lock_.unlock();
  }
  registry.mutex_.unlock();
  call_state::leave();
}

void ForkRegistry::child() {
  if (is_state_lost()) return;
  ForkRegistry& registry = instance();
  ProgressLoop::release_after_fork(true);
  for (Engine* engine : registry.engines_) {
    if (engine->live_.parts().fork_guard != nullptr) engine->live_.parts().fork_guard->release_after_fork();
    engine->lock_.unlock();
    engine->abandon_after_fork();
  }
  registry.engines_.clear();
  registry.mutex_.unlock();
  call_state::leave();
}

}  // namespace verbena::host
