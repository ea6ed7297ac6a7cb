// Which way frames take: shortest ways, all of the equal ones, around what is dead.
#include "emulator/fabric/routing.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

using namespace verbena;
using namespace verbena::fabric;

namespace {

struct Map {
  explicit Map(Topology of)
      : topology(std::move(of)), hops(hops_of(topology)), alive(hops.size(), true), routing(topology, hops, 1) {
    routing.rebuild(alive);
  }
  static std::vector<Hop> hops_of(const Topology& topology) {
    std::vector<Hop> hops;
    for (const Cable& cable : topology.cables) {
      hops.push_back({cable.a, cable.b, static_cast<DirectionNumber>(hops.size())});
      hops.push_back({cable.b, cable.a, static_cast<DirectionNumber>(hops.size())});
    }
    return hops;
  }
  /// The vertices from host to host; what ends elsewhere than there ends with UINT32_MAX.
  std::vector<std::uint32_t> way(std::uint32_t from, std::uint32_t to, std::uint32_t flow = 0) const {
    std::vector<std::uint32_t> vertices{from};
    for (DirectionNumber number = routing.first(from, to); vertices.size() < 100;) {
      if (number == kNoDirection) {
        vertices.push_back(UINT32_MAX);
        return vertices;
      }
      vertices.push_back(hops[number].to);
      if (topology.is_host(vertices.back())) return vertices;
      number = routing.next(vertices.back(), to, flow);
    }
    return vertices;
  }
  void kill(std::uint32_t a, std::uint32_t b) {
    for (const Hop& hop : hops)
      if ((hop.from == a && hop.to == b) || (hop.from == b && hop.to == a)) alive[hop.direction] = false;
    routing.rebuild(alive);
  }
  Topology topology;
  std::vector<Hop> hops;
  std::vector<bool> alive;
  Routing routing;
};
using Way = std::vector<std::uint32_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_frame_takes_a_shortest_way) {
  BOOST_CHECK((Map(star(3, {})).way(0, 2) == Way{0, 3, 2}));
  BOOST_CHECK((Map(line(4, {})).way(3, 1) == Way{3, 7, 6, 5, 1}));
  BOOST_CHECK((Map(ring(6, {})).way(0, 5) == Way{0, 6, 11, 5}));
  BOOST_CHECK((Map(full_mesh(5, {})).way(0, 4) == Way{0, 5, 9, 4}));
  BOOST_TEST(Map(fat_tree(4, {})).way(0, 15).size() == 7u);
  BOOST_TEST(Map(fat_tree(4, {})).way(0, 2).size() == 5u);
  BOOST_TEST(Map(fat_tree(4, {})).way(0, 1).size() == 3u);
}

BOOST_AUTO_TEST_CASE(flows_spread_over_all_equal_ways_and_a_flow_keeps_to_one) {
  const Map map(fat_tree(8, {}));
  std::map<Way, int> ways;
  for (std::uint32_t flow = 0; flow < 1600; ++flow) {
    const std::uint32_t hash = static_cast<std::uint32_t>(mix(flow));
    BOOST_TEST(map.way(0, 127, hash).size() == 7u);
    BOOST_CHECK(map.way(0, 127, hash) == map.way(0, 127, hash));
    ++ways[map.way(0, 127, hash)];
  }
  BOOST_TEST(ways.size() == 16u);  // 4 aggregations, 4 cores each
  for (const auto& [way, flows] : ways) BOOST_TEST((flows > 50 && flows < 150));
}

BOOST_AUTO_TEST_CASE(every_pair_of_hosts_is_joined_in_every_shape) {
  for (const Topology& topology : {ring(7, {}), line(5, {}), full_mesh(6, {}), dumbbell(4, {}), fat_tree(4, {}),
                                   leaf_spine({.leaves = 3, .spines = 2, .hosts_per_leaf = 4}, {})}) {
    const Map map(topology);
    for (std::uint32_t a = 0; a < topology.hosts; ++a)
      for (std::uint32_t b = 0; b < topology.hosts; ++b)
        if (a != b) BOOST_TEST(map.way(a, b, a * 31 + b).back() == b);
  }
}

BOOST_AUTO_TEST_CASE(dead_links_are_gone_around_or_end_the_way) {
  Map map(ring(6, {}));
  map.kill(6, 11);
  BOOST_CHECK((map.way(0, 5) == Way{0, 6, 7, 8, 9, 10, 11, 5}));
  map.kill(8, 9);
  BOOST_CHECK((map.way(0, 5) == Way{0, 6, UINT32_MAX}));
  BOOST_CHECK((map.way(0, 2) == Way{0, 6, 7, 8, 2}));
}

BOOST_AUTO_TEST_CASE(one_dead_direction_turns_away_only_what_would_use_it) {
  Map map(ring(4, {}));
  for (const Hop& hop : map.hops)
    if (hop.from == 4 && hop.to == 5) map.alive[hop.direction] = false;
  map.routing.rebuild(map.alive);
  BOOST_CHECK((map.way(0, 1) == Way{0, 4, 7, 6, 5, 1}));
  BOOST_CHECK((map.way(1, 0) == Way{1, 5, 4, 0}));
}

BOOST_AUTO_TEST_CASE(routes_of_1024_hosts_stay_small) {
  BOOST_TEST(Map(fat_tree(16, {})).routing.memory_bytes() < 2u << 20);
}
