// Which source is due next: near and far, set again, taken together, in the order of a model that sorts.
#include "emulator/fabric/deadline_queue.h"

#include <boost/test/unit_test.hpp>
#include <map>

#include "emulator/fabric/chance.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {
std::vector<std::uint32_t> take(DeadlineQueue& queue) {
  std::vector<std::uint32_t> due;
  queue.take_earliest(due);
  return due;
}
using Sources = std::vector<std::uint32_t>;
}  // namespace

BOOST_AUTO_TEST_CASE(sources_come_out_by_time_and_at_one_time_by_number) {
  DeadlineQueue queue(10);
  BOOST_CHECK(queue.earliest() == kNever);
  queue.set(7, Time{100});
  queue.set(3, Time{100});
  queue.set(5, Time{99});
  queue.set(1, Time{1'000'000'000});
  BOOST_CHECK(queue.earliest() == Time{99});
  BOOST_CHECK(take(queue) == Sources{5});
  BOOST_CHECK((take(queue) == Sources{3, 7}));
  BOOST_CHECK(queue.earliest() == Time{1'000'000'000});
  BOOST_CHECK(take(queue) == Sources{1});
  BOOST_CHECK(queue.earliest() == kNever);
}

BOOST_AUTO_TEST_CASE(near_and_far_sources_of_one_time_come_out_together) {
  DeadlineQueue queue(4);
  queue.set(2, Time{50'000});  // farther than the wheel reaches
  queue.set(0, Time{49'000});
  BOOST_CHECK(take(queue) == Sources{0});
  queue.set(1, Time{50'000});  // near by now
  queue.set(3, Time{50'000});
  BOOST_CHECK((take(queue) == Sources{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(a_deadline_in_the_past_is_due_at_once_and_never_means_none) {
  DeadlineQueue queue(3);
  queue.set(0, Time{500});
  take(queue);
  queue.set(1, Time{10});
  BOOST_CHECK(queue.earliest() == Time{500});
  queue.set(2, Time{600});
  queue.set(1, kNever);
  BOOST_CHECK(queue.earliest() == Time{600});
  queue.set(2, kNever);
  BOOST_CHECK(queue.earliest() == kNever);
}

BOOST_AUTO_TEST_CASE(peek_shows_due_entries_in_order_and_changes_nothing) {
  DeadlineQueue queue(400);
  queue.set(0, Time{8000});
  BOOST_CHECK(take(queue) == Sources{0});
  // Around the end of the wheel, with neighbours on both sides of every word of its map.
  for (std::uint32_t i = 0; i < 300; ++i) queue.set(i, Time{8001 + i});
  for (const std::int64_t after : {8000, 8001, 8062, 8063, 8064, 8191, 8192, 8200})
    for (const std::int64_t until : {8001, 8063, 8064, 8065, 8192, 8193, 8299}) {
      Sources expected;
      for (std::int64_t ns = after + 1; ns <= until; ++ns) expected.push_back(static_cast<std::uint32_t>(ns - 8001));
      Sources seen;
      queue.peek(Time{after}, Time{until}, seen);
      BOOST_TEST((seen == expected), after << " to " << until);
    }
  Sources all;
  queue.peek(Time{0}, kNever, all);
  BOOST_TEST(all.size() == 300u);
  BOOST_CHECK(take(queue) == Sources{0});
}

BOOST_AUTO_TEST_CASE(it_agrees_with_a_sorted_model_over_many_random_changes) {
  constexpr std::uint32_t kSources = 200;
  DeadlineQueue queue(kSources);
  std::map<std::pair<std::int64_t, std::uint32_t>, bool> model;
  std::vector<std::int64_t> when(kSources, kNever.ns);
  Dice dice(3);
  std::int64_t now = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (dice.below(3) != 0) {
      const auto source = static_cast<std::uint32_t>(dice.below(kSources));
      const std::uint64_t kind = dice.below(10);
      const std::int64_t ahead = static_cast<std::int64_t>(dice.below(kind == 0 ? 1'000'000 : kind < 4 ? 20'000 : 300));
      const std::int64_t next = kind == 9 ? kNever.ns : now + ahead;
      model.erase({when[source], source});
      when[source] = next;
      if (next != kNever.ns) model[{next, source}] = true;
      queue.set(source, Time{next});
    }
    BOOST_REQUIRE_EQUAL(queue.earliest().ns, model.empty() ? kNever.ns : model.begin()->first.first);
    if (dice.below(3) == 0 && !model.empty()) {
      now = model.begin()->first.first;
      Sources expected;
      while (!model.empty() && model.begin()->first.first == now) {
        expected.push_back(model.begin()->first.second);
        when[expected.back()] = kNever.ns;
        model.erase(model.begin());
      }
      BOOST_REQUIRE(take(queue) == expected);
    }
  }
}
