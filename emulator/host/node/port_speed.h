// PortSpeed: a port's rate as InfiniBand names it: a width (lanes) and a speed per lane.
//
// Solely the table, and needing nothing: the verbs (query_port) and the files below /sys/class/infiniband show the
// same. A rate between two rows is shown as the next faster one, as the kernel does for Ethernet ports
// (ib_get_eth_speed).
// Tested by: tests/host/config/nic_tuning_test.cc
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "emulator/host/os/fixed_text.h"

namespace verbena::host {

struct PortSpeed {
  std::uint64_t bits_per_second;
  std::uint8_t width;  // IBTA's code: 1 is one lane, 2 four, 4 eight, 16 two
  std::uint8_t speed;  // IBTA's code of a lane: 1 SDR, 8 FDR10, 32 EDR, 64 HDR, 128 NDR
};

/// As in the file `rate` (rate_show of drivers/infiniband/core/sysfs.c). Codes as ibv_port_attr has them; one that is
/// not known is shown as one lane of SDR.
constexpr FixedText<32> rate_text(std::uint8_t width, std::uint8_t speed) {
  struct Speed {
    std::uint8_t code;
    std::uint32_t tenths_of_giga;  // of a lane
    std::string_view name;
  };
  constexpr Speed kSpeeds[] = {{1, 25, "SDR"},   {2, 50, "DDR"},   {4, 100, "QDR"},  {8, 100, "FDR10"},
                               {16, 140, "FDR"}, {32, 250, "EDR"}, {64, 500, "HDR"}, {128, 1000, "NDR"}};
  const Speed* found = kSpeeds;
  for (const Speed& row : kSpeeds)
    if (row.code == speed) found = &row;
  const std::uint32_t lanes = width == 8 ? 12 : width == 4 ? 8 : width == 2 ? 4 : width == 16 ? 2 : 1;
  const std::uint32_t rate = found->tenths_of_giga * lanes;
  FixedText<32> text;
  text.append_number(rate / 10).append(rate % 10 != 0 ? ".5" : "").append(" Gb/sec (");
  return text.append_number(lanes).append("X ").append(found->name).append(")");
}

constexpr PortSpeed port_speed(std::uint64_t bits_per_second) {
  constexpr std::uint64_t kGiga = 1'000'000'000;
  constexpr PortSpeed kSpeeds[] = {
      {5 * kGiga / 2, 1, 1}, {10 * kGiga, 1, 8},   {25 * kGiga, 1, 32},   {40 * kGiga, 2, 8},    {50 * kGiga, 16, 32},
      {100 * kGiga, 2, 32},  {200 * kGiga, 2, 64}, {400 * kGiga, 2, 128}, {800 * kGiga, 4, 128},
  };
  const PortSpeed* found = kSpeeds;
  for (const PortSpeed& row : kSpeeds) {
    found = &row;
    if (row.bits_per_second >= bits_per_second) break;
  }
  return *found;
}

/// The words of the files `state` and `phys_state`, by the values of PortInfo (IBA volume 1, 14.2.5.6).
constexpr const char* port_state_text(std::uint8_t state) {
  constexpr const char* kWords[] = {"0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "4: ACTIVE"};
  return kWords[state < std::size(kWords) ? state : 0];
}
constexpr const char* physical_state_text(std::uint8_t state) {
  constexpr const char* kWords[] = {
      "0: NOP",    "1: Sleep",           "2: Polling", "3: Disabled", "4: PortConfigurationTraining",
      "5: LinkUp", "6: LinkErrorRecover"};
  return kWords[state < std::size(kWords) ? state : 0];
}

/// Of a port of which nothing was said.
inline constexpr std::uint64_t kPortRateDefault = 100'000'000'000;

}  // namespace verbena::host
