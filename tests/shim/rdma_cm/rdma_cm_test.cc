// rdma_cm through librdmacm: addresses and ports, options, and the order of events, as the kernel's connection manager
// (drivers/infiniband/core/cma.c, ucma.c) has them.
#include <memory>
#include <vector>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

using namespace rdma_cm_test;

// -- Addresses and ports ---------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_port_is_given_once) {
  Channel channel;
  Id one(channel);
  Id two(channel);
  Id datagrams(channel, RDMA_PS_UDP);
  BOOST_CHECK_EQUAL(one.bind("0.0.0.0", 7101), 0);
  BOOST_CHECK_EQUAL(two.bind("0.0.0.0", 7101), EADDRNOTAVAIL);
  BOOST_CHECK_EQUAL(two.bind(own_address(), 7101), EADDRNOTAVAIL);  // the wildcard covers it
  BOOST_CHECK_EQUAL(datagrams.bind("0.0.0.0", 7101), 0);            // another port space
  BOOST_CHECK_EQUAL(two.bind("0.0.0.0", 7102), 0);                  // a refused bind leaves the ID as it was
  one.destroy();
  Id three(channel);
  BOOST_CHECK_EQUAL(three.bind("0.0.0.0", 7101), 0);
}

BOOST_AUTO_TEST_CASE(who_wants_to_reuse_an_address_shares_it_until_one_listens) {
  Channel channel;
  Id one(channel);
  Id two(channel);
  Id three(channel);
  for (Id* id : {&one, &two, &three}) BOOST_CHECK_EQUAL(id->set_option(RDMA_OPTION_ID_REUSEADDR, 1), 0);
  BOOST_CHECK_EQUAL(one.bind("0.0.0.0", 7103), 0);
  BOOST_CHECK_EQUAL(two.bind("0.0.0.0", 7103), 0);
  // Who listens must be alone there, and lets nobody in any more.
  BOOST_CHECK_EQUAL(rdma_listen(one.id, 1), -1);
  BOOST_CHECK_EQUAL(errno, EADDRNOTAVAIL);
  two.destroy();
  BOOST_CHECK_EQUAL(rdma_listen(one.id, 1), 0);
  BOOST_CHECK_EQUAL(one.set_option(RDMA_OPTION_ID_REUSEADDR, 1), EINVAL);
  BOOST_CHECK_EQUAL(three.bind("0.0.0.0", 7103), EADDRNOTAVAIL);
  one.destroy();
  BOOST_CHECK_EQUAL(three.bind("0.0.0.0", 7103), 0);
}

BOOST_AUTO_TEST_CASE(a_specific_address_names_the_device_and_the_wildcard_none) {
  Channel channel;
  Id wildcard(channel);
  Id specific(channel);
  Id foreign(channel);
  Id chosen(channel);
  BOOST_CHECK_EQUAL(wildcard.bind("0.0.0.0", 7104), 0);
  BOOST_CHECK(wildcard.id->verbs == nullptr);
  BOOST_CHECK_EQUAL(ntohs(rdma_get_src_port(wildcard.id)), 7104);
  BOOST_CHECK_EQUAL(specific.bind(own_address(), 7105), 0);
  BOOST_REQUIRE(specific.id->verbs != nullptr);
  BOOST_CHECK_EQUAL(int{specific.id->port_num}, 1);
  const sockaddr_in own = address(own_address().c_str(), 7105);
  BOOST_CHECK_EQUAL(reinterpret_cast<sockaddr_in*>(rdma_get_local_addr(specific.id))->sin_addr.s_addr,
                    own.sin_addr.s_addr);
  BOOST_CHECK_EQUAL(foreign.bind("10.1.2.3", 7106), EADDRNOTAVAIL);
  BOOST_CHECK_EQUAL(chosen.bind(own_address(), 0), 0);
  BOOST_CHECK_NE(ntohs(rdma_get_src_port(chosen.id)), 0);
  BOOST_CHECK_EQUAL(chosen.bind(own_address(), 7107), EINVAL);  // bound already
}

BOOST_AUTO_TEST_CASE(steps_out_of_turn_are_refused) {
  Channel channel;
  Id id(channel);
  BOOST_REQUIRE_EQUAL(id.resolve(own_address(), 7108), 0);
  channel.take(RDMA_CM_EVENT_ADDR_RESOLVED);
  BOOST_CHECK_EQUAL(id.resolve(own_address(), 7108), EINVAL);
  BOOST_CHECK_EQUAL(rdma_listen(id.id, 1), -1);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(connect(id), EINVAL);  // no route yet
  BOOST_CHECK_EQUAL(rdma_disconnect(id.id), -1);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(rdma_notify(id.id, IBV_EVENT_COMM_EST), -1);
  BOOST_CHECK_EQUAL(errno, EINVAL);
}

