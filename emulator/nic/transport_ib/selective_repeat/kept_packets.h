// KeptPackets: the requests that have arrived ahead of the expected PSN, for a responder with selective repeat.
//
// Solely responsible for remembering them until their turn: their headers, and where their payload has been placed. The
// payload itself is not kept, but for the eight octets of an ATOMIC WRITE. What to keep and what becomes of it is
// selective_responder.cc's. Owned by SelectiveRepeat; its room is taken when the first packet is kept.
// Tested by: tests/nic/selective_repeat_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "emulator/nic/memory/memory.h"
#include "wire/packet_view.h"
#include "wire/selective_repeat.h"

namespace verbena::nic {

class KeptPackets {
 public:
  static constexpr std::uint32_t kPacketsMax = 512;

  struct Packet {
    wire::PacketView view;  // without_frame()
    Translation placed_at;
    std::uint32_t placed_bytes = 0;  // 0: nothing of it lies in memory, or it is a SEND's
    std::array<std::byte, 8> octets{};
  };

  /// So many PSNs ahead at most.
  explicit KeptPackets(std::uint32_t capacity) : capacity_(std::min(std::bit_ceil(capacity), kPacketsMax)) {}

  std::uint32_t capacity() const { return capacity_; }
  bool empty() const { return count_ == 0; }
  bool has(wire::Psn psn) const { return !empty() && place(psn).has_value(); }
  /// Not known yet, and less than capacity() ahead of the expected PSN.
  Packet& insert(wire::Psn psn, const wire::PacketView& view);
  std::optional<Packet> take(wire::Psn psn);
  /// What a NAK says of them; there is one at least.
  wire::SackEth sack(wire::Psn expected) const;
  wire::Psn highest() const { return highest_; }

  /// Calls for each one behind `psn` of which octets have been placed among the `bytes` at `to`, until a call says
  /// false.
  template <class Call>
  void for_each_over(wire::Psn psn, const Translation& to, std::uint64_t bytes, Call&& call) const {
    if (empty()) return;
    for (wire::Psn at = psn + 1; wire::distance(at, highest_) >= 0; ++at) {
      const std::optional<Packet>& kept = place(at);
      if (!kept || kept->placed_at.memory != to.memory) continue;
      const std::uint64_t begin = kept->placed_at.address;
      if (begin >= to.address + bytes || to.address >= begin + kept->placed_bytes) continue;
      if (!call(at, *kept)) return;
    }
  }

 private:
  std::optional<Packet>& place(wire::Psn psn) const { return places_[psn.value() & (capacity_ - 1)]; }

  std::uint32_t capacity_;
  std::uint32_t count_ = 0;
  wire::Psn highest_;  // if there are any
  std::unique_ptr<std::optional<Packet>[]> places_;
};

}  // namespace verbena::nic
