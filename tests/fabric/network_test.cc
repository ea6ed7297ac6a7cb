// Frames between hosts: when they arrive, which way they take, which are marked, and what room there is for more.
#include "tests/fabric/network_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

BOOST_AUTO_TEST_CASE(a_frame_takes_its_time_on_each_wire_and_arrives_whole) {
  Net net(star(2, slow()));
  const auto sent = Net::frame(0, 1, 7, 100);
  net.network.submit(Time{500}, 0, sent);
  BOOST_CHECK(net.network.next_deadline() == Time{500 + static_cast<std::int64_t>(sent.size()) * 8 + 1000});
  net.run();
  BOOST_TEST_REQUIRE(net.got.size() == 1u);
  BOOST_TEST(net.got[0] == (Got{500 + 2 * (static_cast<std::int64_t>(sent.size()) * 8 + 1000), 1, 7}));
  BOOST_CHECK(net.last == sent);
  BOOST_CHECK(!net.network.next_deadline());
  BOOST_TEST(net.network.statistics().arrivals == 2u);
  BOOST_TEST(net.network.statistics().host_arrivals == 1u);
  BOOST_TEST(net.events[FrameEvent::sent] == 2);
  BOOST_TEST(net.events[FrameEvent::delivered] == 2);
}

BOOST_AUTO_TEST_CASE(frames_queue_behind_each_other_and_never_overtake) {
  Net net(star(2, slow()));
  for (std::uint32_t psn = 0; psn < 3; ++psn) net.send(0, 0, 1, psn);
  BOOST_TEST(net.network.link_statistics(Time{0}, {0, false}).queue_octets == 3 * kAckBytes);
  BOOST_TEST(net.network.link_statistics(Time{kAckNs}, {0, false}).queue_octets == 2 * kAckBytes);
  net.run();
  for (std::uint32_t psn = 0; psn < 3; ++psn) BOOST_TEST(net.got[psn] == (Got{2000 + (2 + psn) * kAckNs, 1, psn}));
  BOOST_TEST(net.network.link_statistics(Time{0}, {0, false}).queue_octets_max == 3 * kAckBytes);
}

BOOST_AUTO_TEST_CASE(two_hosts_need_no_switch_and_mesh_hosts_have_a_cable_each) {
  Topology topology;
  topology.hosts = 3;
  for (const char* name : {"a", "b", "c"}) topology.vertices.push_back({name, VertexKind::host});
  const CableParameters cable = slow().trunk;
  topology.cables = {{0, 1, cable}, {1, 2, cable}, {2, 0, cable}};
  Net net(topology);
  for (std::uint32_t from = 0; from < 3; ++from)
    for (std::uint32_t to = 0; to < 3; ++to)
      if (from != to) net.send(0, from, to, from * 10 + to);
  net.run();
  BOOST_TEST(net.got.size() == 6u);
  for (const Got& got : net.got) {
    BOOST_TEST(got.ns == 1000 + kAckNs);
    BOOST_TEST(got.host == got.psn % 10);
  }
}

