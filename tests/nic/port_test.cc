// The port and the device: their state, and the events that an application hears of them.
#include <array>
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"
#include "wire/pause_frame.h"

using namespace verbena;
using namespace verbena::test;

BOOST_AUTO_TEST_CASE(port_that_loses_and_regains_its_cable_raises_two_events) {
  Script script;
  Nic& nic = script.end.nic();
  BOOST_TEST(nic.config().port(1).is_up);
  nic.set_port_up(1, false);
  nic.set_port_up(1, false);
  BOOST_TEST(!nic.config().port(1).is_up);
  BOOST_TEST(nic.has_events());
  const auto down = nic.poll_event();
  BOOST_REQUIRE(down.has_value());
  BOOST_CHECK(down->type == AsyncEventType::port_error);
  BOOST_TEST(down->object == 1u);
  BOOST_TEST(!nic.poll_event().has_value());
  nic.set_port_up(1, true);
  BOOST_TEST(nic.config().port(1).is_up);
  const auto up = nic.poll_event();
  BOOST_REQUIRE(up.has_value());
  BOOST_CHECK(up->type == AsyncEventType::port_active);
  BOOST_TEST(script.end.counters().get(Counter::link_downed) == 1u);
}

BOOST_AUTO_TEST_CASE(connections_outlive_a_short_loss_of_the_port) {
  Script script({.timeout = 8});
  script.end.nic().set_port_up(1, false);
  const Sge sge = script.buffer.sge(0, 8);
  script.end.post(
      {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  script.expect(rc(OperationCode::write_only), 100);
  script.end.nic().set_port_up(1, true);
  script.expect(rc(OperationCode::write_only), 100, Duration{4096 << 8});
  script.acknowledge(100);
  check_statuses(script.end.poll_sent(), {CompletionStatus::success});
}

BOOST_AUTO_TEST_CASE(pause_frames_count_by_class_as_received_or_the_ports_own) {
  Script script;
  const auto show = [&](const wire::MacAddress& source) {
    std::array<std::byte, wire::kPauseFrameBytes> frame;
    wire::write_pause_frame({.source = source, .classes = 1 << 3 | 1 << 5}, frame);
    script.end.nic().receive(script.world.now(), frame);
  };
  show(node_mac(2));
  show(node_mac(2));
  show(node_mac(1));
  const Counters& counters = script.end.counters();
  BOOST_TEST(counters.get(Counter::rx_prio3_pause) == 2u);
  BOOST_TEST(counters.get(Counter::rx_prio5_pause) == 2u);
  BOOST_TEST(counters.get(Counter::rx_prio4_pause) == 0u);
  BOOST_TEST(counters.get(Counter::tx_prio3_pause) == 1u);
  BOOST_TEST(counters.get(Counter::tx_prio5_pause) == 1u);
  BOOST_TEST(counters.get(Counter::rx_dropped_malformed) == 0u);
}

BOOST_AUTO_TEST_CASE(a_removed_device_flushes_all_and_is_silent) {
  Script script;
  const Sge sge = script.buffer.sge(0, 8);
  script.end.post(
      {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  script.expect(rc(OperationCode::write_only), 100);
  script.end.receive(7, {script.buffer.sge(64, 64)});
  Nic& nic = script.end.nic();
  const Time then = script.world.now() + microseconds(7);
  nic.remove_device(then);
  nic.remove_device(then);
  check_statuses(script.end.poll_sent(), {CompletionStatus::flushed});
  const auto received = script.end.poll_received();
  check_statuses(received, {CompletionStatus::flushed});
  BOOST_CHECK(received.front().time == then);
  const auto fatal = nic.poll_event();
  BOOST_REQUIRE(fatal.has_value());
  BOOST_CHECK(fatal->type == AsyncEventType::device_fatal);
  BOOST_TEST(!nic.poll_event().has_value());
  // Neither its timers nor what still comes makes it say anything, nor its cable.
  nic.set_port_up(1, false);
  nic.set_port_up(1, true);
  BOOST_TEST(!nic.poll_event().has_value());
  script.acknowledge(100);
  script.peer({.opcode = rc(OperationCode::send_only), .psn = 100, .ack_request = true});
  script.expect_silence(seconds(2));
  // What is posted is flushed at once, and no QP leaves its state.
  script.end.post(
      {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 1}}});
  check_statuses(script.end.poll_sent(), {CompletionStatus::flushed});
  QpAttributes attributes;
  attributes.state = QpState::reset;
  const auto changed = nic.modify_qp(script.end.qp, attributes, kQpState, script.world.now());
  BOOST_CHECK(!changed && changed.error() == VerbsError::no_device);
  script.expect_silence(seconds(1));
}

BOOST_AUTO_TEST_CASE(a_removed_device_does_not_even_say_what_it_owes) {
  Script script;
  Nic& nic = script.end.nic();
  const auto frame = make_frame(
      2, 1, {.opcode = rc(OperationCode::send_only), .psn = 105, .dest_qp = script.end.qpn(), .ack_request = true});
  nic.receive(script.world.now(), frame);  // out of sequence: a NAK is due
  BOOST_REQUIRE(nic.has_work());
  nic.remove_device(script.world.now());
  script.expect_silence(seconds(1));
}
