// ToldWord: what a process tells the fabric process beside frames, on the connection that it has with it.
//
// Solely the octets: a last word (last_words.h) for the network, a report for the agent of the port (key_report.h), or
// which list of faults it has heard of (node/verb_fault_list.h).
// Tested by: tests/host/fabric_process/last_words_test.cc, tests/host/fabric_process/key_violations_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/host/link/key_report.h"

namespace verbena::host {

inline constexpr std::byte kCarried{0x80};   // then the slot of who it is from, and a frame
inline constexpr std::byte kReported{0x81};  // then a KeyReport
inline constexpr std::byte kHeard{0x82};     // then the sequence of a list of faults, the lowest octet first
inline constexpr std::size_t kHeardBytes = 5;
inline constexpr std::size_t kCarriedHeadBytes = 2;
inline constexpr std::size_t kCarriedFrameBytesMax = 512;

struct ToldWord {
  std::array<std::byte, kCarriedHeadBytes + kCarriedFrameBytesMax> octets;
  std::size_t bytes = 0;  // 0: there is nothing to tell
  std::span<const std::byte> view() const { return std::span(octets).first(bytes); }
};

inline ToldWord last_word(std::uint8_t slot, std::span<const std::byte> frame) {
  ToldWord word;
  if (frame.size() > kCarriedFrameBytesMax) return word;
  word.octets[0] = kCarried;
  word.octets[1] = std::byte{slot};
  std::ranges::copy(frame, word.octets.begin() + kCarriedHeadBytes);
  word.bytes = kCarriedHeadBytes + frame.size();
  return word;
}

inline ToldWord report_word(const KeyReport& report) {
  ToldWord word;
  word.octets[0] = kReported;
  std::ranges::copy(octets_of(report), word.octets.begin() + 1);
  word.bytes = 1 + kKeyReportBytes;
  return word;
}

inline ToldWord heard_word(std::uint32_t sequence) {
  ToldWord word;
  word.octets[0] = kHeard;
  for (std::size_t i = 1; i < kHeardBytes; ++i) word.octets[i] = static_cast<std::byte>(sequence >> (8 * (i - 1)));
  word.bytes = kHeardBytes;
  return word;
}
/// Nothing: it is no such word.
inline std::optional<std::uint32_t> read_heard(std::span<const std::byte> word) {
  if (word.size() != kHeardBytes || word[0] != kHeard) return std::nullopt;
  std::uint32_t sequence = 0;
  for (std::size_t i = 1; i < kHeardBytes; ++i) sequence |= std::to_integer<std::uint32_t>(word[i]) << (8 * (i - 1));
  return sequence;
}

}  // namespace verbena::host
