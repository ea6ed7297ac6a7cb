// What the syndrome octet of an AETH says: acknowledgement with credits, RNR NAK with its timer, NAK with its code.
//
// Solely responsible for the codes and their tables; when to send which is the responder's business (emulator/nic).
// Source: IBTA vol 1 release 1.4, 9.7.5: the tables of AETH syndromes, NAK codes, RNR timer and credit encodings.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "wire/time.h"

namespace verbena::wire {

enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
  invalid_rd_request = 4,
};

/// Credit code 31: the responder does not count credits (an SRQ, for one); the requester sends as it likes.
inline constexpr std::uint8_t kUnlimitedCredits = 31;

/// A syndrome octet taken apart. Any octet decodes; what the specification reserves is Kind::reserved.
struct Syndrome {
  enum class Kind : std::uint8_t { ack, rnr_nak, nak, reserved };
  Kind kind = Kind::reserved;
  std::uint8_t value = 0;  // five bits: credit code, timer code or NakCode

  constexpr bool operator==(const Syndrome&) const = default;

  static constexpr Syndrome decode(std::uint8_t octet) {
    constexpr std::array<Kind, 8> kKinds{Kind::ack,      Kind::rnr_nak,  Kind::reserved, Kind::nak,
                                         Kind::reserved, Kind::reserved, Kind::reserved, Kind::reserved};
    return {kKinds[octet >> 5], static_cast<std::uint8_t>(octet & 0x1f)};
  }
  /// Only for kind == nak. Codes from 5 on are reserved and match no enumerator.
  constexpr NakCode nak_code() const { return static_cast<NakCode>(value); }
};

/// The octets as they go into Aeth::syndrome.
constexpr std::uint8_t ack_syndrome(std::uint8_t credit_code) {
  return credit_code & 0x1f;
}
constexpr std::uint8_t rnr_syndrome(std::uint8_t timer_code) {
  return static_cast<std::uint8_t>(0x20 | (timer_code & 0x1f));
}
constexpr std::uint8_t nak_syndrome(NakCode code) {
  return static_cast<std::uint8_t>(0x60 | static_cast<unsigned>(code));
}

static_assert(Syndrome::decode(ack_syndrome(kUnlimitedCredits)) == Syndrome{Syndrome::Kind::ack, 31});
static_assert(Syndrome::decode(rnr_syndrome(12)) == Syndrome{Syndrome::Kind::rnr_nak, 12});
static_assert(Syndrome::decode(nak_syndrome(NakCode::remote_access_error)) == Syndrome{Syndrome::Kind::nak, 2});

namespace aeth_detail {
inline constexpr std::array<std::uint32_t, 31> kCredits{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
/// In units of 10 us.
inline constexpr std::array<std::int32_t, 32> kRnrTimers{
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
}  // namespace aeth_detail

/// How many requests that consume a receive may be outstanding. Code 31 (no limit) yields UINT32_MAX.
constexpr std::uint32_t credit_count_of(std::uint8_t credit_code) {
  const std::size_t code = credit_code & 0x1f;
  return code == kUnlimitedCredits ? UINT32_MAX : aeth_detail::kCredits[code];
}

/// The code that promises as much as possible, but no more than `count` receives; never kUnlimitedCredits.
constexpr std::uint8_t credit_code_of(std::uint32_t count) {
  if (count < 2) return static_cast<std::uint8_t>(count);
  // From 2 on the table holds 2^n and 1.5 * 2^n by turns.
  const auto power = static_cast<std::uint32_t>(std::bit_width(count)) - 1;
  const std::uint32_t code = 2 * power + (count >> (power - 1) & 1);
  return static_cast<std::uint8_t>(code < 30 ? code : 30);
}
static_assert([] {
  for (std::uint8_t code = 0; code <= 30; ++code) {
    const std::uint32_t credits = aeth_detail::kCredits[code];
    if (credit_code_of(credits) != code || (code != 0 && credit_code_of(credits - 1) != code - 1)) return false;
  }
  return true;
}());

/// How long the requester waits after an RNR NAK with this code: 10 us to 655.36 ms (code 0 is the longest).
constexpr Duration rnr_timer(std::uint8_t timer_code) {
  return microseconds(std::int64_t{10} * aeth_detail::kRnrTimers[timer_code & 0x1f]);
}

static_assert(credit_count_of(credit_code_of(5)) == 4 && credit_code_of(UINT32_MAX) == 30);
static_assert(rnr_timer(0) == microseconds(655360) && rnr_timer(1) == microseconds(10) &&
              rnr_timer(31) == microseconds(491520));

}  // namespace verbena::wire
