// KnownHeaders: the Ethernet, IPv4 and UDP headers of frames that came lately.
//
// Most frames have, up to the BTH, the very octets of an earlier one: the same flow, the same size. What was found of
// them then holds again: that they are in order, and what the CRC over them is. Solely responsible for remembering;
// FrameParser asks and tells. Only untagged IPv4 frames are known. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/headers.h"
#include "wire/icrc.h"

namespace verbena::wire {

class KnownHeaders {
 public:
  static constexpr std::size_t kBytes = EthernetLayout::bytes + Ipv4Layout::bytes + UdpLayout::bytes;
  struct Entry {
    std::array<std::byte, kBytes> octets{};
    std::uint16_t ip_payload_bytes = 0;  // from the IP header, whose word for it was good; 0: no entry
    std::uint32_t icrc_until_bth = 0;    // from the octets of ones to the end of the UDP header
  };

  /// The headers at `octets`, of which there are at least kBytes in a frame of this size. Null: not known.
  const Entry* find(const std::byte* octets, std::size_t frame_bytes) const {
    const Entry& entry = entries_[place_of(frame_bytes)];
    return entry.ip_payload_bytes != 0 && is_equal(octets, entry.octets.data()) ? &entry : nullptr;
  }
  /// These were not known, and are in order. Not all such are kept: where every frame has others, it would not pay.
  void notice(const std::byte* octets, std::size_t frame_bytes, std::size_t ip_payload_bytes) {
    if (++noticed_ % kNoticedForEach == 0) learn(octets, frame_bytes, ip_payload_bytes);
  }

 private:
  static constexpr std::size_t kEntries = 4;  // by size: requests and acknowledgements alternate
  static constexpr std::uint32_t kNoticedForEach = 8;
  static constexpr std::size_t kFrameStep = 4;

  static std::size_t place_of(std::size_t frame_bytes) { return frame_bytes / kFrameStep % kEntries; }
  static bool is_equal(const std::byte* a, const std::byte* b) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    static_assert(kBytes > 5 * kWord && kBytes <= 6 * kWord);
    const auto difference = [a, b](std::size_t at) {
      std::uint64_t left;
      std::uint64_t right;
      std::memcpy(&left, a + at, kWord);
      std::memcpy(&right, b + at, kWord);
      return left ^ right;
    };
    return (difference(0) | difference(kWord) | difference(2 * kWord) | difference(3 * kWord) | difference(4 * kWord) |
            difference(kBytes - kWord)) == 0;
  }
  [[gnu::noinline]] void learn(const std::byte* octets, std::size_t frame_bytes, std::size_t ip_payload_bytes);

  std::array<Entry, kEntries> entries_{};
  std::uint32_t noticed_ = 0;
};

}  // namespace verbena::wire
