#include "emulator/fabric/topology.h"

#include <algorithm>
#include <unordered_set>

#include "wire/types.h"

namespace verbena::fabric {
namespace {

using Outcome = Result<void, std::string>;

Failure<std::string> wrong(std::string text) {
  return Failure{std::move(text)};
}

std::string count_of(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

Outcome check_sizes(const Topology& topology) {
  if (topology.hosts == 0) return wrong("the topology has no hosts");
  if (topology.hosts > topology.vertices.size())
    return wrong("the topology has fewer vertices than its " + count_of(topology.hosts, "hosts"));
  if (topology.rails == 0 || topology.hosts % topology.rails != 0)
    return wrong("the topology has " + count_of(topology.hosts, "hosts, which are no nodes of ") +
                 count_of(topology.rails, "rails"));
  if (topology.vertices.size() > kVerticesMax)
    return wrong("the topology has " + count_of(topology.vertices.size(), "hosts and switches, more than ") +
                 std::to_string(kVerticesMax));
  if (topology.medium == wire::Medium::infiniband && topology.hosts > wire::kLidUnicastMax.value())
    return wrong("the topology has " + count_of(topology.hosts, "hosts, and an InfiniBand subnet ") +
                 std::to_string(wire::kLidUnicastMax.value()) + " LIDs");
  if (topology.cables.size() > kCablesMax)
    return wrong("the topology has " + count_of(topology.cables.size(), "cables, more than ") +
                 std::to_string(kCablesMax));
  if (std::uint64_t{topology.switches()} * topology.switches() > kRoutesMax)
    return wrong("the topology has " + count_of(topology.switches(), "switches, too many to keep routes between all"));
  return {};
}

Outcome check_vertices(const Topology& topology) {
  std::unordered_set<std::string_view> names;
  for (std::uint32_t i = 0; i < topology.vertices.size(); ++i) {
    const Vertex& vertex = topology.vertices[i];
    if (vertex.name.empty()) return wrong("vertex " + std::to_string(i) + " of the topology has no name");
    if (!names.insert(vertex.name).second) return wrong("the name " + vertex.name + " is used twice");
    if ((vertex.kind == VertexKind::host) != topology.is_host(i))
      return wrong(vertex.name + " stands in the wrong place: all hosts come before all switches");
  }
  if (topology.rails == 1) return {};
  for (std::uint32_t node = 0; node < topology.nodes(); ++node)
    if (!names.insert(topology.node_name(node)).second)
      return wrong("the name " + std::string(topology.node_name(node)) + " is used twice");
  return {};
}

Outcome check_cables(const Topology& topology) {
  std::vector<std::uint32_t> cables_of_host(topology.hosts);
  std::unordered_set<std::uint64_t> pairs;
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    if (cable.a >= topology.vertices.size() || cable.b >= topology.vertices.size())
      return wrong("cable " + std::to_string(i) + " leads to nowhere");
    if (cable.a == cable.b) return wrong("a cable leads from " + topology.vertices[cable.a].name + " to itself");
    if (cable.parameters.propagation < Duration{})
      return wrong("cable " + topology.cable_name(i) + " has a negative delay");
    if (cable.parameters.queue_bytes == 0) return wrong("cable " + topology.cable_name(i) + " has no queue");
    if (cable.parameters.propagation == Duration{} && cable.parameters.rate_bits_per_second == 0)
      return wrong("cable " + topology.cable_name(i) + " takes no time at all: it needs a rate or a delay");
    // Switches may be joined by several cables; what a second cable of two hosts would carry, nothing says.
    const std::uint64_t pair = std::uint64_t{std::min(cable.a, cable.b)} << 32 | std::max(cable.a, cable.b);
    const bool touches_host = topology.is_host(cable.a) || topology.is_host(cable.b);
    if (touches_host && !pairs.insert(pair).second)
      return wrong("there are two cables between " + topology.vertices[cable.a].name + " and " +
                   topology.vertices[cable.b].name);
    for (const std::uint32_t end : {cable.a, cable.b})
      if (topology.is_host(end)) ++cables_of_host[end];
  }
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    if (cables_of_host[host] == 0 && topology.hosts > 1)
      return wrong("host " + topology.vertices[host].name + " has no cable");
    if (cables_of_host[host] > 1 && topology.switches() != 0)
      return wrong("host " + topology.vertices[host].name + " has " + count_of(cables_of_host[host], "cables") +
                   "; beside switches a host has one");
  }
  return {};
}

/// Hosts do not forward: without switches each pair needs a cable.
Outcome check_reach_without_switches(const Topology& topology) {
  std::unordered_set<std::uint64_t> pairs;
  for (const Cable& cable : topology.cables)
    pairs.insert(std::uint64_t{std::min(cable.a, cable.b)} << 32 | std::max(cable.a, cable.b));
  for (std::uint32_t a = 0; a < topology.hosts; ++a)
    for (std::uint32_t b = a + 1; b < topology.hosts; ++b)
      if (topology.are_of_one_network(a, b) && !pairs.contains(std::uint64_t{a} << 32 | b))
        return wrong("hosts " + topology.vertices[a].name + " and " + topology.vertices[b].name +
                     " cannot reach each other: there is neither a switch nor a cable between them");
  return {};
}

std::vector<bool> reached_from(std::uint32_t first, const std::vector<std::vector<std::uint32_t>>& neighbours) {
  std::vector<bool> reached(neighbours.size());
  std::vector<std::uint32_t> border{first};
  reached[first] = true;
  while (!border.empty()) {
    const std::uint32_t vertex = border.back();
    border.pop_back();
    for (const std::uint32_t neighbour : neighbours[vertex]) {
      if (reached[neighbour]) continue;
      reached[neighbour] = true;
      border.push_back(neighbour);
    }
  }
  return reached;
}

Outcome check_reach(const Topology& topology) {
  if (topology.switches() == 0) return check_reach_without_switches(topology);
  std::vector<std::vector<std::uint32_t>> neighbours(topology.vertices.size());
  for (const Cable& cable : topology.cables) {
    neighbours[cable.a].push_back(cable.b);
    neighbours[cable.b].push_back(cable.a);
  }
  // The first host of each plane has a way to all others of it.
  const std::uint32_t planes = topology.planes == Planes::separate ? topology.rails : 1;
  for (std::uint32_t first = 0; first < planes; ++first) {
    const std::vector<bool> reached = reached_from(first, neighbours);
    for (std::uint32_t host = first; host < topology.hosts; host += planes)
      if (!reached[host])
        return wrong("hosts " + topology.vertices[first].name + " and " + topology.vertices[host].name +
                     " cannot reach each other: no way of cables joins them");
  }
  return {};
}

/// Two cables cannot be in one port. Where a subnet manager programs ports, numbers have an octet, and a host's is 1.
Outcome check_ports(const Topology& topology) {
  const auto has_numbers = [](const Cable& cable) { return cable.port_a != 0 || cable.port_b != 0; };
  if (!topology.is_managed && std::ranges::none_of(topology.cables, has_numbers)) return {};
  std::vector<std::uint32_t> counted(topology.vertices.size());
  std::unordered_set<std::uint64_t> used;
  for (const Cable& cable : topology.cables)
    for (const bool is_b : {false, true}) {
      const std::uint32_t end = is_b ? cable.b : cable.a;
      const std::uint32_t own = is_b ? cable.port_b : cable.port_a;
      ++counted[end];
      const std::uint32_t port = own != 0 ? own : counted[end];
      const std::string& name = topology.vertices[end].name;
      if ((own != 0 || topology.is_managed) && port > kManagedPortsMax)
        return wrong(name + " has a port " + std::to_string(port) + ", and the last one is " +
                     std::to_string(kManagedPortsMax));
      if (!used.insert(std::uint64_t{end} << 32 | port).second)
        return wrong("there are two cables in port " + std::to_string(port) + " of " + name);
      if (topology.is_managed && topology.is_host(end) && port != 1)
        return wrong("host " + name + " has a port " + std::to_string(port) +
                     "; in a managed subnet it has port 1 alone");
    }
  return {};
}

Outcome check_medium(const Topology& topology) {
  if (topology.is_managed && topology.medium != wire::Medium::infiniband)
    return wrong("a subnet manager needs InfiniBand");
  return {};
}

/// Pauses are times at the rate of a cable, and the headroom of all ports has to fit into their switch.
Outcome check_qos(const Topology& topology) {
  const auto wrong = [](const std::string& text) { return Outcome(Failure{text}); };
  if (topology.medium == wire::Medium::infiniband) {
    if (!topology.qos || topology.qos->flow_control != FlowControl::credits)
      return wrong("InfiniBand's ports have lanes with credits");
    for (std::uint32_t i = 0; i < topology.cables.size(); ++i)
      if (topology.cables[i].parameters.ecn.kmax_bytes != 0 || topology.cables[i].parameters.telemetry)
        return wrong("cable " + topology.cable_name(i) + " has ECN or telemetry, which InfiniBand's switches have not");
  }
  if (!topology.qos) return {};
  const Qos& qos = *topology.qos;
  if (std::ranges::count(qos.weights, 0u) != 0) return wrong("the weight of a traffic class is 0");
  if (qos.flow_control == FlowControl::credits) {
    if (qos.lane_buffer_bytes < wire::kFrameBytesMax)
      return wrong("a lane's buffer of " + std::to_string(qos.lane_buffer_bytes) +
                   " octets has no room for a packet of " + std::to_string(wire::kFrameBytesMax));
    return {};
  }
  if (qos.lossless == 0) return {};
  std::vector<std::uint64_t> headroom(topology.vertices.size());
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    if (cable.parameters.rate_bits_per_second == 0)
      return wrong("cable " + topology.cable_name(i) +
                   " has no rate: nobody can be paused on it, and nothing is lossless");
    for (const std::uint32_t end : {cable.a, cable.b})
      headroom[end] += qos.lossless_groups() * headroom_of(qos, cable.parameters);
  }
  for (std::uint32_t vertex = topology.hosts; vertex < topology.vertices.size(); ++vertex)
    if (headroom[vertex] >= qos.buffer_bytes)
      return wrong("the ports of switch " + topology.vertices[vertex].name + " need a headroom of " +
                   std::to_string(headroom[vertex]) + " octets, and its buffer has " +
                   std::to_string(qos.buffer_bytes));
  return {};
}

}  // namespace

