// When the progress thread spins and when it leaves its core to others.
#include "emulator/host/engine/progress_thread.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "emulator/host/link/shm/shm_channel.h"
#include "emulator/host/os/clock.h"
#include "tests/host/link/link_frames.h"
#include "tests/support/waiting.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using verbena::waiting::let_time_pass;

namespace {

/// As many frames, one a pass, as the doorbell is rung for.
struct Work final : Progress {
  Look pass() override {
    ++passes;
    std::uint64_t rings = 0;
    if (read(bell.get(), &rings, sizeof rings) == sizeof rings) frames += rings;
    if (frames == 0) return idle_look;
    --frames;
    if (app_acts_with_frames) ++app_calls;
    last_frame_at = clock_now();
    return Look::worked;
  }
  bool shares_core() override { return shares; }
  Activity activity() const override { return {app_polls.load(), app_calls.load(), app_is_here ? sched_getcpu() : -1}; }
  Time prepare_sleep(bool, Time longest, bool& ready) override {
    ready = true;
    lingered_ns = (clock_now() - last_frame_at).ns;
    ++sleeps;
    return longest;
  }
  void woke() override {}
  void acknowledge_doorbell() override {}
  void service() override {}
  Link::WaitDescriptors wait_descriptors() const override { return {bell.get(), -1}; }
  bool frames_need_kernel() const override { return over_kernel; }

  Descriptor bell{eventfd(0, EFD_NONBLOCK)};
  Look idle_look = Look::nothing;
  bool app_is_here = false;
  bool shares = false;
  bool over_kernel = false;
  bool app_acts_with_frames = false;
  std::uint64_t frames = 0;
  Time last_frame_at{};
  std::atomic<std::int64_t> lingered_ns{0};  // between the last frame and the last sleep
  std::atomic<std::uint64_t> app_polls{0};
  std::atomic<std::uint64_t> app_calls{0};
  std::atomic<std::uint64_t> passes{0};
  std::atomic<std::uint64_t> sleeps{0};
};

struct Passes {
  std::uint64_t fewest = UINT64_MAX;
  std::uint64_t most = 0;
  std::uint64_t all = 0;  // once the thread has got to know the application
  std::int64_t longest_look_ns = 0;
};

/// What a thread needs for a frame that does not look for more; how long those look that do is wait_policy_test.cc's.
constexpr std::uint64_t kPassesWithoutLooking = 6;
constexpr std::int64_t kLookNs = WaitPolicy::kSpin.ns / 2;

/// From one frame to the sleep that follows, of several tries: a busy machine disturbs some.
Passes passes_for_a_frame(Work& work, bool app_calls) {
  auto thread = ProgressThread::create(work);
  BOOST_REQUIRE(thread.ok());
  BOOST_REQUIRE((*thread)->start().ok());
  Passes found;
  BOOST_REQUIRE(until([&] { return work.sleeps.load() != 0; }, [] { std::this_thread::yield(); }));
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t sleeps = work.sleeps.load();
    const std::uint64_t passes = work.passes.load();
    if (app_calls) ++work.app_calls;
    const std::uint64_t one = 1;
    BOOST_REQUIRE(write(work.bell.get(), &one, sizeof one) == sizeof one);
    BOOST_REQUIRE(until([&] { return work.sleeps.load() > sleeps; }, [] { std::this_thread::yield(); }));
    let_time_pass(milliseconds(2));
    const std::uint64_t taken = work.passes.load() - passes;
    found.fewest = std::min(found.fewest, taken);
    found.most = std::max(found.most, taken);
    found.longest_look_ns = std::max(found.longest_look_ns, work.lingered_ns.load());
  }
  (*thread)->stop();
  return found;
}

struct Lingering {
  std::int64_t shortest_ns = INT64_MAX;
  std::int64_t longest_ns = 0;
};

/// How long it looks for more after so many frames in a row, of several tries: a busy machine disturbs some.
Lingering lingers_after(Work& work, std::uint64_t frames) {
  auto thread = ProgressThread::create(work);
  BOOST_REQUIRE(thread.ok());
  BOOST_REQUIRE((*thread)->start().ok());
  Lingering found;
  BOOST_REQUIRE(until([&] { return work.sleeps.load() != 0; }, [] { std::this_thread::yield(); }));
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t sleeps = work.sleeps.load();
    BOOST_REQUIRE(write(work.bell.get(), &frames, sizeof frames) == sizeof frames);
    BOOST_REQUIRE(until([&] { return work.sleeps.load() > sleeps; }, [] { std::this_thread::yield(); }));
    let_time_pass(milliseconds(2));
    found.shortest_ns = std::min(found.shortest_ns, work.lingered_ns.load());
    found.longest_ns = std::max(found.longest_ns, work.lingered_ns.load());
  }
  (*thread)->stop();
  return found;
}

