// RawLink: whole RoCE v2 frames on an Ethernet interface, through an AF_PACKET socket (CAP_NET_RAW).
//
// Solely responsible for the sockets and for taking frames from and to the interface. Nothing of the frame is lost on
// the way, so all 32 bits of the ICRC are checked by the NIC. Next hops are in neighbour.h, the filter in raw_filter.h.
//
// Rules
// - The node's address is one of the interface's, its MAC is the interface's: the kernel goes on answering ARP.
// - The kernel would answer UDP port 4791 with ICMP port unreachable. A UDP socket that accepts nothing holds the port.
// - Frames to groups are taken whoever has joined, as from a switch that floods; the NIC knows its members. Those that
//   leave go to the other processes of the node too, for the interface does not bring them back.
// - Each process of a node has a packet socket of its own, whose filter lets only frames of its slot pass.
// - The interface does not bring back what a node sends to itself. Such frames stay inside the process, or
//   node_forwarder.h takes them to the node's other process.
// - Frames go through recvmmsg and sendmmsg, one slot each. A TPACKET_V3 ring hands frames over by block: when the
//   block is full, or when its timer of at least 1 ms runs out. That latency costs more than the copy.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/interface_signal.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/node_forwarder.h"
#include "emulator/host/link/socket_rest.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/combining_gate.h"
#include "emulator/host/os/frame_ring.h"
#include "emulator/host/os/poll_doorbell.h"
#include "emulator/host/os/socket_address.h"

namespace verbena::host {

class RawLink final : public InterfaceLink, private ForkGuard {
 public:
  struct Options {
    std::string interface;
    wire::Gid address;
    std::uint8_t slot = 0;
    wire::WireKind wire = wire::kWireKindDefault;
  };
  /// The error is one line for the user.
  static Result<std::unique_ptr<RawLink>, std::string> open(const Options& options);
  ~RawLink() override;

  /// Keeps the process's slot for as long as the link lives.
  void hold(NodeDirectory seat) { seat_ = std::move(seat); }
  const wire::MacAddress& mac() const { return mac_; }
  std::uint32_t mtu_bytes() const { return mtu_bytes_; }
  LinkParts parts() { return {.core_rest = &rest_, .fork_guard = this}; }
  std::uint64_t frames_refused() const { return frames_refused_.load(std::memory_order_relaxed); }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes, wire::IcrcState icrc) override;
  void cancel() override { reserved_ = nullptr; }
  void publish() override;
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  std::optional<Time> next_deadline() const override;
  bool holds_back() const override { return false; }
  bool fetch(std::size_t most) override;
  bool fetch_all() override;
  std::uint64_t published() override { return outgoing_.published(); }
  bool has_sent(std::uint64_t published) override { return outgoing_.has_released(published); }
  bool flush() override;
  bool has_unsent() const override { return outgoing_.waiting() != 0 || transmit_gate_.is_busy(); }
  WaitDescriptors wait_descriptors() const override {
    return {.frames = doorbell_.descriptor(), .control = signal_.descriptor()};
  }
  bool arm() override;
  void disarm() override { doorbell_.want(false); }
  std::optional<wire::PathAddress> resolve(const wire::Gid& address) override;

 private:
  static constexpr std::size_t kRingFrames = 256;
  static constexpr std::size_t kBatchMax = 64;
  struct Batch;

  RawLink();
  // Nobody is kept out: a child closes descriptors, whatever another thread was about.
  void hold_for_fork() override {}
  void release_after_fork() override {}
  void abandon_after_fork() override;
  std::optional<std::string> open_packet_socket(const Options& options, unsigned interface_index);
  std::optional<std::string> open_guard_socket();
  bool has_frames() const;
  /// Returns how many frames came.
  std::size_t read_socket(std::size_t most);
  bool send_waiting();
  bool goes_to_ourselves(std::span<const std::byte> frame) const;
  bool goes_to_a_group(std::span<const std::byte> frame) const;
  /// Whether the addresses of the frame's network header take 16 octets: it is an IPv6 header or a GRH.
  bool has_long_addresses(std::span<const std::byte> frame) const;
  /// The destination in the network header; empty: the frame is too short.
  std::span<const std::byte> destination_of(std::span<const std::byte> frame) const;
  void loop(std::span<const std::byte> frame);
  /// Sends the first frames of what waits, all of them for the interface. False: the kernel takes no more.
  bool send_batch(std::size_t frames);

  wire::Gid address_;
  wire::MacAddress mac_;
  LocalInterface interface_;
  std::uint8_t slot_ = 0;
  std::uint32_t mtu_bytes_ = 4096;
  int packets_ = -1;
  int guard_ = -1;
  PollDoorbell doorbell_;
  SocketRest rest_{doorbell_};
  std::optional<NodeDirectory> seat_;
  std::unique_ptr<NodeForwarder> forwarder_;

  FrameRing outgoing_;
  FrameRing looped_;  // from us to us; both sides under the engine's lock
  FrameRing incoming_;
  FrameRing from_forwarder_;
  FrameRing* reserved_ = nullptr;
  bool front_is_staged_ = false;  // of outgoing_, for the siblings; under the transmit gate
  CombiningGate transmit_gate_;
  CombiningGate receive_gate_;
  std::unique_ptr<Batch> transmit_batch_;  // under its gate
  std::unique_ptr<Batch> receive_batch_;   // under its gate
  std::uint32_t fetches_since_forwarder_ = 0;
  std::atomic<bool> stuck_{false};
  std::atomic<std::uint64_t> frames_refused_{0};
  Time last_receive_;
};

/// `config.link` is "raw:IFACE". Takes a slot on the node and opens the link there.
Result<OpenedLink, std::string> open_raw_link(const EngineConfig& config);

}  // namespace verbena::host
