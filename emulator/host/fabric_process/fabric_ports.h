// FabricPorts: the network between processes: their frames go in, run through fabric::Network on the real clock, and
// come out at the process that they are for.
//
// Solely responsible for moving frames between the rings of the processes (shm_ports.h) and the network, for knowing
// which process stands where, and for telling the processes of a node when its port goes down or up. What a node's
// kernel says for a process that was killed goes into the network there as well (last_words.h). One copy in, one
// copy out. A node's frames are taken only as its port has room, so that they wait in the node's own ring, as in a NIC.
// A NIC takes what comes as fast as the cable brings it; a process may not be run. So a node whose frames wait in the
// ring of such a process hands nothing over until they have been taken, as with global pause (IEEE 802.3 annex 31B): a
// network without faults loses nothing. What is on its way by then, and what is for a process that has stopped, is lost
// where the ring does not hold it. A node is told to hand nothing over of a traffic class that is paused at its port:
// its other classes do not wait behind it. It does not decide when to look or sleep (fabric_process.h) and knows no
// commands (fabric_commands.h).
// Tested by: tests/host/fabric_process/shm_ports_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_process/shm_ports.h"
#include "emulator/host/os/abstract_name.h"

namespace verbena::host {

class FabricPorts final : private PeerSink, private fabric::Sink, private fabric::PortListener {
 public:
  /// Host i of the topology is node i + 1: the topology has passed check(), and has at most kNodesMax hosts.
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
  void service(Time now) {
    shm_->control().service();
    take_last_words();
    look_at_waiting(now);
  }
  /// The processes that stand there now are about to be killed with their kernel, which says nothing for them.
  void crash(std::uint32_t host);
  /// Of service() only what a frame that arrived during sleep wants.
  void acknowledge_doorbell() { shm_->acknowledge_doorbell(); }
  Link::WaitDescriptors wait_descriptors() const { return shm_->wait_descriptors(); }

  struct NodeStatistics {
    std::uint64_t frames_in = 0;  // from the node's processes
    std::uint64_t octets_in = 0;
    std::uint64_t frames_out = 0;  // to them
    std::uint64_t octets_out = 0;
    std::uint64_t nobody = 0;      // for a process that is not there
    std::uint64_t overflowed = 0;  // the process did not take its frames
    Duration not_run{0};           // the longest time that one of its processes was seen to take none of its frames
    Time not_run_from{};
    std::uint64_t pauses = 0;  // times when it was to hand nothing over, for a process did not take what it had sent
  };
  const NodeStatistics& node(std::uint32_t host) const { return nodes_[host].statistics; }
  /// Frames of processes that stand on no node of this fabric, and frames that are no packets.
  std::uint64_t strays() const { return strays_; }
  struct Process {
    std::uint32_t host = 0;
    std::uint8_t slot = 0;
  };
  std::vector<Process> processes() const;
  /// To the processes that stand there now. False: nobody does, or one of them does not listen.
  bool notify(std::uint32_t host, Notice notice) {
    shm_->control().service();  // who called before is one of them
    return shm_->control().notify(nodes_[host].address, notice);
  }

 private:
  static constexpr std::size_t kPassFrames = 256;
  static constexpr std::size_t kBacklogFramesMax = 64 * 1024;  // a ring has no room for more
  static constexpr Duration kGather = microseconds(1);
  static constexpr Duration kGatherMax = microseconds(50);  // in all
  static constexpr Duration kGatherMaxForYielder = microseconds(10);
  // Nodes pause while the way to a process has less room than this, which is for what is on its way by then: a pass's
  // frames at least. They go on once there is much, while the process still has enough to take until the next look.
  static constexpr std::size_t kPauseRoom = 5 * kRingBytes / 16;
  static constexpr std::size_t kGoOnRoom = 3 * kRingBytes / 4;
  static constexpr Duration kPauseLook = microseconds(100);
  // Then a turn's worth goes on, however slowly the process takes it: less than kRelayPatience, for to its processes a
  // fabric process that takes nothing for that long is dead.
  static constexpr Duration kPauseMax{kRelayPatience.ns / 4};
  static_assert(kPauseRoom >= kPassFrames * ring_record_bytes(wire::kFrameBytesMax));
  static_assert(kPauseRoom < ShmPorts::kRewindRoom);
  static constexpr std::uint32_t kNoHost = UINT32_MAX;

