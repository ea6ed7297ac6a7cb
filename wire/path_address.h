// PathAddress: the address of a port on its own wire, which a frame needs for its next hop.
//
// On Ethernet it is a MAC address, on InfiniBand a LID with a service level. Only wire/, links and Ethernet's own queue
// pairs ask which kind it is.
// Tested by: tests/wire/encapsulation_test.cc
#pragma once

#include <compare>
#include <cstdint>

#include "wire/assert.h"
#include "wire/lid.h"
#include "wire/types.h"

namespace verbena::wire {

/// What frames travel on.
enum class Medium : std::uint8_t { ethernet, infiniband };

class PathAddress {
 public:
  /// An Ethernet address of zeros.
  constexpr PathAddress() = default;
  /// Implicit: wherever a path is named, a MAC address names one.
  constexpr PathAddress(const MacAddress& mac) : mac_(mac) {}
  constexpr PathAddress(Lid lid, std::uint8_t service_level)
      : mac_{{static_cast<std::uint8_t>(lid.value() >> 8), static_cast<std::uint8_t>(lid.value()), service_level}},
        medium_(Medium::infiniband) {}

  constexpr Medium medium() const { return medium_; }
  /// Only on Ethernet.
  constexpr const MacAddress& mac() const {
    VERBENA_ASSERT(medium_ == Medium::ethernet);
    return mac_;
  }
  /// Both only on InfiniBand.
  constexpr Lid lid() const {
    VERBENA_ASSERT(medium_ == Medium::infiniband);
    return Lid(static_cast<std::uint32_t>(mac_.octets[0] << 8 | mac_.octets[1]));
  }
  constexpr std::uint8_t service_level() const {
    VERBENA_ASSERT(medium_ == Medium::infiniband);
    return mac_.octets[2];
  }
  constexpr auto operator<=>(const PathAddress&) const = default;

 private:
  MacAddress mac_;  // or LID and service level in its first octets: this value lies in each path and stays small
  Medium medium_ = Medium::ethernet;
};

}  // namespace verbena::wire
