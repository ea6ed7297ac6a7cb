#include "emulator/host/engine/event_dispatch.h"

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>

#include "emulator/host/os/cancellation_shield.h"

namespace verbena::host {

/// What is taken at once.
struct EventDispatch::Batch {
  static constexpr std::size_t kMost = 16;

  Batch(nic::Nic& nic, ConnectionServices& connections) {
    while (async_count < async.size()) {
      const auto event = nic.poll_event();
      if (!event) break;
      async[async_count++] = *event;
    }
    while (completion_count < completions.size()) {
      const auto event = nic.poll_completion_event();
      if (!event) break;
      completions[completion_count++] = *event;
    }
    connection = connections.poll_event();
  }
  bool is_empty() const { return async_count == 0 && completion_count == 0 && !connection; }

  std::array<nic::AsyncEvent, kMost> async;
  std::array<nic::CompletionEvent, kMost> completions;
  std::size_t async_count = 0;
  std::size_t completion_count = 0;
  std::optional<ConnectionServices::PortEvent> connection;
};

void EventDispatch::dispatch(FairLock& lock, nic::Nic& nic, ConnectionServices& connections) {
  const CancellationShield shield;
  // One thread dispatches at a time; the others leave a ticket, and it goes on until no ticket is left.
  std::uint32_t tickets = dispatchers_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (tickets != 1) return;
  do {
    while (deliver(lock, nic, connections)) {
    }
  } while (!dispatchers_.compare_exchange_strong(tickets, 0, std::memory_order_acq_rel));
}

/// False: there were none.
bool EventDispatch::deliver(FairLock& lock, nic::Nic& nic, ConnectionServices& connections) {
  const Batch batch = [&] {
    const std::lock_guard guard(lock);
    Batch taken(nic, connections);
    waiting_.store(nic.has_events() || connections.has_events(), std::memory_order_relaxed);
    return taken;
  }();
  for (std::size_t i = 0; i < batch.async_count; ++i) sink_.async_event(batch.async[i]);
  for (std::size_t i = 0; i < batch.completion_count; ++i) sink_.completion_event(batch.completions[i]);
  if (batch.connection) sink_.connection_event(batch.connection->port, batch.connection->event);
  return !batch.is_empty();
}

}  // namespace verbena::host
