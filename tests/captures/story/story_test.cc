// explain on conversations made for the purpose: each trouble on its own, at times that decide what it is.
#include "tests/captures/told_script.h"

using namespace verbena;
using namespace verbena::captures;
using test::kClientQp;
using test::kServerQp;
using test::rc;
using test::read;
using test::response;
using test::Script;
using wire::OperationCode;

BOOST_AUTO_TEST_CASE(silence_and_the_same_packet_again_is_a_timeout) {
  Script script;
  script.write(0, 10);
  script.write(67'000, 10);
  script.ack(67'100, 10);
  script.tell();
  BOOST_TEST(script.client.timeouts == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 1u);
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(
      script.says("timeout: retransmission from psn 10 (+0), 1 packet back: no NAK, 67 ms after the last progress"));
}

BOOST_AUTO_TEST_CASE(the_same_packet_again_at_once_is_a_duplicate) {
  Script script;
  script.write(0, 10);
  script.write(3, 10);
  script.ack(20, 10);
  script.tell();
  BOOST_TEST(script.client.duplicates == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.client.retransmitted_packets == 0u);
}

BOOST_AUTO_TEST_CASE(an_overtaken_packet_is_late_and_not_a_retransmission) {
  Script script;
  for (const std::uint32_t psn : {10u, 12u, 13u, 11u, 14u}) script.write(psn, psn);
  script.ack(40, 14);
  script.tell();
  BOOST_TEST(script.client.gaps == 1u);
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 0u);
}

BOOST_AUTO_TEST_CASE(packet_overtaken_in_a_retransmission_starts_no_other_one) {
  Script script;
  for (std::uint32_t psn = 10; psn < 16; ++psn) script.write(psn, psn);
  script.answer(20, 11, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  std::int64_t at_us = 30;
  for (const std::uint32_t psn : {11u, 13u, 14u, 12u, 15u, 16u}) script.write(++at_us, psn);
  script.ack(60, 16);
  script.tell();
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 4u);
}

BOOST_AUTO_TEST_CASE(go_back_n_after_a_nak_crosses_the_wrap_of_the_psn) {
  Script script;
  script.write(0, 0xfffffe);
  script.write(1, 0);  // 0xffffff is lost
  script.write(2, 1);
  script.answer(20, 0xffffff, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  for (std::uint32_t i = 0; i < 3; ++i) script.write(30 + i, (0xffffff + i) & 0xffffff);
  script.ack(50, 1);
  script.tell();
  BOOST_TEST(script.client.gaps == 1u);
  BOOST_TEST(script.client.missing_packets == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 3u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.server.nak_sequence_errors == 1u);
  BOOST_TEST(
      script.says("retransmission from psn 16777215 (+1), 3 packets back: go-back-N after the NAK of 10 us ago"));
}

BOOST_AUTO_TEST_CASE(rnr_nak_is_told_with_its_timer_and_the_retry_with_its_delay) {
  Script script;
  script.send(0, 1, {.opcode = rc(OperationCode::send_only), .psn = 7});
  script.answer(10, 7, wire::rnr_syndrome(14));  // 1.28 ms
  script.send(1400, 1, {.opcode = rc(OperationCode::send_only), .psn = 7});
  script.ack(1420, 7);
  script.tell();
  BOOST_TEST(script.server.rnr_naks == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.says("not ready for psn 7 (+0) (no receive posted, or a page not there), try again after " +
                         to_text(wire::rnr_timer(14))));
  BOOST_TEST(script.says("1.39 ms after the RNR NAK"));
}

BOOST_AUTO_TEST_CASE(a_missing_read_response_is_asked_for_again) {
  Script script;
  script.send(0, 1, {.opcode = rc(OperationCode::read_request), .psn = 100, .reth = {0x1000, {5}, 1024}});
  response(script, 10, OperationCode::read_response_first, 100);
  response(script, 11, OperationCode::read_response_middle, 101);
  response(script, 13, OperationCode::read_response_last, 103);  // 102 is lost
  script.send(20, 1, {.opcode = rc(OperationCode::read_request), .psn = 102, .reth = {0x1200, {5}, 512}});
  response(script, 30, OperationCode::read_response_first, 102);
  response(script, 31, OperationCode::read_response_last, 103);
  script.write(40, 104);  // READ took four PSNs
  script.ack(50, 104);
  script.tell();
  BOOST_TEST(script.conversations[0].path_mtu_bytes == 256u);
  BOOST_TEST(script.server.gaps == 1u);
  BOOST_TEST(script.server.missing_packets == 1u);
  BOOST_TEST(script.server.repeated_responses == 2u);
  BOOST_TEST(script.client.read_re_requests == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.client.gaps == 0u);
  BOOST_TEST(script.says("READ asked for again from psn 102 (+2), 2 packets back: a response is missing"));
}

BOOST_AUTO_TEST_CASE(dropped_read_response_is_asked_for_and_later_ones_are_no_gap) {
  Script script;
  const auto response = [&](std::int64_t at_us, OperationCode code, std::uint32_t psn, std::string_view comment = {}) {
    script.send(at_us, 2, {.opcode = rc(code), .psn = psn, .aeth = {wire::ack_syndrome(31), 1}}, comment);
  };
  script.send(0, 1, {.opcode = rc(OperationCode::read_request), .psn = 100, .reth = {0x1000, {5}, 1280}});
  response(10, OperationCode::read_response_first, 100);
  response(11, OperationCode::read_response_middle, 101, "verbena: dropped by fault 'drop 2% dir=rx'");
  response(12, OperationCode::read_response_middle, 102);
  script.send(600, 1, {.opcode = rc(OperationCode::read_request), .psn = 101, .reth = {0x1100, {5}, 1024}});
  response(601, OperationCode::read_response_middle, 103);
  response(602, OperationCode::read_response_last, 104);
  response(610, OperationCode::read_response_first, 101);
  for (std::uint32_t i = 2; i < 4; ++i) response(610 + i, OperationCode::read_response_middle, 100 + i);
  response(614, OperationCode::read_response_last, 104);
  script.tell();
  BOOST_TEST(script.client.read_re_requests == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.server.gaps == 0u);
  BOOST_TEST(script.server.repeated_responses == 4u);
  BOOST_TEST(script.server.dropped_by_fault == 1u);
  BOOST_TEST(script.says("a response is missing"));
}

BOOST_AUTO_TEST_CASE(lost_atomic_response_is_an_implied_nak) {
  Script script;
  script.send(0, 1, {.opcode = rc(OperationCode::fetch_add), .psn = 10});
  for (std::uint32_t psn = 11; psn < 17; ++psn) script.write(psn - 10, psn);
  script.ack(20, 16);  // the response to 10 is lost
  script.send(25, 1, {.opcode = rc(OperationCode::fetch_add), .psn = 10});
  for (std::uint32_t psn = 11; psn < 17; ++psn) script.write(psn + 15, psn);
  script.send(40, 2, {.opcode = rc(OperationCode::atomic_acknowledge), .psn = 10, .aeth = {wire::ack_syndrome(5), 1}});
  script.ack(41, 16);
  script.tell();
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 7u);
  BOOST_TEST(script.says("a response is missing (implied NAK)"));
  BOOST_TEST(script.says("gap in READ or atomic responses: psn 10 (+0) missing"));
  BOOST_TEST((script.acknowledged == std::vector<std::uint32_t>{1, 6}));  // nothing by the first ACK
}

BOOST_AUTO_TEST_CASE(the_first_packet_of_a_conversation_overtaken_is_no_duplicate) {
  Script script;
  for (const std::uint32_t psn : {11u, 12u, 10u, 13u}) script.write(psn, psn);
  script.ack(30, 13);
  script.tell();
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.duplicates + script.client.go_backs == 0u);
}

