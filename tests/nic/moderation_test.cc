// What waits for the clock: moderated events, rate limits. And a CQ that forgets instead of failing.
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

void write(Pair& pair, std::uint32_t bytes = 64) {
  const Sge sge = pair.a_buffer.sge(0, bytes);
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_event_tells_of_as_many_completions_as_asked_for) {
  Pair pair;
  Nic& nic = pair.a.nic();
  BOOST_TEST(nic.moderate_cq(pair.a.send_cq, 3, {}).ok());
  BOOST_TEST(nic.request_notification(pair.a.send_cq, false).ok());
  for (int i = 0; i < 2; ++i) {
    write(pair);
    pair.world.run_for(milliseconds(5));
    BOOST_TEST(!nic.poll_completion_event().has_value());
  }
  write(pair);
  pair.world.run_to_rest();
  BOOST_TEST(nic.poll_completion_event().has_value());
  write(pair);  // not armed again
  pair.world.run_to_rest();
  BOOST_TEST(!nic.poll_completion_event().has_value());
}

BOOST_AUTO_TEST_CASE(an_event_waits_no_longer_than_its_period) {
  Pair pair;
  Nic& nic = pair.a.nic();
  BOOST_TEST(nic.moderate_cq(pair.a.send_cq, 100, milliseconds(2)).ok());
  BOOST_TEST(nic.request_notification(pair.a.send_cq, false).ok());
  write(pair);
  pair.world.run_for(milliseconds(1));
  BOOST_TEST(!nic.poll_completion_event().has_value());
  BOOST_TEST(nic.next_deadline().has_value());
  pair.world.run_for(milliseconds(2));
  BOOST_TEST(nic.poll_completion_event().has_value());
  pair.world.run_to_rest();
}

BOOST_AUTO_TEST_CASE(an_event_that_is_owed_comes_when_the_terms_change) {
  Pair pair;
  Nic& nic = pair.a.nic();
  BOOST_TEST(nic.moderate_cq(pair.a.send_cq, 100, {}).ok());
  BOOST_TEST(nic.request_notification(pair.a.send_cq, false).ok());
  write(pair);
  pair.world.run_to_rest();
  BOOST_TEST(nic.moderate_cq(pair.a.send_cq, 0, {}).ok());
  BOOST_TEST(nic.poll_completion_event().has_value());
  BOOST_CHECK(nic.moderate_cq(pair.a.send_cq, 1, milliseconds(5)).error() == VerbsError::invalid_argument);
  BOOST_CHECK(nic.moderate_cq(CqHandle{}, 1, {}).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_queue_that_ignores_overrun_keeps_the_newest) {
  World world;
  Endpoint a(world, 1), b(world, 2);
  const CqHandle small = Endpoint::take(a.nic().create_cq(2, 0, true));
  QpInit init{
      .pd = a.pd, .send_cq = small, .recv_cq = a.recv_cq, .capabilities = a.options().capabilities, .signal_all = true};
  a.qp = Endpoint::take(a.nic().create_qp(init));
  a.connect(2, b.qpn());
  b.connect(1, a.qpn());
  for (std::uint64_t i = 0; i < 5; ++i) a.post({.wr_id = i, .opcode = SendOpcode::rdma_write});
  world.run_to_rest();
  const auto left = a.poll(small);
  BOOST_TEST_REQUIRE(left.size() == 2u);
  BOOST_TEST(left[0].wr_id == 3u);
  BOOST_TEST(left[1].wr_id == 4u);
  BOOST_TEST((a.state() == QpState::rts));
  BOOST_TEST(a.poll_events().empty());
}

BOOST_AUTO_TEST_CASE(a_limited_qp_sends_at_its_rate_and_others_at_theirs) {
  Pair pair;
  Nic& nic = pair.a.nic();
  BOOST_TEST(nic.limit_rate(pair.a.qp, {.kbps = 8000}).ok());  // an octet a microsecond
  const Time start = pair.world.now();
  write(pair, 10000);
  write(pair, 10000);
  BOOST_TEST(pair.world.run_while_not([&] { return nic.query_cq(pair.a.send_cq)->depth == 2; }));
  const Duration took = pair.world.now() - start;
  // Ten packets each, headers included; the last one leaves without waiting for its own time.
  BOOST_TEST(took.ns > milliseconds(19).ns);
  BOOST_TEST(took.ns < milliseconds(23).ns);
  BOOST_TEST(Endpoint::take(nic.query_qp(pair.a.qp)).rate_limit_kbps == 8000u);
  check_statuses(pair.a.poll_sent(), {success, success});
  BOOST_TEST(nic.limit_rate(pair.a.qp, {}).ok());
  const Time again = pair.world.now();
  write(pair, 10000);
  pair.world.run_while_not([&] { return nic.query_cq(pair.a.send_cq)->depth == 1; });
  BOOST_TEST((pair.world.now() - again).ns < milliseconds(1).ns);
}

BOOST_AUTO_TEST_CASE(a_burst_leaves_at_once) {
  Pair pair;
  Nic& nic = pair.a.nic();
  pair.world.run_for(seconds(1));
  BOOST_TEST(nic.limit_rate(pair.a.qp, {.kbps = 8000, .burst_bytes = 20000}).ok());
  const Time start = pair.world.now();
  write(pair, 10000);
  pair.world.run_while_not([&] { return nic.query_cq(pair.a.send_cq)->depth == 1; });
  BOOST_TEST((pair.world.now() - start).ns < milliseconds(1).ns);
  const auto over = nic.limit_rate(pair.a.qp, {.kbps = UINT32_MAX});
  BOOST_CHECK(over.error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(ack_timer_of_a_limited_qp_covers_the_burst) {
  Script script({.timeout = 10});  // 4.2 ms
  script.world.run_for(seconds(1));
  BOOST_TEST(script.end.nic().limit_rate(script.end.qp, {.kbps = 1'000'000, .burst_bytes = 1'000'000}).ok());  // 8 ms
  const Sge sge = script.buffer.sge(0, 64);
  const auto post = [&] { script.end.post({.opcode = SendOpcode::send, .sges = {&sge, 1}}); };
  post();
  script.expect(rc(OperationCode::send_only), 100);
  script.expect_silence(milliseconds(3));
  script.acknowledge(100, 1);
  post();
  script.expect(rc(OperationCode::send_only), 101);
  script.expect_silence(milliseconds(4));
  script.expect(rc(OperationCode::send_only), 101, microseconds(300));
}
