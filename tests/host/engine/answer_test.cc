// An acknowledgement that waits for the application's answer: it leaves with it, and never later than its peer can
// bear.
#include <boost/test/unit_test.hpp>

#include "tests/host/engine/engine_node.h"
#include "tests/host/fabric_process/served.h"
#include "tests/host/link/link_frames.h"

using namespace verbena;
using namespace verbena::host;
using namespace verbena::host::test;

namespace {

// 1.07 s: no timer runs out on a busy machine.
constexpr std::uint8_t kPatientTimeout = 18;
constexpr std::uint64_t kWord = 64;  // where `a` writes to, in octets

std::string fabric_name() {
  return "answer." + std::to_string(getpid());
}

/// One that takes its time: under a sanitizer, and beside other tests, a call takes long.
EngineConfig config_of(std::uint8_t node, bool has_thread) {
  EngineConfig config = engine_config(node, fabric_name(), has_thread);
  config.prompt_answer = milliseconds(1);
  return config;
}

std::uint64_t acknowledgements_of(const EngineNode& node) {
  return node.engine->counters().get(nic::Counter::tx_acknowledges);
}

/// `a` asks, `b` answers, both by a WRITE of 8 octets; one thread plays both.
struct Pair {
  explicit Pair(bool thread_of_b = false) : a(1, config_of(1, false)), b(2, config_of(2, thread_of_b)) {
    connect(a, b, kPatientTimeout);
    // The way there and the way back are made by the first frames.
    for (EngineNode* from : {&a, &b}) {
      BOOST_REQUIRE(from->post(nic::SendOpcode::rdma_write, 8));
      std::size_t done = 0;
      for (const Time end = clock_now() + seconds(20); done == 0 && clock_now() < end;) {
        a.engine->progress();
        b.engine->progress();
        done = drain(*from);
      }
      BOOST_REQUIRE(done == 1U);
    }
  }
  static std::size_t drain(EngineNode& node) {
    nic::Completion one;
    const std::size_t count = node.engine->poll_cq(node.cq, {&one, 1});
    if (count != 0) BOOST_TEST((one.status == nic::CompletionStatus::success));
    return count;
  }

  /// `a` writes, and `b` polls until it is there.
  void ask() {
    a.buffer[kWord / 8] = ++asked;
    BOOST_REQUIRE(a.post(nic::SendOpcode::rdma_write, 8, kWord));
    for (const Time end = clock_now() + seconds(20); has_asked() != asked && clock_now() < end;) drain(b);
    BOOST_REQUIRE(has_asked() == asked);
  }
  std::uint64_t has_asked() { return std::atomic_ref(b.buffer[kWord / 8]).load(); }
  void answer() { BOOST_REQUIRE(b.post(nic::SendOpcode::rdma_write, 8)); }
  bool request_completes() {
    const auto done = a.poll(1);
    return done.size() == 1 && done[0].status == nic::CompletionStatus::success;
  }
  /// Plays until a request has come and its acknowledgement waits. A busy machine answers late now and then.
  void ask_until_it_waits() {
    for (const Time end = clock_now() + seconds(60); clock_now() < end;) {
      acknowledged = acknowledgements_of(b);
      ask();
      if (acknowledgements_of(b) == acknowledged) return;
      answer();
      BOOST_REQUIRE(request_completes());
    }
    BOOST_FAIL("no acknowledgement ever waits for its answer");
  }
  bool is_acknowledged() { return acknowledgements_of(b) > acknowledged; }