std::vector<std::uint32_t> Topology::cables_of(std::uint32_t vertex) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t cable = 0; cable < cables.size(); ++cable)
    if (cables[cable].a == vertex || cables[cable].b == vertex) found.push_back(cable);
  return found;
}

std::uint32_t Topology::port_of(std::uint32_t cable, std::uint32_t vertex) const {
  const Cable& found = cables[cable];
  if (const std::uint8_t own = found.a == vertex ? found.port_a : found.port_b; own != 0) return own;
  const auto touches = [&](const Cable& one) { return one.a == vertex || one.b == vertex; };
  return 1 + static_cast<std::uint32_t>(std::count_if(cables.begin(), cables.begin() + cable, touches));
}

std::optional<std::uint32_t> Topology::cable_at(std::uint32_t vertex, std::uint32_t port) const {
  std::uint32_t place = 0;
  for (std::uint32_t i = 0; i < cables.size(); ++i) {
    const Cable& cable = cables[i];
    if (cable.a != vertex && cable.b != vertex) continue;
    ++place;
    const std::uint32_t own = cable.a == vertex ? cable.port_a : cable.port_b;
    if ((own != 0 ? own : place) == port) return i;
  }
  return std::nullopt;
}

std::vector<std::uint64_t> Topology::port_rates() const {
  constexpr std::uint64_t kUnlimited = UINT64_MAX;
  std::vector<std::uint64_t> rates(hosts, 0);
  for (const Cable& cable : cables) {
    const std::uint64_t rate = cable.parameters.rate_bits_per_second;
    for (const std::uint32_t end : {cable.a, cable.b})
      if (is_host(end)) rates[end] = std::max(rates[end], rate != 0 ? rate : kUnlimited);
  }
  std::replace(rates.begin(), rates.end(), kUnlimited, std::uint64_t{0});
  return rates;
}

void Topology::slow_to_nic(std::uint32_t host, std::uint64_t bits_per_second) {
  if (bits_per_second == 0) return;
  for (const std::uint32_t cable : cables_of(host)) {
    std::uint64_t& rate = cables[cable].parameters.rate_bits_per_second;
    rate = rate == 0 ? bits_per_second : std::min(rate, bits_per_second);
  }
}

Result<void, std::string> check(const Topology& topology) {
  for (const auto part :
       {check_sizes, check_medium, check_vertices, check_cables, check_ports, check_reach, check_qos}) {
    Outcome outcome = part(topology);
    if (!outcome) return outcome;
  }
  return {};
}

}  // namespace verbena::fabric
