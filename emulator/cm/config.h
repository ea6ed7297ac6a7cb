// Config: what a communication manager is told of the node and the process that it is in.
//
// Solely this plain value.
// Tested by: tests/cm/connection_test.cc, tests/cm/waiting_test.cc
#pragma once

#include <cstdint>

#include "wire/path_address.h"
#include "wire/types.h"

namespace verbena::cm {

struct Config {
  wire::Gid address;
  wire::PathAddress path_address;  // the port's own
  std::uint8_t slot = 0;
  std::uint64_t ca_guid = 0;
  std::uint32_t first_id = 1;         // whatever a former process did not use: its peers may remember
  std::uint16_t udp_source_port = 0;  // 0: chosen here
  std::uint8_t ack_delay = 15;        // exponential, of the local CA
};

}  // namespace verbena::cm
