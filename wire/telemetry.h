// In-band network telemetry: what each switch on the way says of its egress port, after HPCC (Li et al., SIGCOMM 2019).
//
// Solely responsible for two of the BTH's reserved bits, for where the header's fields lie, and for what the numbers in
// them stand for. It is no RoCE: docs/telemetry.md describes it octet by octet. The header stands behind the headers
// that the opcode brings and before the payload, of RC packets, and only between QPs that have told each other.
// Switches change it, so the ICRC takes its octets for zeros. Widths and units are those of the paper's figure 7 and of
// its authors' simulator (github.com/alibaba-edu/High-Precision-Congestion-Control: int-header.h).
// Tested by: tests/nic/hpcc_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/headers.h"

namespace verbena::wire {

/// Bth::reserved7, which the ICRC covers: the sender's QP takes telemetry.
inline constexpr std::uint8_t kTakesTelemetry = 0x04;
/// The header follows.
inline constexpr std::uint8_t kHasTelemetry = 0x08;

/// What one switch says of the port that the packet left by.
struct TelemetryHop {
  std::uint8_t rate = 0;      // of the port: kTelemetryRates
  std::uint32_t time_ns = 0;  // when transmission began, modulo 2^24
  std::uint32_t sent = 0;     // octets that left before it, in units of 128, modulo 2^20
  std::uint16_t queue = 0;    // octets that wait, in units of 80; at most 2^16 - 1 units
  constexpr bool operator==(const TelemetryHop&) const = default;
};
using TelemetryHopLayout = Layout<Field<&TelemetryHop::rate, 4>, Field<&TelemetryHop::time_ns, 24>,
                                  Field<&TelemetryHop::sent, 20>, Field<&TelemetryHop::queue, 16>>;
static_assert(TelemetryHopLayout::bytes == 8);

struct TelemetryHead {
  bool is_echo = false;    // a copy in an acknowledgement: switches leave it alone
  std::uint8_t hops = 0;   // switches that have written; those behind the fifth leave it alone
  std::uint16_t path = 0;  // of all of these, combined by exclusive or: another path has another one
  std::uint16_t reserved = 0;
  constexpr bool operator==(const TelemetryHead&) const = default;
};
using TelemetryHeadLayout = Layout<Field<&TelemetryHead::is_echo, 1>, Field<&TelemetryHead::hops, 3>,
                                   Field<&TelemetryHead::path, 12>, Field<&TelemetryHead::reserved, 16>>;
static_assert(TelemetryHeadLayout::bytes == 4);

inline constexpr std::size_t kTelemetryHopsMax = 5;
inline constexpr std::size_t kTelemetryBytes =
    TelemetryHeadLayout::bytes + kTelemetryHopsMax * TelemetryHopLayout::bytes;
inline constexpr std::uint32_t kTelemetryTimeMask = (1u << 24) - 1;
inline constexpr std::uint32_t kTelemetrySentMask = (1u << 20) - 1;
inline constexpr std::uint32_t kTelemetrySentUnit = 128;
inline constexpr std::uint32_t kTelemetryQueueUnit = 80;

/// Mb/s by TelemetryHop::rate; 0: another rate than these.
inline constexpr std::array<std::uint32_t, 16> kTelemetryRates{0,       100,     1000,    2500,     5000,   10'000,
                                                               20'000,  25'000,  40'000,  50'000,   56'000, 100'000,
                                                               200'000, 400'000, 800'000, 1'600'000};

struct Telemetry {
  TelemetryHead head;
  std::array<TelemetryHop, kTelemetryHopsMax> hops{};
  constexpr bool operator==(const Telemetry&) const = default;

  static constexpr Telemetry parse(std::span<const std::byte, kTelemetryBytes> octets) {
    Telemetry telemetry;
    telemetry.head = TelemetryHeadLayout::parse(octets.first<TelemetryHeadLayout::bytes>());
    for (std::size_t i = 0; i < kTelemetryHopsMax; ++i)
      telemetry.hops[i] = TelemetryHopLayout::parse(octets.subspan(hop_offset(i)).first<TelemetryHopLayout::bytes>());
    if (telemetry.head.hops > kTelemetryHopsMax) telemetry.head.hops = kTelemetryHopsMax;
    return telemetry;
  }
  constexpr void emit(std::span<std::byte, kTelemetryBytes> octets) const {
    TelemetryHeadLayout::emit(head, octets.first<TelemetryHeadLayout::bytes>());
    for (std::size_t i = 0; i < kTelemetryHopsMax; ++i)
      TelemetryHopLayout::emit(hops[i], octets.subspan(hop_offset(i)).first<TelemetryHopLayout::bytes>());
  }
  static constexpr std::size_t hop_offset(std::size_t hop) {
    return TelemetryHeadLayout::bytes + hop * TelemetryHopLayout::bytes;
  }
};

/// Octets of the header in an RC packet with these reserved bits; 0: it has none.
constexpr std::size_t telemetry_bytes(std::uint8_t reserved7) {
  return (reserved7 & kHasTelemetry) != 0 ? kTelemetryBytes : 0;
}
/// Octets of the header in a packet.
constexpr std::size_t telemetry_bytes(Opcode opcode, std::uint8_t reserved7) {
  if (telemetry_bytes(reserved7) == 0) [[likely]]
    return 0;
  return transport_of(opcode) == Transport::rc ? kTelemetryBytes : 0;
}
constexpr std::size_t telemetry_bytes(const Bth& bth) {
  return telemetry_bytes(bth.opcode, bth.reserved7);
}

}  // namespace verbena::wire
