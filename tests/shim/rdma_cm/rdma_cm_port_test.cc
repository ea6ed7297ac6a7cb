// rdma_cm through librdmacm when the port goes down and comes back: nothing, for the kernel's cma does not look at
// ports.
#include "tests/shim/rdma_cm/rdma_cm_fixture.h"
#include "tests/shim/served_fabric.h"

using namespace rdma_cm_test;

BOOST_AUTO_TEST_CASE(a_port_that_goes_down_ends_no_connection) {
  const verbs_test::ServedFabric fabric;
  Connection connection(7304);
  connection.establish();
  ibv_context* const context = connection.client.id->verbs;
  for (const bool up : {false, true, false, true}) {
    fabric.set_port(up);
    BOOST_CHECK_EQUAL(verbs_test::event_of(context), up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
    BOOST_TEST(!is_readable(connection.active.descriptor()));
    BOOST_TEST(!is_readable(connection.passive.descriptor()));
  }
  Connection next(7305);  // and the device is there for others
  next.establish();
  BOOST_CHECK_EQUAL(rdma_disconnect(connection.client.id), 0);
  connection.passive.take(RDMA_CM_EVENT_DISCONNECTED);
  BOOST_CHECK_EQUAL(rdma_disconnect(connection.server.id), 0);
  connection.active.take(RDMA_CM_EVENT_DISCONNECTED);
}

BOOST_AUTO_TEST_CASE(empty_node_refuses_at_once_and_a_dead_port_is_mute) {
  const verbs_test::ServedFabric fabric;
  constexpr const char* kDeserted = "127.47.91.2";
  Channel channel;
  Id client(channel);
  prepare(channel, client, 7306, kDeserted);
  client.make_qp();
  BOOST_REQUIRE_EQUAL(connect(client), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_REJECTED), 8);  // as its machine would: nobody has the service ID
  Id datagrams(channel, RDMA_PS_UDP);
  prepare(channel, datagrams, 7306, kDeserted);
  BOOST_REQUIRE_EQUAL(connect(datagrams), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_UNREACHABLE), 1);
  Id nowhere(channel);
  BOOST_REQUIRE_EQUAL(nowhere.resolve("10.1.2.3", 7306), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_ERROR), -ETIMEDOUT);
  for (const char* const node : {"n2", "n1"}) {
    BOOST_REQUIRE_EQUAL(fabric.ask({"port-error", node}), "");
    Id waiting(channel);
    prepare(channel, waiting, 7306, kDeserted);
    waiting.make_qp();
    BOOST_REQUIRE_EQUAL(connect(waiting), 0);
    BOOST_TEST(!is_readable(channel.descriptor(), 500));  // the kernel's repetitions go on for a minute
    BOOST_REQUIRE_EQUAL(fabric.ask({"port-active", node}), "");
  }
}
