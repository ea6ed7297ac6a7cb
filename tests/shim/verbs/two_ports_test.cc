// A device with two ports, as programs meet it: what each port says of itself, and QPs that go by the one or the other.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr std::array<std::uint8_t, 2> kBoth{1, 2};
constexpr std::array<std::uint8_t, 2> kNone{0, 3};

std::string text_of(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  BOOST_REQUIRE(inet_ntop(AF_INET6, gid.raw, text, sizeof text) != nullptr);
  return text;
}

std::string gid_of(ibv_context* context, std::uint8_t port, int index = 0) {
  ibv_gid gid{};
  BOOST_REQUIRE_EQUAL(ibv_query_gid(context, port, index, &gid), 0);
  return text_of(gid);
}

ibv_wc send(Endpoint& from, Endpoint& to, ibv_ah* ah = nullptr) {
  BOOST_REQUIRE_EQUAL(to.post_receive(7, 0, 4096), 0);
  std::fill_n(from.buffer.begin(), 64, 'x');
  ibv_sge sge = from.sge(0, 64);
  ibv_send_wr request = from.request(IBV_WR_SEND, &sge);
  if (ah != nullptr) {
    request.wr.ud.ah = ah;
    request.wr.ud.remote_qpn = to.qp->qp_num;
    request.wr.ud.remote_qkey = kQkey;
  }
  BOOST_REQUIRE_EQUAL(from.post(request), 0);
  return next_completion(from.cq);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_says_that_it_has_two_ports) {
  OpenDevice device;
  ibv_device_attr attributes{};
  BOOST_REQUIRE_EQUAL(ibv_query_device(device.context, &attributes), 0);
  BOOST_CHECK_EQUAL(attributes.phys_port_cnt, 2);
  ibv_device_attr_ex extended{};
  BOOST_REQUIRE_EQUAL(ibv_query_device_ex(device.context, nullptr, &extended), 0);
  BOOST_CHECK_EQUAL(extended.phys_port_cnt_ex, 2u);
  BOOST_CHECK_EQUAL(attributes.node_guid, ibv_get_device_guid(device.context->device));
}

BOOST_AUTO_TEST_CASE(each_port_has_its_state_gids_and_keys) {
  OpenDevice device;
  for (const std::uint8_t port : kBoth) {
    ibv_port_attr attributes{};
    BOOST_REQUIRE_EQUAL(ibv_query_port(device.context, port, &attributes), 0);
    BOOST_CHECK_EQUAL(attributes.state, IBV_PORT_ACTIVE);
    BOOST_CHECK_EQUAL(attributes.gid_tbl_len, 2);
    ibv_gid gid{};
    BOOST_CHECK_EQUAL(ibv_query_gid(device.context, port, 2, &gid), -1);
    __be16 pkey = 0;
    BOOST_CHECK_EQUAL(ibv_query_pkey(device.context, port, 0, &pkey), 0);
    BOOST_CHECK_EQUAL(ibv_get_pkey_index(device.context, port, 0xffff), 0);
  }
  BOOST_CHECK_EQUAL(gid_of(device.context, 1), "::ffff:127.47.91.1");
  BOOST_CHECK_EQUAL(gid_of(device.context, 2), "::ffff:127.48.91.1");
  BOOST_CHECK_EQUAL(gid_of(device.context, 2, 1), "fe80::56:7fff:fe30:5b01");
}

BOOST_AUTO_TEST_CASE(the_gid_table_has_the_entries_of_both_ports) {
  OpenDevice device;
  std::array<ibv_gid_entry, 8> entries{};
  BOOST_REQUIRE_EQUAL(ibv_query_gid_table(device.context, entries.data(), entries.size(), 0), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    BOOST_CHECK_EQUAL(entries[i].port_num, i / 2 + 1);
    BOOST_CHECK_EQUAL(entries[i].gid_index, i % 2);
    BOOST_CHECK_EQUAL(text_of(entries[i].gid),
                      gid_of(device.context, static_cast<std::uint8_t>(i / 2 + 1), static_cast<int>(i % 2)));
  }
  BOOST_CHECK(entries[0].ndev_ifindex != entries[2].ndev_ifindex);
  BOOST_CHECK_EQUAL(ibv_query_gid_table(device.context, entries.data(), 3, 0), -EINVAL);
}

