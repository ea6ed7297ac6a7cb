// Connection: a QP on each of two hosts, connected to one another, and the memory that both use.
//
// Solely responsible for set-up (again after a host's restart), for the buffers and for how work requests name them. It
// stands for what applications agree upon over a side channel: it happens at one instant. It knows no traffic.
// Tested by: tests/scenarios/virtual/faults_test.cc
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "emulator/sim/world.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/workload/host_agent.h"

namespace verbena::scenarios {

struct ConnectionPlan {
  Transport transport = Transport::rc;
  std::uint8_t dscp = 0;                     // 0: the NIC's
  std::uint8_t service_level = 0;            // on InfiniBand
  std::optional<wire::RoceVersion> version;  // nothing: what both NICs have
  std::uint32_t queue_depth = 0;             // send requests of the initiator
  std::uint32_t receive_depth = 0;           // receive requests of the target
  std::uint64_t initiator_octets = 0;        // of memory
  std::uint64_t target_octets = 0;
  std::uint64_t index = 0;  // of the connection in the run: its addresses and PSNs come from it
  std::uint64_t seed = 0;
};

/// Datagram QPs put the network header in front of what they receive.
constexpr std::uint32_t receive_header_octets(Transport transport) {
  return transport == Transport::ud ? static_cast<std::uint32_t>(wire::kGrhBytes) : 0;
}

class Connection {
 public:
  struct Side {
    HostAgent& agent;
    const NicSettings& settings;
    EndOwner& owner;
  };
  /// `payload` false: no memory is taken, nothing is moved.
  Connection(sim::World& world, const ConnectionPlan& plan, Side initiator, Side target, bool payload);

  /// Makes both ends anew, ready to send and to receive, with cleared memory. False: a host is down, or an object or a
  /// registration was refused; then there is no connection.
  bool set_up(Time now);
  bool is_up() const { return up_; }
  void lost() { up_ = false; }
  /// Both hosts are still in the life in which the connection was set up.
  bool both_alive() const;
  /// Counts set-ups: what was posted before belongs to another incarnation.
  std::uint32_t incarnation() const { return incarnation_; }

  /// Fills in what depends on the connection: opcode, local and remote places come from the caller.
  struct Place {
    std::uint64_t offset = 0;
    std::uint32_t octets = 0;
  };
  nic::VerbsResult<void> post(nic::SendRequest request, Place local, std::uint64_t remote_offset, Time now);
  /// The same with a remote address and key of the caller's own.
  nic::VerbsResult<void> post_to(nic::SendRequest request, Place local, Time now);
  bool post_receive(std::uint64_t number, Place place);

  std::span<std::byte> initiator_memory() { return memory_of(initiator_); }
  std::span<std::byte> target_memory() { return memory_of(target_); }
  std::optional<nic::QpState> state(bool target_side) const;
  EndId initiator_id() const { return initiator_.id; }
  EndId target_id() const { return target_.id; }
  HostAgent& initiator_agent() { return initiator_.side.agent; }
  HostAgent& target_agent() { return target_.side.agent; }
  const ConnectionPlan& plan() const { return plan_; }
  /// Between whom, as it was set up last; what became of its messages is the caller's to fill in.
  PairOutcome pair() const;

 private:
  struct End {
    Side side;
    EndId id = 0;
    std::uint64_t octets = 0;
    std::uint64_t iova = 0;
    std::uint32_t life = 0;
    bool made = false;
    nic::QpHandle qp;
    wire::Qpn qpn;
    nic::MemoryRegion region;
    std::unique_ptr<std::uint64_t[]> memory;
  };
  std::span<std::byte> memory_of(End& end);
  static bool alive(const End& end) {
    return end.made && end.side.agent.is_running() && end.side.agent.life() == end.life;
  }
  bool make(End& end);
  void unmake(End& end);
  bool connect(End& end, const End& peer, wire::Psn receive_psn, wire::Psn send_psn, Time now);
  void announce(wire::Psn forward, wire::Psn backward);
  nic::AddressVector path(const End& from, const End& to) const;

  sim::World& world_;
  ConnectionPlan plan_;
  End initiator_;
  End target_;
  bool payload_;
  bool up_ = false;
  std::uint32_t incarnation_ = 0;
  nic::AhHandle address_handle_;
};

}  // namespace verbena::scenarios
