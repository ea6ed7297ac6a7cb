// rdma_cm through librdmacm when the port goes down and comes back: nothing, for the kernel's cma does not look at
// ports.
#include "tests/shim/rdma_cm_fixture.h"
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
