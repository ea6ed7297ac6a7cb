// Datagram: a management datagram between ports, with what its headers say. A plain value.
// Tested by: tests/subnet/agents_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/lid.h"
#include "wire/types.h"

namespace verbena::subnet {

/// `octets` are a MAD, or a whole message of several segments.
struct Datagram {
  wire::Lid source;
  wire::Lid destination;
  std::uint8_t service_level = 0;
  std::uint8_t path_bits = 0;
  wire::Qpn source_qp;
  wire::Qpn destination_qp;
  std::uint32_t qkey = 0;
  std::vector<std::byte> octets;
};

}  // namespace verbena::subnet
