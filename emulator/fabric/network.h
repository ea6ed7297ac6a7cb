// Network: switches and cables between hosts, sans-IO: frames go in at one host and come out at another, later, or
// never.
//
// Solely responsible for what happens to a frame between two NICs' ports: egress queues, rates, propagation, faults,
// ECN marks, routing, dead links and switches, partitions. It reads no clock (time is an argument and never goes back)
// and knows no NICs. What goes wrong is said through NetworkControl. sim::World runs it under virtual time, the fabric
// process (emulator/host) on the real clock.
//
// A frame lies in one pool from commit() to its arrival and is handed on by its number. Each direction of a cable is a
// queue whose next arrival is one entry of a DeadlineQueue, so that work per hop does not grow with the number of
// frames or hosts. Switches are bridges: they change nothing in a frame but the ECN bits; TTL and MAC addresses stay.
// Order: what is due at one time is done by (vertex where it arrives, cable).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/reachability.h"
#include "emulator/fabric/topology.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::fabric {

/// What happened to a frame on a link.
enum class FrameEvent : std::uint8_t {
  entered,  // a host's NIC hands it over: in the NIC's order, before anything can happen to it. `link`: its first one
  sent,     // accepted for transmission, which begins at `time` unless `vanished` follows
  lost,     // by a fault; `comment` says which
  overflowed,  // the egress queue, or the pool of the whole network, was full
  vanished,    // the link, the switch or the host behind it is dead, the pair is cut, there is no route, or
               // it is longer than the link's MTU
  delivered,   // it has arrived at the far end
};

struct ObservedFrame {
  Time time;  // `sent` and `lost`: when its transmission begins, at or after the present. Never goes back on one link
  LinkId link;
  FrameEvent event{};
  std::span<const std::byte> frame;  // valid during the call; in a payload-free network its payload is undefined
  std::string_view comment;          // what a fault did to it; empty: nothing
  bool corrupted = false;
};

/// Where a NIC hands a frame over, or is to take it. What is seen elsewhere is the network's own.
enum class AtNic : std::uint8_t { no, leaves, arrives };
AtNic at_nic(const ObservedFrame& frame, const Topology& topology);

/// Sees frames in the order in which things happen to them. Costs nothing where none is attached. Not told of frames
/// that a host sends to itself: no cable carries them.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void observe(const ObservedFrame& frame) = 0;
};

/// A frame that has reached a host.
struct Arrival {
  Time time;
  std::uint32_t host = 0;
  std::span<const std::byte> frame;  // valid during the call
  bool corrupted = false;            // a fault changed it
  wire::IcrcState icrc{};            // in a payload-free network: verified, or wrong
};

/// Where Network::run delivers. It may call the network and its NetworkControl, but not run().
class Sink {
 public:
  virtual ~Sink() = default;
  /// False: nobody is there to take it; it counts as vanished.
  virtual bool arrived(const Arrival& arrival) = 0;
};

/// Hears when the port of a host loses its signal, or has it again, and when it is asked to pause.
class PortListener {
 public:
  virtual ~PortListener() = default;
  /// Called by what changed the network, when it is done. It may not change the network.
  virtual void port_changed(std::uint32_t host, bool is_up) = 0;
  /// A pause frame came: there may be room for its frames sooner or later than has_room_at() said.
  virtual void room_changed(std::uint32_t /*host*/) {}
  /// The host's port asks for a pause of these classes, or for its end.
  virtual void pause_sent(std::uint32_t /*host*/, ClassMask /*classes*/) {}
  /// From submit(): the frame that the host sends is for a group. What hears the group on the host itself is the host's
  /// to know: the network carries it to the others.
  virtual void sent_to_group(std::uint32_t /*host*/, std::span<const std::byte> /*frame*/, wire::IcrcState /*icrc*/) {}
};

/// What a host may hand over now without having more than a few of the largest frames before it.
struct Room {
  std::uint32_t octets = 0;  // UINT32_MAX: frames take no time
  Time more_at;              // when there is room again; now, unless `octets` is 0
  ClassMask held = 0;        // classes that this leaves out, though they have none: they were paused
};

struct NetworkOptions {
  std::uint64_t seed = 1;
  bool payload = true;  // false: only the first kStoredBytes octets of a frame are carried, enough for all its headers
  Duration detection = milliseconds(10);  // a change must last so long before routes follow it
  std::uint32_t frames_max = 4 << 20;     // in the whole network at one time; beyond, frames are lost at the egress
  /// Frames of one direction that are due within so much of each other may be handed on together, each at its own time:
  /// at a switch they may then come before those of another direction that were due a little earlier. 0: never, what
  /// happens is in the order of time.
  Duration grain{};
  bool trace = true;  // false: no trace_hash()
};

struct NetworkStatistics {
  std::uint64_t arrivals = 0;       // frames that arrived, at switches and at hosts
  std::uint64_t host_arrivals = 0;  // of these, at hosts
  std::uint64_t events = 0;         // taken from the queue
  std::uint64_t overflowed = 0;
  std::uint64_t vanished = 0;
  std::uint64_t lost = 0;    // by faults
  std::uint64_t marked = 0;  // ECN
  // With Topology::qos:
  std::uint64_t lossless_lost = 0;  // of `overflowed` and `lost`: frames of lossless classes, at switches
  std::uint64_t pause_frames = 0;
  std::uint64_t flow_control_packets = 0;  // with credits
  std::uint64_t pause_storms = 0;          // times that a port stopped to wait (PauseWatchdog)
};

