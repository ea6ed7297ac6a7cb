// What faults, dead parts and cut pairs do to frames between hosts.
#include "tests/fabric/network_fixture.h"

using namespace verbena;
using namespace verbena::fabric;
using namespace verbena::fabric::test;

BOOST_AUTO_TEST_CASE(faults_of_one_direction_hit_only_what_goes_that_way) {
  Net net(star(2, slow()));
  net.set_faults({0, false}, {"drop psn=1", "duplicate psn=3"});
  for (std::uint32_t psn = 0; psn < 5; ++psn) {
    net.send(psn * 1000, 0, 1, psn, 64);
    net.send(psn * 1000, 1, 0, 100 + psn, 64);
  }
  net.run();
  Psns forward, backward;
  for (const Got& got : net.got) (got.host == 1 ? forward : backward).push_back(got.psn);
  BOOST_CHECK((forward == Psns{0, 2, 3, 3, 4}));
  BOOST_CHECK((backward == Psns{100, 101, 102, 103, 104}));
  BOOST_TEST(net.network.statistics().lost == 1u);
  BOOST_TEST(net.network.link_statistics(Time{0}, {0, false}).lost == 1u);
  BOOST_TEST(net.comments[0] == "verbena: dropped by fault 'drop psn=1'");
}

BOOST_AUTO_TEST_CASE(delayed_frames_are_overtaken_and_corrupted_ones_flagged) {
  for (const bool payload : {true, false}) {
    Net net(star(2, slow()), {.payload = payload});
    net.set_faults({0, false}, {"delay by=100us psn=0", "reorder by=2 psn=2", "corrupt where=header psn=5",
                                "corrupt where=payload repair=yes psn=6"});
    for (std::uint32_t psn = 0; psn < 7; ++psn) net.send(psn * 10'000, 0, 1, psn, 512);
    net.run();
    BOOST_TEST_REQUIRE(net.got.size() == 7u);
    const Psns expected{1, 3, 4, 2};
    const Psns psns = net.psns();
    BOOST_CHECK(std::equal(expected.begin(), expected.end(), psns.begin()));
    BOOST_TEST(psns.back() == 0u);
    BOOST_TEST(net.flagged[4]);
    BOOST_TEST(net.flagged[5]);
    BOOST_TEST(!net.flagged[0]);
    if (payload) {
      BOOST_TEST(!net.icrc_ok[4]);
      BOOST_TEST(net.icrc_ok[5]);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_link_that_goes_down_loses_what_is_on_it_and_in_its_queue) {
  Net net(star(2, slow()));
  for (std::uint32_t psn = 0; psn < 10; ++psn) net.send(0, 0, 1, psn);
  net.run(1000 + 2 * kAckNs);  // two have arrived at the switch
  net.control.set_link_up(Time{1000 + 2 * kAckNs}, {0, false}, false);
  net.send(5000, 0, 1, 50);
  net.send(5000, 1, 0, 60);  // the other direction lives
  net.run(50'000);
  net.control.set_link_up(Time{50'000}, {0, false}, true);
  net.send(50'000, 0, 1, 70);
  net.run();
  BOOST_CHECK((net.psns() == Psns{0, 1, 60, 70}));
  BOOST_TEST(net.network.statistics().vanished == 9u);
  BOOST_TEST(net.events[FrameEvent::vanished] == 9);
}

BOOST_AUTO_TEST_CASE(a_ring_goes_the_other_way_round_once_a_dead_link_is_noticed) {
  const auto parameters = slow();
  Net net(ring(4, parameters), {.detection = milliseconds(1)});
  const std::uint32_t dead = 4;  // s1-s2, behind the four cables to hosts
  net.control.set_link_up(Time{0}, {dead, false}, false);
  net.control.set_link_up(Time{0}, {dead, true}, false);
  net.send(10'000, 0, 1, 1);
  net.run(999'999);
  BOOST_TEST(net.got.empty());
  net.send(1'000'000, 0, 1, 2);
  net.run(2'000'000);
  BOOST_TEST_REQUIRE(net.got.size() == 1u);
  BOOST_TEST(net.got[0] == (Got{1'000'000 + 5 * (1000 + kAckNs), 1, 2}));  // s1, s4, s3, s2
  net.control.set_link_up(Time{2'000'000}, {dead, false}, true);
  net.send(2'500'000, 0, 1, 3);  // not yet noticed that it is back
  net.send(3'500'000, 0, 1, 4);
  net.run();
  BOOST_TEST(net.got[1].ns == 2'500'000 + 5 * (1000 + kAckNs));
  BOOST_TEST(net.got[2].ns == 3'500'000 + 3 * (1000 + kAckNs));
}

BOOST_AUTO_TEST_CASE(a_flap_shorter_than_the_detection_changes_no_route) {
  Net net(ring(4, slow()), {.detection = milliseconds(1)});
  net.control.set_link_up(Time{0}, {4, false}, false);
  net.run(500'000);
  net.control.set_link_up(Time{500'000}, {4, false}, true);
  net.run(1'100'000);
  net.send(1'200'000, 0, 1, 1);
  net.run();
  BOOST_TEST_REQUIRE(net.got.size() == 1u);
  BOOST_TEST(net.got[0].ns == 1'200'000 + 3 * (1000 + kAckNs));
}

BOOST_AUTO_TEST_CASE(a_dead_switch_takes_its_queues_along_and_is_gone_around) {
  Net net(ring(4, slow()), {.detection = milliseconds(1)});
  for (std::uint32_t psn = 0; psn < 4; ++psn) net.send(0, 0, 2, psn);  // by s1, then s2 or s4, then s3
  net.run(1000 + 4 * kAckNs);
  net.control.set_switch_up(Time{1000 + 4 * kAckNs}, 4 + 0, false);
  net.run(900'000);
  const std::size_t before = net.got.size();
  BOOST_TEST(before < 4u);     // what s1 had not sent on is lost
  BOOST_TEST(before > 0u);     // what was on the wire behind it is not
  net.send(950'000, 1, 3, 9);  // between s2 and s4: by s1 or s3
  net.send(1'500'000, 1, 3, 10);
  net.send(1'500'000, 1, 0, 11);  // n1 is behind the dead switch
  net.run();
  BOOST_TEST(net.got.back() == (Got{1'500'000 + 4 * (1000 + kAckNs), 3, 10}));
  BOOST_TEST(net.network.next_deadline().has_value() == false);
  net.control.set_switch_up(Time{1'000'000'000}, 4 + 0, true);
  net.run(2'000'000'000);
  net.send(2'000'000'000, 1, 0, 12);
  net.run(3'000'000'000);
  BOOST_TEST(net.got.back().psn == 12u);
}

BOOST_AUTO_TEST_CASE(cut_pair_hears_nothing_until_healed_and_others_hear_all) {
  Net net(star(3, slow()));
  net.control.set_partition(0, 1, true);
  net.send(0, 0, 1, 1);
  net.send(0, 1, 0, 2);
  net.send(0, 0, 2, 3);
  net.run(100'000);
  BOOST_CHECK((net.psns() == Psns{2, 3}));
  net.control.set_partition(0, 1, false);
  net.send(100'000, 0, 1, 4);
  net.run();
  BOOST_TEST(net.got.back().psn == 4u);
  BOOST_TEST(net.network.statistics().vanished == 1u);
}

BOOST_AUTO_TEST_CASE(frames_to_nobody_and_what_is_no_packet_vanish) {
  Net net(star(2, slow()));
  net.send(0, 0, 40, 1);
  net.network.submit(Time{0}, 0, std::vector<std::byte>(60));
  net.network.submit(Time{0}, 0, {});
  net.network.submit(Time{0}, 0, std::vector<std::byte>(wire::kFrameBytesMax + 1));
  net.run();
  BOOST_TEST(net.got.empty());
  BOOST_TEST(net.network.statistics().vanished == 3u);
  BOOST_TEST(net.network.statistics().overflowed == 1u);
  net.takes = false;
  net.send(1'000'000'000, 0, 1, 2);
  net.run(2'000'000'000);
  BOOST_TEST(net.network.statistics().vanished == 4u);
}