BOOST_AUTO_TEST_CASE(a_host_reaches_itself_without_a_cable) {
  Net net(star(2, slow()));
  net.send(0, 1, 1, 3);
  net.run();
  BOOST_TEST_REQUIRE(net.got.size() == 1u);
  BOOST_TEST(net.got[0].host == 1u);
  BOOST_TEST(net.events.empty());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_into_a_switchs_queue_is_lost_and_counted) {
  // Two hosts send to a third at twice what its cable carries; its queue holds ten frames.
  Net net(star(3, slow(10 * kAckBytes)));
  for (std::uint32_t i = 0; i < 100; ++i) {
    net.send(i * kAckNs, 0, 2, i);
    net.send(i * kAckNs, 1, 2, 1000 + i);
  }
  net.run();
  const auto& statistics = net.network.statistics();
  BOOST_TEST(statistics.overflowed == 200 - net.got.size());
  BOOST_TEST((net.got.size() > 100u && net.got.size() < 115u));
  const LinkStatistics link = net.network.link_statistics(Time{1'000'000'000}, {2, true});
  BOOST_TEST(link.overflowed == statistics.overflowed);
  BOOST_TEST(link.queue_octets_max <= 10 * kAckBytes);
  BOOST_TEST(link.queue_octets_max > 8 * kAckBytes);
  BOOST_TEST(net.events[FrameEvent::overflowed] == static_cast<int>(statistics.overflowed));
}

BOOST_AUTO_TEST_CASE(packets_beyond_a_links_mtu_vanish_and_shorter_ones_pass) {
  constexpr std::size_t kHeaders = 20 + 8 + 12 + 4;  // IPv4, UDP, BTH, ICRC
  ShapeParameters shape = slow();
  shape.host_cable.mtu_bytes = kHeaders + 1024;
  Net net(star(2, shape));
  net.send(0, 0, 1, 1, 1024);
  net.send(100'000, 0, 1, 2, 1028);
  net.send(200'000, 0, 1, 3);
  net.run();
  BOOST_TEST_REQUIRE(net.got.size() == 2u);
  BOOST_TEST(net.got[0].psn == 1u);
  BOOST_TEST(net.got[1].psn == 3u);
  BOOST_TEST(net.network.statistics().vanished == 1u);
}

BOOST_AUTO_TEST_CASE(ecn_capable_frames_behind_a_long_queue_are_marked_and_valid) {
  for (const int capable : {0, 1, 2, 3}) {
    Net net(star(3, slow(1 << 20, 5 * kAckBytes)));
    for (std::uint32_t i = 0; i < 40; ++i)
      for (const std::uint32_t from : {0u, 1u})
        net.network.submit(Time{i * kAckNs}, from,
                           Net::frame(from, 2, i, 0, static_cast<std::uint8_t>(0x20 | capable)));
    net.run();
    BOOST_TEST_REQUIRE(net.got.size() == 80u);
    BOOST_TEST(net.ecn.front() == capable);
    BOOST_TEST(net.ecn.back() == (capable == 0 ? 0 : 3));
    for (const bool valid : net.icrc_ok) BOOST_TEST(valid);
    BOOST_TEST((net.network.statistics().marked > 20) == (capable == 1 || capable == 2));
    // The header's checksum still fits: the sum over all its words is all ones.
    std::uint32_t sum = 0;
    for (std::size_t i = 14; i < 34; i += 2)
      sum += std::to_integer<std::uint32_t>(net.last[i]) << 8 | std::to_integer<std::uint32_t>(net.last[i + 1]);
    BOOST_TEST((sum & 0xffff) + (sum >> 16) == 0xffffu);
  }
}

BOOST_AUTO_TEST_CASE(marked_share_grows_between_two_thresholds_by_seed) {
  // Two hosts send at the rate of the third one's cable each: the queue grows by a frame with each pair of frames.
  constexpr std::uint32_t kFrames = 4000;
  ShapeParameters parameters = slow(1 << 20);
  parameters.host_cable.ecn = {1000 * kAckBytes, 3000 * kAckBytes, 200'000'000};  // to 20 %
  const auto marked = [&](std::uint64_t seed) {
    Net net(star(3, parameters), {.seed = seed});
    for (std::uint32_t i = 0; i < kFrames; ++i)
      for (const std::uint32_t from : {0u, 1u})
        net.network.submit(Time{i * kAckNs}, from, Net::frame(from, 2, i, 0, wire::kEcnCapable));
    net.run();
    return net.ecn;
  };
  const std::vector<int> ecn = marked(1);
  BOOST_TEST_REQUIRE(ecn.size() == 2 * kFrames);
  const auto count = [&ecn](std::uint32_t from, std::uint32_t until) {
    return std::count(ecn.begin() + 2 * from, ecn.begin() + 2 * until, 3);
  };
  BOOST_TEST(count(0, 1000) == 0);
  // 1000 frames each, of which 2.5 %, 7.5 %, 12.5 % and 17.5 %; three standard deviations.
  const std::pair<int, int> expected[] = {{25, 15}, {75, 25}, {125, 32}, {175, 37}};
  for (std::uint32_t i = 0; i < 4; ++i)
    BOOST_TEST(std::abs(static_cast<int>(count(1000 + 500 * i, 1500 + 500 * i)) - expected[i].first) <=
               expected[i].second);
  BOOST_TEST(count(3010, kFrames) == 2 * (kFrames - 3010));
  BOOST_TEST((marked(1) == ecn));
  BOOST_TEST((marked(2) != ecn));
}

BOOST_AUTO_TEST_CASE(a_new_rate_holds_for_what_has_not_begun_to_leave) {
  Net net(star(2, slow()));
  for (std::uint32_t psn = 0; psn < 3; ++psn) net.send(0, 0, 1, psn);
  net.control.set_link_rate(Time{100}, {0, false}, 2'000'000'000);
  net.run();
  BOOST_TEST(net.got[0].ns == 2000 + 2 * kAckNs);
  // They come out of the slower second cable one after another.
  BOOST_TEST(net.got[1].ns == 2000 + 3 * kAckNs);
  BOOST_TEST(net.network.link_statistics(Time{100}, {0, false}).octets == 3 * kAckBytes);
  Net other(star(2, slow()));
  for (std::uint32_t psn = 0; psn < 3; ++psn) other.send(0, 0, 1, psn);
  other.control.set_link_rate(Time{100}, {0, false}, 500'000'000);
  other.run();
  BOOST_TEST(other.got[2].ns == 2000 + kAckNs + 2 * 2 * kAckNs + kAckNs);
}

BOOST_AUTO_TEST_CASE(jitter_varies_the_delay_and_keeps_the_order) {
  Net net(star(2, slow()));
  net.control.set_link_delay({0, false}, microseconds(5), microseconds(20));
  for (std::uint32_t psn = 0; psn < 200; ++psn) net.send(psn * 15'000, 0, 1, psn);
  net.run();
  BOOST_TEST_REQUIRE(net.got.size() == 200u);
  std::int64_t least = INT64_MAX, most = 0;
  for (std::uint32_t psn = 0; psn < 200; ++psn) {
    BOOST_TEST(net.got[psn].psn == psn);
    const std::int64_t took = net.got[psn].ns - psn * 15'000 - 2 * kAckNs - 1000;
    least = std::min(least, took);
    most = std::max(most, took);
  }
  BOOST_TEST((least >= 5000 && most <= 25'000 + kAckNs));
  BOOST_TEST(most - least > 10'000);
}

BOOST_AUTO_TEST_CASE(place_kept_from_an_unsent_frame_is_none_for_a_longer_one) {
  Net net(star(2, slow()));
  const auto is_sent_whole = [&](std::size_t payload) {
    const std::vector<std::byte> sent = Net::frame(0, 1, 7, payload);
    net.got.clear();
    net.send(0, 0, 1, 7, payload);
    net.run();
    return net.got.size() == 1 && net.last == sent;
  };
  for (const std::size_t kept : {std::size_t{60}, wire::kFrameBytesMax}) {
    for (const std::size_t payload : {std::size_t{0}, std::size_t{4096}}) {
      net.network.reserve(kept);
      net.network.cancel();
      BOOST_TEST(is_sent_whole(payload));
    }
  }
}

BOOST_AUTO_TEST_CASE(beyond_its_frames_max_a_network_loses_frames_and_goes_on) {
  Net net(star(2, slow()), {.frames_max = 5});
  for (std::uint32_t psn = 0; psn < 8; ++psn) net.send(0, 0, 1, psn);
  net.run(100'000);
  BOOST_CHECK((net.psns() == Psns{0, 1, 2, 3, 4}));
  BOOST_TEST(net.network.statistics().overflowed == 3u);
  net.send(200'000, 0, 1, 9);
  net.run();
  BOOST_TEST(net.got.back().psn == 9u);
}

BOOST_AUTO_TEST_CASE(there_is_room_for_a_few_frames_and_again_when_they_have_left) {
  Net net(star(2, slow()));
  BOOST_CHECK(net.network.has_room_at(Time{0}, 0) == Time{0});
  std::uint32_t sent = 0;
  for (; net.network.has_room_at(Time{0}, 0) == Time{0} && sent < 100; ++sent) net.send(0, 0, 1, sent, 4096);
  BOOST_TEST((sent >= 2 && sent <= 6));
  const Time again = net.network.has_room_at(Time{0}, 0);
  BOOST_CHECK(net.network.has_room_at(again, 0) == again);
  BOOST_CHECK(net.network.has_room_at(Time{0}, 1) == Time{0});
}

BOOST_AUTO_TEST_CASE(room_in_octets_ends_when_the_room_for_a_frame_does) {
  Net net(star(2, slow()));
  std::uint32_t before = net.network.room_on_every_way(Time{0}, 0).octets;
  BOOST_TEST(before >= wire::kFrameBytesMax);
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    net.send(0, 0, 1, psn, 1024);
    const std::uint32_t room = net.network.room_on_every_way(Time{0}, 0).octets;
    BOOST_TEST((room < before || room == 0));
    BOOST_TEST((room == 0) == (net.network.has_room_at(Time{0}, 0) > Time{0}));
    before = room;
  }
  BOOST_TEST(before == 0u);
  const Room none = net.network.room_on_every_way(Time{0}, 0);
  BOOST_CHECK(none.more_at == net.network.has_room_at(Time{0}, 0));
  BOOST_TEST(net.network.room_on_every_way(none.more_at, 0).octets > 0u);
  Net unbounded(star(2, {{.rate_bits_per_second = 0}, {.rate_bits_per_second = 0}}));
  unbounded.send(0, 0, 1, 0, 4096);
  BOOST_TEST(unbounded.network.room_on_every_way(Time{0}, 0).octets == UINT32_MAX);
}

BOOST_AUTO_TEST_CASE(a_host_with_several_cables_has_the_room_of_its_fullest_way) {
  Topology triangle;
  triangle.hosts = 3;
  for (const char* const name : {"n1", "n2", "n3"}) triangle.vertices.push_back({name, VertexKind::host});
  for (const auto& [a, b] : {std::pair{0u, 1u}, {0u, 2u}, {1u, 2u}})
    triangle.cables.push_back({a, b, slow().host_cable});
  BOOST_REQUIRE(check(triangle).ok());
  Net net(triangle);
  const std::uint32_t empty = net.network.room_on_every_way(Time{0}, 0).octets;
  for (std::uint32_t psn = 0; psn < 4; ++psn) net.send(0, 0, 1, psn, 4096);
  const Room room = net.network.room_on_every_way(Time{0}, 0);
  BOOST_TEST(room.octets == 0u);
  BOOST_CHECK(room.more_at > Time{0});
  BOOST_TEST(net.network.room_on_every_way(room.more_at, 0).octets > 0u);
  BOOST_TEST(net.network.room_on_every_way(Time{0}, 1).octets == empty);  // what comes is no concern of what leaves
}

BOOST_AUTO_TEST_CASE(a_grain_changes_no_time_of_a_flow_and_saves_events) {
  std::vector<Got> arrivals[2];
  std::uint64_t events[2];
  for (const int coarse : {0, 1}) {
    Net net(star(2, slow()), {.grain = coarse != 0 ? microseconds(5) : Duration{}});
    for (std::uint32_t psn = 0; psn < 40; ++psn) net.send(0, 0, 1, psn, 64);
    net.run();
    arrivals[coarse] = net.got;
    events[coarse] = net.network.statistics().events;
  }
  BOOST_TEST(arrivals[0].size() == 40u);
  BOOST_CHECK(arrivals[0] == arrivals[1]);
  BOOST_TEST(events[1] * 2 < events[0]);
}

BOOST_AUTO_TEST_CASE(grain_keeps_each_flows_order_and_every_frame_in_its_time) {
  Net net(star(3, slow()), {.grain = microseconds(5)});
  for (std::uint32_t psn = 0; psn < 40; ++psn) {
    net.send(0, 0, 2, psn, 64);
    net.send(0, 1, 2, 100 + psn, 64);
  }
  const std::int64_t frame_ns = static_cast<std::int64_t>(Net::frame(0, 2, 0, 64).size()) * 8;
  Psns order[2];
  for (std::int64_t now = 0; now <= 200'000; now += 700) {
    const std::size_t first = net.got.size();
    net.run(now);
    for (std::size_t i = first; i < net.got.size(); ++i) {
      const Got& got = net.got[i];
      BOOST_TEST(got.ns <= now);
      BOOST_TEST(got.ns >= 2 * frame_ns + 2000 + got.psn % 100 * frame_ns);
      order[got.psn / 100].push_back(got.psn);
    }
  }
  for (const Psns& psns : order) {
    BOOST_TEST(psns.size() == 40u);
    BOOST_TEST(std::is_sorted(psns.begin(), psns.end()));
  }
}

BOOST_AUTO_TEST_CASE(one_flow_keeps_to_one_way_and_many_spread_over_all) {
  Net net(leaf_spine({.leaves = 2, .spines = 4, .hosts_per_leaf = 1}, {}));
  std::int64_t now = 0;
  for (std::uint16_t port = 0; port < 400; ++port)
    for (int i = 0; i < 2; ++i)
      net.network.submit(Time{now += 1000}, 0, Net::frame(0, 1, port, 0, 0, static_cast<std::uint16_t>(0xc000 + port)));
  net.run();
  BOOST_TEST(net.got.size() == 800u);
  std::uint64_t sum = 0;
  for (std::uint32_t spine = 0; spine < 4; ++spine) {
    const std::uint64_t frames = net.network.link_statistics(Time{0}, {2 + spine, false}).frames;
    BOOST_TEST((frames > 120 && frames < 280));
    BOOST_TEST(frames % 2 == 0u);
    sum += frames;
  }
  BOOST_TEST(sum == 800u);
}

BOOST_AUTO_TEST_CASE(frames_without_a_trace_go_their_own_way_behind_another_flow) {
  Net net(star(4, {}), {.trace = false});
  std::vector<std::uint32_t> wanted(4);
  for (std::uint32_t psn = 0; psn < 40; ++psn) {
    const std::uint32_t to = 1 + psn / 2 % 3;  // twice the same, then another
    net.send(0, 0, to, psn);
    ++wanted[to];
  }
  net.run();
  std::vector<std::uint32_t> got(4);
  for (const Got& one : net.got) {
    BOOST_TEST(one.host == 1 + one.psn / 2 % 3);
    ++got[one.host];
  }
  BOOST_TEST(got == wanted, boost::test_tools::per_element());
  // The address moves to another host.
  net.send(1'000'000'000, 0, 1, 100);
  net.network.add_address(3, node_gid(2));
  net.send(1'000'000'000, 0, 1, 101);
  net.run(2'000'000'000);
  BOOST_TEST(net.got[40].host == 1);
  BOOST_TEST(net.got[41].host == 3);
}

BOOST_AUTO_TEST_CASE(the_trace_hash_tells_runs_apart_and_equal_ones_not) {
  const auto hash = [](std::uint32_t psn, std::int64_t at, bool payload) {
    Net net(ring(4, slow()), {.payload = payload});
    net.set_faults({0, false}, {"drop 20%"});
    for (std::uint32_t i = 0; i < 50; ++i) net.send(at + i * 100, 0, 2, psn + i, 256);
    net.run();
    return net.network.trace_hash();
  };
  BOOST_TEST(hash(0, 0, true) == hash(0, 0, true));
  BOOST_TEST(hash(0, 0, true) != hash(1, 0, true));
  BOOST_TEST(hash(0, 0, true) != hash(0, 1, true));
  BOOST_TEST(hash(0, 0, true) == hash(0, 0, false));
}

BOOST_AUTO_TEST_CASE(packets_that_are_sprayed_take_every_way_and_flows_take_one) {
  for (const Spreading spreading : {Spreading::flow, Spreading::packet}) {
    Topology topology = leaf_spine({.leaves = 2, .spines = 4, .hosts_per_leaf = 1}, slow());
    topology.spreading = spreading;
    Net net(topology);
    for (std::uint32_t psn = 0; psn < 400; ++psn) net.send(psn * 10'000, 0, 1, psn, 64);
    net.run();
    BOOST_TEST(net.got.size() == 400u);
    int ways = 0;
    for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable) {
      const Cable& ends = topology.cables[cable];
      if (topology.is_host(ends.a) || topology.is_host(ends.b)) continue;
      const std::uint64_t frames = net.network.link_statistics(Time{0}, {cable, false}).frames +
                                   net.network.link_statistics(Time{0}, {cable, true}).frames;
      ways += frames != 0;
      // Each way of four has a quarter, at both of its cables.
      if (spreading == Spreading::packet) BOOST_TEST((frames > 60u && frames < 140u));
    }
    BOOST_TEST(ways == (spreading == Spreading::packet ? 8 : 2));
  }
}
