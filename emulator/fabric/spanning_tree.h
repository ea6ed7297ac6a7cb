// SpanningTree: the ways that a frame for a group takes: to every host once, and never in a circle.
//
// Solely the tree: of the switches that can reach each other over living cables, those on the shortest ways to the
// first of them, as a spanning tree protocol would choose them. Frames for one host never look at it (routing.h).
// Tested by: tests/fabric/routing_test.cc, tests/fabric/multicast_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulator/fabric/routing.h"
#include "emulator/fabric/topology.h"

namespace verbena::fabric {

class SpanningTree {
 public:
  /// `hops`: all directions.
  SpanningTree(const Topology& topology, std::span<const Hop> hops);

  /// `alive[d]`: direction d may be used. A cable takes part while both of its directions may.
  void rebuild(const std::vector<bool>& alive);
  /// The ways out of a vertex, in the order of the directions; to switches of the tree and to hosts.
  std::span<const Hop> ways(std::uint32_t vertex) const { return ways_[vertex]; }

 private:
  bool is_open(const Hop& hop, const std::vector<bool>& alive) const;

  std::uint32_t hosts_;
  std::vector<std::vector<Hop>> out_;  // of each vertex
  std::vector<std::vector<Hop>> ways_;
};

}  // namespace verbena::fabric
