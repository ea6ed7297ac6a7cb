#include "emulator/fabric/network_subnet.h"

#include <algorithm>

#include "emulator/fabric/network_qos.h"
#include "emulator/fabric/network_state.h"
#include "emulator/fabric/subnet_forwarding.h"
#include "wire/assert.h"

namespace verbena::fabric {
namespace {

LanesOfLevels levels_modulo_lanes() {
  LanesOfLevels lanes{};
  for (std::size_t level = 0; level < lanes.size(); ++level)
    lanes[level] = static_cast<std::uint8_t>(level % kTrafficClasses);
  return lanes;
}

}  // namespace

NetworkSubnet::NetworkSubnet(Network& network) : state_(*network.state_) {
  VERBENA_ASSERT(state_.subnet != nullptr);
}

void NetworkSubnet::set_lids(std::uint32_t host, wire::Lid base, std::uint8_t lmc) {
  VERBENA_ASSERT(host < state_.topology.hosts && lmc <= kLmcMax);
  state_.subnet->set_lids(host, base, lmc);
}

void NetworkSubnet::set_forwarding(std::uint32_t vertex, wire::Lid first, std::span<const std::uint8_t> ports) {
  VERBENA_ASSERT(vertex >= state_.topology.hosts && vertex < state_.topology.vertices.size());
  std::vector<std::uint8_t>& table = state_.subnet->switches_[vertex - state_.topology.hosts].forwarding;
  constexpr std::size_t kEntries = std::size_t{wire::kLidUnicastMax.value()} + 1;
  const std::size_t from = std::min<std::size_t>(first.value(), kEntries);
  const std::size_t to = std::min(from + ports.size(), kEntries);
  if (table.size() < to) table.resize(to, UINT8_MAX);
  std::copy_n(ports.begin(), to - from, table.begin() + static_cast<std::ptrdiff_t>(from));
}

void NetworkSubnet::set_multicast(std::uint32_t vertex, wire::Lid group, std::span<const std::uint8_t> ports) {
  VERBENA_ASSERT(vertex >= state_.topology.hosts && vertex < state_.topology.vertices.size() && group.is_multicast());
  auto& groups = state_.subnet->switches_[vertex - state_.topology.hosts].groups;
  const std::size_t place = group.value() - wire::kLidMulticastMin.value();
  if (groups.size() <= place) groups.resize(place + 1);
  groups[place].assign(ports.begin(), ports.end());
}

void NetworkSubnet::set_port_state(Time now, std::uint32_t vertex, std::uint8_t port, wire::PortState state) {
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  if (way != kNoDirection) state_.subnet->set_port_state(now, way, state);
}

wire::PortState NetworkSubnet::port_state(std::uint32_t vertex, std::uint8_t port) const {
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  return way != kNoDirection ? state_.subnet->ports_[way].state : wire::PortState::down;
}

void NetworkSubnet::set_lanes(std::uint32_t vertex, std::uint8_t in, std::uint8_t out,
                              const LanesOfLevels& lane_of_level) {
  const DirectionNumber way = state_.subnet->way_out(vertex, out);
  if (way == kNoDirection) return;
  std::vector<LanesOfLevels>& lanes = state_.subnet->ports_[way].lanes;
  if (lanes.size() <= in) lanes.resize(in + 1u, levels_modulo_lanes());
  lanes[in] = lane_of_level;
}

void NetworkSubnet::set_arbitration(std::uint32_t vertex, std::uint8_t port, const LaneArbitration& arbitration) {
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  if (way != kNoDirection) state_.subnet->ports_[way].arbiter.set(arbitration);
}

void NetworkSubnet::set_head_of_queue_life(std::uint32_t vertex, std::uint8_t port, Duration life) {
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  if (way != kNoDirection) state_.subnet->ports_[way].head_life = life;
}

void NetworkSubnet::set_mtu(std::uint32_t vertex, std::uint8_t port, std::uint32_t bytes) {
  constexpr std::uint32_t kBytesBeside = 126;  // 7.7.8: headers and CRCs
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  if (way != kNoDirection) state_.directions[way].frame_bytes_max = static_cast<std::uint16_t>(bytes + kBytesBeside);
}

void NetworkSubnet::set_partitions(std::uint32_t vertex, std::uint8_t port, std::span<const std::uint16_t> keys,
                                   bool inbound, bool outbound) {
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  if (way == kNoDirection || state_.topology.is_host(vertex)) return;
  SubnetForwarding::Port& programmed = state_.subnet->ports_[way];
  programmed.keys.assign(keys.begin(), keys.end());
  programmed.enforces_inbound = inbound;
  programmed.enforces_outbound = outbound;
}

PortTraffic NetworkSubnet::traffic(Time now, std::uint32_t vertex, std::uint8_t port) const {
  const DirectionNumber way = state_.subnet->way_out(vertex, port);
  if (way == kNoDirection) return {};
  PortTraffic traffic = state_.subnet->ports_[way].traffic;
  const EgressPort& egress = state_.qos->egress(way);
  for (std::size_t lane = 0; lane < kTrafficClasses; ++lane)
    traffic.sent_wait = std::max(traffic.sent_wait, egress.time_paused(now, static_cast<TrafficClass>(lane)));
  return traffic;
}

std::vector<PartitionViolation> NetworkSubnet::take_violations() {
  std::vector<PartitionViolation> taken(state_.subnet->violations_);
  state_.subnet->violations_.clear();
  return taken;
}

bool NetworkSubnet::has_violations() const {
  return !state_.subnet->violations_.empty();
}

std::vector<ForwardingLoop> NetworkSubnet::loops(const Network& network, std::size_t most) {
  const auto& subnet = network.state_->subnet;
  return subnet != nullptr ? subnet->loops(most) : std::vector<ForwardingLoop>();
}

}  // namespace verbena::fabric
