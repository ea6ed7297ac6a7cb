// Raw packet steering, as values: which frames a rule takes, and what becomes of them.
//
// A rule is a value and a mask over FlowFields; a frame matches when its fields agree wherever the mask has a bit.
// Adding a field that rules can name touches FlowFields, fields_of() and the shim's table of specifications. No
// behaviour but reading the fields of a frame, and the Toeplitz hash over them.
// Tested by: tests/nic/raw_packet_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/handles.h"

namespace verbena::nic {

/// As on the wire: octets in network order. What a frame does not have is zero.
struct FlowFields {
  std::array<std::uint8_t, 6> destination_mac{};
  std::array<std::uint8_t, 6> source_mac{};
  std::array<std::uint8_t, 2> ether_type{};  // behind the VLAN tag
  std::array<std::uint8_t, 2> vlan_tag{};
  std::uint8_t is_tagged = 0;
  std::uint8_t ip_version = 0;            // 4, 6; 0: another protocol
  std::array<std::uint8_t, 16> source{};  // IPv4: the first four octets
  std::array<std::uint8_t, 16> destination{};
  std::uint8_t protocol = 0;  // IPv6: the next header
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t ipv4_flags = 0;
  std::array<std::uint8_t, 4> flow_label{};
  std::uint8_t transport = 0;  // 6: TCP, 17: UDP with its ports in this frame; 0: another
  std::array<std::uint8_t, 2> source_port{};
  std::array<std::uint8_t, 2> destination_port{};

  constexpr bool operator==(const FlowFields&) const = default;
};
using FlowOctets = std::array<std::uint8_t, sizeof(FlowFields)>;
static_assert(alignof(FlowFields) == 1);

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanBytes = 4;

/// Nothing: not even an Ethernet header.
std::optional<FlowFields> fields_of(std::span<const std::byte> frame);
bool matches(const FlowFields& fields, const FlowFields& value, const FlowFields& mask);
/// The Toeplitz hash of what `hash.fields` names and the frame has; 0: nothing of it.
std::uint32_t receive_hash(const ReceiveHash& hash, const FlowFields& fields);
constexpr bool is_group_mac(const std::array<std::uint8_t, 6>& mac) {
  return (mac[0] & 1) != 0;
}

enum class FlowType : std::uint8_t {
  normal = 0,
  all_default = 1,    // what no other rule took
  group_default = 2,  // the same, of frames to groups
  sniffer = 3,        // a copy of all that the port receives
};

struct FlowInit {
  FlowType type = FlowType::normal;
  std::uint16_t priority = 0;  // 0 is looked at first
  std::uint8_t port = 1;       // that the frames arrive by
  FlowFields value;
  FlowFields mask;
  bool goes_on = false;  // the rules behind it see the frame as well
  bool drops = false;
  std::uint32_t tag = 0;
  FlowCountersHandle counters;  // may be invalid
};

struct FlowCount {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

enum class WorkQueueState : std::uint8_t { reset = 0, ready = 1, error = 2 };

struct WorkQueueInit {
  PdHandle pd;
  CqHandle cq;
  std::uint32_t max_wr = 0;
  std::uint32_t max_sge = 0;
  bool strips_vlan = false;
  std::uint64_t context = 0;
};

}  // namespace verbena::nic