  EngineNode a;
  EngineNode b;
  std::uint64_t asked = 0;
  std::uint64_t acknowledged = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(it_leaves_with_the_answer) {
  Pair pair;
  pair.ask_until_it_waits();
  pair.answer();
  BOOST_TEST(pair.is_acknowledged());
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(who_polls_and_does_not_answer_acknowledges_all_the_same) {
  Pair pair;
  pair.ask_until_it_waits();
  BOOST_TEST(until([&] { return pair.is_acknowledged(); }, [&] { Pair::drain(pair.b); }));
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(thread_acknowledges_for_an_application_that_stops) {
  Pair pair(true);
  pair.ask_until_it_waits();
  BOOST_TEST(until([&] { return pair.is_acknowledged(); }));
  BOOST_TEST(pair.request_completes());
  BOOST_TEST(pair.a.engine->counters().get(nic::Counter::tx_retransmitted_packets) == 0U);
}

BOOST_AUTO_TEST_CASE(an_application_that_goes_to_sleep_acknowledges_first) {
  Pair pair;
  pair.ask_until_it_waits();
  pair.b.engine->expect_sleep();
  BOOST_TEST(pair.is_acknowledged());
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(a_process_that_ends_acknowledges_first) {
  Pair pair;
  pair.ask_until_it_waits();
  pair.b.engine->before_exit();
  BOOST_TEST(pair.is_acknowledged());
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(what_was_received_is_acknowledged_before_its_queue_pair_ends) {
  Pair pair;
  pair.ask_until_it_waits();
  BOOST_TEST(pair.b.engine->run([&](nic::Nic& nic, Time) { return nic.destroy_qp(pair.b.qp).ok(); }));
  BOOST_TEST(pair.is_acknowledged());
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(acknowledgements_leave_before_a_word_of_the_cm) {
  Pair pair;
  pair.ask_until_it_waits();
  pair.b.engine->run_connections([&](cm::ConnectionManager&, Time) {
    BOOST_TEST(pair.is_acknowledged());
    return true;
  });
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(acknowledgements_leave_before_their_qp_goes_to_error) {
  Pair pair;
  pair.ask_until_it_waits();
  nic::QpAttributes attributes;
  attributes.state = nic::QpState::error;
  BOOST_TEST(pair.b.engine->run(
      [&](nic::Nic& nic, Time now) { return nic.modify_qp(pair.b.qp, attributes, nic::kQpState, now).ok(); }));
  BOOST_TEST(pair.is_acknowledged());
  BOOST_TEST(pair.request_completes());
}

BOOST_AUTO_TEST_CASE(posting_receives_is_no_answer) {
  Pair pair;
  pair.ask_until_it_waits();
  BOOST_TEST(pair.b.engine->run([&](nic::Nic& nic) {
    const nic::Sge sge{pair.b.address, 8, pair.b.mr.lkey};
    return nic.post_receive(pair.b.qp, {.wr_id = 1, .sges = {&sge, 1}}).ok();
  }));
  BOOST_TEST(!pair.is_acknowledged());
}

namespace {

// 17 s: a request that is sent twice would be counted twice.
constexpr std::uint8_t kMostPatientTimeout = 22;

/// `a` writes to `b` through a fabric process, and `b` takes nothing before it is asked to.
struct ThroughFabric {
  explicit ThroughFabric(bool thread_of_b = false)
      : fabric(fabric::star(2, kFast)), a(1, config_of_plug(1, false)), b(2, config_of_plug(2, thread_of_b)) {
    connect(a, b, kMostPatientTimeout);
    // An engine without a thread hears only in progress() where the fabric process is to be rung.
    BOOST_REQUIRE(until([&] { return of_node(1, "processes") == 1 && of_node(2, "processes") == 1; }));
    for (EngineNode* node : {&a, &b}) node->engine->progress();
  }
  std::uint64_t of_node(std::size_t number, const char* what) const {
    return fabric.stat().at("nodes").at(number - 1).at(what);
  }
  EngineConfig config_of_plug(std::uint8_t node, bool has_thread) const {
    EngineConfig config = engine_config(node, fabric.name, has_thread);
    config.link = "fabric";
    return config;
  }
  /// Until all stand in the ring of `b`.
  void write(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) BOOST_REQUIRE(a.post(nic::SendOpcode::rdma_write, 8));
    BOOST_REQUIRE(until([&] { return of_node(2, "frames_out") == count; }, [&] { a.engine->progress(); }));
  }
  /// After one poll of `b`'s that finds no completion.
  std::uint64_t acknowledgements() {
    BOOST_REQUIRE(Pair::drain(b) == 0U);
    return acknowledgements_of(b);
  }
  Served fabric;
  EngineNode a;
  EngineNode b;
};
constexpr std::uint64_t kOnePass = 64;

}  // namespace

BOOST_AUTO_TEST_CASE(through_a_fabric_process_it_waits_for_frames_that_wait) {
  ThroughFabric pair;
  pair.write(kOnePass + 1);
  BOOST_TEST(pair.acknowledgements() == 0U);
  BOOST_TEST(pair.acknowledgements() == 1U);
  BOOST_TEST(pair.a.poll(kOnePass + 1).size() == kOnePass + 1);
}

BOOST_AUTO_TEST_CASE(it_does_not_wait_for_frames_that_are_not_there) {
  ThroughFabric pair;
  pair.write(kOnePass);
  BOOST_TEST(pair.acknowledgements() == 1U);
}

BOOST_AUTO_TEST_CASE(only_the_first_pass_of_a_batch_waits) {
  ThroughFabric pair;
  pair.write(4 * kOnePass + 1);
  std::vector<std::uint64_t> after_each;
  for (int i = 0; i < 5; ++i) after_each.push_back(pair.acknowledgements());
  BOOST_TEST(after_each == (std::vector<std::uint64_t>{0, 1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(thread_takes_what_waits_if_the_application_polls_no_more) {
  ThroughFabric pair(true);
  for (std::uint64_t i = 0; i < 3 * kOnePass; ++i) BOOST_REQUIRE(pair.a.post(nic::SendOpcode::rdma_write, 8));
  Pair::drain(pair.b);
  BOOST_TEST(pair.a.poll(3 * kOnePass).size() == 3 * kOnePass);
}

BOOST_AUTO_TEST_CASE(on_a_direct_cable_it_waits_for_no_frames) {
  Pair pair;
  const std::uint64_t before = acknowledgements_of(pair.b);
  for (std::uint64_t i = 0; i <= kOnePass; ++i) BOOST_REQUIRE(pair.a.post(nic::SendOpcode::rdma_write, 8));
  Pair::drain(pair.b);
  BOOST_TEST(acknowledgements_of(pair.b) == before + 1);
}
