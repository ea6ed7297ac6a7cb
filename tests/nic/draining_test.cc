// The send queue drains (SQD): what counts as outstanding, what the state says, and attributes that change meanwhile.
#include <boost/test/unit_test.hpp>

#include "tests/support/narrow_port.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;

namespace {

void post_sends(Script& script, unsigned count) {
  const Sge sge = script.buffer.sge(0, 64);
  for (unsigned i = 0; i < count; ++i) {
    script.end.post({.wr_id = i, .opcode = SendOpcode::send, .sges = {&sge, 1}});
    script.expect(rc(OperationCode::send_only), 100 + i);
  }
}

void drain(Script& script) {
  QpAttributes attributes;
  attributes.state = QpState::sqd;
  attributes.enable_sqd_async_notify = true;
  BOOST_TEST(script.end.modify(attributes, kQpState | kQpEnableSqdAsync).ok());
}

bool is_draining(Script& script) {
  return Endpoint::take(script.end.nic().query_qp(script.end.qp)).sq_draining;
}

void set_timeout(Script& script, std::uint8_t timeout) {
  QpAttributes attributes;
  attributes.state = QpState::sqd;
  attributes.timeout = timeout;
  BOOST_TEST(script.end.modify(attributes, kQpState | kQpTimeout).ok());
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_to_be_sent_again_is_outstanding) {
  Script script({.timeout = 10});  // 4.2 ms
  post_sends(script, 3);
  drain(script);
  BOOST_TEST(is_draining(script));
  script.world.run_for(milliseconds(4));
  const Time later = script.world.now() + milliseconds(1);
  script.end.nic().on_deadline(later);  // all three are to be sent again
  // The first one's acknowledgement was only late. The other two are on their way, or lost.
  script.end.nic().receive(later, make_frame(2, 1,
                                             {.opcode = rc(OperationCode::acknowledge),
                                              .psn = 100,
                                              .dest_qp = script.end.qpn(),
                                              .aeth = {wire::ack_syndrome(31), 1}}));
  BOOST_TEST(is_draining(script));
  BOOST_TEST(script.end.poll_events().empty());
  script.world.run_for(milliseconds(1));
  script.expect(rc(OperationCode::send_only), 101);
  script.expect(rc(OperationCode::send_only), 102);
  script.acknowledge(102, 3);
  BOOST_TEST(!is_draining(script));
  BOOST_CHECK(script.end.poll_events() == std::vector{AsyncEventType::sq_drained});
}

BOOST_AUTO_TEST_CASE(a_queue_drains_in_sqd_only) {
  for (const QpState next : {QpState::rts, QpState::error, QpState::reset}) {
    Script script({.timeout = 0});
    post_sends(script, 1);
    drain(script);
    BOOST_TEST(is_draining(script));
    script.end.to_state(next);
    BOOST_TEST(!is_draining(script));
  }
}

BOOST_AUTO_TEST_CASE(timeout_set_while_a_request_is_outstanding_counts_for_it) {
  Script script({.timeout = 0});
  post_sends(script, 1);
  drain(script);
  script.expect_silence(milliseconds(100));
  set_timeout(script, 10);
  script.expect_silence(milliseconds(4));
  script.expect(rc(OperationCode::send_only), 100, milliseconds(1));
}

BOOST_AUTO_TEST_CASE(a_timeout_that_is_taken_away_counts_no_more) {
  Script script({.timeout = 10});
  post_sends(script, 1);
  drain(script);
  set_timeout(script, 0);
  script.expect_silence(milliseconds(100));
}

BOOST_AUTO_TEST_CASE(begun_message_is_finished_even_if_all_sent_is_acknowledged) {
  Script script({.mtu = 256, .timeout = 0});
  const Sge sge = script.buffer.sge(0, 512);
  script.end.post({.opcode = SendOpcode::send, .sges = {&sge, 1}});
  NarrowPort port(1);
  script.end.nic().transmit(script.world.now(), port, 1);
  BOOST_TEST(port.psns == std::vector<std::uint32_t>{100});
  drain(script);
  script.deliver({.opcode = rc(OperationCode::acknowledge), .psn = 100, .aeth = {wire::ack_syndrome(31), 0}});
  BOOST_TEST(is_draining(script));
  BOOST_TEST(script.end.poll_events().empty());
  script.world.run_for(nanoseconds(0));
  script.expect(rc(OperationCode::send_last), 101);
  script.acknowledge(101, 1);
  BOOST_TEST(!is_draining(script));
}
