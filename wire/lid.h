// Lid: the address of a port in an InfiniBand subnet, given by its subnet manager (IBTA vol 1, 4.1.3).
//
// Solely the number, its ranges, and how it stands where an address is a GID. What a packet has where, infiniband.h
// says.
// Tested by: tests/wire/infiniband_test.cc
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "wire/types.h"

namespace verbena::wire {

class Lid {
 public:
  constexpr Lid() = default;
  constexpr explicit Lid(std::uint32_t value) : value_(static_cast<std::uint16_t>(value)) {}
  constexpr std::uint16_t value() const { return value_; }
  constexpr auto operator<=>(const Lid&) const = default;

  constexpr bool is_unicast() const;
  constexpr bool is_multicast() const;

 private:
  std::uint16_t value_ = 0;
};

/// Of a port that has none yet.
inline constexpr Lid kLidNone{0};
inline constexpr Lid kLidUnicastMax{0xbfff};
inline constexpr Lid kLidMulticastMin{0xc000};
inline constexpr Lid kLidMulticastMax{0xfffe};
/// Whatever port it comes to takes it: directed routes.
inline constexpr Lid kLidPermissive{0xffff};

constexpr bool Lid::is_unicast() const {
  return *this != kLidNone && *this <= kLidUnicastMax;
}
constexpr bool Lid::is_multicast() const {
  return *this >= kLidMulticastMin && *this <= kLidMulticastMax;
}

/// A packet without a GRH names its ports by LIDs alone. Where an address is a GID, such a port has one that no port
/// can have: 0000::/8 is reserved (RFC 4291, 2.4).
constexpr Gid gid_of(Lid lid) {
  return {{0, 'L', 'I', 'D', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(lid.value() >> 8),
           static_cast<std::uint8_t>(lid.value())}};
}
/// The LID that gid_of() was given. Nothing: it is a GID.
constexpr std::optional<Lid> lid_of(const Gid& gid) {
  const Lid lid(static_cast<std::uint32_t>(gid.octets[14] << 8 | gid.octets[15]));
  if (gid == gid_of(lid)) return lid;
  return std::nullopt;
}

}  // namespace verbena::wire
