#include "emulator/host/fabric_process/subnet_topology.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "emulator/host/node/identity.h"
#include "wire/printable.h"

namespace verbena::host {
namespace {

constexpr std::uint64_t kFirstSwitchGuid = 0x0256'4200'0000'0100;
constexpr std::uint64_t kGuidsApart = 0x100;
constexpr std::uint32_t kVendor = 0x025642;  // a number that no vendor has: locally administered
constexpr std::size_t kNameBytesMax = 40;

struct LinkRate {
  std::uint64_t bits_per_second;
  std::uint8_t speed;
  std::uint8_t extended;
};
constexpr std::uint64_t kMega = 1'000'000;
/// Of four lanes.
constexpr std::array kRates{LinkRate{10'000 * kMega, 1, 0},  LinkRate{20'000 * kMega, 2, 0},
                            LinkRate{40'000 * kMega, 4, 0},  LinkRate{56'250 * kMega, 4, 1},
                            LinkRate{100'000 * kMega, 4, 2}, LinkRate{200'000 * kMega, 4, 4},
                            LinkRate{400'000 * kMega, 4, 8}};

const LinkRate& nearest_rate(std::uint64_t bits_per_second) {
  const auto distance = [&](const LinkRate& rate) {
    return std::max(rate.bits_per_second, bits_per_second) - std::min(rate.bits_per_second, bits_per_second);
  };
  return *std::ranges::min_element(kRates, {}, distance);
}

constexpr std::uint8_t kMtuLargest = 5;  // 4096 octets

/// As PortInfo has it: the largest MTU of InfiniBand that the cable carries.
std::uint8_t mtu_code_of(std::uint32_t cable_bytes) {
  std::uint8_t code = kMtuLargest;
  while (cable_bytes != 0 && code > 1 && wire::mtu_bytes(code) > cable_bytes) --code;
  return code;
}

std::uint64_t rate_of(const subnet::PortPlan& plan) {
  constexpr std::uint64_t kLanes = 4;
  const std::uint64_t lanes = plan.width == 8    ? 12
                              : plan.width == 4  ? 8
                              : plan.width == 2  ? 4
                              : plan.width == 16 ? 2
                                                 : 1;
  for (const LinkRate& rate : kRates)
    if (rate.speed == plan.speed && rate.extended == plan.speed_extended) return rate.bits_per_second / kLanes * lanes;
  return kRates[2].bits_per_second;
}

subnet::NodePlan adapter_of(const fabric::Topology& topology, std::uint32_t host) {
  const std::uint32_t rail = topology.rail_of(host);
  const DeviceIdentity device = device_of(node_address(topology.node_of(host) + 1), {rail});
  subnet::NodePlan plan;
  plan.id = topology.vertices[host].name;
  plan.description = std::string(topology.node_name(topology.node_of(host))) + " verbena" + std::to_string(rail);
  plan.guid = number_of(device.node_guid);
  plan.system_image_guid = number_of(device.system_image_guid);
  plan.vendor = kVendor;
  plan.ports.resize(2);
  plan.ports[1].guid = number_of(device.port_guid);
  return plan;
}

subnet::NodePlan switch_of(const fabric::Topology& topology, std::uint32_t vertex, const SwitchPlans& switches) {
  const std::uint32_t index = vertex - topology.hosts;
  subnet::NodePlan plan;
  if (index < switches.size()) plan = switches[index];
  plan.type = wire::NodeType::switch_;
  plan.id = topology.vertices[vertex].name;
  if (index < switches.size()) return plan;
  plan.description = plan.id;
  plan.guid = plan.system_image_guid = kFirstSwitchGuid + index * kGuidsApart;
  plan.vendor = kVendor;
  plan.ports.resize(1);
  return plan;
}

/// Names of vertices, each once.
class Names {
 public:
  std::string name_of(std::string_view id, char kind) {
    ++counted_[kind == 's' ? 1 : 0];
    std::string name(id.substr(0, kNameBytesMax));
    const auto is_fine = [](char one) {
      return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '_' ||
             one == '.';
    };
    for (char& one : name) one = is_fine(one) ? one : '_';
    if (id.size() <= kNameBytesMax && taken_.insert(name).second) return name;
    name = kind + std::to_string(counted_[kind == 's' ? 1 : 0]);
    while (!taken_.insert(name).second) name += '_';
    return name;
  }

 private:
  std::array<std::uint32_t, 2> counted_{};
  std::set<std::string> taken_;
};

}  // namespace

LinkSpeed link_speed(std::uint64_t bits_per_second) {
  const LinkRate& rate = nearest_rate(bits_per_second);
  return {rate.speed, rate.extended};
}

subnet::Topology subnet_of(const fabric::Topology& topology, const SwitchPlans& switches) {
  subnet::Topology made;
  for (std::uint32_t vertex = 0; vertex < topology.vertices.size(); ++vertex)
    made.nodes.push_back(topology.is_host(vertex) ? adapter_of(topology, vertex)
                                                  : switch_of(topology, vertex, switches));
  const auto end_of = [&](std::uint32_t cable, std::uint32_t vertex) {
    const auto port = static_cast<std::uint8_t>(topology.port_of(cable, vertex));
    auto& ports = made.nodes[vertex].ports;
    if (ports.size() <= port) ports.resize(port + std::size_t{1});
    return subnet::PortEnd{vertex, port};
  };
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const fabric::Cable& cable = topology.cables[i];
    const LinkRate& rate = nearest_rate(cable.parameters.rate_bits_per_second);
    const subnet::PortEnd a = end_of(i, cable.a);
    const subnet::PortEnd b = end_of(i, cable.b);
    for (const auto& [end, peer] : {std::pair(a, b), std::pair(b, a)}) {
      subnet::PortPlan& plan = made.nodes[end.node].ports[end.port];
      plan.peer = peer;
      plan.width = 2;
      plan.speed = rate.speed;
      plan.speed_extended = rate.extended;
      plan.mtu = mtu_code_of(cable.parameters.mtu_bytes);
    }
  }
  return made;
}

Result<FabricOfSubnet, std::string> fabric_of(const subnet::Topology& subnet, const fabric::CableParameters& cable) {
  FabricOfSubnet made;
  fabric::Topology& into = made.topology;
  into.medium = wire::Medium::infiniband;
  Names names;
  std::vector<std::vector<std::uint32_t>> vertices(subnet.nodes.size());  // by node and port
  for (std::size_t node = 0; node < subnet.nodes.size(); ++node) {
    const subnet::NodePlan& plan = subnet.nodes[node];
    vertices[node].resize(plan.ports.size());
    if (plan.type == wire::NodeType::router)
      return Failure{std::string(wire::printable(plan.id)) + ": a fabric has no routers"};
    if (plan.type != wire::NodeType::channel_adapter) continue;
    const auto has_cable = [](const subnet::PortPlan& port) { return port.peer.has_value(); };
    const auto cables = std::ranges::count_if(plan.ports, has_cable);
    for (std::size_t port = 1; port < plan.ports.size(); ++port) {
      if (!plan.ports[port].peer) continue;
      vertices[node][port] = static_cast<std::uint32_t>(into.vertices.size());
      const std::string id = cables == 1 ? plan.id : plan.id + "." + std::to_string(port);
      into.vertices.push_back({names.name_of(id, 'n'), fabric::VertexKind::host});
    }
  }
  into.hosts = static_cast<std::uint32_t>(into.vertices.size());
  for (std::size_t node = 0; node < subnet.nodes.size(); ++node) {
    if (subnet.nodes[node].type != wire::NodeType::switch_) continue;
    std::ranges::fill(vertices[node], static_cast<std::uint32_t>(into.vertices.size()));
    into.vertices.push_back({names.name_of(subnet.nodes[node].id, 's'), fabric::VertexKind::network_switch});
    made.switches.push_back(subnet.nodes[node]);
    for (subnet::PortPlan& port : made.switches.back().ports) port.peer.reset();
  }
  for (std::size_t node = 0; node < subnet.nodes.size(); ++node)
    for (std::size_t port = 1; port < subnet.nodes[node].ports.size(); ++port) {
      const subnet::PortPlan& plan = subnet.nodes[node].ports[port];
      const subnet::PortEnd end{node, static_cast<std::uint8_t>(port)};
      if (!plan.peer || std::pair(plan.peer->node, plan.peer->port) < std::pair(end.node, end.port)) continue;
      fabric::Cable one{vertices[node][port], vertices[plan.peer->node][plan.peer->port], cable};
      one.parameters.rate_bits_per_second =
          std::min(rate_of(plan), rate_of(subnet.nodes[plan.peer->node].ports[plan.peer->port]));
      const std::uint8_t mtu = std::min(plan.mtu, subnet.nodes[plan.peer->node].ports[plan.peer->port].mtu);
      if (mtu < kMtuLargest) one.parameters.mtu_bytes = wire::mtu_bytes(mtu);
      one.port_a = into.is_host(one.a) ? std::uint8_t{1} : end.port;
      one.port_b = into.is_host(one.b) ? std::uint8_t{1} : plan.peer->port;
      into.cables.push_back(one);
    }
  return made;
}

namespace {
Result<std::string, std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Failure{std::string(wire::printable(path)) + ": " + std::strerror(errno)};
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();  // of nothing, << fails
  if (file.bad() || text.fail()) return Failure{std::string(wire::printable(path)) + ": cannot be read: not a file?"};
  return std::move(text).str();
}
}  // namespace

Result<subnet::Topology, std::string> read_subnet_file(const std::string& path) {
  const auto text = text_of(path);
  if (!text) return Failure{text.error()};
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  return subnet::read_topology(*text, std::string(wire::printable(path)),
                               [&](const std::string& name) { return text_of((folder / name).string()); });
}

}  // namespace verbena::host
