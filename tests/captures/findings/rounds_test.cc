// explain where several sendings of the same packets are under way: what was held back from before a retransmission,
// what looks like a copy and may be none, and which cause fits. Each test is one mistake that was made.
#include "tests/captures/told_script.h"

using namespace verbena;
using test::nak;
using test::rc;
using test::read;
using test::response;
using test::responses;
using test::Script;
using test::writes;
using wire::OperationCode;

BOOST_AUTO_TEST_CASE(a_packet_from_before_a_retransmission_does_not_move_it) {
  Script script;
  writes(script, 0, {10, 11, 13, 14, 15, 16, 18, 19});  // 12 is lost, 17 is held back
  nak(script, 20, 12);
  writes(script, 30, {12, 13, 17, 14, 15, 16, 17, 18, 19, 20});
  script.ack(60, 20);
  script.tell();
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.gaps == 2u);  // 12 and 17, and none in the retransmission
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.client.duplicates + script.client.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(response_older_than_the_repeated_read_moves_nothing) {
  Script script;
  read(script, 0, 100, 10);
  response(script, 10, OperationCode::read_response_first, 100);
  for (std::uint32_t psn = 102; psn < 108; ++psn)  // 101 is lost, 108 is held back
    response(script, psn - 90, OperationCode::read_response_middle, psn);
  response(script, 19, OperationCode::read_response_last, 109);
  read(script, 20, 101, 9);
  response(script, 30, OperationCode::read_response_first, 101);
  response(script, 31, OperationCode::read_response_middle, 102);
  response(script, 32, OperationCode::read_response_middle, 108);
  for (std::uint32_t psn = 103; psn < 109; ++psn) response(script, psn - 70, OperationCode::read_response_middle, psn);
  response(script, 39, OperationCode::read_response_last, 109);
  script.tell();
  BOOST_TEST(script.server.late_packets == 1u);
  BOOST_TEST(script.server.gaps == 2u);  // 101 and 108
  BOOST_TEST(script.server.repeated_answers + script.server.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(late_packet_leaves_the_nak_to_its_own_retransmission) {
  Script script;
  writes(script, 0, {10, 11, 13, 14});
  nak(script, 10, 12);
  script.write(12, 12);
  writes(script, 30, {12, 13, 14, 15});
  script.ack(50, 15);
  script.tell();
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.says("go-back-N after the NAK of 20 us ago"));
}

BOOST_AUTO_TEST_CASE(many_packets_in_order_once_more_are_no_copies) {
  Script script;
  writes(script, 0, {1, 2, 3, 4, 5, 6});
  script.ack(8, 1);
  writes(script, 20, {1, 2, 3, 4, 5, 6, 7});
  script.ack(40, 7);
  script.tell();
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(script.client.unexplained_go_backs == 1u);
  BOOST_TEST(script.client.retransmitted_packets == 6u);
}

BOOST_AUTO_TEST_CASE(packet_sent_twice_and_seen_thrice_is_only_seen_before) {
  Script script;
  writes(script, 0, {10, 11, 12, 13, 14, 15});
  nak(script, 20, 11);
  writes(script, 30, {11, 12, 13, 14, 15, 16, 17, 13, 18, 19});
  script.ack(60, 19);
  script.tell();
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(script.client.late_packets == 0u);
  BOOST_TEST(script.client.seen_before == 1u);
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.says("seen before, 5 us ago: a copy, held back, or sent again; the capture does not show which"));
}