BOOST_AUTO_TEST_CASE(nobody_is_there) {
  Channel channel;
  Id id(channel);
  // No such node: shared memory knows that at once, the kernel after its timeout.
  BOOST_REQUIRE_EQUAL(id.resolve("10.1.2.3", 7109), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_ADDR_ERROR), -ETIMEDOUT);
  // The address is there, but no listener.
  Id client(channel);
  prepare(channel, client, 7109);
  client.make_qp();
  BOOST_REQUIRE_EQUAL(connect(client), 0);
  BOOST_CHECK_EQUAL(channel.take(RDMA_CM_EVENT_REJECTED), 8);  // 12.6.7.2: invalid service ID
}

// -- Options ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(options_have_their_sizes_and_bounds) {
  Channel channel;
  Id id(channel);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_TOS, std::uint8_t{0x20}), 0);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_TOS, 0x20), EINVAL);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_REUSEADDR, std::uint8_t{1}), EINVAL);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_AFONLY, 1), 0);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_ACK_TIMEOUT, std::uint8_t{31}), 0);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_ACK_TIMEOUT, std::uint8_t{32}), EINVAL);
  BOOST_CHECK_EQUAL(id.set_option(77, 1), ENOSYS);
  BOOST_CHECK_EQUAL(rdma_set_option(id.id, 77, RDMA_OPTION_ID_TOS, &id, 1), -1);
  BOOST_CHECK_EQUAL(errno, ENOSYS);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_AFONLY, std::uint8_t{1}), EINVAL);
  BOOST_CHECK_EQUAL(id.bind("0.0.0.0", 7110), 0);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_AFONLY, 1), 0);
  BOOST_CHECK_EQUAL(rdma_listen(id.id, 1), 0);
  BOOST_CHECK_EQUAL(id.set_option(RDMA_OPTION_ID_AFONLY, 1), EINVAL);  // too late
}

BOOST_AUTO_TEST_CASE(type_of_service_and_timeout_reach_the_QP) {
  Connection connection(7111, 0x60, 12);
  connection.establish();
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(connection.client.id->qp, &attributes, IBV_QP_AV | IBV_QP_TIMEOUT, &init), 0);
  BOOST_CHECK_EQUAL(int{attributes.ah_attr.grh.traffic_class}, 0x60);
  BOOST_CHECK_EQUAL(int{attributes.timeout}, 12);
  BOOST_REQUIRE_EQUAL(ibv_query_qp(connection.server.id->qp, &attributes, IBV_QP_AV | IBV_QP_TIMEOUT, &init), 0);
  BOOST_CHECK_EQUAL(int{attributes.ah_attr.grh.traffic_class}, 0x60);  // the way back, as the REQ says
  BOOST_CHECK_EQUAL(int{attributes.timeout}, 15);  // what the REQ says covers the CA's delay, as in cm_ack_timeout
}

BOOST_AUTO_TEST_CASE(each_side_sets_its_own_timeout_and_none_is_one) {
  Channel channel;
  Id datagrams(channel, RDMA_PS_UDP);
  BOOST_CHECK_EQUAL(datagrams.set_option(RDMA_OPTION_ID_ACK_TIMEOUT, std::uint8_t{12}), EINVAL);
  Connection connection(7126, 0, 0, std::uint8_t{0});
  connection.establish();
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(connection.server.id->qp, &attributes, IBV_QP_TIMEOUT, &init), 0);
  BOOST_CHECK_EQUAL(int{attributes.timeout}, 0);
  BOOST_REQUIRE_EQUAL(ibv_query_qp(connection.client.id->qp, &attributes, IBV_QP_TIMEOUT, &init), 0);
  BOOST_CHECK_EQUAL(int{attributes.timeout}, 17);  // of RoCE's packet lifetime of 16
}

