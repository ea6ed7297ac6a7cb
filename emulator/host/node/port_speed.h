// PortSpeed: a port's rate as InfiniBand names it: a width (lanes) and a speed per lane.
//
// Solely the table, and needing nothing: the verbs (query_port) and the files below /sys/class/infiniband show the
// same. A rate between two rows is shown as the next faster one, as the kernel does for Ethernet ports
// (ib_get_eth_speed).
// Tested by: tests/host/config/nic_tuning_test.cc
#pragma once

#include <cstdint>

namespace verbena::host {

struct PortSpeed {
  std::uint64_t bits_per_second;
  std::uint8_t width;  // IBTA's code: 1 is one lane, 2 four, 4 eight, 16 two
  std::uint8_t speed;  // IBTA's code of a lane: 1 SDR, 8 FDR10, 32 EDR, 64 HDR, 128 NDR
  const char* text;    // as in the file `rate`
};

constexpr PortSpeed port_speed(std::uint64_t bits_per_second) {
  constexpr std::uint64_t kGiga = 1'000'000'000;
  constexpr PortSpeed kSpeeds[] = {
      {5 * kGiga / 2, 1, 1, "2.5 Gb/sec (1X SDR)"}, {10 * kGiga, 1, 8, "10 Gb/sec (1X FDR10)"},
      {25 * kGiga, 1, 32, "25 Gb/sec (1X EDR)"},    {40 * kGiga, 2, 8, "40 Gb/sec (4X FDR10)"},
      {50 * kGiga, 16, 32, "50 Gb/sec (2X EDR)"},   {100 * kGiga, 2, 32, "100 Gb/sec (4X EDR)"},
      {200 * kGiga, 2, 64, "200 Gb/sec (4X HDR)"},  {400 * kGiga, 2, 128, "400 Gb/sec (4X NDR)"},
      {800 * kGiga, 4, 128, "800 Gb/sec (8X NDR)"},
  };
  const PortSpeed* found = kSpeeds;
  for (const PortSpeed& row : kSpeeds) {
    found = &row;
    if (row.bits_per_second >= bits_per_second) break;
  }
  return *found;
}

/// Of a port of which nothing was said.
inline constexpr std::uint64_t kPortRateDefault = 100'000'000'000;

}  // namespace verbena::host
