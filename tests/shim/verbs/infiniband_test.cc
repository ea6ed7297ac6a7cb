// A device on InfiniBand, as programs meet it: its port, its one GID, and paths that are LIDs.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstring>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr std::uint16_t kNobodysLid = 200;

std::uint16_t own_lid(ibv_context* context) {
  ibv_port_attr port{};
  BOOST_REQUIRE_EQUAL(ibv_query_port(context, 1, &port), 0);
  return port.lid;
}

ibv_ah_attr path_to(const Endpoint& endpoint, std::uint8_t service_level = 0) {
  ibv_ah_attr path{};
  path.dlid = own_lid(endpoint.context);
  path.sl = service_level;
  path.port_num = 1;
  return path;
}

void connect_by_lid(Endpoint& a, Endpoint& b, std::uint8_t service_level = 0) {
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    BOOST_REQUIRE_EQUAL(to_init(*one), 0);
    BOOST_REQUIRE_EQUAL(to_rtr(*one, other->qp->qp_num, path_to(*other, service_level)), 0);
    BOOST_REQUIRE_EQUAL(to_rts(*one), 0);
  }
}

/// A datagram from `a` to `b`; the completion of the receiver.
ibv_wc send_datagram(Endpoint& a, Endpoint& b, ibv_ah_attr path) {
  ibv_ah* const ah = ibv_create_ah(a.pd, &path);
  BOOST_REQUIRE(ah != nullptr);
  BOOST_REQUIRE_EQUAL(b.post_receive(1, 0, 1024), 0);
  ibv_sge sge = a.sge(0, 100);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  request.wr.ud = {.ah = ah, .remote_qpn = b.qp->qp_num, .remote_qkey = kQkey};
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  const ibv_wc received = next_completion(b.cq);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(ah), 0);
  return received;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_port_has_a_lid_and_a_manager) {
  OpenDevice device;
  ibv_port_attr port{};
  BOOST_REQUIRE_EQUAL(ibv_query_port(device.context, 1, &port), 0);
  BOOST_CHECK_EQUAL(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
  BOOST_CHECK_EQUAL(port.state, IBV_PORT_ACTIVE);
  BOOST_CHECK_EQUAL(port.phys_state, 5);
  BOOST_CHECK_EQUAL(port.lid, 1);  // node 1
  BOOST_CHECK_EQUAL(port.lmc, 0);
  BOOST_CHECK_EQUAL(port.sm_lid, 0xbfff);
  BOOST_CHECK_EQUAL(port.flags & IBV_QPF_GRH_REQUIRED, 0);
  BOOST_CHECK_EQUAL(port.port_cap_flags & IBV_PORT_IP_BASED_GIDS, 0u);
  BOOST_CHECK_EQUAL(port.gid_tbl_len, 8);
}

BOOST_AUTO_TEST_CASE(the_gid_is_the_default_prefix_and_the_ports_guid) {
  OpenDevice device;
  ibv_gid_entry entry{};
  BOOST_REQUIRE_EQUAL(ibv_query_gid_ex(device.context, 1, 0, &entry, 0), 0);
  BOOST_CHECK_EQUAL(entry.gid_type, IBV_GID_TYPE_IB);
  BOOST_CHECK_EQUAL(entry.ndev_ifindex, 0u);
  BOOST_CHECK_EQUAL(be64toh(entry.gid.global.subnet_prefix), 0xfe80000000000000u);
  BOOST_CHECK_EQUAL(entry.gid.global.interface_id, ibv_get_device_guid(device.context->device));
  // The others are empty, until a manager sets them.
  BOOST_CHECK_EQUAL(ibv_query_gid_ex(device.context, 1, 1, &entry, 0), ENODATA);
  BOOST_CHECK_EQUAL(ibv_query_gid_ex(device.context, 1, 8, &entry, 0), EINVAL);
  std::array<ibv_gid_entry, 9> table{};
  BOOST_CHECK_EQUAL(ibv_query_gid_table(device.context, table.data(), table.size(), 0), 1);
  ibv_gid empty{};
  empty.raw[0] = 1;
  BOOST_CHECK_EQUAL(ibv_query_gid(device.context, 1, 7, &empty), 0);
  BOOST_CHECK_EQUAL(empty.global.subnet_prefix | empty.global.interface_id, 0u);
}

BOOST_AUTO_TEST_CASE(a_connection_goes_by_lid_alone) {
  Endpoint a;
  Endpoint b;
  connect_by_lid(a, b, 5);
  std::strcpy(a.buffer.data(), "by LID");
  ibv_sge sge = a.sge(0, 4000);
  ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &sge);
  request.wr.rdma = {.remote_addr = b.address(10000), .rkey = b.mr->rkey};
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(std::strcmp(b.buffer.data() + 10000, "by LID"), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(a.qp, &attributes, IBV_QP_AV, &init), 0);
  BOOST_CHECK_EQUAL(attributes.ah_attr.dlid, own_lid(b.context));
  BOOST_CHECK_EQUAL(attributes.ah_attr.sl, 5);
  BOOST_CHECK_EQUAL(attributes.ah_attr.is_global, 0);
}

