// AddressTable: from an address to the host that has it, once per frame.
// Tested by: tests/fabric/network_test.cc
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "emulator/fabric/chance.h"
#include "emulator/fabric/frame_pool.h"
#include "wire/types.h"

namespace verbena::fabric {

class AddressTable {
 public:
  AddressTable() : places_(16) {}

  void add(const wire::Gid& address, std::uint32_t host) {
    if (2 * (used_ + 1) > places_.size()) grow();
    Place& place = find_place(address);
    if (place.host == kNoHost) ++used_;
    place = {address, host};
  }
  /// kNoHost: nobody has it.
  std::uint32_t find(const wire::Gid& address) const {
    return const_cast<AddressTable*>(this)->find_place(address).host;
  }

 private:
  struct Place {
    wire::Gid address;
    std::uint32_t host = kNoHost;
  };

  static std::uint64_t hash_of(const wire::Gid& address) {
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(address.octets);
    return mix(halves[0] * 31 + halves[1]);
  }
  Place& find_place(const wire::Gid& address) {
    const std::size_t mask = places_.size() - 1;
    std::size_t at = hash_of(address) & mask;
    while (places_[at].host != kNoHost && places_[at].address != address) at = (at + 1) & mask;
    return places_[at];
  }
  void grow() {
    std::vector<Place> before(2 * places_.size());
    before.swap(places_);
    for (const Place& place : before)
      if (place.host != kNoHost) find_place(place.address) = place;
  }

  std::vector<Place> places_;  // a power of two, at most half of them used
  std::size_t used_ = 0;
};

}  // namespace verbena::fabric
