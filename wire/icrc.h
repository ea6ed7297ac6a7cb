// The invariant CRC of a RoCE v2 packet (IBTA annex A17.3.3; the CRC is that of Ethernet, IEEE 802.3), on ISA-L.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace verbena::wire {

/// A running CRC-32 over pieces of a packet. Start it with the masked headers (PacketBuilder does), go on with the payload.
class Icrc {
 public:
  constexpr Icrc() = default;
  constexpr explicit Icrc(std::uint32_t state) : state_(state) {}
  void update(const void* bytes, std::size_t size);
  /// The value as it is stored, least significant octet first, in the last four octets of the packet.
  constexpr std::uint32_t value() const { return state_; }

 private:
  std::uint32_t state_ = 0;
};

}  // namespace verbena::wire
