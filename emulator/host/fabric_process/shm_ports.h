// ShmPorts: the ports of a fabric over shared memory: the process of each node has one channel to it, and it calls
// nobody.
//
// Solely responsible for the fabric process's end of the rings: taking frames in turn as their node's port has room,
// handing frames to a process that is there, and ringing those who sleep. Frames go through FabricPorts
// (fabric_ports.h), who decides when to look is FabricProcess (fabric_process.h).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/host/fabric_process/yielded_cores.h"
#include "emulator/host/link/link.h"
#include "emulator/host/link/shm/shm_peers.h"

namespace verbena::host {

/// Takes frames knowing whose they are.
class PeerSink : public FrameSink {
 public:
  /// The next frames come from `peer`: how many octets of them, up to the end of a frame. 0: none.
  virtual std::size_t turn(const PeerName& peer) = 0;
};

class ShmPorts {
 public:
  /// Takes the fabric's seat. The error is one line for the user: another process has it.
  static Result<std::unique_ptr<ShmPorts>, std::string> open(const std::string& fabric);

  // -- Frames --
  /// Room on the way to a process, none if it does not take its frames; nothing: no such process has a channel here.
  std::optional<std::span<std::byte>> reserve(const nic::Destination& destination, std::size_t bytes);
  void commit(std::size_t bytes, wire::IcrcState icrc) { peers_->outgoing().commit(bytes, icrc); }
  void publish();
  /// There is room for less than `bytes` on the way to that process, which takes frames from time to time.
  bool is_behind(const nic::Destination& destination, std::size_t bytes);
  /// The process for which room was reserved just now.
  bool is_behind(std::size_t bytes) { return reserved_in_->is_behind(bytes, ShmPeers::kStallMax); }
  /// Asks the sink how much of each process's it takes.
  std::size_t receive(Time now, PeerSink& sink, std::size_t budget);
  bool flush() { return peers_->flush(); }

  // -- Processes --
  /// Accepts those that have called just now.
  void take_calls();
  /// `into` becomes those that have a channel here, in no order.
  void list_peers(std::vector<PeerName>& into) const;
  /// Each process that has taken none of the frames that wait for it between an earlier call and this one, by
  /// each(PeerName, since). What it did unseen after the last call, nobody knows.
  template <class Each>
  void look_at_waiting(Time now, Each&& each) {
    const auto& routes = peers_->routes();
    waiting_.resize(routes.size());
    for (std::size_t i = 0; i < routes.size(); ++i) {
      Waiting& waiting = waiting_[i];
      ShmChannel* const channel = routes[i].tx.get();
      if (channel == nullptr || channel->has_taken_all()) {
        waiting.since = kNever;
        continue;
      }
      const std::uint64_t tail = channel->tx.read_tail();
      if (waiting.since != kNever && waiting.tail == tail && waiting.peer == routes[i].peer)
        each(routes[i].peer, waiting.since);
      else
        waiting = {routes[i].peer, now, tail};
    }
  }
  /// Who hears the processes, and tells those of a node something.
  ShmControl& control() { return peers_->control(); }

  /// What there was and is of a process in one place.
  struct Presence {
    std::uint32_t arrivals = 0;  // of processes, one after the other
    bool is_there = false;
    bool is_draining = false;  // frames of one that has gone are not taken yet
  };
  Presence presence(const PeerName& peer) const;

  /// Frames of the NIC of this address with these DSCPs are to wait in it: bit D for DSCP D.
  void hold(const wire::Gid& nic, std::uint64_t dscps) { peers_->page().hold(nic, dscps); }

  // -- Sleeping and waking --
  /// Asks to be rung by the next frame that the sink would take. False: there is one.
  bool arm(PeerSink& sink);
  void disarm() {
    peers_->page().is_awake();
    peers_->page().disarm();
  }
  /// For timers of processes (ProcessPage): all that had come by then is where it was to go, or nothing is due.
  void has_looked(Time at) { peers_->page().has_looked(at); }
  void rests(Time until) { peers_->page().rests(until); }
  void acknowledge_doorbell() { peers_->control().acknowledge_doorbell(); }
  Link::WaitDescriptors wait_descriptors() const;
  /// When processes that do not move want to be looked after by receive().
  std::optional<Time> next_deadline() const { return peers_->watch().next_deadline(); }
  /// Whether publish() has kept doorbells back, of processes that sleep on the core that the caller runs on. They
  /// cannot take what was published before the caller lets go of it, and each turn costs the core as much as some fifty
  /// frames do. ring_held_doorbells() and flush() ring them.
  bool holds_doorbells() const { return !held_.empty(); }
  void ring_held_doorbells();

  // -- Cores --
  YieldedCores& yielded_cores() { return yielded_cores_; }
  /// A process that has frames to take was last seen on the core that the caller runs on.
  bool blocks_peer_cpu() { return peers_->watch().blocks_peer_cpu(); }

  const ShmStatistics& statistics() const { return peers_->statistics(); }

  // Frames come in passes, in which nobody waits for a process: more than one of them has room at any time.
  static constexpr std::size_t kRewindRoom = kRingBytes / 2;
  static constexpr std::size_t kPublishBytes = 4096;  // batches are long here, and the receiver has nothing to do

 private:
  explicit ShmPorts(std::unique_ptr<ShmPeers> peers);
  /// Frames that a process was not seen to take.
  struct Waiting {
    PeerName peer;
    Time since = kNever;
    std::uint64_t tail = 0;  // where it was in its ring
  };
  bool ring_or_hold(ShmChannel& channel);
  bool wake(ShmChannel& channel);
  void hold_doorbell(ShmChannel& channel);

  std::unique_ptr<ShmPeers> peers_;
  YieldedCores yielded_cores_{*peers_};
  ShmChannel* reserved_in_ = nullptr;
  std::vector<Waiting> waiting_;   // by route
  std::vector<ShmChannel*> held_;  // those whose doorbells are kept back
};

}  // namespace verbena::host
