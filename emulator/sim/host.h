// Host: one NIC of a world, its application, and what the world keeps for both.
//
// Private to emulator/sim. Solely plain state and the port through which the NIC's frames get into the network; when
// which of it runs is World's.
// Tested by: tests/sim/world_test.cc
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/nic/nic.h"
#include "emulator/sim/packet_control.h"
#include "emulator/sim/world.h"

namespace verbena::sim {

/// A frame that the world keeps back for a while: an acknowledgement before it leaves, or one that a frozen host has
/// not looked at.
struct KeptFrame {
  Time due;
  wire::Gid destination;
  wire::Qpn qpn;
  wire::IcrcState icrc = wire::IcrcState::present;
  std::vector<std::byte> octets;
};
inline constexpr std::size_t kFrozenBytesMax = 1 << 20;

/// Why a host is looked at.
enum Reason : std::uint8_t {
  kTouched = 1,
  kNicTimer = 2,
  kApplication = 4,  // it is to be called whether or not something completed
  kWakeUp = 8,       // a request of wake_at, or a kept frame, may be due
};

struct alignas(64) Host {
  // What every packet needs lies together.
  std::optional<nic::Nic> nic;  // nothing: crashed
  Application* application = nullptr;
  StandIn* stand_in = nullptr;  // where there is no NIC; PacketControl
  std::uint8_t reasons = 0;
  bool is_frozen = false;
  bool may_keep = false;       // frames, in `leaving`
  std::vector<Time> wake_ups;  // heap, the earliest on top
  Time timer = kNever;         // the NIC's deadline, or an earlier one that it had before
  Time room = kNever;          // at its port, for what was refused
  std::uint64_t seen = 0;      // Nic::news() when the application was last called
  std::deque<KeptFrame> leaving;

  nic::Counters counters;
  nic::NicConfig config;
  NicLatencies latencies;
  std::deque<KeptFrame> waiting;  // for a frozen host
  std::size_t waiting_bytes = 0;
  std::uint32_t next_checked = 0;  // of its QPs (WorldOptions::checks_invariants)

  Time next_wake_up() const {
    Time next = wake_ups.empty() ? kNever : wake_ups.front();
    return !may_keep || leaving.empty() ? next : std::min(next, leaving.front().due);
  }
  Time next_deadline() const { return std::min({timer, room, next_wake_up()}); }
  /// Why it is to be looked at: its deadlines that are over at `now`. The timer's and the port's are gone then.
  std::uint8_t take_due(Time now) {
    std::uint8_t due = next_wake_up() <= now ? kWakeUp : 0;
    if (timer <= now) {
      due |= kNicTimer;
      timer = kNever;
    }
    if (room <= now) {
      due |= kTouched;
      room = kNever;
    }
    return due;
  }
};

/// The way out of one host.
class Port final : public nic::TransmitPort {
 public:
  Port(fabric::Network& network, Host& host, HostId id, Time now)
      : network_(network), host_(host), id_(id), now_(now) {}

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes, wire::IcrcState icrc) override;
  void cancel() override { network_.cancel(); }

  /// When a refused frame would have had room; kNever: none was refused.
  Time room_at() const { return room_at_; }
  /// Whether there is room depends on the frame: each has to ask.
  bool asks = false;

 private:
  bool keep(std::span<const std::byte> frame);

  fabric::Network& network_;
  Host& host_;
  HostId id_;
  Time now_;
  Time room_at_ = kNever;
  std::span<std::byte> room_;
};

}  // namespace verbena::sim
