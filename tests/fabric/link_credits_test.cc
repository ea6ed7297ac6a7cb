// The credits of one lane: the counts of IBA volume 1, 7.9.4, and what the wire has lost.
#include "emulator/fabric/link_credits.h"

#include <boost/test/unit_test.hpp>

using namespace verbena::fabric;

BOOST_AUTO_TEST_CASE(a_packet_takes_whole_blocks) {
  BOOST_TEST(credit_blocks(1) == 1u);
  BOOST_TEST(credit_blocks(64) == 1u);
  BOOST_TEST(credit_blocks(65) == 2u);
}

BOOST_AUTO_TEST_CASE(sender_without_a_limit_may_send_nothing) {
  const LaneSender sender;
  BOOST_TEST(!sender.may_send(1));
}

BOOST_AUTO_TEST_CASE(sender_goes_up_to_the_limit_and_past_the_end_of_the_count) {
  LaneReceiver receiver(640);
  LaneSender sender(receiver.fccl());
  for (int round = 0; round < 2000; ++round) {  // 20,000 blocks: the counts turn over five times
    BOOST_TEST_REQUIRE(sender.may_send(10));
    BOOST_TEST_REQUIRE(!sender.may_send(11));
    sender.sent(10);
    receiver.arrived(10);
    BOOST_TEST_REQUIRE(receiver.free_blocks() == 0u);
    sender.told(receiver.fccl());
    BOOST_TEST_REQUIRE(!sender.may_send(1));
    receiver.freed(10);
    sender.told(receiver.fccl());
  }
}

BOOST_AUTO_TEST_CASE(large_buffer_is_told_of_up_to_half_of_the_count) {
  const LaneReceiver receiver(1 << 20);
  BOOST_TEST(receiver.fccl() == 2048u);
  const LaneSender sender(receiver.fccl());
  BOOST_TEST(sender.may_send(2048));
  BOOST_TEST(!sender.may_send(2049));
}

BOOST_AUTO_TEST_CASE(what_the_wire_has_lost_comes_back_with_the_senders_count) {
  LaneReceiver receiver(640);
  LaneSender sender(receiver.fccl());
  sender.sent(10);  // lost
  sender.told(receiver.fccl());
  BOOST_TEST(!sender.may_send(1));
  receiver.told(sender.fctbs());
  BOOST_TEST(receiver.free_blocks() == 10u);
  sender.told(receiver.fccl());
  BOOST_TEST(sender.may_send(10));
}

BOOST_AUTO_TEST_CASE(more_than_was_allowed_leaves_nothing_of_the_limit) {
  LaneReceiver receiver(640);
  const std::uint16_t limit = receiver.fccl();
  receiver.arrived(10);
  BOOST_TEST(receiver.left_of(limit) == 0u);
  receiver.arrived(10);  // a copy that a fault has made
  BOOST_TEST(receiver.left_of(limit) == 0u);
  BOOST_TEST(receiver.free_blocks() == 0u);
}