/// Of one direction of a cable, by traffic class; with global pause all of a port is class 0 where it is told.
struct PauseStatistics {
  std::array<std::uint64_t, kTrafficClasses> sent{};      // pause frames from the sending end of the direction
  std::array<std::uint64_t, kTrafficClasses> received{};  // by it, from the other end
  std::array<Duration, kTrafficClasses> paused{};         // so long it was not to send
  std::uint64_t frames_received = 0;                      // pause frames, however many classes they speak of
  ClassMask paused_now = 0;
};

/// Directions that wait for each other, each for the next one and the last for the first.
struct PauseDeadlock {
  Time time;  // when it was found
  TrafficClass traffic_class = 0;
  std::vector<LinkId> links;
  /// "class 3: s1->s2 waits for s2->s1 waits for s1->s2".
  std::string text(const Topology& topology) const;
};

/// Forwarding tables of a managed subnet lead packets for these LIDs round and round, until a queue's head is too old.
struct ForwardingLoop {
  std::uint16_t lid = 0;   // the lowest one
  std::uint32_t lids = 0;  // how many go this way
  std::vector<LinkId> links;
  bool operator==(const ForwardingLoop&) const = default;
};

struct LinkStatistics {
  std::uint64_t frames = 0;  // accepted for transmission
  std::uint64_t octets = 0;
  std::uint64_t lost = 0;
  std::uint64_t overflowed = 0;
  std::uint32_t queue_octets = 0;  // now, the rest of the frame that is being sent included
  std::uint32_t queue_octets_max = 0;
  std::uint64_t rate_bits_per_second = 0;  // now; 0: frames take no time
  Duration propagation{};
  Duration jitter{};
};

class Network {
 public:
  /// The topology has passed check().
  Network(const Topology& topology, const NetworkOptions& options);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const Topology& topology() const;
  /// Frames to `address` go to `host`. A host may have several addresses; the last host named has it.
  void add_address(std::uint32_t host, const wire::Gid& address);

  // -- Frames in ------------------------------------------------------------------------------------------------------
  /// Room for one frame of at most `bytes` octets, at most kFrameBytesMax; never refuses. commit() or cancel() follows.
  std::span<std::byte> reserve(std::size_t bytes);
  /// The frame in the reserved room leaves from `host`, behind what waits there. A deferred ICRC is computed when an
  /// observer sees the frame or a fault changes it, and else arrives as deferred; not in a payload-free network.
  void commit(Time now, std::uint32_t host, std::size_t bytes, wire::IcrcState icrc = wire::IcrcState::present);
  void cancel();
  /// The same with a copy. Frames above kFrameBytesMax are lost.
  void submit(Time now, std::uint32_t host, std::span<const std::byte> frame,
              wire::IcrcState icrc = wire::IcrcState::present);
  /// What whoever hands over a frame knows of it beforehand.
  struct Intent {
    const wire::Gid& destination;
    std::uint8_t traffic_class = 0;  // that octet of its IP header
  };
  /// When `host` may hand over its next frame without having more than a few of the largest frames before it: `now` if
  /// at once. Nothing is enforced: a NIC's port looks before it asks for a frame. `intent` matters only where
  /// room_depends(); without it the answer is `now` there.
  Time has_room_at(Time now, std::uint32_t host, const Intent* intent = nullptr) const;
  /// On the frame: the host has a cable to each of several hosts, or a queue for each traffic class.
  bool room_depends(std::uint32_t host) const;
  /// How many of the largest frames fit before has_room_at says no, at least 1. For a host with one cable.
  std::uint32_t room_frames(Time now, std::uint32_t host) const;
  /// For one who hands over frames without having seen where they go: what the fullest of the host's ways has room for.
  /// Classes that are paused and have no room do not count, for others would have to wait behind them, and as little do
  /// such of `held` as still have none: their frames are to be held back until they are no longer among Room::held.
  /// What comes before that is heard of has its place.
  Room room_on_every_way(Time now, std::uint32_t host, ClassMask held = 0) const;

  // -- Time -----------------------------------------------------------------------------------------------------------
  /// When run() has something to do.
  std::optional<Time> next_deadline() const;
  /// Does everything that is due by `now`, in order.
  void run(Time now, Sink& sink);

  // -- Ports ----------------------------------------------------------------------------------------------------------
  /// A host has one port. It is up while one of its cables has a signal: in one direction at least, for a cable that is
  /// dead one way only is noticed by nobody, and with a living switch or host at its other end.
  bool port_is_up(std::uint32_t host) const;
  /// Null: nobody. It outlives the network, or is replaced.
  void watch_ports(PortListener* listener);
  /// Who can be heard by whom, as cables, switches and partitions are now.
  Reachability reachability() const;

  // -- What can be seen -----------------------------------------------------------------------------------------------
  void observe(Observer* observer);
  const NetworkStatistics& statistics() const;
  LinkStatistics link_statistics(Time now, LinkId link) const;
  PauseStatistics pause_statistics(Time now, LinkId link) const;
  /// The first deadlock of pauses that was found; it is looked for while a pause lasts.
  std::optional<PauseDeadlock> pause_deadlock() const;
  /// Of every frame's headers, time and fate, in order; NetworkOptions::trace.
  std::uint64_t trace_hash() const;
  std::uint64_t memory_bytes() const;

  struct State;  // network_state.h

 private:
  friend class NetworkControl;
  friend class NetworkSubnet;

  std::unique_ptr<State> state_;
};

}  // namespace verbena::fabric
