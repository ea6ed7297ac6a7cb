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

// -- Several in one thread --------------------------------------------------------------------------------------------

namespace {

struct Seen final : Progress {
  explicit Seen(Look always = Look::nothing) : look(always) {}
  Look pass() override {
    thread = gettid();
    ++passes;
    std::uint64_t rings = 0;
    if (read(bell.get(), &rings, sizeof rings) != sizeof rings) return look;
    frames += rings;
    return Look::worked;
  }
  bool shares_core() override { return false; }
  Activity activity() const override { return {}; }
  Time prepare_sleep(bool, Time longest, bool& ready) override {
    ready = true;
    ++sleeps;
    return std::min(longest, sleeps_until.load());
  }
  void woke() override {}
  void acknowledge_doorbell() override {}
  void service() override {}
  Link::WaitDescriptors wait_descriptors() const override { return {bell.get(), -1}; }
  bool frames_need_kernel() const override { return false; }
  bool takes(std::uint64_t rings) {
    const std::uint64_t before = frames;
    BOOST_REQUIRE(write(bell.get(), &rings, sizeof rings) == sizeof rings);
    return until([&] { return frames == before + rings; }, [] { std::this_thread::yield(); });
  }

  Descriptor bell{eventfd(0, EFD_NONBLOCK)};
  const Look look;
  std::atomic<Time> sleeps_until{kNever};
  std::atomic<pid_t> thread{0};
  std::atomic<std::uint64_t> frames{0};
  std::atomic<std::uint64_t> passes{0};
  std::atomic<std::uint64_t> sleeps{0};
};

std::unique_ptr<ProgressThread> serve(Seen& one, const Clock& clock = real_clock()) {
  auto thread = ProgressThread::create(one, clock);
  BOOST_REQUIRE(thread.ok());
  BOOST_REQUIRE((*thread)->start().ok());
  return std::move(*thread);
}

struct OtherClock final : Clock {
  Time now() const override { return clock_now(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(one_thread_serves_all_with_its_clock) {
  const OtherClock clock;
  Seen a, b, apart;
  const auto of_a = serve(a), of_b = serve(b), of_apart = serve(apart, clock);
  for (Seen* one : {&a, &b, &apart, &b, &a}) BOOST_TEST(one->takes(3));
  BOOST_TEST(a.thread == b.thread);
  BOOST_TEST(a.thread != apart.thread);
  BOOST_TEST(a.thread != gettid());
}

BOOST_AUTO_TEST_CASE(who_leaves_is_served_no_more_and_the_others_are) {
  Seen a, b, c;
  auto of_a = serve(a), of_b = serve(b);
  BOOST_TEST((a.takes(1) && b.takes(1)));
  const pid_t thread = a.thread;
  of_a->stop();
  const std::uint64_t passes = a.passes;
  const std::uint64_t one = 1;
  BOOST_REQUIRE(write(a.bell.get(), &one, sizeof one) == sizeof one);
  of_a->kick();
  BOOST_TEST(b.takes(1));
  BOOST_TEST(a.passes == passes);
  const auto of_c = serve(c);
  of_b.reset();
  BOOST_TEST(c.takes(1));
  BOOST_TEST(c.thread == thread);
}

BOOST_AUTO_TEST_CASE(the_last_one_ends_the_thread_and_the_next_begins_another) {
  Seen a, b;
  serve(a)->stop();
  const auto of_b = serve(b);
  BOOST_TEST(b.takes(1));
}

BOOST_AUTO_TEST_CASE(who_sleeps_is_woken_while_the_thread_spins_for_another) {
  Seen busy(Progress::Look::worked), quiet;
  const auto of_quiet = serve(quiet), of_busy = serve(busy);
  BOOST_REQUIRE(until([&] { return busy.passes > 1000 && quiet.sleeps != 0; }, [] { std::this_thread::yield(); }));
  for (int i = 0; i < 20; ++i) BOOST_TEST(quiet.takes(1));
  of_quiet->kick();
  const std::uint64_t sleeps = quiet.sleeps;
  quiet.sleeps_until = clock_now();
  BOOST_TEST(quiet.takes(1));  // it sleeps anew, for no time
  BOOST_TEST(until([&] { return quiet.sleeps > sleeps + 3; }, [] { std::this_thread::yield(); }));
  BOOST_TEST(busy.sleeps == 0u);
}

BOOST_AUTO_TEST_CASE(a_deadline_wakes_whose_it_is) {
  Seen timed, quiet;
  timed.sleeps_until = Time{};
  const auto of_timed = serve(timed), of_quiet = serve(quiet);
  BOOST_REQUIRE(until([&] { return timed.sleeps > 100 && quiet.sleeps != 0; }, [] { std::this_thread::yield(); }));
  BOOST_TEST(of_quiet->wakes() == 0u);
  BOOST_TEST(of_timed->wakes() > 90u);
}

BOOST_AUTO_TEST_CASE(work_is_done_in_the_thread_that_serves_others_as_well) {
  Seen a, b;
  const auto of_a = serve(a), of_b = serve(b);
  BOOST_REQUIRE((a.takes(1) && b.takes(1)));
  std::atomic<pid_t> done_by{0};
  BOOST_TEST(
      of_b->run_apart([](void* into) { *static_cast<std::atomic<pid_t>*>(into) = gettid(); }, &done_by, seconds(10)));
  BOOST_TEST(done_by == a.thread);
}

BOOST_AUTO_TEST_CASE(many_come_and_go_at_once) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100; ++turn) {
        Seen one;
        auto made = ProgressThread::create(one);
        if (!made.ok() || !(*made)->start().ok()) ++wrong;
        const std::uint64_t rings = 1;
        if (write(one.bell.get(), &rings, sizeof rings) != sizeof rings) ++wrong;
        if (!until([&] { return one.frames == 1; }, [] { std::this_thread::yield(); })) ++wrong;
        (*made)->stop();
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong == 0);
}
