// The queues of a port: strict before weighted, octets in the ratio of weights, and pauses.
#include "emulator/fabric/egress_port.h"

#include <boost/test/unit_test.hpp>
#include <map>

using namespace verbena;
using namespace verbena::fabric;

namespace {

struct Bench {
  explicit Bench(const Qos& qos) : port(qos) {}

  FrameNumber push(TrafficClass traffic_class, std::uint16_t bytes, std::int64_t ns = 0) {
    const FrameNumber frame = pool.take(bytes);
    pool.info(frame) = {};
    pool.info(frame).bytes = bytes;
    port.push(Time{ns}, traffic_class, frame, pool);
    return frame;
  }
  /// The class that goes; nothing: none may.
  std::optional<TrafficClass> send(std::int64_t ns = 0) {
    const auto chosen = port.choose(Time{ns}, pool);
    if (chosen) {
      const FrameNumber frame = port.pop(Time{ns}, *chosen, pool);
      sent[*chosen] += pool.info(frame).bytes;
      pool.give_back(frame);
    }
    return chosen;
  }

  FramePool pool{false, 100'000};
  EgressPort port;
  std::map<TrafficClass, std::uint64_t> sent;
};

}  // namespace

BOOST_AUTO_TEST_CASE(frames_of_a_class_stay_in_order_and_are_counted) {
  Bench bench{Qos()};
  const FrameNumber first = bench.push(3, 100);
  const FrameNumber second = bench.push(3, 200);
  BOOST_TEST(bench.port.octets() == 300u);
  BOOST_TEST(bench.port.frames_of(3) == 2u);
  BOOST_TEST(*bench.port.choose(Time{0}, bench.pool) == 3);
  BOOST_TEST(bench.port.pop(Time{0}, 3, bench.pool) == first);
  BOOST_TEST(bench.port.octets_of(3) == 200u);
  BOOST_TEST(bench.port.pop(Time{0}, 3, bench.pool) == second);
  BOOST_TEST(bench.port.empty());
  BOOST_TEST(bench.port.octets_max() == 300u);
  BOOST_TEST(!bench.port.choose(Time{0}, bench.pool).has_value());
}

BOOST_AUTO_TEST_CASE(strict_classes_go_first_the_highest_before_the_others) {
  Qos qos;
  qos.strict = bit_of(6) | bit_of(2);
  Bench bench(qos);
  for (const int traffic_class : {0, 2, 6, 2, 6, 7}) bench.push(static_cast<TrafficClass>(traffic_class), 64);
  for (const int expected : {6, 6, 2, 2}) BOOST_TEST(int{*bench.send()} == expected);
}

BOOST_AUTO_TEST_CASE(weighted_classes_share_octets_by_weight_at_any_frame_size) {
  Qos qos;
  qos.weights[1] = 3;
  Bench bench(qos);
  // Class 1 has short frames and class 0 long ones: by frames it would have next to nothing.
  for (int i = 0; i < 4000; ++i) bench.push(0, 1500);
  for (int i = 0; i < 40'000; ++i) bench.push(1, 100);
  while (bench.sent[0] + bench.sent[1] < 4'000'000) BOOST_TEST_REQUIRE(bench.send().has_value());
  const double ratio = static_cast<double>(bench.sent[1]) / static_cast<double>(bench.sent[0]);
  BOOST_TEST((ratio > 2.95 && ratio < 3.05));
}

BOOST_AUTO_TEST_CASE(a_class_that_has_nothing_to_send_saves_nothing_up) {
  Bench bench{Qos()};
  for (int i = 0; i < 1000; ++i) bench.push(0, 1500);
  for (int i = 0; i < 500; ++i) bench.send();
  for (int i = 0; i < 1000; ++i) bench.push(1, 1500);
  bench.sent.clear();
  for (int i = 0; i < 100; ++i) bench.send();
  BOOST_TEST(bench.sent[0] > 60'000u);
  BOOST_TEST(bench.sent[1] > 60'000u);
}

BOOST_AUTO_TEST_CASE(paused_class_waits_while_others_go_until_its_time_is_over) {
  Bench bench{Qos()};
  bench.push(3, 100);
  bench.push(4, 100);
  bench.port.pause(Time{10}, bit_of(3), Time{10}, Time{50});
  BOOST_TEST(bench.port.paused(Time{10}) == bit_of(3));
  BOOST_TEST(*bench.send(10) == 4);
  BOOST_TEST(!bench.send(49).has_value());
  BOOST_CHECK(bench.port.next_chance(Time{49}) == Time{50});
  BOOST_TEST(*bench.send(50) == 3);
  BOOST_CHECK(bench.port.next_chance(Time{50}) == kNever);
  BOOST_TEST(bench.port.time_paused(Time{60}, 3).ns == 40);
}

BOOST_AUTO_TEST_CASE(pause_begins_after_the_reaction_and_is_renewed_or_ended) {
  Bench bench{Qos()};
  bench.port.pause(Time{0}, kEveryClass, Time{5}, Time{100});
  BOOST_TEST(!bench.port.is_paused(Time{4}, 0));
  BOOST_TEST(bench.port.is_paused(Time{5}, 0));
  bench.port.pause(Time{50}, kEveryClass, Time{55}, Time{150});
  for (const std::int64_t ns : {50, 54, 99, 149}) BOOST_TEST(bench.port.is_paused(Time{ns}, 0));
  BOOST_TEST(bench.port.time_paused(Time{120}, 0).ns == 115);
  bench.port.pause(Time{130}, kEveryClass, Time{130}, Time{130});
  BOOST_TEST(!bench.port.is_paused(Time{130}, 0));
  BOOST_TEST(bench.port.time_paused(Time{500}, 0).ns == 125);
}

BOOST_AUTO_TEST_CASE(stuck_time_counts_from_the_last_frame_or_the_pause) {
  Bench bench{Qos()};
  BOOST_CHECK(bench.port.stuck_since(Time{0}, 3) == kNever);
  bench.push(3, 100, 20);
  bench.push(3, 100, 20);
  BOOST_CHECK(bench.port.stuck_since(Time{20}, 3) == kNever);
  bench.port.pause(Time{30}, bit_of(3), Time{30}, Time{1000});
  BOOST_CHECK(bench.port.stuck_since(Time{40}, 3) == Time{30});
  bench.port.pause(Time{500}, bit_of(3), Time{500}, Time{2000});
  BOOST_CHECK(bench.port.stuck_since(Time{1500}, 3) == Time{30});
  bench.port.ignore_pause(3, true);
  BOOST_TEST(*bench.send(1600) == 3);
  BOOST_CHECK(bench.port.stuck_since(Time{1700}, 3) == Time{1600});
}
