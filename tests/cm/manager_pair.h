// Two communication managers on one cable, in virtual time, and applications that take what is offered.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <optional>
#include <vector>

#include "emulator/cm/connection_manager.h"
#include "tests/wire/wire_support.h"

namespace verbena::cm::test {

inline constexpr std::uint64_t kService = 0x01061c06;
inline constexpr std::uint64_t kListener = 77;

class Port final : public nic::TransmitPort {
 public:
  std::span<std::byte> reserve(const nic::Destination&, std::size_t bytes) override {
    room_.resize(bytes);
    return room_;
  }
  void commit(std::size_t bytes, wire::IcrcState) override {
    frames.emplace_back(room_.begin(), room_.begin() + static_cast<long>(bytes));
  }
  void cancel() override {}
  std::deque<wire::test::Bytes> frames;

 private:
  wire::test::Bytes room_;
};

inline Config config_of(std::uint8_t node) {
  Config config;
  config.address = wire::Gid::from_ipv4(0x0a4d0000u + node);
  config.path_address = wire::MacAddress{{0, 0, 0, 0, 0, node}};
  config.slot = node;
  config.first_id = 100;
  return config;
}

/// Two managers on one cable. Message n (from 0) is lost if bit n of `lost` is set, comes twice if bit n of `doubled`.
struct Pair {
  explicit Pair(const Config& of_passive = config_of(2))
      : passive_config(of_passive), active(active_config), passive(passive_config) {
    passive.listeners().add(kService, kListener);
  }

  RequestInit request_init() const {
    RequestInit init;
    init.context = 1;
    init.service_id = kService;
    init.path.address = passive_config.address;
    init.path.packet_lifetime = 16;
    init.path.mtu = 3;
    init.offer = {.qpn = wire::Qpn(0x17),
                  .starting_psn = wire::Psn(0x123456),
                  .responder_resources = 4,
                  .initiator_depth = 2,
                  .retry_count = 7,
                  .rnr_retry_count = 6};
    return init;
  }

  void carry(ConnectionManager& from, ConnectionManager& to) {
    Port port;
    from.outbox().transmit(port, 100);
    for (const auto& frame : port.frames) {
      const auto packet = wire::parse_frame(frame);
      BOOST_REQUIRE(packet.ok());
      BOOST_TEST(packet->icrc_is_valid());
      const unsigned bit = messages++;
      if (bit < 32 && (lost >> bit & 1) != 0) continue;
      to.receive(now, *packet);
      if (bit < 32 && (doubled >> bit & 1) != 0) to.receive(now, *packet);
    }
  }

  /// What the application of each side would do with its events.
  void react() {
    while (const auto event = passive.events().poll()) {
      if (event->type == EventType::request) {
        ++requests;
        accepted = event->connection;
        passive.adopt(accepted, 2, wire::Psn(0x654321));
        // It may fail: the peer may have taken its request back by now.
        static_cast<void>(passive.reply(now, accepted,
                                        {.qpn = wire::Qpn(0x18),
                                         .starting_psn = wire::Psn(0x654321),
                                         .responder_resources = 2,
                                         .initiator_depth = 4,
                                         .rnr_retry_count = 5},
                                        {}));
      }
      passive_events.push_back(*event);
      if (event->type == EventType::disconnected) passive.disconnect(now, accepted);
    }
    while (const auto event = active.events().poll()) {
      active_events.push_back(*event);
      if (event->type == EventType::reply) BOOST_TEST(active.ready(now, event->connection, {}));
      if (event->type == EventType::disconnected) active.disconnect(now, event->connection);
    }
  }

  /// Until nothing is on its way and no timer before `end` runs.
  void run(Time end) {
    for (int turns = 0; turns < 10000; ++turns) {
      react();
      while (!active.outbox().empty() || !passive.outbox().empty()) {
        carry(active, passive);
        carry(passive, active);
        react();
      }
      const Time next = std::min(active.next_deadline(), passive.next_deadline());
      if (next > end) {
        now = end;
        return;
      }
      now = next;
      active.on_deadline(now);
      passive.on_deadline(now);
    }
    BOOST_FAIL("the managers do not come to rest");
  }

  static std::size_t count(const std::vector<Event>& events, EventType type) {
    return static_cast<std::size_t>(
        std::ranges::count_if(events, [&](const Event& event) { return event.type == type; }));
  }

  const Config active_config = config_of(1);
  const Config passive_config;
  ConnectionManager active;
  ConnectionManager passive;
  Time now{};
  std::uint32_t lost = 0;
  std::uint32_t doubled = 0;
  unsigned messages = 0;
  unsigned requests = 0;
  ConnectionId accepted = 0;
  std::vector<Event> active_events;
  std::vector<Event> passive_events;
};

}  // namespace verbena::cm::test
