// explain on captures that see a frame at several places, that lack frames, or in which somebody is silent or stopped.
#include "tests/captures/told_script.h"

using namespace verbena;
using namespace verbena::test;
using wire::Direction;

namespace {

/// What `write` and `ack` do, with each frame seen where it leaves and, `later_us` later, where it arrives.
struct BothEnds {
  Script& script;
  std::int64_t later_us = 3;

  template <class Send>
  void see(std::int64_t at_us, Send send) {
    script.direction = Direction::outbound;
    send(at_us);
    script.direction = Direction::inbound;
    send(at_us + later_us);
  }
  void write(std::int64_t at_us, std::uint32_t psn) {
    see(at_us, [&](std::int64_t at) { script.write(at, psn); });
  }
  void ack(std::int64_t at_us, std::uint32_t psn) {
    see(at_us, [&](std::int64_t at) { script.ack(at, psn); });
  }
};

std::uint64_t troubles(const Totals& totals) {
  return totals.retransmitted_packets + totals.go_backs + totals.gaps + totals.late_packets + totals.duplicates +
         totals.seen_before + totals.repeated_answers;
}

/// The frame of a write behind a router.
std::vector<std::byte> routed(std::vector<std::byte> frame) {
  constexpr std::size_t kTimeToLive = 14 + 8;
  frame[kTimeToLive] = static_cast<std::byte>(std::to_integer<unsigned>(frame[kTimeToLive]) - 1);
  return frame;
}

std::vector<std::byte> write_frame(std::uint32_t psn) {
  PacketSpec spec{.opcode = rc(OperationCode::write_only), .psn = psn, .dest_qp = kServerQp};
  spec.payload.resize(256);
  return make_frame(flow_between(1, 2), spec);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_leaves_and_arrives_in_one_capture_is_told_once) {
  Script script;
  BothEnds ends{script};
  for (std::uint32_t psn = 0; psn < 8; ++psn) {
    ends.write(psn * 20, psn);
    ends.ack(psn * 20 + 8, psn);
  }
  script.tell();
  BOOST_TEST(script.client.packets == 8u);
  BOOST_TEST(script.server.packets == 8u);
  BOOST_TEST(troubles(script.client) + troubles(script.server) == 0u);
  BOOST_REQUIRE_EQUAL(script.conversations[0].again.size(), 16u);
  BOOST_TEST((script.conversations[0].again[0].sighting.how == SeenAgain::arrival));
}

BOOST_AUTO_TEST_CASE(what_is_sent_again_between_two_ends_is_told_as_that) {
  Script script;
  BothEnds ends{script};
  ends.write(0, 1);
  script.direction = Direction::outbound;
  script.write(20, 2);  // lost on its way
  ends.write(40, 3);
  ends.see(60, [&](std::int64_t at) { nak(script, at, 2); });
  ends.write(70, 2);
  ends.write(71, 3);
  ends.ack(90, 3);
  script.tell();
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 2u);
  BOOST_TEST(script.server.nak_sequence_errors == 1u);
  BOOST_TEST(script.client.gaps + script.client.duplicates + script.client.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(two_captures_in_one_file_are_told_once) {
  Script script;
  for (std::uint32_t psn = 0; psn < 8; ++psn)
    for (script.interface = 0; script.interface < 2; ++script.interface) {
      script.write(psn * 20 + script.interface, psn);
      script.ack(psn * 20 + 10 + script.interface, psn);
    }
  script.tell();
  BOOST_TEST(troubles(script.client) + troubles(script.server) == 0u);
  BOOST_TEST(script.conversations[0].again.size() == 16u);
}

BOOST_AUTO_TEST_CASE(captures_of_both_ends_in_one_file_are_told_once) {
  for (const std::uint32_t places : {2u, 3u}) {
    Script script;
    for (std::uint32_t psn = 0; psn < 64; ++psn) {
      for (script.interface = 0; script.interface < places; ++script.interface)
        script.write(psn * 20 + script.interface, psn);
      for (script.interface = places; script.interface-- > 0 && psn % 16 == 15;)
        script.ack(psn * 20 + 10 - script.interface, psn);
    }
    script.tell();
    BOOST_TEST(troubles(script.client) + troubles(script.server) == 0u);
    BOOST_TEST(script.conversations[0].again.size() == (64u + 4) * (places - 1));
  }
}

BOOST_AUTO_TEST_CASE(a_frame_sent_again_by_another_port_is_no_second_sighting) {
  Script script;
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    script.interface = psn % 2;
    script.write(psn * 20, psn);
    if (psn != 10) script.ack(psn * 20 + 10, psn);
  }
  script.interface = 0;
  script.write(67'500, 19);
  script.ack(67'510, 19);
  script.tell();
  BOOST_TEST(script.conversations[0].again.empty());
  BOOST_TEST(troubles(script.client) != 0u);
}

BOOST_AUTO_TEST_CASE(a_mirror_port_that_shows_each_frame_twice_gets_one_hint) {
  for (const bool is_routed : {false, true}) {
    Script script;
    for (std::uint32_t psn = 0; psn < 30; ++psn) {
      script.frame(psn * 20, write_frame(psn));
      script.frame(psn * 20 + 2, is_routed ? routed(write_frame(psn)) : write_frame(psn));
    }
    script.ack(700, 29);
    script.tell();
    BOOST_TEST(troubles(script.client) == 0u);
    BOOST_REQUIRE_EQUAL(script.conversations[0].again.size(), 30u);
    BOOST_TEST((script.conversations[0].again[0].sighting.how == SeenAgain::mirrored));
  }
}

BOOST_AUTO_TEST_CASE(copies_that_the_network_makes_stay_duplicates) {
  Script script;
  for (std::uint32_t psn = 0; psn < 30; ++psn) {
    script.write(psn * 20, psn);
    if (psn % 3 == 0) script.write(psn * 20 + 2, psn);
  }
  script.ack(700, 29);
  script.tell();
  BOOST_TEST(script.conversations[0].again.empty());
  BOOST_TEST(script.client.duplicates == 10u);
}

BOOST_AUTO_TEST_CASE(three_mirror_ports_are_told_once_and_an_earlier_copy_too) {
  Script script;
  for (std::uint32_t psn = 0; psn < 30; ++psn) {
    for (unsigned i = 0; i < (psn == 20 ? 6 : 3); ++i) script.write(psn * 20 + i, psn);
    for (unsigned i = 0; i < 3; ++i) script.ack(psn * 20 + 10 + i, psn);
  }
  script.tell();
  BOOST_TEST(script.conversations[0].again.size() == 30u * 4 + 2);
  BOOST_TEST(script.client.packets == 31u);
  BOOST_TEST(script.client.duplicates == 1u);
  BOOST_TEST(troubles(script.client) + troubles(script.server) == 1u);
}

BOOST_AUTO_TEST_CASE(requests_mostly_repeated_by_go_back_n_are_no_mirror_port) {
  Script script;
  for (std::uint32_t psn = 0; psn < 200; psn += 10) {  // the first of ten is lost behind the capture
    for (std::uint32_t i = 0; i < 10; ++i) script.write(psn * 10 + i, psn + i);
    nak(script, psn * 10 + 20, psn);
    for (std::uint32_t i = 0; i < 10; ++i) script.write(psn * 10 + 30 + i, psn + i);
    script.ack(psn * 10 + 60, psn + 9);
  }
  script.tell();
  BOOST_TEST(script.conversations[0].again.empty());
  BOOST_TEST(script.client.go_backs == 20u);
  BOOST_TEST(script.client.retransmitted_packets == 200u);
}

BOOST_AUTO_TEST_CASE(loaded_mirror_ports_double_frames_are_told_once) {
  Script script;
  for (std::uint32_t psn = 0; psn < 64; ++psn) {
    script.write(psn, psn);
    if (psn >= 5) script.write(psn, psn - 5);
    if (psn >= 20) script.ack(psn, psn - 20);
    if (psn >= 22) script.ack(psn, psn - 22);
  }
  for (std::uint32_t psn = 59; psn < 64; ++psn) script.write(64, psn);
  script.tell();
  BOOST_TEST(script.client.packets == 64u);
  BOOST_TEST(troubles(script.client) + troubles(script.server) == 0u);
}

BOOST_AUTO_TEST_CASE(what_the_other_side_acknowledges_is_a_hole_of_the_capture) {
  Script script;
  writes(script, 0, {1, 2, 4, 5, 7});
  script.ack(20, 5);
  nak(script, 30, 6);
  writes(script, 40, {6, 7});
  script.ack(60, 7);
  script.tell();
  BOOST_TEST(script.client.holes == 1u);
  BOOST_TEST(script.client.hole_packets == 1u);
  BOOST_TEST(script.client.gaps == 1u);  // 6, which is asked for
  BOOST_TEST(script.says("hole of the capture: psn 3 (+2) missing, 1 packet: the other side has acknowledged them"));
}

BOOST_AUTO_TEST_CASE(answer_to_an_uncaptured_request_is_not_an_unasked_one) {
  Script script;
  script.write(0, 1);
  script.ack(10, 1);
  script.ack(20, 2);
  script.write(30, 3);
  script.ack(40, 3);
  script.tell();
  BOOST_TEST(script.server.unasked_answers == 0u);
  BOOST_TEST(script.client.gaps == 0u);
  BOOST_TEST(script.client.holes == 1u);
}

BOOST_AUTO_TEST_CASE(requests_that_nobody_answers_are_a_story_of_timeouts) {
  Script script;
  script.write(0, 1);
  script.ack(10, 1);
  for (unsigned i = 0; i < 8; ++i) writes(script, 1000 + i * 100'000, {2, 3, 4});  // no 4.096 us x 2^n
  script.tell();
  BOOST_TEST(script.client.unexplained_go_backs == 0u);
  BOOST_TEST(script.client.timeouts == 7u);
  BOOST_TEST(script.says("timeout 7: retransmission from psn 2"));
  BOOST_TEST(script.summaries.find("no answer since 0.000010 s; its ACK timer ran out 7 times") !=
             script.summaries.npos);
}

BOOST_AUTO_TEST_CASE(timeout_counts_whatever_was_under_way_at_the_last_answer) {
  Script script;
  writes(script, 0, {1, 2, 3, 4});
  script.ack(10, 1);  // 2, 3 and 4 were sent before it
  for (unsigned i = 1; i <= 5; ++i) writes(script, 10 + i * 4194, {2, 3, 4});
  script.tell();
  BOOST_TEST(script.client.timeouts == 5u);
  BOOST_TEST(script.says("timeout 5: retransmission from psn 2"));
  BOOST_TEST(script.summaries.find("its ACK timer ran out 5 times") != script.summaries.npos);
}

BOOST_AUTO_TEST_CASE(pause_frames_are_summed_up_and_whom_they_hold_back_is_told) {
  Script script;
  wire::PauseFrame pause{.source = {{2, 0, 0, 0, 0, 9}}, .classes = 1};
  std::vector<std::byte> octets(wire::kPauseFrameBytes);
  const auto say = [&](std::int64_t at_us, std::uint16_t quanta) {
    pause.quanta[0] = quanta;
    wire::write_pause_frame(pause, octets);
    script.frame(at_us, octets);
  };
  writes(script, 0, {1, 2});
  say(3, 65535);
  say(100, 65535);
  say(200, 0);
  writes(script, 201, {3, 4});
  script.ack(210, 4);
  say(300, 65535);  // nobody has anything to send
  say(310, 0);
  script.tell();
  BOOST_TEST(script.skipped == 0u);
  BOOST_REQUIRE_EQUAL(script.pauses.size(), 1u);
  BOOST_TEST(script.pauses[0].stops == 3u);
  BOOST_TEST(script.pauses[0].resumes == 2u);
  BOOST_TEST(script.pauses[0].stopped.ns == 207'000);
  BOOST_TEST(script.held_back[0].times == 1u);
  BOOST_TEST(script.held_back[0].time.ns == 197'000);
  BOOST_TEST(script.held_back[1].times == 0u);
}

BOOST_AUTO_TEST_CASE(a_comment_cannot_forge_a_finding) {
  Script script;
  script.write(0, 1, "x\n  ! gap: psn 9 missing\x1b[2J");
  script.tell();
  BOOST_TEST(script.says("x\\x0a  ! gap: psn 9 missing\\x1b[2J"));
  BOOST_TEST(script.ladder.find('\x1b') == script.ladder.npos);
}
