// A device with two ports in a fabric, where they are the rails of its node: the cable of each is its own.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/shim/served_fabric.h"
#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

ibv_port_state state_of(ibv_context* context, std::uint8_t port) {
  ibv_port_attr attributes{};
  BOOST_REQUIRE_EQUAL(ibv_query_port(context, port, &attributes), 0);
  return attributes.state;
}

}  // namespace

BOOST_AUTO_TEST_CASE(events_name_the_port_whose_cable_it_was) {
  const ServedFabric fabric(2);
  const OpenDevice device;
  for (const auto& [name, port] : {std::pair("n1.2", 2), std::pair("n1.1", 1)}) {
    const auto other = static_cast<std::uint8_t>(3 - port);
    for (const bool is_up : {false, true}) {
      fabric.set_port(is_up, name);
      const ibv_async_event event = asynchronous_event_of(device.context);
      BOOST_CHECK_EQUAL(event.event_type, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
      BOOST_CHECK_EQUAL(event.element.port_num, port);
      BOOST_CHECK_EQUAL(state_of(device.context, static_cast<std::uint8_t>(port)),
                        is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
      BOOST_CHECK_EQUAL(state_of(device.context, other), IBV_PORT_ACTIVE);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_connection_on_one_port_goes_on_while_the_other_is_down) {
  const ServedFabric fabric(2);
  Endpoint a({.port = 2});
  Endpoint b({.port = 2});
  connect(a, b);
  fabric.set_port(false, "n1.1");
  BOOST_CHECK_EQUAL(asynchronous_event_of(a.context).element.port_num, 1);
  BOOST_REQUIRE_EQUAL(b.post_receive(1, 0, 64), 0);
  std::fill_n(a.buffer.begin(), 64, 'x');
  ibv_sge sge = a.sge(0, 64);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(next_completion(b.cq).status, IBV_WC_SUCCESS);
}