/// Passes in windows of a millisecond in which frames always wait and the application polls that often. A window counts
/// if in it, and in the one before it, the machine has let the application poll as often.
Passes passes_beside_polls(Work& work, Duration every) {
  constexpr Duration kWindow = milliseconds(1);
  constexpr Duration kPauseMax = microseconds(50);
  constexpr int kWindows = 90;
  constexpr int kWindowsToKnow = 30;
  work.frames = UINT64_MAX / 2;
  auto thread = ProgressThread::create(work);
  BOOST_REQUIRE(thread.ok());
  BOOST_REQUIRE((*thread)->start().ok());
  Passes found;
  int in_a_row = 0;
  std::uint64_t known_at = 0;
  const Time give_up = clock_now() + seconds(30);
  for (int windows = 0; windows < kWindows && clock_now() < give_up;) {
    const std::uint64_t passes = work.passes.load();
    const Time begin = clock_now();
    Duration longest_pause{0};
    Time polled = begin;
    for (Time now = begin; now - begin < kWindow; now = clock_now()) {
      longest_pause = std::max(longest_pause, now - polled);
      polled = now;
      ++work.app_polls;
      while (clock_now() - now < every) continue;
    }
    in_a_row = longest_pause < every + kPauseMax ? in_a_row + 1 : 0;
    if (in_a_row < 2) continue;
    if (++windows == kWindowsToKnow) known_at = work.passes.load();
    found.fewest = std::min(found.fewest, work.passes.load() - passes);
    found.most = std::max(found.most, work.passes.load() - passes);
  }
  (*thread)->stop();
  found.all = work.passes.load() - known_at;
  BOOST_REQUIRE_MESSAGE(found.fewest != UINT64_MAX, "the machine let nobody poll for two milliseconds");
  return found;
}
}  // namespace

BOOST_AUTO_TEST_CASE(after_a_stream_it_looks_for_more_longer_than_after_a_frame) {
  constexpr std::uint64_t kStream = 1000;
  Work stream;
  BOOST_TEST(lingers_after(stream, kStream).longest_ns >= WaitPolicy::kSpinInStream.ns / 2);
  Work frame;
  BOOST_TEST(lingers_after(frame, 1).shortest_ns < WaitPolicy::kSpinInStream.ns / 2);
  Work active;
  active.app_acts_with_frames = true;
  BOOST_TEST(lingers_after(active, kStream).shortest_ns < WaitPolicy::kSpinInStream.ns / 2);
  Work crowded;
  crowded.shares = true;
  BOOST_TEST(lingers_after(crowded, kStream).shortest_ns < WaitPolicy::kSpinInStream.ns / 2);
}

BOOST_AUTO_TEST_CASE(it_looks_for_more_after_a_frame) {
  Work work;
  BOOST_TEST(passes_for_a_frame(work, false).longest_look_ns >= kLookNs);
}

BOOST_AUTO_TEST_CASE(it_does_not_where_that_keeps_the_peer_from_its_core) {
  Work work;
  work.idle_look = Progress::Look::in_the_way;
  BOOST_TEST(passes_for_a_frame(work, false).fewest <= 4u);
}

BOOST_AUTO_TEST_CASE(thread_does_not_look_on_if_the_caller_needs_the_core) {
  Work here;
  here.app_is_here = true;
  BOOST_TEST(passes_for_a_frame(here, true).fewest <= kPassesWithoutLooking);
  Work quiet;
  quiet.app_is_here = true;
  BOOST_TEST(passes_for_a_frame(quiet, false).longest_look_ns >= kLookNs);
  Work elsewhere;
  BOOST_TEST(passes_for_a_frame(elsewhere, true).longest_look_ns >= kLookNs);
}

BOOST_AUTO_TEST_CASE(thread_leaves_kernel_frames_to_a_polling_application) {
  Work steady;
  steady.over_kernel = true;
  BOOST_TEST(passes_beside_polls(steady, microseconds(20)).fewest == 0u);
  Work now_and_then;
  now_and_then.over_kernel = true;
  BOOST_TEST(passes_beside_polls(now_and_then, microseconds(500)).most >= 4u);
  Work over_shared_memory;
  BOOST_TEST(passes_beside_polls(over_shared_memory, microseconds(20)).all >= 4u);
}
