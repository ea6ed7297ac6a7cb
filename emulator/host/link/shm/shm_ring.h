// The ring in shared memory: one producer, one consumer, frames in place, flags in band.
//
// Solely responsible for the protocol of one direction. It does not own the memory (shm_channel.h) and knows no peers.
// Records begin at multiples of 64 octets: a word of two octets, then the frame in one piece, so that an
// acknowledgement (62 octets) is one cache line. The word is 0 while nothing is there, the frame's size once it is,
// with kRingIcrcDeferred added where its ICRC is to be computed yet, or kRingSkip: go on at the start of the ring.
// Before a record becomes visible the producer has zeroed the word of the place behind it, so that the consumer polls
// one word and finds flag and data in the same cache line. Only the consumer's position travels back, once per batch,
// and the producer reads it only when the ring seems full. The ring is larger than the cores' own caches: lines that
// come back round are found in the cache that the cores share, not in the other core's, which is several times slower
// (docs/performance.md). Both ends bear a hostile other end: whatever it writes, nothing outside the ring is touched,
// and the work per call is bounded.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/assert.h"
#include "wire/types.h"

namespace verbena::host {

inline constexpr std::size_t kRingBytes = 4 * 1024 * 1024;     // of data, per direction; memory only once it is used
inline constexpr std::size_t kRingPrefetchBytes = 1024;        // so far ahead of the frame being written
inline constexpr std::size_t kRingRewindBytesMin = 64 * 1024;  // of frames that fit after a rewind
inline constexpr std::size_t kRingRecordAlign = 64;
using RingWord = std::uint16_t;
inline constexpr std::size_t kRingWordBytes = sizeof(RingWord);
inline constexpr RingWord kRingSkip = 0xffff;
inline constexpr RingWord kRingIcrcDeferred = 0x8000;
static_assert(wire::kFrameBytesMax < kRingIcrcDeferred);
static_assert(kRingBytes % kRingRecordAlign == 0 && (kRingBytes & (kRingBytes - 1)) == 0);
static_assert(kRingBytes >= 8 * wire::kFrameBytesMax);
static_assert(kRingRewindBytesMin >= 4 * wire::kFrameBytesMax);

/// Where the ring lies. All zero at first.
struct RingMemory {
  std::byte* data = nullptr;          // kRingBytes, aligned to a record
  std::uint64_t* consumed = nullptr;  // octets consumed since the start; a cache line of its own
};

constexpr std::size_t ring_record_bytes(std::size_t frame_bytes) {
  return (kRingWordBytes + frame_bytes + kRingRecordAlign - 1) & ~(kRingRecordAlign - 1);
}
inline std::atomic_ref<RingWord> ring_word(std::byte* data, std::uint64_t position) {
  return std::atomic_ref<RingWord>(*reinterpret_cast<RingWord*>(data + (position & (kRingBytes - 1))));
}

class RingWriter {
 public:
  RingWriter() = default;
  explicit RingWriter(RingMemory memory) : memory_(memory) {}

  /// From now on at most so many octets wait for the consumer: a ring as short as a port's own buffer.
  void set_depth(std::size_t bytes) {
    VERBENA_ASSERT(bytes <= kRingBytes && bytes >= 4 * wire::kFrameBytesMax);
    depth_ = bytes;
  }

  /// From now on at least so many octets of frames fit after a rewind().
  void set_rewind_room(std::size_t bytes) { rewind_room_ = bytes; }

  /// Room for one frame, or an empty span: the ring is full.
  std::span<std::byte> reserve(std::size_t bytes) {
    VERBENA_ASSERT(bytes != 0 && bytes <= wire::kFrameBytesMax);
    const std::size_t record = ring_record_bytes(bytes);
    const std::size_t rest = kRingBytes - (head_ & (kRingBytes - 1));
    const std::size_t need = record <= rest ? record : rest + record;
    // One more place stays free behind the record: its word has to be zeroed.
    if (head_ + need + kRingRecordAlign - tail_ > depth_) {
      read_tail();
      if (head_ + need + kRingRecordAlign - tail_ > depth_) return {};
    }
    if (record > rest) {
      append(kRingSkip, rest);
    }
    return {memory_.data + (head_ & (kRingBytes - 1)) + kRingWordBytes, bytes};
  }

  /// The frame in the reserved room is complete. `bytes` is at most what was reserved.
  void commit(std::size_t bytes, wire::IcrcState icrc = wire::IcrcState::present) {
    const RingWord flag = icrc == wire::IcrcState::deferred ? kRingIcrcDeferred : 0;
    append(static_cast<RingWord>(bytes | flag), ring_record_bytes(bytes));
  }

  /// What there is no room for, as far as is known: what waits for the consumer and what it has not let go of yet.
  std::size_t used_bytes() const { return static_cast<std::size_t>(head_ - tail_); }
  std::size_t unpublished_bytes() const { return pending_word_ == 0 ? 0 : static_cast<std::size_t>(head_ - pending_); }

  /// Makes all committed frames visible with one store. `fenced`: loads that follow see what the consumer stored before
  /// it looked at the ring (it may be about to sleep). Returns whether there was anything.
  bool publish(bool fenced) {
    if (pending_word_ == 0) return false;
    const auto word = ring_word(memory_.data, pending_);
    if (fenced)
      word.store(pending_word_, std::memory_order_seq_cst);
    else
      word.store(pending_word_, std::memory_order_release);
    pending_word_ = 0;
    return true;
  }

