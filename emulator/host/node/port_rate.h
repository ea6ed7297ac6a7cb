// PortRate: the rate that a node's port has now, where a fault has given its link another one (link-rate).
//
// Solely where this lies and how it is read: a file in shared memory, /dev/shm/verbena-UID-rates-FABRIC, which the
// fabric process makes at the first such fault and removes when it ends (port_rate_file.h). Without it a port has the
// rate that it began with. libc only: the path shim includes it.
// Tested by: tests/host/node/port_rate_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "emulator/host/node/host_file_read.h"
#include "emulator/host/node/identity.h"

namespace verbena::host {

/// Of one port. Its two halves agree once it is written as a whole.
struct PortRate {
  std::uint64_t bits_per_second = 0;  // 0: as it began
  std::uint64_t inverse = ~std::uint64_t{0};
};

inline constexpr HostFileKind kPortRates{0x56425052, sizeof(PortRate)};

inline HostFilePath port_rates_path(std::string_view fabric) {
  return host_file_path(HostFileOf::rates, fabric);
}

/// Leaves errno alone.
inline std::uint64_t rate_of_port(std::string_view fabric, const DeviceIdentity& of) {
  const auto read = [&](int file) -> std::optional<std::uint64_t> {
    constexpr int kTriesMax = 1000;
    const auto host = detail::find_host_of_file(file, of.address, kPortRates);
    if (!host) return std::nullopt;
    for (int i = 0; i < kTriesMax; ++i) {
      PortRate rate;
      if (::pread(file, &rate, sizeof rate, host_file_offset(kPortRates, *host)) != static_cast<ssize_t>(sizeof rate))
        return std::nullopt;
      if (rate.inverse == ~rate.bits_per_second) return rate.bits_per_second;
    }
    return std::nullopt;
  };
  const std::uint64_t now = detail::with_host_file(port_rates_path(fabric), read).value_or(0);
  return now != 0 ? now : of.bits_per_second;
}

}  // namespace verbena::host
