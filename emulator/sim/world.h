// World: NICs, switches and cables under virtual time, in one process.
//
// Solely responsible for the clock, the total order of events (time, kind, vertex, sequence) and for moving frames
// between NICs through the fabric. The same topology, configuration, seed and calls give the same run, bit for bit,
// with every compiler. It knows no workloads (scenarios/workload): applications are called when there is something for
// them to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/fabric/element_faults.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/network.h"
#include "emulator/fabric/topology.h"
#include "emulator/nic/nic.h"
#include "wire/time.h"

namespace verbena::sim {

using HostId = std::uint32_t;  // index into Topology::vertices, below Topology::hosts

using fabric::FrameEvent;
using fabric::LinkId;
using fabric::LinkStatistics;
using fabric::ObservedFrame;
using fabric::Observer;

/// Runs on a host: posts work and polls its CQs through World::nic(). Called once at the start, then after every event
/// in which the host's NIC made a completion or an event, and when a wake-up it asked for (World::wake_at) is due.
/// Never reentered.
class Application {
 public:
  virtual ~Application() = default;
  virtual void run(Time now) = 0;
};

/// Micro-behaviour of a host's NIC that the world adds around it: delays before what it sends leaves.
struct NicLatencies {
  Duration nak{0};
  Duration acknowledge{0};
};

struct WorldOptions {
  std::uint64_t seed = 1;
  bool payload = true;  // false: nic::Memory moves no bytes and frames carry undefined payload
  Duration detection = milliseconds(10);
  bool checks_invariants = false;      // of the NICs, after each call of a few QPs (Nic::check_invariants)
  std::uint32_t frames_max = 4 << 20;  // in flight in the whole world; beyond, frames are lost at the egress
};

/// Host 0 is 10.0.0.1: addresses count up from there.
wire::Gid host_address(HostId host);
/// On InfiniBand: LIDs count up from 1, as a subnet manager gives them.
wire::Lid host_lid(HostId host);
/// What its packets have as their source on that medium.
wire::Gid host_address(HostId host, wire::Medium medium);
/// The way to the host's port.
wire::PathAddress host_path(HostId host, wire::Medium medium, std::uint8_t service_level = 0);
wire::MacAddress host_mac(HostId host);

class World {
 public:
  /// The topology has passed fabric::check(). `nics[i]` configures host i; the address of each of its GIDs, MAC, QPN
  /// base and seed in it are replaced (host_address(i), ...). One element: the same for all hosts. Addresses that
  /// memory regions are registered at are pointers into this process; in a payload-free world they are never followed.
  World(fabric::Topology topology, std::span<const nic::NicConfig> nics, const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Time now() const;

  nic::Nic& nic(HostId host);
  const nic::Counters& counters(HostId host) const;
  void set_latencies(HostId host, const NicLatencies& latencies);
  /// After calls on nic(host) from outside of Application::run: its new frames are looked for.
  void touch(HostId host);

  /// Both must outlive the world or be detached with nullptr. One application a host.
  void attach(HostId host, Application* application);
  void observe(Observer* observer);
  /// Application::run(host) is called at `time` (again). Earlier requests stay.
  void wake_at(HostId host, Time time);
  /// Calls `task` once at `time`, before everything else that happens then; in the past: at once.
  void at(Time time, std::function<void(Time)> task);

  // -- What can go wrong. From tasks and applications, not from observers ---------------------------------------------
  /// Links, switches, ports and pairs: see fabric::ElementFaults, which does it; who is concerned looks at its port.
  /// Switches route around what is dead after WorldOptions::detection. A cable whose both directions or whose switch
  /// are dead has no signal: a NIC that has no other cable raises port_error, and port_active when it comes back.
  void change(const fabric::ElementChange& change);
  /// Packet faults on links: see fabric::ElementFaults.
  void add_rule(std::uint32_t id, std::vector<LinkId> links, fabric::FaultRule rule);
  /// Returns how many packets it has hit.
  std::uint64_t remove_rule(std::uint32_t id);
  /// Packets that the rule has hit so far; 0: there is no such rule.
  std::uint64_t hits(std::uint32_t id) const;
  /// Crashed: the NIC is gone (nic() asserts), frames to it vanish; its application is not called. Handles into it are
  /// invalid.
  void crash(HostId host);
  /// Nic::remove_device: the application stays, and is called for what it is told.
  void remove_device(HostId host);
  /// A new NIC in place of the old one, same configuration, QPNs and keys from the start. Counters go on. The
  /// application is called.
  void restart(HostId host);
  /// Frozen: no call is made on the NIC or the application; up to 1 MiB of frames wait at the port, more are lost.
  /// Thawed: the frames are received first, then timers run.
  void freeze(HostId host, bool frozen);
  bool is_running(HostId host) const;

  // -- Running --------------------------------------------------------------------------------------------------------
  /// Runs what is due at the next instant at which something is. False: nothing is, up to `limit`.
  bool step(Time limit = kNever);
  /// Then the clock stands at `limit`.
  void run_until(Time limit);

  /// What can be seen of its frames, routes and queues, and the topology.
  const fabric::Network& network() const;
  /// The network's, with the world's own events.
  fabric::NetworkStatistics statistics() const;

 private:
  friend class PacketControl;  // packets that no NIC has made: packet_control.h
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace verbena::sim
