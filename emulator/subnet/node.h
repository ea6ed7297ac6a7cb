// What the nodes of an emulated subnet keep: ports, tables, counters. Plain values; the agents change them.
// Tested by: tests/subnet/agents_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "emulator/subnet/topology_file.h"
#include "wire/subnet_management.h"
#include "wire/time.h"

namespace verbena::subnet {

inline constexpr std::size_t kLinearCapacity = 49152;
inline constexpr std::size_t kMulticastCapacity = 1024;
inline constexpr std::size_t kPkeysMax = 128;
inline constexpr std::size_t kGuidsMax = 8;  // one block, as of a mlx5
inline constexpr std::size_t kLanes = 8;     // with data, of each port
inline constexpr std::uint8_t kNoPort = 255;

/// What has passed. Wider than any attribute that tells of it.
struct PortTotals {
  std::uint64_t transmit_packets = 0;
  std::uint64_t receive_packets = 0;
  std::uint64_t transmit_words = 0;
  std::uint64_t receive_words = 0;
  std::uint64_t unicast_transmit_packets = 0;
  std::uint64_t unicast_receive_packets = 0;
  std::uint64_t multicast_transmit_packets = 0;
  std::uint64_t multicast_receive_packets = 0;
  std::uint64_t transmit_wait = 0;
  std::uint64_t symbol_errors = 0;
  std::uint64_t receive_errors = 0;
  std::uint64_t link_downed = 0;
  std::uint64_t transmit_discards = 0;
  std::uint64_t receive_switch_relay_errors = 0;
  std::uint64_t transmit_constraint_errors = 0;
  std::uint64_t receive_constraint_errors = 0;
  std::uint64_t vl15_dropped = 0;
  // Parts of receive_errors, of transmit_discards and of receive_switch_relay_errors.
  std::uint64_t local_physical_errors = 0;
  std::uint64_t inactive_discards = 0;
  std::uint64_t neighbor_mtu_discards = 0;
  std::uint64_t head_of_queue_discards = 0;
  std::uint64_t lid_mapping_errors = 0;
  std::uint64_t lane_mapping_errors = 0;
  std::uint64_t looping_errors = 0;
};

struct Port {
  wire::PortInfo info;
  std::optional<PortEnd> peer;
  bool has_signal = true;  // of its cable
  PortTotals totals;
  std::optional<Time> lease_end;  // of its M_Key; nothing: it does not run out now
  std::array<std::uint16_t, kPkeysMax> pkeys{};
  std::array<std::uint64_t, kGuidsMax> guids{};
  /// By the port of entry: four bits for each service level.
  std::map<std::uint8_t, std::array<std::byte, wire::kServiceLevels / 2>> lanes_of_levels;
  /// Both halves of the table for low priority, both of that for high (14.2.5.9).
  std::array<std::array<std::byte, wire::kSmpDataBytes>, 4> arbitration{};

  /// By service level, of what came in by that port; 15 where the lane is none that the port has with data. Without a
  /// table the lanes take the levels in turn.
  std::array<std::uint8_t, wire::kServiceLevels> lanes(std::uint8_t in) const;
  unsigned operational_lanes() const;
  /// Active from now on, and supported.
  void set_speed(std::uint8_t speed, std::uint8_t extended);
  bool is_up() const { return info.physical_state == wire::PortPhysicalState::link_up; }
  bool has_lid(wire::Lid lid) const {
    const unsigned base = info.base_lid.value();
    return base != 0 && lid.value() >= base && lid.value() < base + (1u << info.lmc);
  }
};

struct Node {
  NodePlan plan;
  std::array<std::byte, wire::kSmpDataBytes> description{};
  std::vector<Port> ports;
  wire::SwitchInfo switch_info;
  std::vector<std::uint8_t> forwarding;  // by LID
  /// By block and position, as they were written.
  std::map<std::uint32_t, std::array<std::byte, wire::kSmpDataBytes>> multicast;

  bool is_alive = true;

  /// By which port of a switch a LID is reached; kNoPort: by none.
  std::uint8_t way_to(std::uint32_t lid) const {
    return lid < forwarding.size() && lid <= switch_info.linear_top ? forwarding[lid] : kNoPort;
  }
  /// The ports of a switch that a group's datagrams leave by, ascending.
  std::vector<std::uint8_t> members(std::uint32_t group) const;
  bool is_switch() const { return plan.type == wire::NodeType::switch_; }
  /// Whose LID a port answers to, and whose keys.
  Port& management_port(std::uint8_t port) { return ports[is_switch() ? 0 : port]; }
};

Node make_node(const NodePlan& plan);

}  // namespace verbena::subnet