BOOST_AUTO_TEST_CASE(copy_right_behind_its_original_stays_one_in_a_retransmission) {
  Script script;
  writes(script, 0, {10, 11, 12, 13, 14, 15});
  nak(script, 20, 11);
  writes(script, 30, {11, 12, 13});
  script.write(32, 13);
  writes(script, 33, {14, 15, 16});
  script.ack(60, 16);
  script.tell();
  BOOST_TEST(script.client.duplicates == 1u);
  BOOST_TEST(script.client.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(packets_that_differ_in_a_bit_are_no_copies) {
  Script script;
  writes(script, 0, {10, 11});
  script.send(5, 1, {.opcode = rc(OperationCode::write_only), .psn = 11, .ack_request = true});
  script.ack(20, 11);
  script.tell();
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(script.client.unexplained_go_backs == 1u);
}

BOOST_AUTO_TEST_CASE(acknowledged_packet_left_out_of_a_retransmission_is_late) {
  Script script;
  for (std::uint32_t psn = 10; psn < 20; ++psn) script.write(psn - 10, psn);
  nak(script, 20, 11);
  writes(script, 31, {11, 12, 13});
  script.ack(34, 16);
  writes(script, 37, {17, 18, 15, 19, 20});
  script.ack(60, 20);
  script.tell();
  BOOST_TEST(script.client.gaps == 0u);
  BOOST_TEST(script.client.late_packets == 1u);
  BOOST_TEST(script.client.duplicates + script.client.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(middle_of_an_answer_is_older_than_one_that_begins_there) {
  Script script;
  read(script, 0, 100, 5);
  response(script, 10, OperationCode::read_response_first, 100);
  for (std::uint32_t psn = 102; psn < 104; ++psn) response(script, psn - 90, OperationCode::read_response_middle, psn);
  response(script, 14, OperationCode::read_response_last, 104);
  read(script, 20, 101, 4);
  responses(script, 30, 101, 105);
  response(script, 40, OperationCode::read_response_middle, 101);  // held back for 29 us
  script.tell();
  BOOST_TEST(script.server.late_packets == 1u);
  BOOST_TEST(script.server.repeated_answers + script.server.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(answers_to_each_asking_go_on_where_they_were) {
  Script script;
  read(script, 0, 100, 10);
  response(script, 10, OperationCode::read_response_first, 100);
  response(script, 12, OperationCode::read_response_middle, 102);
  read(script, 13, 101, 9);
  response(script, 14, OperationCode::read_response_middle, 103);
  response(script, 16, OperationCode::read_response_middle, 105);
  read(script, 17, 101, 9);
  for (std::uint32_t psn = 106; psn < 109; ++psn) response(script, psn - 88, OperationCode::read_response_middle, psn);
  response(script, 21, OperationCode::read_response_last, 109);
  responses(script, 30, 101, 110);
  responses(script, 50, 101, 110);
  script.tell();
  BOOST_TEST(script.server.gaps == 2u);
  BOOST_TEST(script.server.missing_packets == 2u);  // 101 and 104
  BOOST_TEST(script.server.late_packets + script.server.seen_before == 0u);
}

BOOST_AUTO_TEST_CASE(silence_of_no_timers_length_is_no_timeout_after_the_answer) {
  Script script;
  writes(script, 0, {1, 2, 3, 4, 5});
  script.ack(10, 5);
  writes(script, 330, {1, 2, 3, 4, 5, 6});
  script.ack(350, 6);
  script.tell();
  BOOST_TEST(script.client.timeouts == 0u);
  BOOST_TEST(script.client.unexplained_go_backs == 1u);
}

BOOST_AUTO_TEST_CASE(retransmission_sooner_than_a_nak_can_act_is_not_due_to_it) {
  Script script;
  std::int64_t at_us = 0;
  for (std::uint32_t psn = 10; psn < 85; psn += 5, at_us += 100) {
    writes(script, at_us, {psn, psn + 2, psn + 3});
    nak(script, at_us + 10, psn + 1);
    writes(script, at_us + 50, {psn + 1, psn + 2, psn + 3, psn + 4});
    script.ack(at_us + 70, psn + 4);
  }
  writes(script, at_us, {85, 86, 87, 88});
  nak(script, at_us + 10, 88);
  script.write(at_us + 12, 88);
  script.write(at_us + 13, 89);
  script.ack(at_us + 20, 89);
  script.tell();
  BOOST_TEST(script.client.go_backs == 15u);
}

BOOST_AUTO_TEST_CASE(a_nak_for_what_was_lost_before_the_first_packet_is_heard) {
  Script script;
  writes(script, 0, {11, 12, 13});  // 10 is lost
  nak(script, 10, 10);
  writes(script, 20, {10, 11, 12, 13, 14});
  script.ack(40, 14);
  script.tell();
  BOOST_TEST(script.client.go_backs == 1u);
  BOOST_TEST(script.says("go-back-N after the NAK of 10 us ago"));
}

BOOST_AUTO_TEST_CASE(copy_apart_from_its_original_may_have_been_held_back) {
  Script script;
  writes(script, 0, {10, 11, 12, 11, 13, 14});
  script.ack(20, 14);
  script.tell();
  BOOST_TEST(script.client.duplicates == 0u);
  BOOST_TEST(script.client.seen_before == 1u);
}

BOOST_AUTO_TEST_CASE(missing_answer_that_goes_on_a_little_is_late_or_sent_again) {
  Script script;
  writes(script, 0, {10, 14, 15});  // 11 to 13 are missing
  nak(script, 10, 11);
  writes(script, 12, {12, 13, 16, 17, 18, 19});
  script.ack(40, 10);
  script.tell();
  BOOST_TEST(script.says("it was missing: held back, or sent again; the capture does not show which"));
}
