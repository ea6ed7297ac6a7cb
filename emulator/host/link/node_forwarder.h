// NodeForwarder: hands frames from one process of a node to another one of the same node.
//
// Solely responsible for the way between processes that share a node's address on a link where the kernel cannot know
// whose frame it is (udp_link.h: one UDP port; raw_link.h: frames from a node to itself). One abstract unix datagram
// socket per process, verbena-frames/UID/ADDRESS/SLOT, which the kernel removes with the process. Frames to a slot
// where nobody lives vanish, frames to one that does not keep up are dropped, as in a NIC. It does not choose the slot
// (QPN, see node_directory.h) and does not look into frames.
//
// Thread rules: stage, stage_for_all and send_staged by one thread at a time; receive by one thread at a time; the two
// sides may be different threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "emulator/host/os/abstract_name.h"
#include "emulator/host/os/frame_ring.h"
#include "wire/result.h"
#include "wire/types.h"

namespace verbena::host {

class NodeForwarder {
 public:
  /// The error is one line: the name is taken (another fabric uses the same address).
  static Result<std::unique_ptr<NodeForwarder>, std::string> open(const wire::Gid& address, std::uint8_t slot);
  ~NodeForwarder();
  NodeForwarder(const NodeForwarder&) = delete;
  NodeForwarder& operator=(const NodeForwarder&) = delete;

  /// Readable when receive() has something to do.
  int descriptor() const { return socket_; }
  /// Whether another process of the node has been heard of and not yet been missed.
  bool has_siblings() const;

  /// A frame, in two pieces, for the process in that slot. Sent with the next send_staged() or when the batch is full.
  void stage(std::uint8_t slot, std::span<const std::byte> head, std::span<const std::byte> tail);
  /// The same for every other process of the node that is known.
  void stage_for_all(std::span<const std::byte> head, std::span<const std::byte> tail);
  void send_staged();

  /// A few octets that are not a frame, sent at once (udp_steering.h).
  void tell(std::uint8_t slot, std::uint16_t note);

  class NoteSink {
   public:
    virtual ~NoteSink() = default;
    virtual void note(std::uint8_t sender_slot, std::uint16_t note) = 0;
  };
  /// Moves what siblings sent into the ring and publishes it; notes go to the sink, if there is one. Returns whether
  /// that was all.
  bool receive(FrameRing& into, NoteSink* notes = nullptr);
  /// Whether that process of the node has been heard of and not yet been missed.
  bool knows(std::uint8_t slot) const;

  std::uint64_t frames_dropped() const { return frames_dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kBatchFramesMax = 32;
  static constexpr std::size_t kMessageBytesMax = 64 * 1024;
  static constexpr unsigned kReceiveMessagesMax = 16;  // per call

  NodeForwarder(int socket, const wire::Gid& address, std::uint8_t slot);
  void greet(std::uint8_t slot);
  void send_to(const AbstractName& to, std::uint8_t slot, std::span<const std::byte> message, std::size_t frames);
  void accept(std::span<const std::byte> message, FrameRing& into, NoteSink* notes);
  void set_known(std::uint8_t slot, bool known);

  const int socket_;
  const bool is_barred_;  // against descriptors
  const wire::Gid address_;
  const std::uint8_t slot_;
  std::atomic<std::uint64_t> known_[4] = {};
  std::atomic<std::uint64_t> frames_dropped_{0};

  /// Frames on their way to one slot. Made when the slot is first sent to.
  struct Staging {
    explicit Staging(const AbstractName& slot) : to(slot) {}
    AbstractName to;
    std::size_t frames = 0;
    std::size_t bytes = 0;
    std::array<std::byte, kMessageBytesMax> message;
  };
  void send_staging(std::uint8_t slot);
  std::array<std::unique_ptr<Staging>, 256> staging_;
  std::array<std::uint8_t, 256> staged_slots_{};  // those with frames
  std::size_t staged_slot_count_ = 0;
  std::unique_ptr<std::byte[]> incoming_;
};

}  // namespace verbena::host
