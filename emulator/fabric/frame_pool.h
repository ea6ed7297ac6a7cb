// FramePool: the frames that are somewhere in a network, each known by its number.
//
// Solely responsible for their memory: grown by chunks when needed, never given back, the place used last first in use
// again. What a hop needs to know of a frame (FrameInfo) lies apart from its octets, which a hop does not touch. Short
// frames have places of their own. In a payload-free network only the first kStoredBytes octets of a frame have a
// place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wire/assert.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::fabric {

using FrameNumber = std::uint32_t;
inline constexpr FrameNumber kNoFrame = UINT32_MAX;
/// Enough for the largest headers of a RoCE v2 frame: Ethernet 14, VLAN 4, IPv6 40, UDP 8, BTH 12, XRCETH 4,
/// AtomicETH 28. A frame without payload lies here whole.
inline constexpr std::size_t kStoredBytes = 128;
/// Most headers are shorter: one cache line.
inline constexpr std::size_t kShortBytes = 64;

inline constexpr std::uint32_t kNoHost = UINT32_MAX;
/// A destination as well: a group's frame goes to all hosts.
inline constexpr std::uint32_t kEveryHost = UINT32_MAX - 1;
/// The other end of the cable: a pause frame.
inline constexpr std::uint32_t kNeighbour = UINT32_MAX - 2;
/// Where the tables of a managed subnet lead it.
inline constexpr std::uint32_t kBySubnet = UINT32_MAX - 3;

/// Half a cache line: the part of a frame that every hop reads.
struct FrameInfo {
  Time due{};                   // where it arrives next
  FrameNumber next = kNoFrame;  // behind it in its queue
  std::uint32_t destination = kNoHost;
  std::uint32_t flow_hash = 0;  // of addresses and UDP source port
  std::uint32_t digest = 0;     // of its headers
  std::uint16_t bytes = 0;
  std::uint16_t comment = 0;      // what faults did to it, as a number; 0: nothing
  bool has_long_headers = false;  // more than kShortBytes
  bool corrupted = false;
  wire::IcrcState icrc = wire::IcrcState::present;
  bool ecn_capable = false;  // and not yet marked
};
static_assert(sizeof(FrameInfo) <= 32);

class FramePool {
 public:
  /// With payload, short frames lie close together, so that they share pages: at most `frames_max` of them, and as many
  /// long ones.
  FramePool(bool payload, std::uint32_t frames_max)
      : short_stride_(payload ? kShortFrameBytes : kStoredBytes),
        long_stride_(payload ? wire::kFrameBytesMax : kStoredBytes),
        frames_max_(frames_max) {}

  /// A place for a frame of `bytes`, or for what is stored of it. kNoFrame: as many of this size as there may be are in
  /// use. References from info() are void after it.
  FrameNumber take(std::size_t bytes) {
    const bool is_long = bytes > short_stride_ && long_stride_ != short_stride_;
    std::vector<FrameNumber>& free = free_[is_long];
    if (free.empty() && !grow(is_long)) return kNoFrame;
    const FrameNumber frame = free.back();
    free.pop_back();
    return frame;
  }
  void give_back(FrameNumber frame) { free_[chunk_of(frame).is_long].push_back(frame); }
  /// Whether a place is one that take() may give for `bytes`.
  bool suits(FrameNumber frame, std::size_t bytes) const {
    return chunk_of(frame).stride >= (bytes > short_stride_ ? long_stride_ : short_stride_);
  }

  FrameInfo& info(FrameNumber frame) { return infos_[frame]; }
  const FrameInfo& info(FrameNumber frame) const { return infos_[frame]; }
  /// What is stored of a frame, or can be.
  std::span<std::byte> octets(FrameNumber frame) {
    const Chunk& chunk = chunk_of(frame);
    return {chunk.octets.get() + frame % kChunkFrames * chunk.stride, chunk.stride};
  }
  void prefetch_octets(FrameNumber frame) const {
    const Chunk& chunk = chunk_of(frame);
    const std::byte* const octets = chunk.octets.get() + frame % kChunkFrames * chunk.stride;
    __builtin_prefetch(octets);
    __builtin_prefetch(octets + 64);
  }
  std::uint64_t memory_bytes() const;

 private:
  static constexpr std::uint32_t kChunkFrames = 256;
  static constexpr std::size_t kShortFrameBytes = 256;

  /// Places of kChunkFrames neighbouring numbers, all of one size.
  struct Chunk {
    std::unique_ptr<std::byte[]> octets;
    std::uint32_t stride = 0;
    bool is_long = false;
  };

  bool grow(bool is_long);
  const Chunk& chunk_of(FrameNumber frame) const { return chunks_[frame / kChunkFrames]; }

  std::size_t short_stride_;
  std::size_t long_stride_;
  std::uint32_t frames_max_;
  std::vector<FrameInfo> infos_;
  std::vector<Chunk> chunks_;
  std::array<std::uint32_t, 2> made_{};           // short, long
  std::array<std::vector<FrameNumber>, 2> free_;  // stacks: the place used last is the warmest
};

}  // namespace verbena::fabric
