// The global route header, with which a packet of InfiniBand crosses subnets (IBTA vol 1, 8.3). It has the form of an
// IPv6 header.
// Tested by: tests/wire/infiniband_test.cc
#pragma once

#include <cstdint>

#include "wire/layout.h"
#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::uint8_t kGrhVersion = 6;
inline constexpr std::uint8_t kGrhNextHeaderIba = 0x1b;  // a BTH follows

struct Grh {
  std::uint8_t version = kGrhVersion;
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;
  std::uint16_t payload_bytes = 0;  // behind the GRH, the ICRC with them
  std::uint8_t next_header = kGrhNextHeaderIba;
  std::uint8_t hop_limit = 0;
  Gid source;
  Gid destination;
  constexpr bool operator==(const Grh&) const = default;
};

using GrhLayout = Layout<Field<&Grh::version, 4>, Field<&Grh::traffic_class, 8>, Field<&Grh::flow_label, 20>,
                         Field<&Grh::payload_bytes, 16>, Field<&Grh::next_header, 8>, Field<&Grh::hop_limit, 8>,
                         Field<&Grh::source, 128>, Field<&Grh::destination, 128>>;
static_assert(GrhLayout::bytes == kGrhBytes);

}  // namespace verbena::wire
