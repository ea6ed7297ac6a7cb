// The shapes that a topology can be made from. Hosts are n1, n2, ..., switches s1, s2, ... in the order in which they
// are made.
// Tested by: tests/fabric/topology_test.cc
#include "emulator/fabric/topology.h"
#include "wire/assert.h"

namespace verbena::fabric {
namespace {

class Maker {
 public:
  Maker(std::uint32_t hosts, std::uint32_t switches, const ShapeParameters& parameters) : parameters_(parameters) {
    topology_.hosts = hosts;
    topology_.vertices.reserve(hosts + switches);
    for (std::uint32_t i = 1; i <= hosts; ++i)
      topology_.vertices.push_back({"n" + std::to_string(i), VertexKind::host});
    for (std::uint32_t i = 1; i <= switches; ++i)
      topology_.vertices.push_back({"s" + std::to_string(i), VertexKind::network_switch});
  }
  void join_host(std::uint32_t host, std::uint32_t to_switch) {
    topology_.cables.push_back({host, topology_.hosts + to_switch, parameters_.host_cable});
  }
  void join_switches(std::uint32_t a, std::uint32_t b) {
    topology_.cables.push_back({topology_.hosts + a, topology_.hosts + b, parameters_.trunk});
  }
  Topology take() { return std::move(topology_); }

 private:
  const ShapeParameters& parameters_;
  Topology topology_;
};

/// A switch for each host.
Maker host_per_switch(std::uint32_t hosts, const ShapeParameters& parameters) {
  Maker maker(hosts, hosts, parameters);
  for (std::uint32_t i = 0; i < hosts; ++i) maker.join_host(i, i);
  return maker;
}

}  // namespace

Topology star(std::uint32_t hosts, const ShapeParameters& parameters) {
  Maker maker(hosts, 1, parameters);
  for (std::uint32_t host = 0; host < hosts; ++host) maker.join_host(host, 0);
  return maker.take();
}

Topology line(std::uint32_t hosts, const ShapeParameters& parameters) {
  Maker maker = host_per_switch(hosts, parameters);
  for (std::uint32_t i = 0; i + 1 < hosts; ++i) maker.join_switches(i, i + 1);
  return maker.take();
}

Topology ring(std::uint32_t hosts, const ShapeParameters& parameters) {
  Maker maker = host_per_switch(hosts, parameters);
  for (std::uint32_t i = 0; i + 1 < hosts; ++i) maker.join_switches(i, i + 1);
  if (hosts > 2) maker.join_switches(hosts - 1, 0);
  return maker.take();
}

Topology full_mesh(std::uint32_t hosts, const ShapeParameters& parameters) {
  Maker maker = host_per_switch(hosts, parameters);
  for (std::uint32_t a = 0; a < hosts; ++a)
    for (std::uint32_t b = a + 1; b < hosts; ++b) maker.join_switches(a, b);
  return maker.take();
}

Topology dumbbell(std::uint32_t hosts_per_side, const ShapeParameters& parameters) {
  Maker maker(2 * hosts_per_side, 2, parameters);
  for (std::uint32_t host = 0; host < 2 * hosts_per_side; ++host) maker.join_host(host, host / hosts_per_side);
  maker.join_switches(0, 1);
  return maker.take();
}

Topology leaf_spine(const LeafSpine& size, const ShapeParameters& parameters) {
  Maker maker(size.leaves * size.hosts_per_leaf, size.leaves + size.spines, parameters);
  for (std::uint32_t host = 0; host < size.leaves * size.hosts_per_leaf; ++host)
    maker.join_host(host, host / size.hosts_per_leaf);
  for (std::uint32_t leaf = 0; leaf < size.leaves; ++leaf)
    for (std::uint32_t spine = 0; spine < size.spines; ++spine) maker.join_switches(leaf, size.leaves + spine);
  return maker.take();
}

Topology clos(const Clos& size, const ShapeParameters& parameters) {
  // Switches: all racks pod by pod, then all aggregations pod by pod, then the core row by row.
  const std::uint32_t racks = size.pods * size.racks_per_pod;
  const std::uint32_t core = racks + size.pods * size.aggregations_per_pod;
  Maker maker(racks * size.hosts_per_rack, core + size.aggregations_per_pod * size.cores_per_row, parameters);
  for (std::uint32_t host = 0; host < racks * size.hosts_per_rack; ++host)
    maker.join_host(host, host / size.hosts_per_rack);
  for (std::uint32_t rack = 0; rack < racks; ++rack)
    for (std::uint32_t i = 0; i < size.aggregations_per_pod; ++i)
      maker.join_switches(rack, racks + rack / size.racks_per_pod * size.aggregations_per_pod + i);
  for (std::uint32_t aggregation = 0; aggregation < size.pods * size.aggregations_per_pod; ++aggregation)
    for (std::uint32_t i = 0; i < size.cores_per_row; ++i)
      maker.join_switches(racks + aggregation, core + aggregation % size.aggregations_per_pod * size.cores_per_row + i);
  return maker.take();
}

Topology fat_tree(std::uint32_t k, const ShapeParameters& parameters) {
  VERBENA_ASSERT(k >= 2 && k % 2 == 0);
  const std::uint32_t half = k / 2;
  return clos(
      {.pods = k, .racks_per_pod = half, .hosts_per_rack = half, .aggregations_per_pod = half, .cores_per_row = half},
      parameters);
}

}  // namespace verbena::fabric
