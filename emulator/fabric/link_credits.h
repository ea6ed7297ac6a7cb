// LaneSender and LaneReceiver: the credits of one virtual lane, at the two ends of an InfiniBand link.
//
// Solely the arithmetic of IBA volume 1, 7.9.4. Both ends count blocks of 64 octets since the link came up, modulo
// 4096: the sender what it has sent (FCTBS), the receiver what has come (ABR). The receiver tells up to where its
// buffer has room (FCCL). A packet may go while FCCL is at most 2048 blocks ahead of the count to which it leads.
// What the wire has lost would be missing for ever: the receiver takes over the sender's FCTBS with each flow control
// packet. When such packets are sent is network_credits.h's. Frames without an LRH count with their own octets.
// Tested by: tests/fabric/link_credits_test.cc
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/infiniband.h"

namespace verbena::fabric {

inline constexpr std::uint16_t kCreditCountMask = 0xfff;      // FCTBS and FCCL have 12 bits
inline constexpr std::uint16_t kCreditBlocksAheadMax = 2048;  // half of what they count to

constexpr std::uint32_t credit_blocks(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + wire::kCreditBlockBytes - 1) / wire::kCreditBlockBytes);
}

class LaneSender {
 public:
  LaneSender() = default;
  /// As if the receiver had told of so much room already.
  explicit LaneSender(std::uint16_t limit) : limit_(limit) {}
  bool may_send(std::uint32_t blocks) const {
    return ((limit_ - sent_ - blocks) & kCreditCountMask) <= kCreditBlocksAheadMax;
  }
  void sent(std::uint32_t blocks) { sent_ = static_cast<std::uint16_t>((sent_ + blocks) & kCreditCountMask); }
  void told(std::uint16_t fccl) { limit_ = fccl; }
  std::uint16_t fctbs() const { return sent_; }

 private:
  std::uint16_t sent_ = 0;
  std::uint16_t limit_ = 0;
};

class LaneReceiver {
 public:
  explicit LaneReceiver(std::uint32_t buffer_bytes)
      : buffer_blocks_(buffer_bytes / static_cast<std::uint32_t>(wire::kCreditBlockBytes)) {}
  void arrived(std::uint32_t blocks) {
    arrived_ = static_cast<std::uint16_t>((arrived_ + blocks) & kCreditCountMask);
    held_blocks_ += blocks;
  }
  void freed(std::uint32_t blocks) { held_blocks_ -= blocks; }
  /// The sender's count: what it has sent and did not come is lost.
  void told(std::uint16_t fctbs) { arrived_ = fctbs; }
  /// The link begins anew. What lies in the buffer stays there.
  void restart() { arrived_ = 0; }

  std::uint32_t free_blocks() const { return buffer_blocks_ > held_blocks_ ? buffer_blocks_ - held_blocks_ : 0; }
  std::uint16_t fccl() const {
    const std::uint32_t ahead = std::min<std::uint32_t>(free_blocks(), kCreditBlocksAheadMax);
    return static_cast<std::uint16_t>((arrived_ + ahead) & kCreditCountMask);
  }
  /// How much of this limit has not come yet.
  std::uint16_t left_of(std::uint16_t fccl) const {
    const auto left = static_cast<std::uint16_t>((fccl - arrived_) & kCreditCountMask);
    return left <= kCreditBlocksAheadMax ? left : 0;  // more has come than it allowed
  }
  std::uint32_t buffer_blocks() const { return buffer_blocks_; }

 private:
  std::uint32_t buffer_blocks_;
  std::uint32_t held_blocks_ = 0;
  std::uint16_t arrived_ = 0;
};

}  // namespace verbena::fabric
