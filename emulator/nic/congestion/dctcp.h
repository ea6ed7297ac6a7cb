// DCTCP: the parameters of this policy of congestion control, and its maker.
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/congestion/share.h"
#include "wire/time.h"

namespace verbena::nic {

/// Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; g as there, section 3.4, and in RFC 8257.
struct DctcpParameters {
  Share g = kWhole / 16;                // weight of the newest window's share of marks
  std::uint32_t additive_increase = 1;  // packets in a round trip

  bool operator==(const DctcpParameters&) const = default;
};

std::unique_ptr<CongestionControl> make_dctcp(const DctcpParameters& parameters,
                                              std::uint64_t line_rate_bits_per_second);

}  // namespace verbena::nic
