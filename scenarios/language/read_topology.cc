// The `topology:` of a scenario: a shape or explicit nodes, switches and links, and what each link is like.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "emulator/fabric/rails.h"
#include "emulator/fabric/shape_table.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

using fabric::CableParameters;
using fabric::ShapeParameters;
using fabric::Topology;

constexpr std::uint64_t kQueueBytesMax = 1u << 30;
constexpr std::uint64_t kMtuMin = 256 + 60;  // the smallest path MTU and its headers
constexpr std::uint64_t kMtuMax = 65'535;
constexpr std::size_t kNameCharactersMax = 40;

/// `ecn: 100KB`, or `ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%}`.
fabric::EcnMarking read_ecn(const Value& value) {
  fabric::EcnMarking ecn;
  const auto octets = [](const Value& of) { return static_cast<std::uint32_t>(of.size(0, kQueueBytesMax)); };
  if (!value.is_map()) {
    ecn.kmin_bytes = ecn.kmax_bytes = octets(value);
    return ecn;
  }
  const Section section(value, "ecn");
  const Value kmin = section.need("kmin", "5KB");
  const Value kmax = section.need("kmax", "200KB");
  ecn.kmin_bytes = octets(kmin);
  ecn.kmax_bytes = octets(kmax);
  if (ecn.kmin_bytes > ecn.kmax_bytes) kmin.wrong("kmin is above kmax, " + std::to_string(ecn.kmax_bytes));
  if (ecn.kmax_bytes == 0) kmax.wrong("with 0 nothing is marked: leave ecn out");
  const Value pmax = section.need("pmax", "1%");
  const auto probability = fabric::parse_probability(pmax.word());
  if (!probability) pmax.wrong("a probability, such as 1% or 0.01");
  ecn.pmax_ppb = *probability;
  return ecn;
}

void read_cable(const Section& section, CableParameters& cable) {
  if (const auto value = section.find("rate")) cable.rate_bits_per_second = value->rate();
  if (const auto value = section.find("delay")) cable.propagation = value->duration();
  if (const auto value = section.find("queue"))
    cable.queue_bytes = static_cast<std::uint32_t>(value->size(2048, kQueueBytesMax));
  if (const auto value = section.find("ecn")) cable.ecn = read_ecn(*value);
  if (const auto value = section.find("telemetry")) cable.telemetry = value->yes_no();
  if (const auto value = section.find("mtu"))
    cable.mtu_bytes = static_cast<std::uint32_t>(value->size(kMtuMin, kMtuMax));
  if (cable.ecn.kmin_bytes > cable.queue_bytes)
    complain(section.place(), "ecn " + std::to_string(cable.ecn.kmin_bytes) + " is above queue " +
                                  std::to_string(cable.queue_bytes) + ": nothing would ever be marked");
}

ShapeParameters read_parameters(const Section& topology) {
  ShapeParameters parameters;
  if (const auto link = topology.find("link")) read_cable(Section(*link, "cable"), parameters.host_cable);
  parameters.trunk = parameters.host_cable;
  if (const auto trunk = topology.find("trunk")) read_cable(Section(*trunk, "cable"), parameters.trunk);
  return parameters;
}

// -- Rails

fabric::RailOptions read_rails(const Section& topology) {
  fabric::RailOptions options;
  if (const auto value = topology.find("rails"))
    options.rails = static_cast<std::uint32_t>(value->number(1, fabric::kRailsMax));
  if (const auto value = topology.find("planes")) {
    options.planes = value->choice(fabric::kPlanes);
    if (options.rails == 1)
      value->wrong("it is about nodes with several rails: write rails: 2 as well, or leave it out");
  }
  return options;
}

// -- Shapes

void refuse_keys_that_belong_elsewhere(const Section& topology, const fabric::Shape* shape) {
  for (const fabric::Shape& other : fabric::shapes()) {
    for (const fabric::ShapeKey& key : other.keys) {
      if (!topology.has(key.name)) continue;
      const std::string named = "'" + std::string(key.name) + "'";
      const Place place = topology.find(key.name)->place();
      if (shape == nullptr) complain(place, named + " needs shape:");
      if (std::ranges::count(shape->keys, key.name, &fabric::ShapeKey::name) == 0)
        complain(place, named + " does not belong to shape " + std::string(shape->name) + ": it takes " +
                            std::string(shape->keys_text));
    }
  }
}

Topology read_shape(const Section& topology, const ShapeParameters& parameters, const fabric::RailOptions& rails) {
  const Value name = topology.need("shape", "star");
  const fabric::Shape* const shape = fabric::find_shape(name.word());
  if (shape == nullptr)
    name.wrong("use one of " + fabric::shape_names() +
               ", or write nodes:, switches: and links:" + fabric::shape_meant(name.word()));
  refuse_keys_that_belong_elsewhere(topology, shape);
  fabric::ShapeSizes sizes{};
  for (std::size_t i = 0; i < shape->keys.size(); ++i) {
    const fabric::ShapeKey& key = shape->keys[i];
    const Value value = topology.need(key.name, key.example);
    sizes[i] = static_cast<std::uint32_t>(value.number(key.least, key.most));
    if (key.is_even && sizes[i] % 2 != 0)
      value.wrong(std::string(key.name) + " of a " + std::string(shape->name) + " is even");
  }
  auto made = with_rails(shape->make(sizes, parameters), rails);
  if (!made) topology.need("rails", "2").wrong(made.error());
  return std::move(*made);
}

// -- Nodes, switches and links

