// rdma_cm through librdmacm when the device goes: RDMA_CM_EVENT_DEVICE_REMOVAL, as cma_process_remove has it.
#include "tests/shim/rdma_cm/rdma_cm_fixture.h"
#include "tests/shim/served_fabric.h"

using namespace rdma_cm_test;

namespace {

rdma_cm_id* removed(Channel& channel) {
  rdma_cm_event* const event = channel.expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
  rdma_cm_id* const id = event->id;
  BOOST_CHECK_EQUAL(event->status, 0);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
  return id;
}

}  // namespace

BOOST_AUTO_TEST_CASE(everybody_bound_to_the_device_is_told_and_nothing_else_comes) {
  const verbs_test::ServedFabric fabric;
  Connection connection(7301);
  connection.establish();
  Id idle(connection.active);
  fabric.remove_device();
  BOOST_CHECK(removed(connection.active) == connection.client.id);
  BOOST_CHECK(removed(connection.passive) == connection.server.id);  // and not the listener, which is bound to none
  BOOST_CHECK_EQUAL(rdma_disconnect(connection.client.id), -1);
  BOOST_CHECK_EQUAL(idle.bind(own_address(), 7302), ENODEV);
  BOOST_TEST(!is_readable(connection.active.descriptor()));
  BOOST_TEST(!is_readable(connection.passive.descriptor()));
}

BOOST_AUTO_TEST_CASE(librdmacm_with_the_old_device_open_gets_no_other) {
  const verbs_test::ServedFabric fabric;
  Channel channel;
  Id id(channel);
  BOOST_CHECK_EQUAL(id.listen(7303), ENODEV);
  BOOST_CHECK_EQUAL(id.resolve(own_address(), 7303), ENODEV);
}
