// A thread that polls several engines by turns rests over all of them: frames of each end its rest.
#include "emulator/host/engine/joined_rest.h"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <string>
#include <thread>

#include "tests/host/engine/engine_node.h"
#include "tests/support/waiting.h"

namespace {
using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;
using nic::SendOpcode;
using verbena::waiting::let_time_pass;
using verbena::waiting::wait_until;

constexpr Duration kLong = seconds(30);
constexpr int kTries = 50;
constexpr Duration kLongest = seconds(3);  // waited out only where the other engine has no part in the rest

struct Three {
  std::string fabric = "joined." + std::to_string(getpid());
  EngineNode one{1, fabric, false};
  EngineNode other{2, fabric, false};
  EngineNode peer{3, fabric, false};

  /// Over the shared memory that the peer and that one need to have, and with nothing under way.
  void meet(EngineNode& with) {
    connect(with, peer);
    BOOST_REQUIRE(peer.post(SendOpcode::rdma_write, 64));
    BOOST_REQUIRE(wait_until([&] {
      with.engine->progress();
      return peer.poll(1, milliseconds(1)).size() == 1;
    }));
    while (with.engine->progress() || peer.engine->progress()) {
    }
  }
};

VainPolls::Decision over(EngineNode& node) {
  VainPolls::Decision decision;
  decision.was_due = true;
  decision.rest = PollYield::Kind::sure;
  decision.longest = kLong;
  BOOST_REQUIRE((JoinedRest::join(*node.engine, decision) == JoinedRest::Joined::rests));
  return decision;
}

void poll_in_vain(EngineNode& node) {
  VainPolls::Decision none;
  none.was_due = true;
  BOOST_TEST(!JoinedRest::rest(*node.engine, none));
}
}  // namespace

namespace {
/// The rest by who polls the other engine by turns. False: the machine did not run this thread for so long that it
/// counts as one that does so no more.
bool rest_over_both(Three& three, VainPolls::Decision& decision) {
  decision.longest = kLongest;
  poll_in_vain(three.other);
  BOOST_TEST(JoinedRest::rest(*three.one.engine, decision));
  return decision.by.words().size() > 1;  // an engine of before may have lain where the sender is
}
}  // namespace

BOOST_AUTO_TEST_CASE(frames_of_each_engine_end_a_rest_over_several) {
  for (const bool is_own : {true, false}) {
    bool is_over_both = false;
    for (int tries = 0; tries < kTries && !is_over_both; ++tries) {
      Three three;
      three.meet(is_own ? three.one : three.other);
      VainPolls::Decision decision = over(three.one);
      std::atomic<bool> is_over{false};
      std::thread sends([&] {
        let_time_pass(milliseconds(5));
        three.peer.post(SendOpcode::rdma_write, 64);
        // A sender looks whether its peer moves, as its progress thread does (peer_watch.h).
        for (; !is_over; let_time_pass(milliseconds(1))) three.peer.engine->progress();
      });
      const Time began = clock_now();
      is_over_both = rest_over_both(three, decision);
      const bool was_ended = clock_now() - began < kLongest;
      is_over = true;
      sends.join();
      if (is_over_both) BOOST_TEST(was_ended);
    }
    BOOST_TEST(is_over_both);
  }
}

BOOST_AUTO_TEST_CASE(frames_that_have_come_before_are_not_slept_over) {
  bool was_ended = false;
  for (int tries = 0; tries < kTries && !was_ended; ++tries) {
    Three three;
    three.meet(three.other);
    three.peer.post(SendOpcode::rdma_write, 64);
    VainPolls::Decision decision = over(three.one);
    const Time began = clock_now();
    rest_over_both(three, decision);
    was_ended = clock_now() - began < kLongest;
  }
  BOOST_TEST(was_ended);
}

BOOST_AUTO_TEST_CASE(an_engine_that_is_polled_no_more_has_no_part_in_a_rest) {
  Three three;
  three.meet(three.other);
  poll_in_vain(three.other);
  let_time_pass(JoinedRest::kByTurns + milliseconds(1));
  VainPolls::Decision decision = over(three.one);
  three.peer.post(SendOpcode::rdma_write, 64);
  decision.longest = milliseconds(1);
  BOOST_TEST(JoinedRest::rest(*three.one.engine, decision));
  BOOST_TEST(decision.by.words().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_thread_of_its_own_polls_on_its_own) {
  Three three;
  poll_in_vain(three.other);
  std::thread([&] {
    VainPolls::Decision decision = over(three.one);
    decision.longest = milliseconds(1);
    BOOST_TEST(JoinedRest::rest(*three.one.engine, decision));
    BOOST_TEST(decision.by.words().size() == 1u);
  }).join();
}

BOOST_AUTO_TEST_CASE(an_engine_that_goes_ends_the_rests_over_it) {
  bool is_over_both = false;
  for (int tries = 0; tries < kTries && !is_over_both; ++tries) {
    Three three;
    VainPolls::Decision decision = over(three.one);
    decision.longest = kLongest;
    std::atomic<bool> rests{false};
    std::thread ends([&] {
      wait_until([&] { return rests.load(); });
      let_time_pass(milliseconds(5));
      three.other.engine.reset();
    });
    const Time began = clock_now();
    poll_in_vain(three.other);
    rests = true;
    BOOST_TEST(JoinedRest::rest(*three.one.engine, decision));
    is_over_both = decision.by.words().size() > 1;
    const bool was_ended = clock_now() - began < kLongest;
    ends.join();
    if (is_over_both) BOOST_TEST(was_ended);
  }
  BOOST_TEST(is_over_both);
}
