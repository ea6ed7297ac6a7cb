// rdma_cm of a device with two ports: an ID is on the port that the kernel's cma would give it, by the address that it
// is bound to, else by the route; listeners hear on theirs, or on both.
#include <string>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

using namespace rdma_cm_test;

namespace {

const std::string kFirst = "127.47.91.1";
const std::string kSecond = "127.48.91.1";

/// 0: it has none.
unsigned port_of(const Id& id) {
  return id.id->verbs != nullptr ? id.id->port_num : 0;
}

/// What a QP that librdmacm has brought up says of its port.
void require_port(const Id& id, unsigned port) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(id.id->qp, &attributes, IBV_QP_PORT | IBV_QP_AV, &init), 0);
  BOOST_TEST(unsigned{attributes.port_num} == port);
  BOOST_TEST(unsigned{attributes.ah_attr.port_num} == port);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_id_is_on_the_port_whose_address_it_is_bound_to) {
  Channel channel;
  Id first(channel);
  Id second(channel);
  Id any(channel);
  Id nobodys(channel);
  BOOST_CHECK_EQUAL(first.bind(kFirst, 0), 0);
  BOOST_CHECK_EQUAL(second.bind(kSecond, 0), 0);
  BOOST_CHECK_EQUAL(any.bind("0.0.0.0", 0), 0);
  BOOST_TEST(port_of(first) == 1u);
  BOOST_TEST(port_of(second) == 2u);
  BOOST_TEST(port_of(any) == 0u);
  BOOST_CHECK(first.id->verbs == second.id->verbs);
  BOOST_TEST(text_of(rdma_get_local_addr(second.id)) == kSecond);
  for (const char* nowhere : {"127.48.91.2", "127.48.92.1"}) BOOST_CHECK_EQUAL(nobodys.bind(nowhere, 0), EADDRNOTAVAIL);
}

BOOST_AUTO_TEST_CASE(a_client_leaves_by_the_port_of_the_route) {
  struct Row {
    std::string to;
    unsigned port;
    std::string from;
  };
  const Row rows[] = {{"127.47.91.9", 1, kFirst},
                      {"127.48.91.9", 2, kSecond},
                      {kFirst, 1, kFirst},
                      {kSecond, 2, kSecond},
                      {"127.0.0.1", 1, kFirst}};
  Channel channel;
  for (const rdma_port_space space : {RDMA_PS_TCP, RDMA_PS_UDP})
    for (const Row& row : rows) {
      Id id(channel, space);
      BOOST_REQUIRE_EQUAL(id.resolve(row.to, 7390), 0);
      BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_RESOLVED), 0);
      BOOST_TEST(port_of(id) == row.port, row.to);
      BOOST_TEST(text_of(rdma_get_local_addr(id.id)) == row.from, row.to);
    }
}

BOOST_AUTO_TEST_CASE(a_wildcard_listener_hears_on_every_port) {
  Channel active;
  Channel passive;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(7392), 0);
  const Request one(active, passive, kFirst, 7392);
  const Request two(active, passive, kSecond, 7392);
  BOOST_TEST(port_of(one.server) == 1u);
  BOOST_TEST(port_of(two.server) == 2u);
  BOOST_TEST(text_of(rdma_get_local_addr(two.server.id)) == kSecond);
  BOOST_TEST(text_of(rdma_get_peer_addr(two.server.id)) == kSecond);
  BOOST_CHECK(one.listener == listener.id && two.listener == listener.id);
}

BOOST_AUTO_TEST_CASE(listeners_of_two_ports_share_a_service) {
  Channel active;
  Channel passive;
  Id first(passive);
  Id second(passive);
  Id wildcard(passive);
  BOOST_REQUIRE_EQUAL(listen_at(first, kFirst, 7393), 0);
  BOOST_REQUIRE_EQUAL(listen_at(second, kSecond, 7393), 0);
  BOOST_CHECK_EQUAL(wildcard.bind("0.0.0.0", 7393), EADDRNOTAVAIL);
  const Request one(active, passive, kFirst, 7393);
  const Request two(active, passive, kSecond, 7393);
  BOOST_CHECK(one.listener == first.id);
  BOOST_CHECK(two.listener == second.id);
  second.destroy();
  Id refused(active);
  prepare(active, refused, 7393, kSecond);
  refused.make_qp();
  BOOST_REQUIRE_EQUAL(connect(refused), 0);
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_REJECTED), 8);
}

BOOST_AUTO_TEST_CASE(connections_over_both_ports_live_and_end) {
  Channel active;
  Channel passive;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(7394), 0);
  for (const unsigned port : {1u, 2u}) {
    Request pair(active, passive, port == 1 ? kFirst : kSecond, 7394);
    pair.server.make_qp();
    BOOST_REQUIRE_EQUAL(rdma_accept(pair.server.id, nullptr), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_ESTABLISHED), 0);
    require_port(pair.client, port);
    require_port(pair.server, port);
    BOOST_CHECK_EQUAL(rdma_disconnect(pair.client.id), 0);
    BOOST_CHECK_EQUAL(passive.take(RDMA_CM_EVENT_DISCONNECTED), 0);
    BOOST_CHECK_EQUAL(rdma_disconnect(pair.server.id), 0);
    BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_DISCONNECTED), 0);
  }
}

BOOST_AUTO_TEST_CASE(a_group_is_joined_on_the_port_that_an_id_has) {
  Channel channel;
  Id second(channel, RDMA_PS_UDP);
  sockaddr_in group = address("239.1.1.7", 0);
  auto* const name = reinterpret_cast<sockaddr*>(&group);
  BOOST_REQUIRE_EQUAL(second.bind(kSecond, 0), 0);
  BOOST_REQUIRE_EQUAL(rdma_join_multicast(second.id, name, nullptr), 0);
  rdma_cm_event* const joined = channel.expect(RDMA_CM_EVENT_MULTICAST_JOIN);
  BOOST_TEST(unsigned{joined->param.ud.ah_attr.port_num} == 2u);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(joined), 0);
  BOOST_CHECK_EQUAL(rdma_leave_multicast(second.id, name), 0);
}