  struct Pause {
    Process behind;  // has not taken its frames
    Time until;
  };
  struct Node {
    wire::Gid address;
    NodeStatistics statistics;
    std::optional<Pause> pause;                           // it hands nothing over
    fabric::ClassMask held = 0;                           // traffic classes of which it is to hand nothing over
    HeldName dead_port;                                   // while its port has no signal
    std::array<std::uint32_t, kSlots + 1> route_hints{};  // by process slot
    std::map<std::uint8_t, std::uint32_t> crashed;        // by process slot: which of its processes, counted
  };

  FabricPorts(const std::string& fabric, std::unique_ptr<ShmPorts> processes, const fabric::Topology& topology,
              const fabric::NetworkOptions& options);
  std::uint32_t host_of(const wire::Gid& address) const;

  // PeerSink: frames of one process.
  std::size_t turn(const PeerName& peer) override;
  void frame(std::span<const std::byte> frame, wire::IcrcState icrc) override;
  // fabric::Sink: a frame for one process.
  bool arrived(const fabric::Arrival& arrival) override;
  [[gnu::noinline]] bool arrived_for_all(const fabric::Arrival& arrival);
  [[gnu::noinline]] bool arrived_without_qp(const fabric::Arrival& arrival);
  // fabric::PortListener: the processes of the node are to know.
  void port_changed(std::uint32_t host, bool is_up) override;
  void pause_sent(std::uint32_t host, fabric::ClassMask classes) override;
  [[gnu::noinline]] bool take_calls();
  void tell_look(Time now, std::size_t taken);
  void ring_in_time(Time now);
  /// Copies the frame into what the link has reserved for it: nothing when that process's ring is full.
  void hand_over(std::uint8_t slot, const fabric::Arrival& arrival, std::span<std::byte> room);
  /// To one of the node's processes, for all together are the NIC.
  void hand_to_nic(std::uint32_t host, std::span<const std::byte> frame);
  void hold(std::uint32_t host, fabric::ClassMask classes);
  void take_last_words();
  bool pass_on(const ShmControl::Carried& carried);
  void look_at_held();
  void look_at_waiting(Time now);
  [[gnu::noinline]] void pause_sender(const Process& behind, std::span<const std::byte> frame);
  /// Of a node with frames to hand over.
  [[gnu::noinline]] bool is_still_paused(Node& node);

  const std::string fabric_;
  std::unique_ptr<ShmPorts> shm_;
  HeldName serving_;
  fabric::Network network_;
  std::vector<Node> nodes_;
  Time now_{};
  Time room_at_ = kNever;           // when a port has room again that had none at its last turn
  std::uint32_t sender_ = kNoHost;  // whose turn it is
  std::size_t moved_ = 0;           // in this pass
  Time moved_at_{};                 // when any frame last did
  Time gathers_since_ = kNever;
  Time backlog_since_{};
  std::size_t backlog_frames_ = 0;  // taken since then by passes that left some; 0: none was left
  bool calls_taken_ = false;        // in this pass
  bool holds_back_ = false;         // in this pass, frames of a node that waits for a process
  std::uint32_t nodes_held_ = 0;    // that hold back some of their classes
  std::uint64_t strays_ = 0;
  std::vector<ShmControl::Carried> last_words_;  // not in the network yet
  std::vector<PeerName> peers_;                  // whom a group's frame is handed to
};

}  // namespace verbena::host