std::string read_vertex_name(const Value& name) {
  const std::string word = name.word();
  const bool fine =
      word.size() <= kNameCharactersMax && std::all_of(word.begin(), word.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
      });
  if (!fine) name.wrong("a name has up to 40 letters, digits, _ and . (a - joins the ends of a link)");
  if (word == "all" || word == "hosts" || word == "trunks")
    name.wrong("this word means a group of links: use another name");
  return word;
}

Topology read_explicit(const Section& topology, const fabric::RailOptions& rails) {
  Topology made;
  made.rails = rails.rails;
  made.planes = rails.rails == 1 ? fabric::Planes::shared : rails.planes;
  std::set<std::string> seen;
  const auto add = [&](const Value& names, fabric::VertexKind kind) {
    const std::uint32_t hosts = kind == fabric::VertexKind::host ? rails.rails : 1;
    for (const Value& name : names.items()) {
      const std::string word = read_vertex_name(name);
      if (!seen.insert(word).second) name.wrong("the name is used twice");
      if (made.vertices.size() + hosts > fabric::kVerticesMax) name.wrong("there are too many nodes and switches");
      if (rails.rails != 1 && word.find('.') != word.npos)
        name.wrong("with rails a name has no '.': n1.2 is rail 2 of n1");
      for (std::uint32_t rail = 0; rail < hosts; ++rail)
        made.vertices.push_back({fabric::host_name(word, rail, hosts), kind});
    }
  };
  add(topology.need("nodes", "[n1, n2]"), fabric::VertexKind::host);
  made.hosts = static_cast<std::uint32_t>(made.vertices.size());
  if (const auto switches = topology.find("switches")) add(*switches, fabric::VertexKind::network_switch);
  (void)topology.need("links", "[{between: [n1, s1]}]");
  refuse_keys_that_belong_elsewhere(topology, nullptr);
  return made;
}

std::pair<std::string, std::string> read_ends(const Value& between, const ElementNames& names) {
  const std::vector<Value> ends = between.items();
  if (!between.is_list() || ends.size() != 2) between.wrong("write the two ends: [n1, s1]");
  for (const Value& end : ends) {
    const std::string word = end.word();
    if (!fabric::vertices_named(names.topology(), word).empty()) continue;
    const std::string rails = fabric::rails_meant(names.topology(), word);
    end.wrong("there is no node or switch of this name" + (rails.empty() ? names.meant(word) : rails));
  }
  if (ends[0].word() == ends[1].word()) between.wrong("a link joins two different ends");
  return {ends[0].word(), ends[1].word()};
}

/// A node's name stands for a cable of each of its rails; between nodes, to the same rail of the other.
void make_links(const Section& link, const std::string& a, const std::string& b, const ShapeParameters& parameters,
                Topology& topology) {
  for (const auto& [from, to] : fabric::ends_named(topology, a, b)) {
    const bool of_host = topology.is_host(from) || topology.is_host(to);
    topology.cables.push_back({from, to, of_host ? parameters.host_cable : parameters.trunk});
    read_cable(link, topology.cables.back().parameters);
  }
}

/// With a shape the links are there already and are changed; otherwise they are made here.
void read_links(const Value& list, bool make, const ShapeParameters& parameters, Topology& topology) {
  std::size_t entries = 0;
  for (const Value& item : list.items()) {
    if (++entries > kEntriesMax)
      complain(item.place(), "there are more than " + std::to_string(kEntriesMax) + " links here");
    const Section link(item, "link");
    const ElementNames names(topology);
    const Value between = link.need("between", "[n1, s1]");
    const auto [a, b] = read_ends(between, names);
    if (make) {
      make_links(link, a, b, parameters, topology);
      continue;
    }
    const auto cables = fabric::cables_between(topology, a, b);
    if (cables.empty()) complain(between.place(), "there is no link between " + a + " and " + b + " in this shape");
    for (const std::uint32_t cable : cables) read_cable(link, topology.cables[cable].parameters);
  }
}

}  // namespace

Topology read_topology(const Value& value, wire::Medium medium) {
  const Section section(value, "topology");
  section.exclude("shape", "nodes");
  section.exclude("shape", "switches");
  const ShapeParameters parameters = read_parameters(section);
  const bool has_shape = section.has("shape");
  if (!has_shape && !section.has("nodes"))
    complain(section.place(), "topology needs a shape, such as shape: star, or nodes:, switches: and links:");
  const fabric::RailOptions rails = read_rails(section);
  Topology topology = has_shape ? read_shape(section, parameters, rails) : read_explicit(section, rails);
  if (const auto links = section.find("links")) read_links(*links, !has_shape, parameters, topology);
  constexpr std::array<fabric::Named<fabric::Spreading>, 2> kSpreadings{
      {{"flow", fabric::Spreading::flow}, {"packet", fabric::Spreading::packet}}};
  if (const auto spread = section.find("spread")) topology.spreading = spread->choice(kSpreadings);
  topology.medium = medium;
  if (medium == wire::Medium::infiniband) {
    topology.qos = fabric::infiniband_qos();
    if (const auto spread = section.find("spread"); spread && topology.spreading == fabric::Spreading::packet)
      spread->wrong("InfiniBand's switches send all packets for one port by one way");
  }
  if (const auto qos = section.find("qos")) topology.qos = read_qos(*qos, medium);
  if (const auto managed = section.find("managed")) {
    topology.is_managed = managed->yes_no();
    if (topology.is_managed && medium != wire::Medium::infiniband)
      managed->wrong("a subnet manager needs wire: infiniband");
  }
  if (const auto good = fabric::check(topology); !good)
    complain(section.place(), "this topology is impossible: " + good.error());
  return topology;
}

}  // namespace verbena::scenarios
