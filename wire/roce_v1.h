// RoCE v1: packets behind a global routing header on Ethernet (IBTA annex A16).
//
// Solely the header and its row. What the two versions have in common is encapsulation.h.
// Tested by: tests/wire/roce_v1_test.cc
#pragma once

#include <cstdint>

#include "wire/encapsulation.h"
#include "wire/grh.h"
#include "wire/roce_version.h"
#include "wire/types.h"

namespace verbena::wire {

class PacketView;

inline constexpr std::uint16_t kEtherTypeRoceV1 = 0x8915;  // IEEE registration; IBTA annex A16

/// Of a packet of RoCE v1.
Grh grh_of(const PacketView& packet);

extern const Encapsulation kRoceV1;

inline const Encapsulation& encapsulation_of(RoceVersion version) {
  return version == RoceVersion::v1 ? kRoceV1 : kRoceV2;
}

}  // namespace verbena::wire
