// KeyReport: what a NIC tells the agent of its port about packets whose P_Key or Q_Key was wrong (IBA volume 1, 10.9.4,
// 10.2.5). On hardware both are in the adapter; here the agent is in the fabric process (SubnetService).
//
// Solely the value and its octets. It goes the way of last words (last_words.h).
// Tested by: tests/host/fabric_process/key_violations_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/notice.h"

namespace verbena::host {

struct KeyReport {
  std::uint16_t trap = wire::kTrapBadPkey;  // or kTrapBadQkey
  std::uint32_t packets = 0;                // so many since the last report of the same kind
  wire::BadKeyDetails details;              // of the first of them
};

struct KeyReportHead {
  std::uint16_t trap = 0;
  std::uint32_t packets = 0;
};
using KeyReportHeadLayout =
    wire::Layout<wire::Field<&KeyReportHead::trap, 16>, wire::Field<&KeyReportHead::packets, 32>>;
inline constexpr std::size_t kKeyReportBytes = KeyReportHeadLayout::bytes + wire::BadKeyDetailsLayout::bytes;

inline std::array<std::byte, kKeyReportBytes> octets_of(const KeyReport& report) {
  std::array<std::byte, kKeyReportBytes> octets{};
  const std::span all(octets);
  KeyReportHeadLayout::emit({report.trap, report.packets}, all.first<KeyReportHeadLayout::bytes>());
  wire::BadKeyDetailsLayout::emit(report.details, all.last<wire::BadKeyDetailsLayout::bytes>());
  return octets;
}

/// Nothing: they are none.
inline std::optional<KeyReport> read_key_report(std::span<const std::byte> octets) {
  if (octets.size() != kKeyReportBytes) return std::nullopt;
  const auto head = KeyReportHeadLayout::parse(octets.first<KeyReportHeadLayout::bytes>());
  if (head.trap != wire::kTrapBadPkey && head.trap != wire::kTrapBadQkey) return std::nullopt;
  return KeyReport{head.trap, head.packets,
                   wire::BadKeyDetailsLayout::parse(octets.last<wire::BadKeyDetailsLayout::bytes>())};
}

}  // namespace verbena::host
