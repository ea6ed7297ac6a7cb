#include "emulator/host/engine/connection_services.h"

#include <algorithm>

namespace verbena::host {

void ConnectionServices::look() {
  due_ = kNever;
  for (const auto& service : services_) due_ = std::min(due_, service->due());
}

bool ConnectionServices::has_questions(Time now) const {
  return std::ranges::any_of(services_, [&](const auto& service) { return service->has_questions(now); });
}

bool ConnectionServices::recheck(FairLock& lock, Time now) {
  bool has_work = false;
  for (const auto& service : services_) has_work |= service->recheck(lock, now);
  return has_work;
}

bool ConnectionServices::has_events() const {
  return std::ranges::any_of(services_, [](const auto& service) { return !service->manager().events().empty(); });
}

std::optional<ConnectionServices::PortEvent> ConnectionServices::poll_event() {
  std::uint32_t port = 0;
  for (const auto& service : services_) {
    ++port;
    if (auto event = service->manager().events().poll()) return PortEvent{port, *event};
  }
  return std::nullopt;
}

bool ConnectionServices::owes() const {
  return std::ranges::any_of(services_, [](const auto& service) { return !service->manager().outbox().empty(); });
}

bool ConnectionServices::awaits_disconnects() const {
  return std::ranges::any_of(services_, [](const auto& service) { return service->manager().awaits_disconnects(); });
}

void ConnectionServices::device_removed() {
  for (const auto& service : services_) service->device_removed();
  look();
}

void ConnectionServices::abandon() {
  for (const auto& service : services_) service->abandon();
}

}  // namespace verbena::host