BOOST_AUTO_TEST_CASE(ports_that_the_device_lacks_are_invalid) {
  Endpoint endpoint;
  for (const std::uint8_t port : kNone) {
    ibv_port_attr attributes{};
    BOOST_CHECK_EQUAL(ibv_query_port(endpoint.context, port, &attributes), EINVAL);
    ibv_gid gid{};
    BOOST_CHECK_EQUAL(ibv_query_gid(endpoint.context, port, 0, &gid), -1);
    ibv_gid_entry entry{};
    BOOST_CHECK_EQUAL(ibv_query_gid_ex(endpoint.context, port, 0, &entry, 0), EINVAL);
    __be16 pkey = 0;
    BOOST_CHECK_EQUAL(ibv_query_pkey(endpoint.context, port, 0, &pkey), -1);
    ibv_ah_attr path = address_of(endpoint);
    path.port_num = port;
    BOOST_CHECK(ibv_create_ah(endpoint.pd, &path) == nullptr);
    BOOST_CHECK_EQUAL(errno, EINVAL);
    endpoint.options.port = port;
    BOOST_CHECK_EQUAL(to_init(endpoint), EINVAL);
    endpoint.options.port = 1;
  }
}

BOOST_AUTO_TEST_CASE(connections_on_either_port_carry_data) {
  for (const std::uint8_t port : kBoth) {
    Endpoint a({.port = port});
    Endpoint b({.port = port});
    connect(a, b);
    BOOST_CHECK_EQUAL(send(a, b).status, IBV_WC_SUCCESS);
    BOOST_CHECK_EQUAL(next_completion(b.cq).status, IBV_WC_SUCCESS);
    BOOST_CHECK(std::equal(a.buffer.begin(), a.buffer.begin() + 64, b.buffer.begin()));
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    BOOST_REQUIRE_EQUAL(ibv_query_qp(a.qp, &attributes, IBV_QP_PORT | IBV_QP_AV, &initial), 0);
    BOOST_CHECK_EQUAL(attributes.port_num, port);
    BOOST_CHECK_EQUAL(attributes.ah_attr.port_num, port);
  }
}

BOOST_AUTO_TEST_CASE(one_cq_completes_for_qps_on_both_ports) {
  Endpoint a;
  Endpoint peers[2] = {Endpoint({.port = 1}), Endpoint({.port = 2})};
  ibv_qp_init_attr initial{};
  initial.send_cq = initial.recv_cq = a.cq;
  initial.cap = a.options.capabilities;
  initial.qp_type = IBV_QPT_RC;
  ibv_qp* const first = a.qp;
  ibv_qp* const second = ibv_create_qp(a.pd, &initial);
  BOOST_REQUIRE(second != nullptr);
  for (const std::uint8_t port : kBoth) {
    a.qp = port == 1 ? first : second;
    a.options.port = port;
    connect(a, peers[port - 1]);
    BOOST_CHECK_EQUAL(send(a, peers[port - 1]).qp_num, a.qp->qp_num);
  }
  a.qp = first;
  BOOST_CHECK_EQUAL(ibv_destroy_qp(second), 0);
}

BOOST_AUTO_TEST_CASE(a_path_by_another_port_than_the_qps_is_invalid) {
  Endpoint a({.port = 2});
  const Endpoint b({.port = 2});
  BOOST_REQUIRE_EQUAL(to_init(a), 0);
  ibv_ah_attr path = address_of(b);
  path.port_num = 1;
  BOOST_CHECK_EQUAL(to_rtr(a, b.qp->qp_num, path), EINVAL);
  path.port_num = 2;
  BOOST_CHECK_EQUAL(to_rtr(a, b.qp->qp_num, path), 0);
}

BOOST_AUTO_TEST_CASE(datagrams_go_by_the_port_of_their_handle) {
  Endpoint a({.type = IBV_QPT_UD, .port = 2});
  Endpoint b({.type = IBV_QPT_UD, .port = 2});
  connect(a, b);
  ibv_ah_attr path = address_of(b);
  ibv_ah* const right = ibv_create_ah(a.pd, &path);
  b.options.port = path.port_num = 1;
  path.grh.dgid = address_of(b).grh.dgid;
  ibv_ah* const wrong = ibv_create_ah(a.pd, &path);
  BOOST_REQUIRE((right != nullptr && wrong != nullptr));
  BOOST_CHECK_EQUAL(send(a, b, right).status, IBV_WC_SUCCESS);
  ibv_wc received = next_completion(b.cq);
  BOOST_CHECK_EQUAL(received.status, IBV_WC_SUCCESS);
  // The way back is by the port that the datagram came by.
  ibv_ah_attr back{};
  auto* const grh = reinterpret_cast<ibv_grh*>(b.buffer.data());
  BOOST_CHECK_EQUAL(ibv_init_ah_from_wc(b.context, 2, &received, grh, &back), 0);
  BOOST_CHECK_EQUAL(text_of(back.grh.dgid), "::ffff:127.48.91.1");
  BOOST_CHECK_EQUAL(ibv_init_ah_from_wc(b.context, 1, &received, grh, &back), -1);
  BOOST_CHECK_EQUAL(send(a, b, wrong).status, IBV_WC_LOC_QP_OP_ERR);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(right), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(wrong), 0);
}
