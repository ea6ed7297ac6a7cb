// UdpReceiver: the receiving half of a UDP link: datagrams come in in batches, whole frames go up.
//
// Solely responsible for reading the sockets (recvmmsg, UDP_GRO), for writing the Ethernet, IP and UDP headers that the
// socket does not show in front of each payload, and for passing on frames that belong to another process of the node.
// The headers are rebuilt with IPv4 identification 0, which is what our own links send; frames of foreign senders whose
// ICRC does not fit get the identification that makes it fit, if there is one (wire/icrc.h): 16 bits of protection
// remain. It does not parse: the NIC does.
// Tested by: tests/host/link/udp/udp_link_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "emulator/host/link/link.h"
#include "emulator/host/link/node_forwarder.h"
#include "emulator/host/link/udp/udp_groups.h"
#include "emulator/host/link/udp/udp_steering.h"
#include "emulator/host/os/combining_gate.h"
#include "emulator/host/os/frame_ring.h"
#include "emulator/host/os/socket_address.h"
#include "wire/packet_builder.h"

namespace verbena::host {

class UdpReceiver {
 public:
  struct Options {
    int socket = -1;
    wire::Gid address;
    wire::MacAddress mac;
    std::uint8_t slot = 0;
    unsigned interface_index = 0;
  };
  /// `siblings` and `groups` outlive the receiver.
  UdpReceiver(const Options& options, NodeForwarder& siblings, UdpGroups& groups);
  ~UdpReceiver();

  /// Any thread; a thread that finds another one reading leaves it to that one, and waits for it a moment if that one
  /// stands still. Returns whether frames wait.
  bool fetch(std::size_t most);
  /// As Link::fetch_all.
  bool fetch_all();
  bool has_frames() const;
  /// Under the engine's lock.
  std::size_t receive(FrameSink& sink, std::size_t budget);
  /// Frames to a group, for the node's other processes: put in under the engine's lock, sent by pass_groups_on().
  FrameRing& group_frames() { return group_frames_; }
  /// Any thread, outside the engine's lock.
  void pass_groups_on();
  /// Any thread: such frames wait, or another thread has them in hand.
  bool has_unsent() const { return group_frames_.waiting() != 0; }

  /// Datagrams that cannot be a frame: shorter than BTH and ICRC, or longer than any frame.
  std::uint64_t datagrams_dropped() const { return datagrams_dropped_.load(std::memory_order_relaxed); }
  /// Frames of this node that came to the wrong process and were passed on.
  std::uint64_t frames_passed_on() const { return frames_passed_on_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kBuffers = 64;  // a power of two
  static constexpr std::size_t kBatchMax = 16;
  static constexpr std::size_t kHeadroomBytes = 64;
  static constexpr std::size_t kBufferBytes = kHeadroomBytes + 65536;
  static constexpr std::size_t kPassedOnFrames = 256;
  static constexpr std::size_t kGroupFrames = 64;
  static constexpr std::uint32_t kSiblingPollInterval = 64;

  /// What one recvmmsg entry brought: segments of equal size one after the other, the last may be shorter.
  struct Datagram {
    std::size_t bytes = 0;
    std::size_t segment_bytes = 0;
    wire::Gid source;
    wire::Gid destination;  // the node or a group
    std::uint16_t source_port = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    bool operator==(const Datagram&) const = default;
  };
  struct Batch;
  /// The headers of the frames from one sender to one address, kept from one datagram to the next.
  struct Header {
    wire::Gid source;
    wire::Gid destination;
    std::uint16_t source_port = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    wire::FrameTemplate octets;
  };

  void read_sockets(std::size_t most);
  std::size_t read_socket(int socket, std::size_t most);
  std::size_t read_node(std::size_t most);
  bool read_all();
  std::size_t free_buffers() const;
  void read_group(int socket, const wire::Gid& group, std::size_t most);
  void accept(std::size_t datagrams);
  Datagram describe(std::size_t index, const wire::Gid& destination) const;
  void pass_on_others(const Datagram& datagram, std::byte* payload);
  bool is_ours(std::span<const std::byte> segment) const;
  void refresh(Header& header, const Datagram& datagram) const;
  std::size_t hand_up(std::size_t buffer, FrameSink& sink, std::size_t budget);
  void hand_up_segment(std::span<std::byte> frame, FrameSink& sink) const;
  std::byte* payload_of(std::size_t buffer) { return storage_.get() + buffer * kBufferBytes + kHeadroomBytes; }

  const Options options_;
  const bool solves_identification_;
  NodeForwarder& forwarder_;
  UdpGroups& groups_;
  std::unique_ptr<std::byte[]> storage_;
  std::array<Datagram, kBuffers> datagrams_;
  FrameRing passed_on_;     // frames that siblings passed on to us
  FrameRing group_frames_;  // our own for them
  std::atomic<std::uint64_t> fetched_{0};
  std::atomic<std::uint64_t> consumed_{0};
  std::atomic<std::uint64_t> datagrams_dropped_{0};
  std::atomic<std::uint64_t> frames_passed_on_{0};

  // Under the gate.
  CombiningGate gate_;
  std::unique_ptr<Batch> batch_;
  UdpSteering steering_;
  std::uint32_t fetches_since_forwarder_ = 0;
  bool groups_first_ = false;
  Header passing_header_;

  // Under the engine's lock.
  std::size_t segment_offset_ = 0;  // in the oldest datagram
  Header header_;
};

}  // namespace verbena::host
