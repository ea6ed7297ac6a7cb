// Senders without end into a network with traffic classes, for the tests of what keeps them back.
//
// Solely responsible for what these tests share; what is right is each test's own.
#pragma once

#include "tests/fabric/network_fixture.h"

namespace verbena::fabric::test {

inline constexpr std::size_t kPayload = 1024;
inline constexpr std::int64_t kFrameNs = 8 * (kPayload + 58);
inline constexpr std::uint8_t kClass3 = 3 << 5;  // the traffic class octet of an IP header

inline Topology with(Topology topology, const Qos& qos) {
  topology.qos = qos;
  return topology;
}

/// A net that hands frames over as a NIC does: when there is room. Each source sends to its destination without end.
struct Load {
  Load(Net& the_net, std::initializer_list<std::array<std::uint32_t, 2>> of, std::uint8_t the_class = kClass3)
      : net(the_net), pairs(of), traffic_class(the_class) {}
  void run(std::int64_t until_ns, std::int64_t step_ns = 500) {
    for (; now < until_ns; now += step_ns) {
      net.run(now);
      for (const auto& [from, to] : pairs) {
        const wire::Gid destination = node_gid(to + 1);
        const Network::Intent intent{destination, traffic_class};
        while (net.network.has_room_at(Time{now}, from, &intent) == Time{now}) {
          net.network.submit(Time{now}, from, Net::frame(from, to, sent++, kPayload, traffic_class));
          ++sent_by[from];
        }
      }
    }
  }
  Net& net;
  std::vector<std::array<std::uint32_t, 2>> pairs;
  std::uint8_t traffic_class;
  std::int64_t now = 0;
  std::uint32_t sent = 0;
  std::map<std::uint32_t, int> sent_by;
};

/// Packets that have arrived; pause frames do as well.
inline std::size_t packets(const Net& net) {
  return static_cast<std::size_t>(
      std::count_if(net.got.begin(), net.got.end(), [](const Got& got) { return got.psn != UINT32_MAX; }));
}

inline LinkStatistics statistics(const Net& net, LinkId link) {
  return net.network.link_statistics(Time{1'000'000'000}, link);
}

}  // namespace verbena::fabric::test
