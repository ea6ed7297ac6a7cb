#include "emulator/fabric/shape_table.h"

#include <algorithm>
#include <vector>

#include "emulator/fabric/nearest_word.h"

namespace verbena::fabric {
namespace {

constexpr std::uint32_t kHalf = kVerticesMax / 2;
constexpr std::uint32_t kMeshMax = 700;    // of switches: each is joined to each
constexpr std::uint32_t kFatTreeMax = 58;  // pods: 48,778 hosts and 4,205 switches

constexpr ShapeKey kStarKeys[] = {{.name = "hosts", .example = "4", .least = 2, .most = kVerticesMax - 1}};
constexpr ShapeKey kLineKeys[] = {{.name = "hosts", .example = "4", .least = 2, .most = kHalf}};
constexpr ShapeKey kRingKeys[] = {{.name = "hosts", .example = "4", .least = 3, .most = kHalf}};
constexpr ShapeKey kMeshKeys[] = {{.name = "hosts", .example = "4", .least = 2, .most = kMeshMax}};
constexpr ShapeKey kDumbbellKeys[] = {{.name = "hosts", .example = "4", .least = 1, .most = kHalf - 1}};
constexpr ShapeKey kLeafSpineKeys[] = {{.name = "leaves", .example = "2", .least = 1, .most = 512},
                                       {.name = "spines", .example = "2", .least = 1, .most = 512},
                                       {.name = "hosts-per-leaf", .example = "2", .least = 1, .most = 64}};
constexpr ShapeKey kClosKeys[] = {{.name = "pods", .example = "2", .least = 1, .most = 32},
                                  {.name = "racks", .example = "2", .least = 1, .most = 32},
                                  {.name = "hosts-per-rack", .example = "2", .least = 1, .most = 32},
                                  {.name = "aggregations", .example = "2", .least = 1, .most = 32},
                                  {.name = "cores", .example = "2", .least = 1, .most = 32}};
constexpr ShapeKey kFatTreeKeys[] = {{.name = "k", .example = "4", .least = 2, .most = kFatTreeMax, .is_even = true}};

template <Topology (*kMake)(std::uint32_t, const ShapeParameters&)>
Topology of_one_size(const ShapeSizes& sizes, const ShapeParameters& parameters) {
  return kMake(sizes[0], parameters);
}
std::optional<ShapeSizes> any(std::uint32_t hosts) {
  return ShapeSizes{hosts};
}

constexpr Shape kShapes[] = {
    {"star", kStarKeys, "hosts: hosts: 4", "", of_one_size<star>, any},
    {"line", kLineKeys, "hosts: hosts: 4", "", of_one_size<line>, any},
    {"ring", kRingKeys, "hosts: hosts: 4", "", of_one_size<ring>, any},
    {"full-mesh", kMeshKeys, "hosts: hosts: 4", "", of_one_size<full_mesh>, any},
    {"dumbbell", kDumbbellKeys, "hosts, of each side: hosts: 4 for 8 hosts", "even", of_one_size<dumbbell>,
     [](std::uint32_t hosts) { return hosts % 2 == 0 ? any(hosts / 2) : std::nullopt; }},
    {"leaf-spine", kLeafSpineKeys,
     "leaves, spines and hosts-per-leaf: leaves: 2, spines: 2, hosts-per-leaf: 4 for 8 hosts", "even",
     [](const ShapeSizes& sizes, const ShapeParameters& parameters) {
       return leaf_spine({.leaves = sizes[0], .spines = sizes[1], .hosts_per_leaf = sizes[2]}, parameters);
     },
     [](std::uint32_t hosts) -> std::optional<ShapeSizes> {
       if (hosts % 2 != 0) return std::nullopt;
       return ShapeSizes{hosts / 2, 2, 2};
     }},
    {"clos", kClosKeys,
     "pods, racks and aggregations of each pod, hosts-per-rack, and cores of each aggregation: pods: 2, racks: 2, "
     "hosts-per-rack: 4, aggregations: 2, cores: 2 for 16 hosts",
     "a multiple of 4",
     [](const ShapeSizes& sizes, const ShapeParameters& parameters) {
       return clos({.pods = sizes[0],
                    .racks_per_pod = sizes[1],
                    .hosts_per_rack = sizes[2],
                    .aggregations_per_pod = sizes[3],
                    .cores_per_row = sizes[4]},
                   parameters);
     },
     [](std::uint32_t hosts) -> std::optional<ShapeSizes> {
       if (hosts % 4 != 0 || hosts == 0) return std::nullopt;
       return ShapeSizes{2, 2, hosts / 4, 2, 2};
     }},
    {"fat-tree", kFatTreeKeys, "k, an even number of pods, and has k*k*k/4 hosts: k: 4 for 16 hosts",
     "2, 16, 54 or 128 (k*k*k/4)", of_one_size<fat_tree>,
     [](std::uint32_t hosts) -> std::optional<ShapeSizes> {
       for (std::uint32_t k = 2; k <= kFatTreeMax; k += 2)
         if (k * k * k / 4 == hosts) return ShapeSizes{k};
       return std::nullopt;
     }},
};

}  // namespace

std::span<const Shape> shapes() {
  return kShapes;
}

const Shape* find_shape(std::string_view name) {
  const auto* const found = std::ranges::find(kShapes, name, &Shape::name);
  return found == std::end(kShapes) ? nullptr : found;
}

std::string shape_names() {
  std::string names;
  for (const Shape& shape : kShapes) names += (names.empty() ? "" : ", ") + std::string(shape.name);
  return names;
}

std::string shape_meant(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  return did_you_mean(name, names);
}

}  // namespace verbena::fabric
