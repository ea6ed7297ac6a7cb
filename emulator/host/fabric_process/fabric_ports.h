// FabricPorts: the network between processes: their frames go in, run through fabric::Network on the real clock, and
// come out at the process that they are for.
//
// Solely responsible for the order of a pass, for taking frames out of the rings of the processes (shm_ports.h), and
// for telling the processes of a node when its port goes down or up. A node's frames are taken only as its port has
// room, so that they wait in the node's own ring, as in a NIC. One copy in, one copy out. Its parts: the nodes
// (fabric_nodes.h), which nodes hand nothing over (back_pressure.h), the way out to the processes (delivery.h), what
// kernels say for processes that were killed (last_words_queue.h), and what it tells of its looks (look_pace.h). It
// does not decide when to look or sleep (fabric_process.h) and knows no commands (fabric_commands.h).
// Tested by: tests/host/fabric_process/shm_ports_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_process/back_pressure.h"
#include "emulator/host/fabric_process/delivery.h"
#include "emulator/host/fabric_process/fabric_nodes.h"
#include "emulator/host/fabric_process/last_words_queue.h"
#include "emulator/host/fabric_process/look_pace.h"
#include "emulator/host/fabric_process/shm_ports.h"
#include "emulator/host/os/abstract_name.h"

namespace verbena::host {

class FabricPorts final : private PeerSink, private fabric::PortListener {
 public:
  /// Which host is which device of which node, FabricNodes says: the topology has passed check(), and has at most
  /// kNodesMax nodes.
  static Result<std::unique_ptr<FabricPorts>, std::string> open(const std::string& fabric,
                                                                const fabric::Topology& topology,
                                                                const fabric::NetworkOptions& options);

  fabric::Network& network() { return network_; }
  const fabric::Network& network() const { return network_; }

  /// Takes what has come, does what is due, hands on what has arrived. Returns whether any frame moved.
  bool pass(Time now);
  /// When the network has something to do without new frames, and: when pass() has anything to.
  std::optional<Time> network_deadline() const { return network_.next_deadline(); }
  /// `ticks`: pass() is called every millisecond anyway, which is enough to look after processes that do not move.
  std::optional<Time> next_deadline(bool ticks) const;
  /// A process that has frames to take waits for the core that we run on.
  bool blocks_peer_cpu() { return shm_->blocks_peer_cpu(); }
  /// It is short of a core: processes that poll on this one are to yield it, and have it back when there are frames for
  /// them, with arm(), or with give_cores_back().
  void ask_for_core(bool asks) { shm_->yielded_cores().ask(asks); }
  /// Since arm() a process has polled on this core.
  bool was_polled_beside() const { return shm_->yielded_cores().was_polled_beside(); }
  bool has_yielded_cores() const { return shm_->yielded_cores().has_any(); }
  void give_cores_back() { shm_->yielded_cores().give_all_back(); }
  /// Processes that sleep on this core are rung by a pass() in which no frame has moved for kGather, or by arm(): until
  /// then, frames are gathered for them.
  bool gathers() const { return shm_->holds_doorbells(); }
  /// Asks to be woken by the next frame that pass() would take. False: there is one.
  bool arm(Time now);
  /// After arm(): the next pass() is not before then, if no frame comes.
  void rests(Time until) {
    if (!holds_back_) shm_->rests(until);
  }
  void disarm() { shm_->disarm(); }
  void service(Time now);
  /// What processes tell beside their frames.
  LastWordsQueue& last_words() { return last_words_; }
  /// Of service() only what a frame that arrived during sleep wants.
  void acknowledge_doorbell() { shm_->acknowledge_doorbell(); }
  Link::WaitDescriptors wait_descriptors() const { return shm_->wait_descriptors(); }

  using NodeStatistics = FabricNodeStatistics;
  const NodeStatistics& node(std::uint32_t host) const { return nodes_[host].statistics; }
  /// On InfiniBand: a subnet manager has given the host's port 2^lmc LIDs from this one on. kLidNone: it has none now.
  void set_lids(std::uint32_t host, wire::Lid base, std::uint8_t lmc) { nodes_.set_lids(host, base, lmc); }
  /// FabricNodes::kNoHost: nobody here has the address.
  std::uint32_t host_of(const wire::Gid& address) const { return nodes_.host_of(address); }
  /// Frames of processes that stand on no node of this fabric, and frames that are no packets.
  std::uint64_t strays() const { return strays_ + delivery_.strays(); }
  using Process = FabricSeat;
  std::vector<Process> processes() const;
  /// To the processes that stand there now. False: nobody does, or one of them does not listen.
  bool notify(std::uint32_t host, Notice notice) {
    shm_->control().service();  // who called before is one of them
    return shm_->control().notify(nodes_[host].address, notice);
  }

 private:
  static constexpr std::size_t kPassFrames = 256;
  static_assert(BackPressure::kPauseRoom >= kPassFrames * ring_record_bytes(wire::kFrameBytesMax));

  FabricPorts(const std::string& fabric, std::unique_ptr<ShmPorts> processes, const fabric::Topology& topology,
              const fabric::NetworkOptions& options);

  // PeerSink: frames of one process.
  std::size_t turn(const PeerName& peer) override;
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override;
  // fabric::PortListener: the processes of the node are to know.
  void port_changed(std::uint32_t host, bool is_up) override;
  void pause_sent(std::uint32_t host, fabric::ClassMask classes) override;
  void sent_to_group(std::uint32_t host, std::span<const std::byte> frame, wire::IcrcState icrc) override;

  const std::string fabric_;
  std::unique_ptr<ShmPorts> shm_;
  HeldName serving_;
  fabric::Network network_;
  FabricNodes nodes_;
  BackPressure back_pressure_{*shm_, network_, nodes_};
  Delivery delivery_{*shm_, nodes_, back_pressure_, network_.topology().medium};
  LastWordsQueue last_words_{*shm_, network_, nodes_};
  LookPace pace_{*shm_};
  std::vector<HeldName> dead_ports_;  // by host, while its port has no signal
  Time now_{};
  Time room_at_ = kNever;                        // when a port has room again that had none at its last turn
  std::uint32_t sender_ = FabricNodes::kNoHost;  // whose turn it is
  std::uint8_t sender_slot_ = 0;                 // of its process
  bool holds_back_ = false;                      // in this pass, frames of a node that waits for a process
  std::uint64_t strays_ = 0;                     // of no node's processes
};

}  // namespace verbena::host
