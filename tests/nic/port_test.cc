// The port: its state, and the events that an application hears of it.
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;

BOOST_AUTO_TEST_CASE(a_port_that_loses_its_cable_and_gets_it_back_raises_an_event_each_time) {
  Script script;
  Nic& nic = script.end.nic();
  BOOST_TEST(nic.port_is_up());
  nic.set_port_up(false);
  nic.set_port_up(false);
  BOOST_TEST(!nic.port_is_up());
  BOOST_TEST(nic.has_events());
  const auto down = nic.poll_event();
  BOOST_REQUIRE(down.has_value());
  BOOST_CHECK(down->type == AsyncEventType::port_error);
  BOOST_TEST(down->object == 1u);
  BOOST_TEST(!nic.poll_event().has_value());
  nic.set_port_up(true);
  BOOST_TEST(nic.port_is_up());
  const auto up = nic.poll_event();
  BOOST_REQUIRE(up.has_value());
  BOOST_CHECK(up->type == AsyncEventType::port_active);
  BOOST_TEST(script.end.counters().get(Counter::link_downed) == 1u);
}

BOOST_AUTO_TEST_CASE(connections_outlive_a_short_loss_of_the_port) {
  Script script({.timeout = 8});
  script.end.nic().set_port_up(false);
  const Sge sge = script.buffer.sge(0, 8);
  script.end.post({.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .remote_address = 0x1000, .rkey = 1});
  script.expect(rc(OperationCode::write_only), 100);
  script.end.nic().set_port_up(true);
  script.expect(rc(OperationCode::write_only), 100, Duration{4096 << 8});
  script.acknowledge(100);
  check_statuses(script.end.poll_sent(), {CompletionStatus::success});
}
