// Ports with classes: what is lossless is paused and not lost, what is not is lost by itself, and nobody waits for
// ever.
#include "emulator/fabric/network_control.h"
#include "tests/fabric/load_fixture.h"
#include "wire/pause_frame.h"
#include "wire/roce_v1.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

namespace {

Qos lossless_3(std::uint64_t xoff = 20'000) {
  Qos qos;
  qos.lossless = bit_of(3);
  qos.buffer_bytes = 400'000;
  qos.xoff = {.alpha = 0, .bytes = xoff};
  qos.xon_offset_bytes = 4'000;
  return qos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(three_senders_into_one_port_are_paused_and_nothing_is_lost) {
  Net net(with(star(4, slow()), lossless_3()));
  Load load(net, {{0, 3}, {1, 3}, {2, 3}});
  load.run(20'000'000);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  BOOST_TEST(net.network.statistics().overflowed == 0u);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
  BOOST_TEST(net.network.statistics().pause_frames > 10u);
  // The port is never idle, and its three senders have a third each.
  BOOST_TEST(static_cast<double>(load.sent) > 0.99 * 20'000'000 / kFrameNs);
  for (const auto& [from, frames] : load.sent_by) {
    BOOST_TEST(frames > 0.9 * load.sent / 3);
    const PauseStatistics pauses = net.network.pause_statistics(Time{20'000'000}, {from, false});
    BOOST_TEST(pauses.received[3] > 3u);
    BOOST_TEST(pauses.received[0] == 0u);
    BOOST_TEST(pauses.paused[3].ns > 10'000'000);
  }
  // What came is above xoff by no more than the headroom.
  BOOST_TEST(statistics(net, {3, true}).queue_octets_max > 3 * 20'000u - 5'000u);
  BOOST_TEST(statistics(net, {3, true}).queue_octets_max <
             3 * (20'000u + headroom_needed(lossless_3(), slow().host_cable)));
}

BOOST_AUTO_TEST_CASE(without_lossless_classes_the_same_load_loses_frames) {
  Qos qos = lossless_3();
  qos.lossless = 0;
  Net net(with(star(4, slow(50'000)), qos));
  Load load(net, {{0, 3}, {1, 3}, {2, 3}});
  load.run(5'000'000);
  net.run();
  BOOST_TEST(net.network.statistics().overflowed > 100u);
  BOOST_TEST(net.network.statistics().pause_frames == 0u);
  BOOST_TEST(packets(net) + net.network.statistics().overflowed == load.sent);
}

BOOST_AUTO_TEST_CASE(a_class_that_is_not_paused_goes_past_one_that_is) {
  Net net(with(star(3, slow()), lossless_3(5'000)));
  Load paused(net, {{0, 2}, {1, 2}});
  paused.run(1'000'000);
  BOOST_TEST_REQUIRE((net.network.pause_statistics(Time{1'000'000}, {0, false}).paused_now & bit_of(3)) != 0);
  net.got.clear();
  net.network.submit(Time{1'000'000}, 0, Net::frame(0, 1, 77'777, 0, 0));
  net.run(1'030'000);
  BOOST_TEST(std::count_if(net.got.begin(), net.got.end(), [](const Got& got) { return got.psn == 77'777; }) == 1);
}

BOOST_AUTO_TEST_CASE(unseen_sender_has_room_beside_a_paused_class_and_is_told) {
  Net net(with(star(3, slow()), lossless_3()));
  net.control.set_pause_storm(Time{0}, 2, bit_of(3));
  const std::uint32_t empty = net.network.room_on_every_way(Time{0}, 0).octets;
  Load load(net, {{0, 2}});
  load.run(1'000'000);
  const Time paused{1'000'000};
  BOOST_TEST_REQUIRE((net.network.pause_statistics(paused, {0, false}).paused_now & bit_of(3)) != 0);
  Room room = net.network.room_on_every_way(paused, 0);
  BOOST_TEST(room.octets == empty);
  BOOST_TEST(room.held == bit_of(3));
  BOOST_TEST(net.network.room_on_every_way(paused, 1).held == 0);
  // What was on its way has its place; then nothing has.
  std::uint32_t more = 0;
  for (; more < 5000 && net.network.room_on_every_way(paused, 0).octets != 0; ++more)
    net.network.submit(paused, 0, Net::frame(0, 2, more, kPayload, kClass3));
  BOOST_TEST(more > 4000u);
  BOOST_TEST(more < 4100u);
  // When the pause is over, it is no reason to have others wait either; but for who did not hold it back it is.
  net.control.set_pause_storm(paused, 2, 0);
  Time after = paused;
  for (; after < paused + microseconds(1000); after = after + Duration{kFrameNs}) {
    net.run(after.ns);
    if ((net.network.pause_statistics(after, {0, false}).paused_now & bit_of(3)) == 0) break;
  }
  BOOST_TEST_REQUIRE((net.network.pause_statistics(after, {0, false}).paused_now & bit_of(3)) == 0);
  room = net.network.room_on_every_way(after, 0, bit_of(3));
  BOOST_TEST(room.octets == empty);
  BOOST_TEST(room.held == bit_of(3));
  BOOST_TEST(net.network.room_on_every_way(after, 0).octets == 0u);
  net.run(paused.ns + 5000 * kFrameNs);
  room = net.network.room_on_every_way(Time{paused.ns + 5000 * kFrameNs}, 0, bit_of(3));
  BOOST_TEST(room.held == 0);
  BOOST_TEST(room.octets == empty);
}

BOOST_AUTO_TEST_CASE(classes_are_known_by_their_dscps) {
  Qos qos;
  BOOST_TEST(qos.dscps_of(bit_of(3)) == 0xffull << 24);
  qos.class_of_dscp[26] = 5;
  BOOST_TEST(qos.dscps_of(bit_of(3)) == (0xffull << 24 & ~(1ull << 26)));
  BOOST_TEST(qos.dscps_of(bit_of(5) | bit_of(0)) == (0xffull << 40 | 0xffull | 1ull << 26));
  qos.trust = Trust::pcp;  // a frame without a tag has class 0
  BOOST_TEST(qos.dscps_of(bit_of(0) | bit_of(3)) == UINT64_MAX);
  BOOST_TEST(qos.dscps_of(bit_of(3)) == 0u);
}

BOOST_AUTO_TEST_CASE(computed_headroom_is_enough_and_half_of_it_is_not) {
  for (const bool is_enough : {true, false}) {
    Qos qos = lossless_3();
    ShapeParameters shape = slow();
    shape.host_cable.mtu_bytes = kPayload + 44;
    shape.host_cable.propagation = microseconds(20);
    qos.reaction = microseconds(3);
    const std::uint64_t needed = headroom_needed(qos, shape.host_cable);
    if (!is_enough) qos.headroom_bytes = static_cast<std::uint32_t>(needed / 2);
    Net net(with(star(4, shape), qos));
    Load load(net, {{0, 3}, {1, 3}, {2, 3}});
    load.run(20'000'000, 100);
    net.run();
    BOOST_TEST((net.network.statistics().lossless_lost == 0) == is_enough);
    BOOST_TEST(packets(net) + net.network.statistics().lossless_lost == load.sent);
    if (!is_enough) BOOST_TEST(net.comments.back() == "verbena: dropped, lossless class without headroom");
  }
}

BOOST_AUTO_TEST_CASE(pause_frames_are_seen_on_the_cable_as_the_standard_has_them) {
  struct Pauses final : Observer {
    void observe(const ObservedFrame& observed) override {
      const auto pause = wire::parse_pause_frame(observed.frame);
      if (!pause || observed.event != FrameEvent::delivered) return;
      (pause->quanta[3] != 0 ? stops : goes)[observed.link] += 1;
      BOOST_TEST(pause->is_by_class);
      BOOST_TEST(pause->classes == bit_of(3));
      BOOST_TEST(observed.frame.size() == wire::kPauseFrameBytes);
    }
    std::map<LinkId, int> stops;
    std::map<LinkId, int> goes;
  } pauses;
  Net net(with(star(3, slow()), lossless_3()));
  net.network.observe(&pauses);
  Load load(net, {{0, 2}, {1, 2}});
  load.run(10'000'000);
  net.run();
  // From the switch to each sender, and nowhere else; each one that stops is followed by one that goes on.
  for (const std::uint32_t host : {0u, 1u}) {
    BOOST_TEST(pauses.stops[LinkId(host, true)] > 3);
    BOOST_TEST(pauses.goes[LinkId(host, true)] > 3);
  }
  BOOST_TEST(pauses.stops.size() == 2u);
}

BOOST_AUTO_TEST_CASE(global_pause_stops_every_class_of_a_port) {
  Qos qos = lossless_3();
  qos.lossless = kEveryClass;
  qos.flow_control = FlowControl::global_pause;
  Net net(with(star(3, slow()), qos));
  Load load(net, {{0, 2}, {1, 2}});
  load.run(2'000'000);
  BOOST_TEST(net.network.pause_statistics(Time{2'000'000}, {0, false}).received[7] > 0u);
  net.run();
  BOOST_TEST(packets(net) == load.sent);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
}

BOOST_AUTO_TEST_CASE(pause_storm_stops_the_network_until_its_end_or_the_watchdog) {
  for (const bool has_watchdog : {false, true}) {
    Qos qos = lossless_3();
    if (has_watchdog) qos.watchdog = {.detect = milliseconds(1), .restore = milliseconds(1)};
    Net net(with(star(4, slow()), qos));
    net.control.set_pause_storm(Time{0}, 3, bit_of(3));
    Load load(net, {{0, 3}, {1, 2}, {0, 2}});
    load.run(10'000'000);
    const auto to_2 = std::count_if(net.got.begin(), net.got.end(), [](const Got& got) { return got.host == 2; });
    const auto to_3 = std::count_if(net.got.begin(), net.got.end(), [](const Got& got) { return got.host == 3; });
    // Host 0 waits with what it has for host 3, and so does what it has for host 2.
    BOOST_TEST(to_3 <= 1);
    BOOST_TEST(net.network.statistics().pause_storms == (has_watchdog ? 1u : 0u));
    BOOST_TEST((net.network.statistics().lossless_lost > 0) == has_watchdog);
    BOOST_TEST(to_2 > 500);
    net.control.set_pause_storm(Time{10'000'000}, 3, 0);
    net.got.clear();
    load.run(20'000'000);
    const auto then = std::count_if(net.got.begin(), net.got.end(), [](const Got& got) { return got.host == 3; });
    BOOST_TEST(then > 300);
  }
}

BOOST_AUTO_TEST_CASE(a_ring_of_full_ports_is_a_deadlock_that_is_found_and_named) {
  // Each host sends to the second one after it: each trunk of the ring has to wait for the next one.
  constexpr std::uint32_t kHosts = 5;
  ShapeParameters shape = slow();
  shape.host_cable.rate_bits_per_second = 4'000'000'000;  // each host alone has more than a trunk takes
  const Topology round = ring(kHosts, shape);
  Net net(with(round, lossless_3(8'000)));
  Load load(net, {{0, 2}, {1, 3}, {2, 4}, {3, 0}, {4, 1}});
  load.run(60'000'000);
  const auto deadlock = net.network.pause_deadlock();
  BOOST_TEST_REQUIRE(deadlock.has_value());
  BOOST_TEST(int{deadlock->traffic_class} == 3);
  BOOST_TEST(deadlock->links.size() == kHosts);
  // Each waits for the next one: it begins where the one before ends, and none goes to a host.
  const auto end_of = [&](LinkId link) {
    return link.backward ? round.cables[link.cable].a : round.cables[link.cable].b;
  };
  const auto begin_of = [&](LinkId link) { return end_of({link.cable, !link.backward}); };
  for (std::size_t i = 0; i < deadlock->links.size(); ++i) {
    BOOST_TEST(!round.is_host(end_of(deadlock->links[i])));
    BOOST_TEST(end_of(deadlock->links[i]) == begin_of(deadlock->links[(i + 1) % deadlock->links.size()]));
  }
  // It is one: nothing moves any more, and nothing is lost.
  net.got.clear();
  load.run(80'000'000);
  BOOST_TEST(packets(net) == 0u);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
}

BOOST_AUTO_TEST_CASE(an_incast_that_only_waits_is_no_deadlock) {
  Net net(with(ring(4, slow()), lossless_3(8'000)));
  Load load(net, {{0, 2}, {1, 2}, {3, 2}});
  load.run(50'000'000);
  BOOST_TEST(net.network.statistics().pause_frames > 100u);
  BOOST_TEST(!net.network.pause_deadlock().has_value());
}

BOOST_AUTO_TEST_CASE(switch_that_dies_while_pausing_frees_neighbours_and_memory) {
  Net net(with(star(4, slow()), lossless_3()));
  Load load(net, {{0, 3}, {1, 3}, {2, 3}});
  load.run(3'000'000);
  const std::uint32_t the_switch = 4;
  net.control.set_switch_up(Time{3'000'000}, the_switch, false);
  BOOST_TEST(net.network.pause_statistics(Time{3'000'000}, {0, false}).paused_now == 0);
  net.run(3'100'000);
  net.control.set_switch_up(Time{3'100'000}, the_switch, true);
  net.got.clear();
  load.now = 3'100'000;
  load.sent = 0;
  load.run(6'000'000);
  net.run();
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
  BOOST_TEST(packets(net) > 300u);
}

BOOST_AUTO_TEST_CASE(cable_that_died_while_paused_tells_its_sender_again) {
  Net net(with(star(3, slow()), lossless_3()));
  Load load(net, {{0, 2}, {1, 2}});
  load.run(3'000'000);
  for (const bool backward : {false, true}) net.control.set_link_up(Time{3'000'000}, {0, backward}, false);
  net.run(3'001'000);
  for (const bool backward : {false, true}) net.control.set_link_up(Time{3'001'000}, {0, backward}, true);
  load.now = 3'001'000;
  load.run(10'000'000);
  net.run();
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
  BOOST_TEST(packets(net) + net.network.statistics().vanished == load.sent);
}

BOOST_AUTO_TEST_CASE(the_same_load_gives_the_same_trace) {
  const auto hash = [] {
    Net net(with(leaf_spine({2, 2, 2}, slow()), lossless_3()));
    Load load(net, {{0, 3}, {1, 3}, {2, 3}});
    load.run(2'000'000);
    net.run();
    return net.network.trace_hash();
  };
  BOOST_TEST(hash() == hash());
}

BOOST_AUTO_TEST_CASE(settings_that_cannot_be_are_refused) {
  const auto says = [](const Qos& qos, const ShapeParameters& shape) {
    const auto checked = check(with(star(3, shape), qos));
    return checked ? std::string() : checked.error();
  };
  BOOST_TEST(says(lossless_3(), slow()).empty());
  Qos small = lossless_3();
  small.buffer_bytes = 10'000;
  BOOST_TEST(says(small, slow()).starts_with("the ports of switch s1 need a headroom of "));
  ShapeParameters endless = slow();
  endless.host_cable.rate_bits_per_second = 0;
  BOOST_TEST(says(lossless_3(), endless).starts_with("cable n1-s1 has no rate"));
}

BOOST_AUTO_TEST_CASE(a_frames_class_is_that_of_its_dscp_or_of_its_vlan_tag) {
  Qos qos;
  qos.class_of_dscp[26] = 5;
  BOOST_TEST(qos.class_of(Net::frame(0, 1, 0, 0, 26 << 2)) == 5);
  BOOST_TEST(qos.class_of(Net::frame(0, 1, 0, 0, 48 << 2 | 3)) == 6);
  BOOST_TEST(qos.class_of({}) == 0);
  qos.trust = Trust::pcp;
  BOOST_TEST(qos.class_of(Net::frame(0, 1, 0, 0, 48 << 2)) == 0);
  wire::FramePath path;
  path.source = node_gid(1);
  path.destination = node_gid(2);
  path.vlan = wire::Vlan{.priority = 4};
  const auto tagged = verbena::test::make_frame(wire::FrameTemplate(path), {.opcode = rc(OperationCode::acknowledge)});
  BOOST_TEST(qos.class_of(tagged) == 4);
}

BOOST_AUTO_TEST_CASE(frames_for_a_dead_cable_take_their_time_and_not_more) {
  Net net(with(star(2, slow()), lossless_3()));
  for (const bool backward : {false, true}) net.control.set_link_up(Time{0}, {0, backward}, false);
  Load load(net, {{0, 1}});
  load.run(10'000'000);
  BOOST_TEST(static_cast<double>(load.sent) > 0.95 * 10'000'000 / kFrameNs);
  BOOST_TEST(static_cast<double>(load.sent) < 1.05 * 10'000'000 / kFrameNs);
  BOOST_TEST(net.network.statistics().vanished == load.sent);
  // A sender that does not ask makes nothing up for later.
  for (std::uint32_t i = 0; i < 1000; ++i)
    net.network.submit(Time{10'000'000}, 0, Net::frame(0, 1, i, kPayload, kClass3));
  for (const bool backward : {false, true}) net.control.set_link_up(Time{10'000'000}, {0, backward}, true);
  net.got.clear();
  net.network.submit(Time{10'000'000}, 0, Net::frame(0, 1, 7, kPayload, kClass3));
  net.run(10'200'000);
  BOOST_TEST(net.psns() == (Psns{7}));
}

namespace {

/// Three senders of RoCE v1 into one port, each at the rate of its own. The traffic class of the GRH is 3.
void run_v1(Net& net, std::optional<std::uint8_t> priority) {
  constexpr std::uint32_t kFrames = 100;  // of each: a third of them is what the port can send meanwhile
  wire::FramePath path;
  path.encapsulation = &wire::kRoceV1;
  if (priority) path.vlan = wire::Vlan{.priority = *priority, .vlan_id = 7};
  for (std::uint32_t i = 0; i < kFrames; ++i) {
    net.run(i * kFrameNs);
    for (std::uint32_t from = 0; from < 3; ++from)
      net.network.submit(Time{i * kFrameNs}, from, Net::frame_by(path, from, 3, i, kPayload, kClass3));
  }
  net.run();
  BOOST_TEST(packets(net) + net.network.statistics().overflowed == 3 * kFrames);
}

}  // namespace

BOOST_AUTO_TEST_CASE(v1_is_paused_by_the_priority_of_its_vlan_tag) {
  Qos qos = lossless_3();
  qos.trust = Trust::pcp;
  Net net(with(star(4, slow()), qos));
  run_v1(net, 3);
  BOOST_TEST(net.network.statistics().overflowed == 0u);
  BOOST_TEST(net.network.statistics().lossless_lost == 0u);
  BOOST_TEST(net.network.statistics().pause_frames > 3u);
  BOOST_TEST(net.network.pause_statistics(Time{5'000'000}, {0, false}).received[3] > 0u);
}

BOOST_AUTO_TEST_CASE(v1_without_a_tag_or_by_dscp_is_in_class_0) {
  for (const Trust trust : {Trust::pcp, Trust::dscp}) {
    Qos qos = lossless_3();
    qos.trust = trust;
    Net net(with(star(4, slow(50'000)), qos));
    // The traffic class of its GRH says 3; no switch looks there, nor at a tag where it trusts DSCPs.
    run_v1(net, trust == Trust::dscp ? std::optional<std::uint8_t>(3) : std::nullopt);
    BOOST_TEST(net.network.statistics().pause_frames == 0u);
    BOOST_TEST(net.network.statistics().overflowed > 50u);
  }
}

BOOST_AUTO_TEST_CASE(a_nic_asks_for_the_room_of_its_service_levels_lane) {
  const Qos qos = infiniband_qos();
  constexpr unsigned kDscpShift = 2;
  for (std::uint8_t level = 0; level < 16; ++level) {
    BOOST_TEST(qos.class_of_octet(static_cast<std::uint8_t>(level << kDscpShift)) == level % kTrafficClasses);
    BOOST_TEST((qos.dscps_of(bit_of(level % kTrafficClasses)) >> level & 1) == 1u);
    BOOST_TEST((qos.dscps_of(bit_of((level + 1) % kTrafficClasses)) >> level & 1) == 0u);
  }
}