  /// Goes on at the start of the ring, so that rare frames do not touch all of its memory. Only while nothing waits in
  /// it. What is skipped is in use until the consumer has looked, which may be asleep and is not told of it: frames
  /// must fit before that, the first of which wakes it.
  void rewind() {
    VERBENA_ASSERT(pending_word_ == 0);
    const std::size_t offset = head_ & (kRingBytes - 1);
    if (offset < rewind_room_ || tail_ != head_) return;
    if (depth_ != kRingBytes) return;  // a short ring would count what is skipped
    append(kRingSkip, kRingBytes - offset);
    publish(false);
  }
  /// Octets written since the start, those skipped included.
  std::uint64_t position() const { return head_; }

  /// What the consumer has let go of, in octets since the start, read anew.
  std::uint64_t read_tail() {
    const std::uint64_t tail = std::atomic_ref<std::uint64_t>(*memory_.consumed).load(std::memory_order_acquire);
    // Anything but a step forward within what was written is a lie; believing it would only lose frames, but the room
    // computation relies on it.
    if (tail - tail_ <= head_ - tail_ && tail % kRingRecordAlign == 0) tail_ = tail;
    return tail_;
  }
  /// Of the position last read.
  bool drained() const { return tail_ == (pending_word_ == 0 ? head_ : pending_); }

 private:
  void append(RingWord word, std::size_t record) {
    const std::uint64_t at = head_;
    head_ += record;
    ring_word(memory_.data, head_).store(0, std::memory_order_relaxed);
    if (pending_word_ == 0) {
      pending_ = at;
      pending_word_ = word;
    } else {
      ring_word(memory_.data, at).store(word, std::memory_order_relaxed);  // hidden behind the first of the batch
    }
    // Beyond the end of the ring it is of no use, and does no harm.
    const std::byte* ahead = memory_.data + ((head_ + kRingPrefetchBytes) & (kRingBytes - 1));
    const std::byte* const end = ahead + std::min(record, kRingPrefetchBytes / 2);
    for (; ahead != end; ahead += kRingRecordAlign) __builtin_prefetch(ahead, 1);
  }

  RingMemory memory_;
  std::size_t depth_ = kRingBytes;
  std::size_t rewind_room_ = kRingRewindBytesMin;
  std::uint64_t head_ = 0;     // octets written, published or not
  std::uint64_t tail_ = 0;     // octets consumed, as last read
  std::uint64_t pending_ = 0;  // the first unpublished record ...
  RingWord pending_word_ = 0;  // ... and its word, 0: none
};

class RingReader {
 public:
  RingReader() = default;
  explicit RingReader(RingMemory memory) : memory_(memory) {}

  /// Hands up to `budget` frames to deliver(std::span<const std::byte>, wire::IcrcState), which says whether it takes
  /// more. Returns how many.
  template <class Deliver>
  std::size_t read(std::size_t budget, Deliver&& deliver) {
    std::size_t count = 0;
    bool goes_on = true;
    while (goes_on && count < budget && !broken_) {
      const RingWord word = ring_word(memory_.data, position_).load(std::memory_order_acquire);
      if (word == 0) break;
      const std::size_t offset = position_ & (kRingBytes - 1);
      if (word == kRingSkip && offset != 0) {
        position_ += kRingBytes - offset;
        continue;  // the next word lies at offset 0, where a skip is invalid: this cannot go on for ever
      }
      const std::size_t bytes = word & static_cast<RingWord>(~kRingIcrcDeferred);
      if (bytes == 0 || bytes > wire::kFrameBytesMax || kRingWordBytes + bytes > kRingBytes - offset) {
        broken_ = true;
        break;
      }
      // The rest of a short frame is on its way while the first line is looked at.
      const std::size_t record = ring_record_bytes(bytes);
      const std::byte* line = memory_.data + offset;
      const std::byte* const end = line + std::min(record, kRingPrefetchBytes / 4);
      while ((line += kRingRecordAlign) != end) __builtin_prefetch(line);
      goes_on = deliver(std::span<const std::byte>(memory_.data + offset + kRingWordBytes, bytes),
                        bytes == word ? wire::IcrcState::present : wire::IcrcState::deferred);
      position_ += record;
      ++count;
      if (position_ - told_ >= kRingBytes / 4) tell();
    }
    if (position_ != told_) tell();
    return count;
  }

  /// Whether read() would find nothing just now.
  bool empty() const { return ring_word(memory_.data, position_).load(std::memory_order_relaxed) == 0; }
  /// Whether read() would find something, ordered after all stores before it (see RingWriter::publish).
  bool waiting() const { return !broken_ && ring_word(memory_.data, position_).load(std::memory_order_seq_cst) != 0; }
  /// The producer has written what no producer writes; read() yields nothing any more.
  bool broken() const { return broken_; }
  std::uint64_t position() const { return position_; }

 private:
  void tell() {
    told_ = position_;
    std::atomic_ref<std::uint64_t>(*memory_.consumed).store(told_, std::memory_order_release);
  }

  RingMemory memory_;
  std::uint64_t position_ = 0;
  std::uint64_t told_ = 0;
  bool broken_ = false;
};

}  // namespace verbena::host
