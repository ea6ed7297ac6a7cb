// A port whose cable loses its signal and gets it back: what programs of the verbs API are told, and what stays as it
// is.
#include <boost/test/unit_test.hpp>

#include "tests/shim/served_fabric.h"
#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

ibv_port_attr port_of(ibv_context* context) {
  ibv_port_attr port{};
  BOOST_REQUIRE_EQUAL(ibv_query_port(context, 1, &port), 0);
  return port;
}

ibv_qp_state state_of(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr initial{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &initial), 0);
  return attributes.qp_state;
}

constexpr int kPollingState = 2;  // IBTA vol 1 14.2.5.6, PortPhysicalState
constexpr int kLinkUpState = 5;

}  // namespace

BOOST_AUTO_TEST_CASE(every_context_hears_of_it_and_the_port_says_so) {
  const ServedFabric fabric;
  Endpoint a;
  const OpenDevice other;
  const ibv_port_attr before = port_of(a.context);
  BOOST_CHECK_EQUAL(before.state, IBV_PORT_ACTIVE);
  for (int i = 0; i < 3; ++i) {
    fabric.set_port(false);
    for (ibv_context* const context : {a.context, other.context}) {
      const ibv_async_event event = asynchronous_event_of(context);
      BOOST_CHECK_EQUAL(event.event_type, IBV_EVENT_PORT_ERR);
      BOOST_CHECK_EQUAL(event.element.port_num, 1);
      BOOST_CHECK_EQUAL(port_of(context).state, IBV_PORT_DOWN);
      BOOST_CHECK_EQUAL(port_of(context).phys_state, kPollingState);
    }
    fabric.set_port(true);
    for (ibv_context* const context : {a.context, other.context}) {
      const ibv_async_event event = asynchronous_event_of(context);
      BOOST_CHECK_EQUAL(event.event_type, IBV_EVENT_PORT_ACTIVE);
      BOOST_CHECK_EQUAL(event.element.port_num, 1);
      const ibv_port_attr after = port_of(context);
      BOOST_CHECK_EQUAL(after.phys_state, kLinkUpState);
      BOOST_CHECK_EQUAL(std::memcmp(&after, &before, sizeof after), 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_link_with_another_rate_shows_it_and_tells_nobody) {
  const ServedFabric fabric;
  const Endpoint a;
  const ibv_port_attr before = port_of(a.context);
  const auto expect = [&](int width, int speed) {
    const ibv_port_attr now = port_of(a.context);
    BOOST_CHECK_EQUAL(now.active_width, width);
    BOOST_CHECK_EQUAL(now.active_speed, speed);
    BOOST_CHECK_EQUAL(now.state, IBV_PORT_ACTIVE);
  };
  BOOST_REQUIRE_EQUAL(fabric.ask({"link-rate", "n1-s1", "25Gbps"}), "");
  expect(1, 32);
  BOOST_REQUIRE_EQUAL(fabric.ask({"link-rate", "n1-s1", "200Gbps"}), "");
  expect(2, 64);
  BOOST_REQUIRE_EQUAL(fabric.ask({"link-rate", "n2-s1", "25Gbps"}), "");
  expect(2, 64);
  BOOST_REQUIRE_EQUAL(fabric.ask({"link-rate", "n1-s1", "0"}), "");
  expect(before.active_width, before.active_speed);
  fabric.set_port(false);  // the next event is this one's
  BOOST_CHECK_EQUAL(event_of(a.context), IBV_EVENT_PORT_ERR);
}

BOOST_AUTO_TEST_CASE(queue_pairs_stay_in_their_state_and_commands_go_on) {
  const ServedFabric fabric;
  Endpoint a;
  Endpoint b;
  connect(a, b);
  fabric.set_port(false);
  BOOST_CHECK_EQUAL(event_of(a.context), IBV_EVENT_PORT_ERR);
  BOOST_CHECK_EQUAL(state_of(a.qp), IBV_QPS_RTS);
  Endpoint fresh;  // all that programs do at their start can be done
  Endpoint peer;
  connect(fresh, peer);
  BOOST_CHECK_EQUAL(state_of(fresh.qp), IBV_QPS_RTS);
  ibv_gid gid{};
  BOOST_CHECK_EQUAL(ibv_query_gid(a.context, 1, 0, &gid), 0);
  fabric.set_port(true);
  BOOST_CHECK_EQUAL(event_of(a.context), IBV_EVENT_PORT_ACTIVE);
  BOOST_REQUIRE_EQUAL(b.post_receive(1, 0, 64), 0);
  ibv_sge sge = a.sge(0, 8);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(b.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
}

BOOST_AUTO_TEST_CASE(who_opens_the_device_meanwhile_finds_the_port_down) {
  const ServedFabric fabric;
  fabric.set_port(false);
  {
    const OpenDevice device;
    BOOST_CHECK_EQUAL(port_of(device.context).state, IBV_PORT_DOWN);
    fabric.set_port(true);
    BOOST_CHECK_EQUAL(event_of(device.context), IBV_EVENT_PORT_ACTIVE);
  }
  const OpenDevice device;
  BOOST_CHECK_EQUAL(port_of(device.context).state, IBV_PORT_ACTIVE);
}
