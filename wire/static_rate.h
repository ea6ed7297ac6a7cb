// static_rate: the codes by which InfiniBand names a rate of injection, in address vectors and path records.
//
// Solely responsible for the table (IBA volume 1, 9.11.1 and the field Rate of PathRecord, 15.2.5.16; the later codes
// stand in volume 1, release 1.5).
// Tested by: tests/nic/static_rate_test.cc
#pragma once

#include <array>
#include <cstdint>

namespace verbena::wire {

/// "The port's own": nothing is held back.
inline constexpr std::uint8_t kStaticRateOfPort = 0;

namespace detail {
/// Mb/s, by the code.
inline constexpr std::array<std::uint32_t, 25> kStaticRates = {
    0,       0,       2'500,  10'000,  30'000,  5'000,   20'000, 40'000, 60'000,  80'000,  120'000, 14'062,   56'250,
    112'500, 168'750, 25'781, 103'125, 206'250, 309'375, 28'125, 53'125, 425'000, 637'500, 850'000, 1'275'000};
}  // namespace detail

/// Whether an address vector may have it.
constexpr bool is_static_rate(std::uint8_t code) {
  return code == kStaticRateOfPort || (code < detail::kStaticRates.size() && detail::kStaticRates[code] != 0);
}

/// In bits per second; 0: of the port's own, and of what is none.
constexpr std::uint64_t static_rate_bits_per_second(std::uint8_t code) {
  return is_static_rate(code) ? std::uint64_t{detail::kStaticRates[code]} * 1'000'000 : 0;
}

}  // namespace verbena::wire