BOOST_AUTO_TEST_CASE(a_datagram_tells_of_its_lid_and_level) {
  Endpoint a({.type = IBV_QPT_UD});
  Endpoint b({.type = IBV_QPT_UD});
  connect(a, b);
  ibv_wc received = send_datagram(a, b, path_to(b, 3));
  BOOST_REQUIRE_EQUAL(received.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(received.wc_flags & IBV_WC_GRH, 0u);
  BOOST_CHECK_EQUAL(received.slid, own_lid(a.context));
  BOOST_CHECK_EQUAL(received.sl, 3);
  BOOST_CHECK_EQUAL(received.byte_len, 140u);  // the 40 octets of a GRH are left free
  ibv_ah_attr answer{};
  BOOST_REQUIRE_EQUAL(ibv_init_ah_from_wc(b.context, 1, &received, nullptr, &answer), 0);
  BOOST_CHECK_EQUAL(answer.is_global, 0);
  BOOST_CHECK_EQUAL(answer.dlid, own_lid(a.context));
  BOOST_CHECK_EQUAL(answer.sl, 3);
}

BOOST_AUTO_TEST_CASE(a_datagram_with_a_grh_is_answered_with_one) {
  Endpoint a({.type = IBV_QPT_UD});
  Endpoint b({.type = IBV_QPT_UD});
  connect(a, b);
  ibv_ah_attr path = path_to(b);
  path.is_global = 1;
  path.grh.dgid = address_of(b).grh.dgid;
  ibv_wc received = send_datagram(a, b, path);
  BOOST_REQUIRE_EQUAL(received.status, IBV_WC_SUCCESS);
  BOOST_CHECK(received.wc_flags & IBV_WC_GRH);
  auto* const grh = reinterpret_cast<ibv_grh*>(b.buffer.data());
  BOOST_CHECK_EQUAL(std::memcmp(grh->dgid.raw, path.grh.dgid.raw, 16), 0);
  ibv_ah_attr answer{};
  BOOST_REQUIRE_EQUAL(ibv_init_ah_from_wc(b.context, 1, &received, grh, &answer), 0);
  BOOST_CHECK_EQUAL(answer.is_global, 1);
  BOOST_CHECK_EQUAL(answer.dlid, own_lid(a.context));
  BOOST_CHECK_EQUAL(answer.grh.sgid_index, 0);
}

BOOST_AUTO_TEST_CASE(a_path_without_a_lid_is_refused) {
  Endpoint a({.type = IBV_QPT_UD});
  const ibv_ah_attr good = path_to(a);
  const auto is_refused = [&](auto&& change) {
    ibv_ah_attr path = good;
    change(path);
    errno = 0;
    ibv_ah* const ah = ibv_create_ah(a.pd, &path);
    if (ah != nullptr) ibv_destroy_ah(ah);
    return ah == nullptr && errno == EINVAL;
  };
  BOOST_CHECK(!is_refused([](ibv_ah_attr&) {}));
  BOOST_CHECK(is_refused([](ibv_ah_attr& path) { path.dlid = 0; }));
  BOOST_CHECK(is_refused([](ibv_ah_attr& path) { path.dlid = 0xffff; }));
  BOOST_CHECK(is_refused([](ibv_ah_attr& path) { path.dlid = 0xc001; }));  // a group without a GRH
  BOOST_CHECK(is_refused([](ibv_ah_attr& path) { path.sl = 16; }));
  BOOST_CHECK(is_refused([](ibv_ah_attr& path) { path.port_num = 2; }));
  BOOST_CHECK(is_refused([](ibv_ah_attr& path) {
    path.is_global = 1;
    path.grh.dgid.raw[0] = 0xfe;
    path.grh.sgid_index = 1;  // an empty entry
  }));
}

// As mlx5 takes them; ibacm gives a whole LID.
BOOST_AUTO_TEST_CASE(path_bits_above_the_lmc_do_not_count) {
  Endpoint a({.type = IBV_QPT_UD});
  Endpoint b({.type = IBV_QPT_UD});
  connect(a, b);
  ibv_ah_attr path = path_to(b);
  path.src_path_bits = 0x55;
  const ibv_wc received = send_datagram(a, b, path);
  BOOST_REQUIRE_EQUAL(received.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(received.slid, own_lid(a.context));
}

BOOST_AUTO_TEST_CASE(a_lid_that_nobody_has_is_not_answered) {
  Endpoint a;
  ibv_ah_attr nowhere = path_to(a);
  nowhere.dlid = kNobodysLid;
  BOOST_REQUIRE_EQUAL(to_init(a), 0);
  BOOST_REQUIRE_EQUAL(to_rtr(a, 77, nowhere), 0);
  BOOST_REQUIRE_EQUAL(to_rts(a), 0);
  ibv_sge sge = a.sge(0, 100);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_RETRY_EXC_ERR);
}

BOOST_AUTO_TEST_CASE(a_group_has_a_multicast_lid) {
  Endpoint a({.type = IBV_QPT_UD});
  ibv_gid group{};
  group.raw[0] = 0xff;
  group.raw[1] = 0x12;
  for (const std::uint16_t wrong : {std::uint16_t{5}, std::uint16_t{0xbfff}, std::uint16_t{0xffff}})
    BOOST_CHECK_EQUAL(ibv_attach_mcast(a.qp, &group, wrong), EINVAL);
  BOOST_CHECK_EQUAL(ibv_attach_mcast(a.qp, &group, 0xc001), 0);
  BOOST_CHECK_EQUAL(ibv_detach_mcast(a.qp, &group, 5), EINVAL);
  BOOST_CHECK_EQUAL(ibv_detach_mcast(a.qp, &group, 0xc001), 0);
}
