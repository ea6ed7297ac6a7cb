// Subnet: an emulated InfiniBand subnet as far as its management goes: nodes with their agents, and the ways between
// them.
//
// Management datagrams go in where a program sends them, along the path that a directed route names or that the
// forwarding tables of the switches have, and come out at an agent, which answers, or at a program. What nothing takes
// is gone, as on a cable. It knows no clock, no process and no descriptor: time is an argument, and what runs on a node
// is a Receiver. Data packets are not here: who carries them hears what is set, and counts them (listener.h).
//
// The agents: of subnet management (agent_subnet.cc; IBTA vol 1, chapter 14) and of performance (agent_performance.cc;
// 16.1). Everything else that comes to an adapter is for its programs.
// Tested by: tests/subnet/agents_test.cc
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "emulator/subnet/datagram.h"
#include "emulator/subnet/listener.h"
#include "emulator/subnet/node.h"
#include "emulator/subnet/traps.h"
#include "wire/time.h"

namespace verbena::subnet {

/// Gets what is for programs.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// False: no program there wants it.
  virtual bool receive(PortEnd at, const Datagram& datagram) = 0;
  /// What sysfs shows of the port may be another now.
  virtual void changed(PortEnd port) = 0;
};

class Subnet {
 public:
  Subnet(const Topology& topology, Receiver& receiver);
  /// Both outlive it.
  void connect(Listener& listener, DataPath& data_path);

  const std::vector<Node>& nodes() const { return nodes_; }

  /// Sends from a port of an adapter, and lets all go on that comes of it.
  void send(PortEnd from, Datagram datagram);

  /// A program has become a subnet manager there, or is none any more (/dev/infiniband/issm).
  void set_subnet_manager(PortEnd port, bool is_one);

  /// An adapter's port has dropped so many packets with a wrong key: trap 257 (P_Key) or 258 (Q_Key). Or a port of a
  /// switch has kept one back for its P_Key: trap 259.
  void refuse_key(PortEnd port, std::uint16_t trap, const wire::BadKeyDetails& packet, std::uint32_t packets);

  // -- What happens to cables and switches ----------------------------------------------------------------------------
  /// The cable at the port has lost its signal, both ways, or has it again: then the link comes up by itself.
  void set_link(PortEnd end, bool has_signal);
  /// The link at the port has trained anew, both ends, without going down: its lanes have this speed (14.2.5.6).
  void set_link_speed(PortEnd end, std::uint8_t speed, std::uint8_t extended);
  /// A dead node answers nothing, and its links are down. It comes back with what it had when it began.
  void set_node_alive(std::size_t node, bool is_alive);

  /// Traps are repeated until they are repressed (14.3.4), and leases of M_Keys run out (14.2.4). Nothing: none waits.
  std::optional<Time> next_deadline() const;
  void advance(Time now);

 private:
  friend class SubnetAgent;
  friend class PerformanceAgent;

  /// A datagram that has come to a port.
  struct Arrival {
    PortEnd at;
    Datagram datagram;
    bool is_own = false;  // the node's: it has yet to leave
  };

  void run();
  void arrive(Arrival arrival);
  bool is_on_way_by_lid(PortEnd at, const Datagram& datagram);
  void follow_or_take(PortEnd at, Datagram datagram);
  bool cross(PortEnd& at, const Datagram& datagram, bool needs_active);
  void follow_route(PortEnd at, Datagram datagram);
  void go_back(PortEnd at, Datagram datagram);
  void forward(PortEnd at, Datagram datagram, bool comes_from_node);
  void take(PortEnd at, Datagram datagram);
  void answer(PortEnd at, const Datagram& request, Datagram response);
  void change_state(PortEnd end, wire::PortState state);
  void set_physical_state(PortEnd end, wire::PortPhysicalState state);
  void link_goes_down(PortEnd end, wire::PortPhysicalState physical);
  void link_comes_up(PortEnd end);
  void restart(std::size_t node);
  void note_change(PortEnd end);
  void send_trap(PortEnd from, const wire::Notice& notice, std::span<const std::byte> details);
  void begin_lease(PortEnd end);
  Port& port_at(PortEnd end) { return nodes_[end.node].ports[end.port]; }

  std::vector<Node> nodes_;
  Receiver& receiver_;
  Listener* listener_ = nullptr;
  DataPath* data_path_ = nullptr;
  std::deque<Arrival> arrivals_;
  Traps traps_;
  Time now_;
  std::vector<PortEnd> leases_;  // of keys, that are running out
  bool runs_ = false;
};

}  // namespace verbena::subnet
