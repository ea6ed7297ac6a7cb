#include "emulator/subnet/node.h"

#include <algorithm>
#include <cstring>

namespace verbena::subnet {
namespace {

constexpr std::uint8_t kLanesCode = 4;  // VL 0 to 7
constexpr std::uint8_t kTimeout = 18;   // 4.096 us * 2^18: about a second
constexpr std::uint8_t kArbitrationCapacity = 8;

bool has_extended_speed(const PortPlan& port) {
  return port.speed_extended != 0;
}

Port make_port(const NodePlan& plan, std::uint8_t number) {
  const PortPlan& wanted = plan.ports[number];
  const bool is_switch = plan.type == wire::NodeType::switch_;
  const bool is_own = is_switch && number == 0;
  Port port;
  port.peer = wanted.peer;
  wire::PortInfo& info = port.info;
  info.local_port = number;
  info.width_enabled = info.width_supported = static_cast<std::uint8_t>(wanted.width | 1);
  info.width_active = wanted.width;
  info.speed_supported = info.speed_enabled = static_cast<std::uint8_t>(2 * wanted.speed - 1);  // and all below
  info.speed_active = wanted.speed;
  info.speed_extended_active = wanted.speed_extended;
  if (wanted.speed_extended != 0)
    info.speed_extended_supported = info.speed_extended_enabled =
        static_cast<std::uint8_t>(2 * wanted.speed_extended - 1);
  const bool is_linked = is_own || wanted.peer.has_value();
  info.physical_state = is_linked ? wire::PortPhysicalState::link_up : wire::PortPhysicalState::polling;
  info.state = is_own ? wire::PortState::active : (is_linked ? wire::PortState::init : wire::PortState::down);
  info.neighbor_mtu = info.mtu_capacity = wanted.mtu;
  info.vl_capacity = info.operational_vls = kLanesCode;
  info.vl_arbitration_high_capacity = info.vl_arbitration_low_capacity = kArbitrationCapacity;
  info.subnet_timeout = kTimeout;
  info.response_time = kTimeout - 2;
  info.guid_capacity = is_switch ? 1 : kGuidsMax;
  info.max_credit_hint = is_switch ? 0 : 32;
  if (!is_switch || is_own) {
    info.capability_mask = wire::kCapabilitiesHere;
    // Of a switch the capabilities of all its ports are those of port 0.
    const bool is_extended =
        is_switch ? std::ranges::any_of(plan.ports, has_extended_speed) : has_extended_speed(wanted);
    if (is_extended) info.capability_mask |= wire::kCapabilityHasExtendedSpeeds;
  }
  port.pkeys[0] = 0xffff;
  port.guids[0] = plan.port_guid(number);
  return port;
}

}  // namespace

void Port::set_speed(std::uint8_t speed, std::uint8_t extended) {
  const auto and_all_below = [](std::uint8_t fastest) {
    return static_cast<std::uint8_t>(fastest == 0 ? 0 : 2 * fastest - 1);
  };
  info.speed_active = speed;
  info.speed_extended_active = extended;
  for (std::uint8_t* const mask : {&info.speed_supported, &info.speed_enabled}) *mask |= and_all_below(speed);
  for (std::uint8_t* const mask : {&info.speed_extended_supported, &info.speed_extended_enabled})
    *mask |= and_all_below(extended);
}

unsigned Port::operational_lanes() const {
  constexpr unsigned kAllLanes = 15;
  return info.operational_vls == 0 ? 1 : std::min(1u << (info.operational_vls - 1), kAllLanes);
}

std::array<std::uint8_t, wire::kServiceLevels> Port::lanes(std::uint8_t in) const {
  constexpr std::uint8_t kDropped = 15;
  std::array<std::uint8_t, wire::kServiceLevels> lanes{};
  const auto set = lanes_of_levels.find(in);
  for (std::size_t level = 0; level < lanes.size(); ++level) {
    if (set == lanes_of_levels.end()) {
      lanes[level] = static_cast<std::uint8_t>(level % operational_lanes());
      continue;
    }
    const auto both = std::to_integer<unsigned>(set->second[level / 2]);
    const auto lane = static_cast<std::uint8_t>(level % 2 == 0 ? both >> 4 : both & 0xf);
    lanes[level] = lane < operational_lanes() ? lane : kDropped;
  }
  return lanes;
}

std::vector<std::uint8_t> Node::members(std::uint32_t group) const {
  constexpr std::uint32_t kPortsOfPosition = 16;
  constexpr unsigned kPositionShift = 28;
  std::vector<std::uint8_t> found;
  const std::uint32_t place = group - wire::kLidMulticastMin.value();
  for (std::uint32_t first = 0; first < ports.size(); first += kPortsOfPosition) {
    const auto block =
        multicast.find(first / kPortsOfPosition << kPositionShift | place / wire::kMulticastEntriesOfBlock);
    if (block == multicast.end()) continue;
    const std::size_t at = place % wire::kMulticastEntriesOfBlock * 2;
    const auto mask =
        std::to_integer<unsigned>(block->second[at]) << 8 | std::to_integer<unsigned>(block->second[at + 1]);
    for (std::uint32_t bit = 0; bit < kPortsOfPosition && first + bit < ports.size(); ++bit)
      if ((mask >> bit & 1) != 0) found.push_back(static_cast<std::uint8_t>(first + bit));
  }
  return found;
}

Node make_node(const NodePlan& plan) {
  Node node;
  node.plan = plan;
  const std::size_t bytes = std::min(plan.description.size(), node.description.size());
  std::memcpy(node.description.data(), plan.description.data(), bytes);
  for (std::size_t port = 0; port < plan.ports.size(); ++port)
    node.ports.push_back(make_port(plan, static_cast<std::uint8_t>(port)));
  if (!node.is_switch()) return node;
  wire::SwitchInfo& info = node.switch_info;
  info.linear_capacity = kLinearCapacity;
  info.multicast_capacity = kMulticastCapacity;
  info.life_time = kTimeout;
  info.partition_enforcement_capacity = kPkeysMax;
  info.can_enforce_inbound = info.can_enforce_outbound = true;
  node.forwarding.assign(kLinearCapacity, kNoPort);
  return node;
}

}  // namespace verbena::subnet
