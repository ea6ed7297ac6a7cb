// One of a node's two devices goes: who has it is told, and a wildcard listener goes on with the other one. When that
// goes as well it is not told either: it has no device (cma_listen_handler of Linux).
#include <fstream>
#include <string>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"
#include "tests/shim/served_fabric.h"

using namespace rdma_cm_test;

namespace {

constexpr std::uint16_t kPort = 7361;
const std::string kFirst = "127.47.91.1";
const std::string kSecond = "127.47.92.1";

/// Whether others find a listener at the address (service_directory.h).
bool is_served(const std::string& where) {
  std::ifstream sockets("/proc/net/unix");
  char name[128];
  std::snprintf(name, sizeof name, "/%s/%s/%x/", std::getenv("VERBENA_FABRIC"), where.c_str(),
                unsigned{RDMA_PS_TCP} << 16 | kPort);
  for (std::string line; std::getline(sockets, line);)
    if (line.find("@verbena-cm/") != line.npos && line.find(name) != line.npos) return true;
  return false;
}

rdma_cm_id* removed(Channel& channel) {
  rdma_cm_event* const event = channel.expect(RDMA_CM_EVENT_DEVICE_REMOVAL);
  rdma_cm_id* const id = event->id;
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
  return id;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_takes_its_own_ids_along_and_no_wildcard) {
  const verbs_test::ServedFabric fabric(2);
  Channel channel;
  Id second(channel);
  BOOST_REQUIRE_EQUAL(second.bind(kSecond, 0), 0);
  Connection connection(kPort);  // by the first device, of a wildcard listener
  connection.establish();
  BOOST_TEST(is_served(kFirst));
  BOOST_TEST(is_served(kSecond));

  fabric.remove_device("n1.2");
  BOOST_CHECK(removed(channel) == second.id);
  BOOST_CHECK_EQUAL(verbs_test::event_of(second.id->verbs), IBV_EVENT_DEVICE_FATAL);
  for (const Channel* other : {&connection.active, &connection.passive}) BOOST_TEST(!is_readable(other->descriptor()));
  BOOST_TEST(is_served(kFirst));
  BOOST_TEST(!is_served(kSecond));
  Id late(channel);
  BOOST_CHECK_EQUAL(late.bind(kSecond, 0), ENODEV);  // librdmacm has the one that has gone

  Id client(connection.active);
  prepare(connection.active, client, kPort, kFirst);
  client.make_qp();
  BOOST_REQUIRE_EQUAL(connect(client), 0);
  rdma_cm_event* const request = connection.passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  BOOST_CHECK(request->listen_id == connection.listener.id);
  Id server(request->id);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);

  fabric.remove_device("n1.1");
  BOOST_CHECK(removed(connection.passive) == connection.server.id);
  BOOST_CHECK(removed(connection.active) == connection.client.id);
  BOOST_CHECK(removed(connection.active) == client.id);
  for (const Channel* one : {&channel, &connection.active, &connection.passive})
    BOOST_TEST(!is_readable(one->descriptor()));
}
