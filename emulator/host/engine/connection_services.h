// ConnectionServices: the communication managers of a NIC, one for each of its ports, as QP1 is each port's own.
//
// Solely responsible for which of them a datagram, an event and a frame belong to, and for when the first of them wants
// to run. What one does is its own affair (connection_service.h). Calls are under the engine's lock unless they say
// otherwise.
// Tested by: tests/host/engine/connection_services_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/host/engine/connection_service.h"

namespace verbena::host {

class ConnectionServices final : public nic::ManagementSink {
 public:
  /// Of the ports from 1 on, in their order.
  void add(std::unique_ptr<ConnectionService> service) { services_.push_back(std::move(service)); }
  ConnectionService& of_port(std::uint32_t port) const { return *services_[port - 1]; }

  void management_datagram(Time now, std::uint32_t port, const wire::PacketView& packet) override {
    of_port(port).management_datagram(now, packet);
    look();
  }
  void key_refused(std::uint32_t port, const wire::PacketView& packet, bool is_qkey) override {
    of_port(port).key_refused(packet, is_qkey);
    look();
  }
  /// When step() wants to be called.
  Time due() const { return due_; }
  /// Runs them all. `frames_of(port)` is the FramePort of one, `counters_of(port)` what it counts in. Returns how many
  /// datagrams left.
  template <class FramesOf, class CountersOf>
  std::size_t step(Time now, FramesOf&& frames_of, CountersOf&& counters_of, ConnectionService::Arrived arrived) {
    std::size_t sent = 0;
    std::uint32_t port = 0;
    for (const auto& service : services_) {
      ++port;
      sent += service->step(now, frames_of(port), counters_of(port), arrived);
    }
    look();
    return sent;
  }
  bool has_questions(Time now) const;
  /// Takes the lock itself. True: step() has something to do.
  bool recheck(FairLock& lock, Time now);

  struct PortEvent {
    std::uint32_t port = 1;
    cm::Event event;
  };
  bool has_events() const;
  std::optional<PortEvent> poll_event();
  /// Datagrams wait to leave.
  bool owes() const;
  bool awaits_disconnects() const;

  void device_removed();
  /// In the child after fork(): the names are the parent's.
  void abandon();

 private:
  void look();

  std::vector<std::unique_ptr<ConnectionService>> services_;
  Time due_ = kNever;
};

}  // namespace verbena::host
