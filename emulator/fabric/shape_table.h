// ShapeTable: the shapes of topologies by name, and what says how large one is.
//
// Solely the table that scenario files (`topology: {shape: ring, hosts: 4}`) and `verbena fabric` (`--topology ring
// --nodes 4`) read their words by. The shapes themselves are shapes.cc.
// Tested by: tests/fabric/topology_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "emulator/fabric/topology.h"

namespace verbena::fabric {

/// A number that says how large a shape is. Bounded so that no shape takes more memory than the largest topology.
struct ShapeKey {
  std::string_view name;
  std::string_view example;
  std::uint32_t least = 1;
  std::uint32_t most = kVerticesMax;
  bool is_even = false;
};
inline constexpr std::size_t kShapeKeysMax = 5;
using ShapeSizes = std::array<std::uint32_t, kShapeKeysMax>;  // in the order of Shape::keys

struct Shape {
  std::string_view name;
  std::span<const ShapeKey> keys;
  std::string_view keys_text;   // how they are written
  std::string_view hosts_text;  // what the number of hosts is where not all numbers will do
  Topology (*make)(const ShapeSizes& sizes, const ShapeParameters& parameters);
  /// The sizes of one with so many hosts. Nothing: there is none.
  std::optional<ShapeSizes> (*sizes_of)(std::uint32_t hosts);
};

std::span<const Shape> shapes();
/// Null: there is no such shape.
const Shape* find_shape(std::string_view name);
/// Their names, for messages: "star, line, ...".
std::string shape_names();
/// "; did you mean 'star'?", of a name that no shape has; or nothing.
std::string shape_meant(std::string_view name);

}  // namespace verbena::fabric
