// UdpTransmitter: the sending half of a UDP link: frames go in whole, their UDP payloads leave in batches.
//
// Solely responsible for order, batching (sendmmsg, and UDP_SEGMENT for runs of equal size to one destination) and for
// what happens when the kernel takes no more: nothing is lost, the ring fills and reserve() says no. What the network
// refuses (no route, too long, prohibited) vanishes, as on a wire, and is counted. It owns neither the socket nor the
// decision whether segmentation is allowed (udp_link.h).
// Tested by: tests/host/link/udp/udp_link_test.cc
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/host/os/combining_gate.h"
#include "emulator/host/os/frame_ring.h"
#include "emulator/host/os/socket_address.h"

namespace verbena::host {

class UdpTransmitter {
 public:
  struct Options {
    int socket = -1;
    unsigned interface_index = 0;
    bool segmentation = false;
  };
  explicit UdpTransmitter(const Options& options);
  ~UdpTransmitter();

  /// The producer's side belongs to the engine's lock.
  FrameRing& ring() { return ring_; }
  /// Sends what is published. Any thread; a thread that finds another one sending leaves its frames to that one, and
  /// waits for it a moment if that one stands still.
  void flush();
  /// Any thread: frames wait, or another thread has them in hand.
  bool has_unsent() const { return ring_.waiting() != 0; }
  /// The kernel took no more the last time.
  bool is_stuck() const { return stuck_.load(std::memory_order_relaxed); }
  std::uint64_t frames_refused() const { return frames_refused_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kRingFrames = 256;
  static constexpr std::size_t kMessagesMax = 64;  // per sendmmsg
  struct Message;
  struct Batch;

  bool send_waiting();
  /// Adds frames from `first` on to one message; returns how many.
  std::size_t fill_message(std::size_t first, std::size_t waiting, std::size_t index);
  void write_control(Message& message, msghdr& header) const;
  enum class AfterError : std::uint8_t {
    again,    // the same call
    discard,  // this message, and on with the next one
    rebuild,  // the same frames, one message each
    stop,     // keep all until the kernel takes some
  };
  AfterError after_error(int error, const Message& message);
  void discard(std::size_t frames);

  Options options_;
  FrameRing ring_;
  CombiningGate gate_;
  std::atomic<bool> stuck_{false};
  std::atomic<std::uint64_t> frames_refused_{0};
  std::unique_ptr<Batch> batch_;  // under the gate
};

}  // namespace verbena::host