// -- Connections -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(both_sides_hear_of_the_end_and_of_timewait) {
  Connection connection(7112, 0, 1);
  connection.establish();
  BOOST_CHECK_EQUAL(rdma_notify(connection.client.id, IBV_EVENT_COMM_EST), 0);  // known already
  BOOST_CHECK_EQUAL(rdma_notify(connection.client.id, IBV_EVENT_QP_FATAL), 0);  // of no interest
  BOOST_REQUIRE_EQUAL(rdma_disconnect(connection.client.id), 0);
  BOOST_CHECK_EQUAL(connection.passive.take(RDMA_CM_EVENT_DISCONNECTED), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(connection.client.id->qp, &attributes, IBV_QP_STATE, &init), 0);
  BOOST_CHECK_EQUAL(attributes.qp_state, IBV_QPS_ERR);  // librdmacm flushes what is posted
  BOOST_REQUIRE_EQUAL(rdma_disconnect(connection.server.id), 0);
  BOOST_CHECK_EQUAL(connection.active.take(RDMA_CM_EVENT_DISCONNECTED), 0);
  BOOST_CHECK_EQUAL(connection.active.take(RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
  BOOST_CHECK_EQUAL(connection.passive.take(RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
}

BOOST_AUTO_TEST_CASE(data_before_the_RTU_establishes_when_it_is_notified) {
  Connection connection(7113);
  // The passive side sees the established event once, whether the RTU or the notification is first.
  static_cast<void>(rdma_notify(connection.server.id, IBV_EVENT_COMM_EST));
  connection.establish();
  BOOST_CHECK(!is_readable(connection.passive.descriptor()));
}

BOOST_AUTO_TEST_CASE(requests_beyond_the_backlog_are_refused) {
  Channel passive;
  Channel active;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(7114, 2), 0);
  std::vector<std::unique_ptr<Id>> clients;
  for (int number = 0; number < 3; ++number) {
    Id& client = *clients.emplace_back(std::make_unique<Id>(active));
    prepare(active, client, 7114);
    client.make_qp();
    BOOST_REQUIRE_EQUAL(connect(client), 0);
  }
  // What the kernel's ucma has no room for, it lets the connection manager refuse: consumer defined, 28.
  rdma_cm_event* const refused = active.expect(RDMA_CM_EVENT_REJECTED);
  BOOST_CHECK(refused->id == clients[2]->id);
  BOOST_CHECK_EQUAL(refused->status, 28);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(refused), 0);
  for (int number = 0; number < 2; ++number) {
    rdma_cm_event* const request = passive.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    Id server(request->id);
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(request), 0);
    BOOST_CHECK_EQUAL(rdma_reject(server.id, "no", 3), 0);
    rdma_cm_event* const answer = active.expect(RDMA_CM_EVENT_REJECTED);
    BOOST_CHECK_EQUAL(answer->status, 28);
    BOOST_REQUIRE_GE(int{answer->param.conn.private_data_len}, 3);
    BOOST_CHECK_EQUAL(static_cast<const char*>(answer->param.conn.private_data), "no");
    BOOST_CHECK_EQUAL(rdma_ack_cm_event(answer), 0);
  }
}

BOOST_AUTO_TEST_CASE(a_listener_that_ends_refuses_what_nobody_has_heard_of) {
  Channel passive;
  Channel active;
  Id listener(passive);
  BOOST_REQUIRE_EQUAL(listener.listen(7115), 0);
  Id client(active);
  prepare(active, client, 7115);
  client.make_qp();
  BOOST_REQUIRE_EQUAL(connect(client), 0);
  BOOST_REQUIRE(is_readable(passive.descriptor(), kPatienceMs));
  listener.destroy();
  BOOST_CHECK(!is_readable(passive.descriptor()));
  BOOST_CHECK_EQUAL(active.take(RDMA_CM_EVENT_REJECTED), 28);
}

BOOST_AUTO_TEST_CASE(a_group_is_joined_and_left) {
  Channel channel;
  Id id(channel, RDMA_PS_UDP);
  BOOST_REQUIRE_EQUAL(id.bind(own_address(), 0), 0);
  sockaddr_in group = address("239.9.8.7", 0);
  int mark = 0;
  BOOST_REQUIRE_EQUAL(rdma_join_multicast(id.id, reinterpret_cast<sockaddr*>(&group), &mark), 0);
  rdma_cm_event* const event = channel.expect(RDMA_CM_EVENT_MULTICAST_JOIN);
  BOOST_CHECK(event->param.ud.private_data == &mark);
  BOOST_CHECK_EQUAL(event->param.ud.qp_num, 0xffffff);
  BOOST_CHECK_EQUAL(event->param.ud.qkey, RDMA_UDP_QKEY);
  BOOST_CHECK_EQUAL(int{event->param.ud.ah_attr.grh.dgid.raw[12]}, 239);
  BOOST_CHECK_EQUAL(rdma_ack_cm_event(event), 0);
  BOOST_CHECK_EQUAL(rdma_leave_multicast(id.id, reinterpret_cast<sockaddr*>(&group)), 0);
  BOOST_CHECK_EQUAL(rdma_leave_multicast(id.id, reinterpret_cast<sockaddr*>(&group)), -1);
  sockaddr_in host = address(own_address().c_str(), 0);
  BOOST_CHECK_EQUAL(rdma_join_multicast(id.id, reinterpret_cast<sockaddr*>(&host), &mark), -1);
}
