// PathAddress: the address of a port on its own wire, which a frame needs for its next hop.
//
// On Ethernet it is a MAC address. Other media have others (InfiniBand: a LID with a service level); each is another
// kind of this value, and only wire/, links and Ethernet's own queue pairs ask which kind it is.
// Tested by: tests/wire/encapsulation_test.cc
#pragma once

#include <compare>
#include <cstdint>

#include "wire/assert.h"
#include "wire/types.h"

namespace verbena::wire {

/// What frames travel on.
enum class Medium : std::uint8_t { ethernet };

class PathAddress {
 public:
  /// An Ethernet address of zeros.
  constexpr PathAddress() = default;
  /// Implicit: wherever a path is named, a MAC address names one.
  constexpr PathAddress(const MacAddress& mac) : mac_(mac) {}

  constexpr Medium medium() const { return medium_; }
  /// Only on Ethernet.
  constexpr const MacAddress& mac() const {
    VERBENA_ASSERT(medium_ == Medium::ethernet);
    return mac_;
  }
  constexpr auto operator<=>(const PathAddress&) const = default;

 private:
  MacAddress mac_;
  Medium medium_ = Medium::ethernet;
};

}  // namespace verbena::wire
