// FrameRing: frames in fixed slots, from one producer at a time to one consumer at a time, inside one process.
//
// Solely responsible for handing frames between the two sides of the engine's lock without a lock of its own: links put
// what the NIC builds into a ring under the engine's lock, and flush() takes it out under a gate (combining_gate.h), or
// the other way round. Nothing allocates after construction. No system call.
// Tested by: tests/host/link/shm/shm_ring_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/assert.h"
#include "wire/types.h"

namespace verbena::host {

class FrameRing {
 public:
  /// `slots` is a power of two.
  explicit FrameRing(std::size_t slots, std::size_t slot_bytes = wire::kFrameBytesMax)
      : slots_(slots),
        slot_bytes_(slot_bytes),
        storage_(std::make_unique_for_overwrite<std::byte[]>(slots * slot_bytes)),
        sizes_(slots, 0) {
    VERBENA_ASSERT(slots != 0 && (slots & (slots - 1)) == 0);
  }

  // -- Producer
  // ---------------------------------------------------------------------------------------------------------
  /// Room for the next frame; empty: the ring is full, or no slot holds that much.
  std::span<std::byte> reserve(std::size_t bytes) {
    if (bytes > slot_bytes_ || free_slots() == 0) return {};
    return {slot(committed_), bytes};
  }
  /// The whole slot of the index-th frame from here; index < free_slots(). For producers that fill several at once.
  std::span<std::byte> room(std::size_t index) {
    VERBENA_ASSERT(index < free_slots());
    return {slot(committed_ + index), slot_bytes_};
  }
  void commit(std::size_t bytes) {
    VERBENA_ASSERT(bytes <= slot_bytes_ && free_slots() != 0);
    sizes_[committed_ & (slots_ - 1)] = static_cast<std::uint32_t>(bytes);
    ++committed_;
  }
  void publish() { published_.store(committed_, std::memory_order_seq_cst); }
  /// As the producer sees it: committed frames count as used.
  std::size_t free_slots() const { return slots_ - (committed_ - consumed_.load(std::memory_order_acquire)); }

  /// Frames published since the start, and whether the consumer has let go of the first so many. Any thread.
  std::uint64_t published() const { return published_.load(std::memory_order_acquire); }
  bool has_released(std::uint64_t frames) const { return consumed_.load(std::memory_order_acquire) >= frames; }

  // -- Consumer
  // ---------------------------------------------------------------------------------------------------------
  std::size_t waiting() const {
    return published_.load(std::memory_order_seq_cst) - consumed_.load(std::memory_order_relaxed);
  }
  /// The index-th waiting frame, oldest first. Valid until release().
  std::span<std::byte> frame(std::size_t index) {
    const std::uint64_t position = consumed_.load(std::memory_order_relaxed) + index;
    return {slot(position), sizes_[position & (slots_ - 1)]};
  }
  void release(std::size_t frames) {
    consumed_.store(consumed_.load(std::memory_order_relaxed) + frames, std::memory_order_release);
  }

 private:
  std::byte* slot(std::uint64_t position) { return storage_.get() + (position & (slots_ - 1)) * slot_bytes_; }

  const std::size_t slots_;
  const std::size_t slot_bytes_;
  std::unique_ptr<std::byte[]> storage_;
  std::vector<std::uint32_t> sizes_;
  std::uint64_t committed_ = 0;  // producer only
  alignas(64) std::atomic<std::uint64_t> published_{0};
  alignas(64) std::atomic<std::uint64_t> consumed_{0};
};

}  // namespace verbena::host
