#include "emulator/fabric/rails.h"

#include <algorithm>
#include <optional>

#include "wire/assert.h"

namespace verbena::fabric {
namespace {

std::optional<std::uint32_t> node_named(const Topology& topology, std::string_view name) {
  for (std::uint32_t node = 0; node < topology.nodes(); ++node)
    if (topology.node_name(node) == name) return node;
  return std::nullopt;
}

/// The shape's own names are those of nodes by now.
void name_hosts(const Topology& shape, std::uint32_t rails, Topology& into) {
  for (std::uint32_t node = 0; node < shape.hosts; ++node)
    for (std::uint32_t rail = 0; rail < rails; ++rail)
      into.vertices.push_back({host_name(shape.vertices[node].name, rail, rails), VertexKind::host});
}

}  // namespace

std::string host_name(std::string_view node, std::uint32_t rail, std::uint32_t rails) {
  return rails == 1 ? std::string(node) : std::string(node) + "." + std::to_string(rail + 1);
}

Result<Topology, std::string> with_rails(const Topology& shape, const RailOptions& options) {
  VERBENA_ASSERT(shape.rails == 1 && options.rails >= 1 && options.rails <= kRailsMax);
  if (options.rails == 1) return shape;
  const std::uint32_t rails = options.rails;
  const std::uint32_t copies = options.planes == Planes::separate ? rails : 1;  // of the switches
  const std::uint64_t vertices = std::uint64_t{shape.hosts} * rails + std::uint64_t{shape.switches()} * copies;
  if (vertices > kVerticesMax || shape.cables.size() * rails > kCablesMax)
    return Failure{"with " + std::to_string(rails) + " rails it has " + std::to_string(vertices) +
                   " NIC ports and switches and " + std::to_string(shape.cables.size() * rails) +
                   " cables, more than " + std::to_string(kVerticesMax) + " and " + std::to_string(kCablesMax)};
  Topology made = shape;
  made.vertices.clear();
  made.cables.clear();
  made.hosts = shape.hosts * rails;
  made.rails = rails;
  made.planes = options.planes;
  name_hosts(shape, rails, made);
  for (std::uint32_t i = 1; i <= shape.switches() * copies; ++i)
    made.vertices.push_back({"s" + std::to_string(i), VertexKind::network_switch});
  const auto vertex_of = [&](std::uint32_t vertex, std::uint32_t rail) {
    if (shape.is_host(vertex)) return vertex * rails + rail;
    return made.hosts + (copies == 1 ? 0 : rail * shape.switches()) + vertex - shape.hosts;
  };
  for (std::uint32_t rail = 0; rail < rails; ++rail)
    for (const Cable& cable : shape.cables) {
      const bool is_of_host = shape.is_host(cable.a) || shape.is_host(cable.b);
      if (rail < copies || is_of_host)
        made.cables.push_back(
            {vertex_of(cable.a, rail), vertex_of(cable.b, rail), cable.parameters, cable.port_a, cable.port_b});
    }
  return made;
}

std::vector<std::uint32_t> vertices_named(const Topology& topology, std::string_view name) {
  std::vector<std::uint32_t> found;
  const auto vertex = std::ranges::find(topology.vertices, name, &Vertex::name);
  if (vertex != topology.vertices.end()) {
    found.push_back(static_cast<std::uint32_t>(vertex - topology.vertices.begin()));
  } else if (const auto node = node_named(topology, name)) {
    for (std::uint32_t rail = 0; rail < topology.rails; ++rail) found.push_back(*node * topology.rails + rail);
  }
  return found;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_named(const Topology& topology, std::string_view a,
                                                                std::string_view b) {
  const std::vector<std::uint32_t> first = vertices_named(topology, a);
  const std::vector<std::uint32_t> second = vertices_named(topology, b);
  const bool are_nodes = first.size() > 1 && second.size() > 1;  // only a node is several
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const std::uint32_t from : first)
    for (const std::uint32_t to : second)
      if (!are_nodes || topology.rail_of(from) == topology.rail_of(to)) ends.emplace_back(from, to);
  return ends;
}

std::vector<std::uint32_t> cables_between(const Topology& topology, std::string_view a, std::string_view b) {
  const std::vector<std::uint32_t> first = vertices_named(topology, a);
  const std::vector<std::uint32_t> second = vertices_named(topology, b);
  const auto is_in = [](const std::vector<std::uint32_t>& vertices, std::uint32_t vertex) {
    return std::ranges::find(vertices, vertex) != vertices.end();
  };
  std::vector<std::uint32_t> found;
  if (first.empty() || second.empty()) return found;
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    if ((is_in(first, cable.a) && is_in(second, cable.b)) || (is_in(second, cable.a) && is_in(first, cable.b)))
      found.push_back(i);
  }
  return found;
}

std::string rails_meant(const Topology& topology, std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos) return {};
  const auto node = node_named(topology, name.substr(0, dot));
  if (!node || dot + 1 == name.size() || name.find_first_not_of("0123456789", dot + 1) != name.npos) return {};
  const std::string own(topology.node_name(*node));
  if (topology.rails == 1) return "; " + own + " has one rail: write " + own;
  return "; " + own + " has the rails " + host_name(own, 0, topology.rails) + (topology.rails == 2 ? " and " : " to ") +
         host_name(own, topology.rails - 1, topology.rails);
}

}  // namespace verbena::fabric
