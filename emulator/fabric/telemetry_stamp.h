// What a switch writes into packets that ask for it (wire/telemetry.h), as HPCC (SIGCOMM 2019) wants it.
//
// Solely the octets; when a frame leaves and what its queue is like is the network's.
// Tested by: tests/nic/hpcc_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "wire/time.h"

namespace verbena::fabric {

/// An egress port, as the transmission of a frame begins.
struct PortState {
  std::uint32_t port = 0;  // of all ports, to tell ways apart
  std::uint64_t rate_bits_per_second = 0;
  Time time;
  std::uint64_t sent_octets = 0;  // before the frame
  std::uint64_t queue_octets = 0;
};

/// Adds the port to the telemetry of an Ethernet frame, of which the headers are there. Other frames stay as they are.
void stamp_telemetry(std::span<std::byte> frame, const PortState& port);

}  // namespace verbena::fabric