BOOST_AUTO_TEST_CASE(a_packet_that_was_delayed_for_long_is_late_and_no_timeout) {
  Script script;
  for (std::uint32_t psn = 1; psn < 9; ++psn) {  // a round takes 20 us
    script.write(psn * 100, psn);
    script.ack(psn * 100 + 20, psn);
  }
  for (const std::uint32_t psn : {10u, 11u, 12u}) script.write(1000 + psn, psn);  // 9 comes later
  script.write(1900, 9);
  script.write(1901, 13);
  script.ack(1920, 13);
  script.tell();
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.timeouts + script.client.go_backs + script.client.duplicates == 0u);
}

BOOST_AUTO_TEST_CASE(acknowledgement_amid_go_back_n_explains_what_it_leaves_out) {
  Script script;
  for (std::uint32_t psn = 10; psn < 20; ++psn) script.write(psn - 10, psn);
  script.answer(20, 11, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  for (const std::uint32_t psn : {11u, 12u, 13u}) script.write(20 + psn, psn);
  script.ack(34, 16);
  for (const std::uint32_t psn : {17u, 18u, 19u, 20u}) script.write(20 + psn, psn);
  script.ack(60, 20);
  script.tell();
  BOOST_TEST(script.client.gaps == 0u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 6u);
}

BOOST_AUTO_TEST_CASE(copy_149_us_later_is_no_timeout_whatever_the_round_takes) {
  Script script;
  for (std::uint32_t psn = 1; psn < 9; ++psn) {
    script.write(psn * 200, psn);
    script.ack(psn * 200 + 5, psn);
  }
  script.write(1749, 8);  // its answer has passed
  script.write(1800, 9);
  script.ack(1805, 9);
  script.tell();
  BOOST_TEST(script.client.duplicates == 1u);
  BOOST_TEST(script.client.timeouts + script.client.go_backs == 0u);
}

BOOST_AUTO_TEST_CASE(nak_explains_a_retransmission_of_a_slow_requester) {
  Script script;
  for (const std::uint32_t psn : {1u, 3u, 4u}) script.write(psn, psn);
  script.answer(10, 2, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  for (const std::uint32_t psn : {2u, 3u, 4u}) script.write(15'000 + psn, psn);  // 15 ms fit no ACK timer
  script.ack(15'020, 4);
  script.tell();
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.says("go-back-N after the NAK of 15 ms ago"));
}

BOOST_AUTO_TEST_CASE(repeated_read_responses_are_counted_and_a_lost_last_is_found) {
  Script script;
  read(script, 0, 100, 4);
  read(script, 1, 104, 4);
  response(script, 10, OperationCode::read_response_first, 100);
  response(script, 11, OperationCode::read_response_middle, 101);
  response(script, 12, OperationCode::read_response_middle, 102);  // LAST is lost
  response(script, 14, OperationCode::read_response_first, 104);
  response(script, 15, OperationCode::read_response_middle, 105);
  response(script, 16, OperationCode::read_response_middle, 106);
  response(script, 17, OperationCode::read_response_last, 107);
  read(script, 20, 103, 1);
  read(script, 21, 104, 4);
  response(script, 30, OperationCode::read_response_only, 103);
  response(script, 31, OperationCode::read_response_first, 104);
  response(script, 32, OperationCode::read_response_middle, 105);
  response(script, 33, OperationCode::read_response_middle, 106);
  response(script, 34, OperationCode::read_response_last, 107);
  script.tell();
  BOOST_TEST(script.server.gaps == 1u);
  BOOST_TEST(script.says("gap in READ or atomic responses: psn 103 (+3) missing, 1 packet"));
  BOOST_TEST(script.server.repeated_responses == 5u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.server.repeated_answers + script.server.late_packets == 0u);
}

BOOST_AUTO_TEST_CASE(an_answer_to_what_was_never_sent_is_told) {
  Script script;
  for (std::uint32_t psn = 1; psn < 4; ++psn) {
    script.write(psn * 10, psn);
    script.ack(psn * 10 + 5, psn);
  }
  script.ack(40, 2);     // old, and legal
  script.ack(50, 5000);  // nobody has sent it
  script.answer(60, 4, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  script.write(70, 4);
  script.ack(75, 4);
  script.tell();
  BOOST_TEST(script.server.unasked_answers == 2u);
  BOOST_TEST(script.says("answers psn 5000 (+4999), which was never sent: 4997 packets beyond the last request"));
  BOOST_TEST(script.client.go_backs + script.client.gaps == 0u);
}

BOOST_AUTO_TEST_CASE(a_folded_run_does_not_hide_a_pause) {
  Script script;
  for (std::uint32_t i = 0; i < 40; ++i)
    script.send(i + (i < 20 ? 0 : 5000), 1, {.opcode = rc(OperationCode::write_middle), .psn = 100 + i});
  script.tell();
  std::size_t folded = 0;
  for (std::size_t at = script.ladder.find(" x 20 "); at != std::string::npos;
       at = script.ladder.find(" x 20 ", at + 1))
    ++folded;
  BOOST_TEST(folded == 2u, script.ladder);
}

BOOST_AUTO_TEST_CASE(a_nak_that_a_fault_dropped_leads_to_a_timeout) {
  Script script;
  script.write(0, 1);
  script.write(1, 2, "verbena: dropped by fault 'drop 1%'");
  script.write(2, 3);
  script.send(9, 2,
              {.opcode = rc(OperationCode::acknowledge),
               .psn = 2,
               .aeth = {wire::nak_syndrome(wire::NakCode::psn_sequence_error), 1}},
              "verbena: dropped by fault 'drop 1%'");
  script.write(4000, 2);
  script.write(4001, 3);
  script.ack(4020, 3);
  script.tell();
  BOOST_TEST(script.client.timeouts == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 2u);
}

BOOST_AUTO_TEST_CASE(an_access_error_is_told_in_words) {
  Script script;
  script.write(0, 1);
  script.answer(5, 1, wire::nak_syndrome(wire::NakCode::remote_access_error));
  script.tell();
  BOOST_TEST(script.server.other_naks == 1u);
  BOOST_TEST(script.server.nak_sequence_errors == 0u);
  BOOST_TEST(script.says("remote access error"));
}

BOOST_AUTO_TEST_CASE(packet_dropped_by_a_fault_leaves_no_gap_but_its_comment) {
  Script script;
  script.write(0, 1);
  script.write(1, 2, "verbena: dropped by fault 'drop 0.1%'");
  script.write(2, 3);
  script.ack(9, 1);
  script.tell();
  BOOST_TEST(script.client.dropped_by_fault == 1u);
  BOOST_TEST(script.client.gaps == 0u);
  BOOST_TEST(script.says("dropped by fault 'drop 0.1%'"));
}

BOOST_AUTO_TEST_CASE(a_bad_icrc_is_found_and_the_packet_not_followed) {
  Script script;
  script.write(0, 1);
  auto bad = test::make_frame(
      test::flow_between(1, 2),
      {.opcode = rc(OperationCode::write_only), .psn = 2, .dest_qp = kServerQp, .payload = std::vector<std::byte>(64)});
  bad[bad.size() - 8] ^= std::byte{1};
  script.frame(1, bad);
  script.write(2, 3);
  script.ack(9, 1);
  script.tell();
  BOOST_TEST(script.client.bad_icrc == 1u);
  BOOST_TEST(script.client.gaps == 1u);  // as the receiver sees it
  BOOST_TEST(script.says("bad ICRC"));
}

BOOST_AUTO_TEST_CASE(malformed_and_foreign_packets_are_counted_and_do_not_disturb) {
  Script script;
  script.write(0, 1);
  const auto good = test::make_frame(
      test::flow_between(1, 2),
      {.opcode = rc(OperationCode::write_only), .psn = 2, .dest_qp = kServerQp, .payload = std::vector<std::byte>(64)});
  auto unknown = good;
  unknown[14 + 20 + 8] = std::byte{0x1f};  // the opcode
  script.frame(1, unknown);
  auto other_port = good;
  other_port[14 + 20 + 2] = std::byte{0x00};
  script.frame(2, other_port);
  script.write(3, 2);
  script.ack(9, 2);
  script.tell();
  BOOST_TEST(script.malformed == 1u);
  BOOST_TEST(script.skipped == 1u);
  BOOST_TEST(script.client.packets == 2u);
  BOOST_TEST(script.notes == "");
}

BOOST_AUTO_TEST_CASE(queue_pairs_of_two_nodes_are_told_apart_by_acknowledgements) {
  Script script;
  const auto send = [&](std::int64_t at_us, unsigned from, std::uint32_t qpn, OperationCode code, std::uint32_t psn) {
    test::PacketSpec spec{
        .opcode = rc(code), .psn = psn, .dest_qp = wire::Qpn(qpn), .aeth = {wire::ack_syndrome(31), 1}};
    if (code == OperationCode::write_only) spec.payload.resize(32);
    script.frame(at_us, test::make_frame(test::flow_between(from, 3 - from), spec));
  };
  for (std::uint32_t i = 0; i < 3; ++i) send(i, 1, 0x100 + i, OperationCode::write_only, 1000 * (i + 1));
  for (std::uint32_t i = 3; i-- > 0;) send(20 - i, 2, 0x200 + i, OperationCode::acknowledge, 1000 * (i + 1));
  script.tell();
  BOOST_REQUIRE_EQUAL(script.conversations.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) {
    BOOST_TEST((script.conversations[i].ends[0].qpn == wire::Qpn(0x200 + i)));
    BOOST_TEST((script.conversations[i].ends[1].qpn == wire::Qpn(0x100 + i)));
    BOOST_TEST(script.conversations[i].packets.size() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(a_capture_that_begins_in_the_middle_is_told) {
  Script script;
  script.ack(0, 99);
  script.write(5, 101);
  script.write(6, 102);
  script.ack(10, 102);
  script.tell();
  BOOST_TEST(script.conversations.size() == 1u);
  BOOST_TEST(script.client.packets == 2u);
  BOOST_TEST(script.server.packets == 2u);
  BOOST_TEST(script.client.gaps + script.client.retransmitted_packets == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_not_a_capture_is_refused_in_words) {
  const auto missing = Capture::open("/nonexistent/file.pcap");
  BOOST_REQUIRE(!missing.ok());
  BOOST_TEST(missing.error() == "No such file or directory");
  BOOST_TEST(!Capture::open("/proc/self/exe").ok());
  BOOST_TEST(!Capture::open("/tmp").ok());
}

BOOST_AUTO_TEST_CASE(selective_repeat_sends_one_packet_again_and_is_no_go_back) {
  Script script;
  for (std::uint32_t psn = 10; psn < 20; ++psn) script.write(psn, psn);
  script.send(30, 2,
              {.opcode = rc(OperationCode::acknowledge),
               .psn = 12,
               .aeth = {wire::nak_syndrome(wire::NakCode::psn_sequence_error), 1},
               .sack = wire::SackEth{.highest = wire::Psn(17), .below = 0b101}});  // 16 and 14; 12, 13 and 15 are lost
  for (const std::uint32_t psn : {12u, 13u, 15u}) script.write(40 + psn, psn);
  script.write(60, 20);
  script.ack(70, 20);
  script.tell();
  BOOST_TEST(script.client.retransmitted_packets == 3u);
  BOOST_TEST(script.client.gaps == 0u);
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(script.client.unexplained_go_backs == 0u);
  BOOST_TEST(script.says("psn 15 (+5) again, alone (selective repeat): the NAK of 25 us ago tells of later ones"));
  BOOST_TEST(script.ladder.find("SACK psn 17 and 2 below") != std::string::npos, script.ladder);
}
