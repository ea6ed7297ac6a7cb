// An application that rests over a poll, over shared memory: what ends its rest, and whom it hands the core to.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "emulator/host/link/core_rest.h"
#include "tests/host/link/shm/shm_end.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

/// The calling thread runs on one core as long as this lives.
class OneCore {
 public:
  OneCore() {
    BOOST_REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    BOOST_REQUIRE(sched_setaffinity(0, sizeof here, &here) == 0);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

/// A rest over a link, from its begin to its end.
class Rest {
 public:
  explicit Rest(CoreRest& link) : link_(link) { BOOST_REQUIRE(link.begin_rest(by_)); }
  ~Rest() { link_.finish_rest(); }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;
  bool sleep() const { return JointRest().rest(by_, kPatience); }

 private:
  CoreRest& link_;
  RestSet by_;
};

/// A thread of its own that sleeps in the kernel.
class Resting {
 public:
  explicit Resting(std::function<bool()> sleep)
      : thread_([this, sleep = std::move(sleep)] {
          task_ = gettid();
          result_ = sleep();
        }) {}
  void wait_until_asleep() const {
    const Time end = clock_now() + kPatience;
    while (!is_asleep() && clock_now() < end) std::this_thread::yield();
    BOOST_REQUIRE(is_asleep());
  }
  bool join() {
    thread_.join();
    return result_;
  }

 private:
  /// By its state in proc(5).
  bool is_asleep() const {
    if (task_ == 0) return false;
    std::ifstream stat("/proc/self/task/" + std::to_string(task_) + "/stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t state = text.rfind(')') + 2;
    return state < text.size() && text[state] == 'S';
  }

  std::atomic<pid_t> task_{0};
  bool result_ = false;
  std::thread thread_;
};
}  // namespace

BOOST_AUTO_TEST_CASE(frames_end_the_rest_of_a_poller_and_ring_no_bell) {
  Met met;
  std::optional<Rest> rest(*met.b.link);
  Resting resting([&] { return rest->sleep(); });
  resting.wait_until_asleep();
  met.a.send(met.b, "wake up");
  BOOST_TEST(resting.join());
  rest.reset();
  BOOST_TEST(!met.b_is_rung());
  RestSet by;
  BOOST_TEST(!met.b.link->begin_rest(by));  // frames wait
  BOOST_TEST(met.b.wait_for(2));
  // It has not rested since: who sleeps on the bell now is rung there.
  BOOST_REQUIRE(met.b.link->arm());
  met.a.send(met.b, "and you");
  BOOST_TEST(met.b_is_rung());
}

BOOST_AUTO_TEST_CASE(frames_that_come_before_the_sleep_end_a_rest_that_has_begun) {
  Met met;
  const Rest rest(*met.b.link);
  met.a.send(met.b, "wake up");
  BOOST_TEST(rest.sleep());
  BOOST_TEST(!met.b_is_rung());
}

BOOST_AUTO_TEST_CASE(thread_that_takes_the_frames_of_a_resting_one_ends_its_rest) {
  End a(1);
  const Rest rest(*a.link);
  std::thread other([&] { a.link->end_rest(); });
  BOOST_TEST(rest.sleep());
  other.join();
}

BOOST_AUTO_TEST_CASE(core_is_handed_to_each_neighbour_that_rests_in_turn) {
  const OneCore bound;
  End a(1);
  End b(2);
  End c(3);
  for (End* end : {&b, &c}) {
    a.send(*end, "meet");
    BOOST_TEST(end->wait_for(1));
    end->send(a, "met");  // and says where it polls
  }
  BOOST_TEST(a.wait_for(2));
  BOOST_TEST(a.wait([&] { return a.link->neighbour() == PeerScheduling::Neighbour::awake; }));
  std::vector<std::unique_ptr<Rest>> rests;
  for (End* end : {&b, &c}) {
    end->pass();
    rests.push_back(std::make_unique<Rest>(*end->link));
  }
  BOOST_TEST((a.link->neighbour() == PeerScheduling::Neighbour::rests));
  for (int turn = 0; turn < 2; ++turn) {
    a.link->wake_neighbour();
    a.link->flush();
  }
  for (auto& rest : rests) BOOST_TEST(rest->sleep());
  rests.clear();
  BOOST_TEST((a.link->neighbour() == PeerScheduling::Neighbour::nobody));
}
