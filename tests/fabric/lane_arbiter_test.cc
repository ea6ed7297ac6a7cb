// Whose turn it is among the lanes of a port, by VLArbitration tables.
#include "emulator/fabric/lane_arbiter.h"

#include <boost/test/unit_test.hpp>
#include <map>

using namespace verbena;
using namespace verbena::fabric;

namespace {

constexpr std::uint16_t kBytes = 1024;  // 16 units of a weight

LaneArbiter::Heads heads_of(std::initializer_list<std::size_t> lanes, std::uint16_t bytes = kBytes) {
  LaneArbiter::Heads heads{};
  for (const std::size_t lane : lanes) heads[lane] = bytes;
  return heads;
}

std::string turns(LaneArbiter& arbiter, const LaneArbiter::Heads& heads, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto lane = arbiter.choose(heads);
    text += lane ? static_cast<char>('0' + *lane) : '-';
  }
  return text;
}

LaneArbiter arbiter_of(const LaneArbitration& arbitration) {
  LaneArbiter arbiter;
  arbiter.set(arbitration);
  return arbiter;
}

}  // namespace

BOOST_AUTO_TEST_CASE(lanes_of_a_list_share_in_the_ratio_of_their_weights) {
  LaneArbiter arbiter = arbiter_of({.low = {{0, 16}, {1, 48}, {2, 32}}});
  BOOST_TEST(turns(arbiter, heads_of({0, 1, 2}), 12) == "011122011122");
  BOOST_TEST(turns(arbiter, heads_of({0, 2}), 6) == "022022");
  BOOST_TEST(turns(arbiter, heads_of({1}), 5) == "11111");
  BOOST_TEST(turns(arbiter, heads_of({}), 2) == "--");
}

BOOST_AUTO_TEST_CASE(weight_is_rounded_up_to_whole_packets) {
  LaneArbiter arbiter = arbiter_of({.low = {{0, 1}, {1, 17}}});
  BOOST_TEST(turns(arbiter, heads_of({0, 1}), 6) == "011011");
}

BOOST_AUTO_TEST_CASE(lane_may_stand_in_a_list_several_times) {
  LaneArbiter arbiter = arbiter_of({.low = {{0, 16}, {1, 16}, {0, 16}, {2, 16}}});
  BOOST_TEST(turns(arbiter, heads_of({0, 1, 2}), 8) == "01020102");
}

BOOST_AUTO_TEST_CASE(high_list_goes_first_up_to_its_limit) {
  const LaneArbitration lists{.high = {{3, 255}}, .low = {{0, 255}}};
  LaneArbitration unlimited = lists;
  unlimited.high_limit = LaneArbitration::kUnlimited;
  LaneArbiter without = arbiter_of(unlimited);
  BOOST_TEST(turns(without, heads_of({0, 3}), 100) == std::string(100, '3'));
  LaneArbitration two_times = lists;
  two_times.high_limit = 2;  // 8192 octets: eight packets
  LaneArbiter limited = arbiter_of(two_times);
  BOOST_TEST(turns(limited, heads_of({0, 3}), 18) == "333333330333333330");
  LaneArbiter one = arbiter_of(lists);  // a packet, then the others' chance
  BOOST_TEST(turns(one, heads_of({0, 3}), 6) == "303030");
}

BOOST_AUTO_TEST_CASE(high_list_goes_on_when_the_low_one_has_nothing) {
  LaneArbiter arbiter = arbiter_of({.high = {{3, 16}, {4, 16}}, .low = {{0, 16}}});
  BOOST_TEST(turns(arbiter, heads_of({3, 4}), 6) == "343434");
  BOOST_TEST(turns(arbiter, heads_of({0}), 2) == "00");
}

BOOST_AUTO_TEST_CASE(lane_in_no_list_sends_when_no_other_does) {
  LaneArbiter arbiter = arbiter_of({.low = {{0, 16}}});
  BOOST_TEST(turns(arbiter, heads_of({0, 5}), 3) == "000");
  BOOST_TEST(turns(arbiter, heads_of({5}), 2) == "55");
}

BOOST_AUTO_TEST_CASE(entries_without_weight_or_lane_are_passed_over) {
  BOOST_TEST(!LaneArbiter().is_set());
  BOOST_TEST(!arbiter_of({.high = {{1, 0}}, .low = {{9, 5}, {15, 5}}}).is_set());
  LaneArbiter arbiter = arbiter_of({.low = {{1, 0}, {9, 5}, {2, 16}, {3, 16}}});
  BOOST_TEST(arbiter.is_set());
  BOOST_TEST(turns(arbiter, heads_of({1, 2, 3}), 4) == "2323");
}
