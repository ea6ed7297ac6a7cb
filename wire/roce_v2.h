// Where a RoCE v2 packet has its fields: its network header is an IP header, and UDP follows it.
// Tested by: tests/wire/frame_places_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/frame_places.h"
#include "wire/headers.h"

namespace verbena::wire {

constexpr FramePlaces roce_v2_places(std::size_t network_at, bool is_ipv4) {
  constexpr std::uint8_t kIpv4ChecksumOffset = 10;
  constexpr std::uint8_t kIpv4AddressesOffset = 12;
  constexpr std::uint8_t kIpv6AddressesOffset = 8;
  constexpr std::uint8_t kIpv6ClassShift = 4;  // the version lies above the traffic class, the flow label below
  const auto at = [&](std::size_t offset) { return static_cast<std::uint8_t>(network_at + offset); };
  FramePlaces places;
  places.network_at = at(0);
  places.network_bytes = is_ipv4 ? Ipv4Layout::bytes : Ipv6Layout::bytes;
  places.addresses_at = at(is_ipv4 ? kIpv4AddressesOffset : kIpv6AddressesOffset);
  places.address_bytes = is_ipv4 ? 4 : 16;
  places.entropy_at = at(places.network_bytes);  // the UDP source port
  places.bth_at = at(places.network_bytes + UdpLayout::bytes);
  places.class_shift = is_ipv4 ? 0 : kIpv6ClassShift;
  places.checksum_at = is_ipv4 ? at(kIpv4ChecksumOffset) : std::uint8_t{0};
  return places;
}

}  // namespace verbena::wire
