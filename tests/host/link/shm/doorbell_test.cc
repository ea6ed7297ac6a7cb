// The doorbell in every order of the steps of sleeper and ringers, killed anywhere: nobody sleeps over frames.
#include "emulator/host/link/shm/doorbell.h"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <utility>

#include "tests/support/interleavings.h"

using namespace verbena::host;
using namespace verbena::test;

namespace {

/// Shared words of the model.
enum : std::size_t { kAsleep, kBell, kFrames, kTaken, kOtherFrames, kOtherTaken, kRings };

/// A word as Doorbell uses it.
class ModelWord {
 public:
  ModelWord(Steps& steps, std::size_t word) : steps_(&steps), word_(word) {}
  std::uint32_t load(std::memory_order) const { return steps_->load(word_); }
  void store(std::uint32_t value, std::memory_order order) {
    if (order == std::memory_order_seq_cst)
      steps_->store_and_fence(word_, value);
    else
      steps_->store(word_, value);
  }

 private:
  Steps* steps_;
  std::size_t word_;
};
using ModelDoorbell = Doorbell<ModelWord>;

struct Ring {
  std::size_t frames = kFrames;  // how many have been put in
  std::size_t taken = kTaken;    // how many have been let go of
};
constexpr Ring kFirst{kFrames, kTaken};
constexpr Ring kSecond{kOtherFrames, kOtherTaken};

/// Takes what is there, arms, sleeps.
void sleeper(Steps& steps, std::initializer_list<Ring> rings) {
  ModelDoorbell doorbell(ModelWord(steps, kAsleep));
  std::array<std::uint32_t, 2> taken{};
  for (;;) {
    bool has_worked = false;
    std::size_t i = 0;
    for (const Ring& ring : rings) {
      const std::uint32_t frames = steps.load(ring.frames);
      if (frames != taken[i]) {
        taken[i] = frames;
        steps.store(ring.taken, frames);
        has_worked = true;
      }
      ++i;
    }
    if (has_worked) continue;
    const bool armed = doorbell.arm([&] {
      std::size_t k = 0;
      for (const Ring& ring : rings)
        if (steps.load(ring.frames) != taken[k++]) return true;
      return false;
    });
    if (!armed) continue;
    steps.wait(kBell);
    doorbell.disarm();
  }
}

enum class Look : std::uint8_t { fenced, unfenced_behind_others, never_fenced };

/// Puts frames in one by one, and rings as ShmCable does. `rechecks`: looks later whether they were taken.
void ringer(Steps& steps, const Ring& ring, std::uint32_t count, Look look, bool rechecks) {
  ModelDoorbell doorbell(ModelWord(steps, kAsleep));
  std::uint32_t rung = 0;
  bool is_unconfirmed = false;
  for (std::uint32_t frame = 1; frame <= count; ++frame) {
    const bool fenced = look == Look::fenced || (look == Look::unfenced_behind_others && !is_unconfirmed);
    if (fenced)
      steps.store_and_fence(ring.frames, frame);
    else
      steps.store(ring.frames, frame);
    is_unconfirmed = true;
    if (!doorbell.is_armed(rung)) continue;
    if (steps.load(ring.taken) == frame) continue;
    if (doorbell.take(rung)) {
      steps.add(kRings, 1);
      steps.add(kBell, 1);
    }
  }
  if (!rechecks) return;
  steps.fence();  // time passes
  if (steps.load(ring.taken) != count) steps.add(kBell, 1);
}

struct Lost {
  std::uint64_t orders = 0;
  std::uint32_t rings_max = 0;
};

Lost explore(Exploration& exploration, std::initializer_list<std::size_t> frames) {
  Lost lost;
  exploration.at_rest = [&](const Configuration& end) {
    for (const std::size_t word : frames)
      if (end.words[word] != end.words[word + 1]) {
        ++lost.orders;
        break;
      }
    lost.rings_max = std::max(lost.rings_max, end.words[kRings]);
  };
  exploration.run();
  BOOST_TEST(exploration.ends > 0u);
  BOOST_TEST_MESSAGE(exploration.configurations << " configurations, " << exploration.ends << " ends");
  return lost;
}

void sleeps_over_first(Steps& steps) {
  sleeper(steps, {kFirst});
}
void sleeps_over_both(Steps& steps) {
  sleeper(steps, {kFirst, kSecond});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_frame_that_is_published_with_a_fence_is_never_slept_over) {
  for (const std::uint32_t count : {1u, 2u}) {
    Exploration exploration;
    exploration.processes = {sleeps_over_first,
                             [&](Steps& steps) { ringer(steps, kFirst, count, Look::fenced, false); }};
    const Lost lost = explore(exploration, {kFrames});
    BOOST_TEST(lost.orders == 0u);
    BOOST_TEST(lost.rings_max <= count);
  }
}

/// What the exploration is for: without the fence there are such orders, and it finds them.
BOOST_AUTO_TEST_CASE(without_the_fence_there_are_orders_in_which_it_is) {
  Exploration exploration;
  exploration.processes = {sleeps_over_first,
                           [](Steps& steps) { ringer(steps, kFirst, 1, Look::never_fenced, false); }};
  BOOST_TEST(explore(exploration, {kFrames}).orders > 0u);
}

BOOST_AUTO_TEST_CASE(frames_behind_others_need_no_fence_if_somebody_looks_again) {
  Exploration without;
  without.processes = {sleeps_over_first,
                       [](Steps& steps) { ringer(steps, kFirst, 2, Look::unfenced_behind_others, false); }};
  BOOST_TEST(explore(without, {kFrames}).orders > 0u);
  Exploration with;
  with.processes = {sleeps_over_first,
                    [](Steps& steps) { ringer(steps, kFirst, 2, Look::unfenced_behind_others, true); }};
  BOOST_TEST(explore(with, {kFrames}).orders == 0u);
}

BOOST_AUTO_TEST_CASE(of_two_ringers_neither_relies_on_the_other) {
  Exploration exploration;
  exploration.processes = {sleeps_over_both, [](Steps& steps) { ringer(steps, kFirst, 1, Look::fenced, false); },
                           [](Steps& steps) { ringer(steps, kSecond, 1, Look::fenced, false); }};
  const Lost lost = explore(exploration, {kFrames, kOtherFrames});
  BOOST_TEST(lost.orders == 0u);
  BOOST_TEST(lost.rings_max <= 2u);
}

/// The kernel tells the sleeper that the connection has ended (ShmControl): that wakes it as the doorbell does.
BOOST_AUTO_TEST_CASE(a_ringer_that_is_killed_anywhere_leaves_no_frame_lying) {
  Exploration exploration;
  exploration.processes = {sleeps_over_first, [](Steps& steps) { ringer(steps, kFirst, 2, Look::fenced, false); }};
  exploration.mortal = {1};
  exploration.on_death = [](Configuration& all) { ++all.words[kBell]; };
  BOOST_TEST(explore(exploration, {kFrames}).orders == 0u);

  Exploration silent;  // the exploration can tell: without being told, frames are slept over
  silent.processes = exploration.processes;
  silent.mortal = {1};
  BOOST_TEST(explore(silent, {kFrames}).orders > 0u);
}

/// Killed after it has decided to ring and before it has rung: the other one rings for itself, and waits for nobody.
BOOST_AUTO_TEST_CASE(a_ringer_that_is_killed_leaves_no_frame_of_another_one_lying) {
  Exploration exploration;
  exploration.processes = {sleeps_over_both, [](Steps& steps) { ringer(steps, kFirst, 1, Look::fenced, false); },
                           [](Steps& steps) { ringer(steps, kSecond, 1, Look::fenced, false); }};
  exploration.mortal = {1};
  BOOST_TEST(explore(exploration, {kOtherFrames}).orders == 0u);
}

BOOST_AUTO_TEST_CASE(a_sleeper_that_is_killed_anywhere_holds_up_no_ringer) {
  Exploration exploration;
  exploration.processes = {sleeps_over_first, [](Steps& steps) { ringer(steps, kFirst, 2, Look::fenced, true); }};
  exploration.mortal = {0};
  std::uint64_t waiting = 0;
  exploration.at_rest = [&](const Configuration& end) { waiting += end.processes[1].has_ended ? 0 : 1; };
  exploration.run();
  BOOST_TEST(exploration.ends > 0u);
  BOOST_TEST(waiting == 0u);
}
