// UdpLink: RoCE v2 over the kernel's UDP sockets, port 4791, without privileges.
//
// Solely responsible for a node's socket and its rules; sending is in udp_transmitter.h, receiving in udp_receiver.h,
// processes that share the node's address in node_forwarder.h, multicast groups in udp_groups.h.
//
// Rules
// - The socket is unconnected and sets IP_PMTUDISC_DO. The kernel then sends DF and IPv4 identification 0, and the
//   ICRC covers both. It covers the UDP source port too, which is the socket's, 4791: frames must be built with
//   OpenedLink::udp_source_port.
// - Segmentation (UDP_SEGMENT) gives each packet another identification when it reaches an interface. So only loopback
//   addresses use it: a datagram from a loopback address arrives at a loopback address, where only our own nodes are
//   and where the receiver sees no identification. A node with an interface's address never segments, and its packets
//   are right for rxe and hardware (checksum 0 as in annex A17).
// - All processes of a node bind (address, 4791) with SO_REUSEPORT. The kernel is taught to choose by the slot in the
//   destination QPN (udp_steering.h); whenever it chooses wrong, because a process has come or gone, the one that got
//   the frame passes it on (node_forwarder.h). A process that ends, in whatever way, leaves the group at once.
// - A frame to a group is an IP multicast packet for the other nodes. Within the node, node_forwarder.h takes it from
//   process to process, whether they are members or not. A copy that comes back from the network is left out.
// - wait_descriptors().frames is readable while a datagram waits in the kernel and the link is armed (poll_doorbell.h).
#pragma once

#include <array>
#include <memory>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/link/interface_signal.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/node_forwarder.h"
#include "emulator/host/link/socket_rest.h"
#include "emulator/host/link/udp/udp_groups.h"
#include "emulator/host/link/udp/udp_receiver.h"
#include "emulator/host/link/udp/udp_transmitter.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/poll_doorbell.h"

namespace verbena::host {

class UdpLink final : public InterfaceLink, private ForkGuard {
 public:
  struct Options {
    wire::Gid address;
    std::uint8_t slot = 0;
  };
  /// The error is one line for the user.
  static Result<std::unique_ptr<UdpLink>, std::string> open(const Options& options);
  ~UdpLink() override;

  /// Keeps the process's slot for as long as the link lives.
  void hold(NodeDirectory seat) { seat_ = std::move(seat); }
  struct Limits {
    std::uint32_t mtu_bytes = 4096;  // the largest path MTU whose packets fit the interface
    std::uint32_t window_bytes = 0;  // see udp_window_bytes()
  };
  const Limits& limits() const { return limits_; }
  const UdpReceiver& receiver() const { return *receiver_; }
  const UdpTransmitter& transmitter() const { return *transmitter_; }
  UdpGroups& groups() { return *groups_; }
  LinkParts parts() { return {.core_rest = &rest_, .groups = groups_.get(), .fork_guard = this}; }

  std::span<std::byte> reserve(const nic::Destination& destination, std::size_t bytes) override;
  void commit(std::size_t bytes, wire::IcrcState icrc) override;
  void cancel() override;
  void publish() override;
  std::size_t receive(Time now, FrameSink& sink, std::size_t budget) override;
  std::optional<Time> next_deadline() const override;
  bool holds_back() const override { return false; }
  bool fetch(std::size_t most) override;
  bool fetch_all() override;
  std::uint64_t published() override { return transmitter_->ring().published(); }
  bool has_sent(std::uint64_t published) override { return transmitter_->ring().has_released(published); }
  bool flush() override;
  WaitDescriptors wait_descriptors() const override {
    return {.frames = doorbell_.descriptor(), .control = signal_.descriptor()};
  }
  bool arm() override;
  void disarm() override { doorbell_.want(false); }
  std::optional<wire::PathAddress> resolve(const wire::Gid& address) override;
  bool has_unsent() const override { return transmitter_->has_unsent() || receiver_->has_unsent(); }

 private:
  UdpLink() = default;
  void hold_for_fork() override;
  void release_after_fork() override;
  void abandon_after_fork() override;
  void choose_rings(const wire::Gid& group);

  wire::Gid address_;
  unsigned interface_index_ = 0;
  Limits limits_;
  int socket_ = -1;
  int others_ = -1;  // epoll over the siblings' port and the groups' sockets
  PollDoorbell doorbell_;
  SocketRest rest_{doorbell_};
  std::optional<NodeDirectory> seat_;
  std::unique_ptr<NodeForwarder> forwarder_;
  std::unique_ptr<UdpGroups> groups_;
  std::unique_ptr<UdpReceiver> receiver_;
  std::unique_ptr<UdpTransmitter> transmitter_;
  Time last_receive_;
  FrameRing* reserved_in_ = nullptr;  // null: what is reserved vanishes
  FrameRing* copied_to_ = nullptr;    // as well; has room. Null: nowhere else
  std::span<std::byte> reserved_;
  std::array<std::byte, wire::kFrameBytesMax> nowhere_;
};

/// What a QP may have unacknowledged, so that a few of them do not overrun the socket buffer of their peer: it is as
/// large as our own where all peers are on this machine, and unknown otherwise. `receive_buffer_bytes`: as SO_RCVBUF
/// says, overhead included.
std::uint32_t udp_window_bytes(bool peers_share_machine, std::uint32_t receive_buffer_bytes);

/// Takes a slot on the node and opens the link there.
Result<OpenedLink, std::string> open_udp_link(const EngineConfig& config);

}  // namespace verbena::host
