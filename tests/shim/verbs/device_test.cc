// The device as programs see it: list, names, limits, port, addresses, opening and closing.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

BOOST_AUTO_TEST_CASE(the_list_holds_one_ethernet_device_of_the_node) {
  int number = 0;
  ibv_device** const list = ibv_get_device_list(&number);
  BOOST_REQUIRE(list != nullptr);
  BOOST_CHECK_EQUAL(number, 1);
  BOOST_CHECK_EQUAL(ibv_get_device_name(list[0]), "verbena0");
  BOOST_CHECK_EQUAL(list[0]->node_type, IBV_NODE_CA);
  BOOST_CHECK_EQUAL(ibv_get_device_index(list[0]), 0);
  const __be64 guid = ibv_get_device_guid(list[0]);
  const unsigned char expected[8] = {0x00, 0x56, 0x7f, 0xff, 0xfe, 0x2f, 0x5b, 0x01};
  BOOST_CHECK_EQUAL(std::memcmp(&guid, expected, sizeof guid), 0);
  BOOST_CHECK(list[1] == nullptr);
  ibv_free_device_list(list);
}

BOOST_AUTO_TEST_CASE(contexts_are_independent_and_close_once) {
  OpenDevice first;
  {
    OpenDevice second;
    BOOST_CHECK(first.context != second.context);
    ibv_context* const closed = second.context;
    second.context = nullptr;
    BOOST_CHECK_EQUAL(ibv_close_device(closed), 0);
    BOOST_CHECK_EQUAL(ibv_close_device(closed), EINVAL);
  }
  ibv_device_attr attributes{};
  BOOST_CHECK_EQUAL(ibv_query_device(first.context, &attributes), 0);
}

BOOST_AUTO_TEST_CASE(what_is_announced_can_be_created) {
  OpenDevice device;
  ibv_device_attr attributes{};
  BOOST_REQUIRE_EQUAL(ibv_query_device(device.context, &attributes), 0);
  BOOST_CHECK_GT(attributes.max_qp, 0);
  BOOST_CHECK_EQUAL(attributes.phys_port_cnt, 1);
  BOOST_CHECK_EQUAL(attributes.node_guid, ibv_get_device_guid(device.context->device));
  ibv_cq* const cq = ibv_create_cq(device.context, attributes.max_cqe, nullptr, nullptr, 0);
  BOOST_REQUIRE(cq != nullptr);
  BOOST_CHECK_GE(cq->cqe, attributes.max_cqe);
  BOOST_CHECK(ibv_create_cq(device.context, attributes.max_cqe + 1, nullptr, nullptr, 0) == nullptr);
  BOOST_CHECK_EQUAL(errno, EINVAL);
  BOOST_CHECK_EQUAL(ibv_destroy_cq(cq), 0);
}

BOOST_AUTO_TEST_CASE(query_device_ex_writes_no_more_than_the_caller_has) {
  OpenDevice device;
  struct {
    ibv_device_attr_ex attributes;
    unsigned char beyond[16];
  } room;
  std::memset(&room, 0xaa, sizeof room);
  verbs_context* const context = verbs_get_ctx(device.context);
  BOOST_REQUIRE(context != nullptr);
  const std::size_t size = offsetof(ibv_device_attr_ex, tso_caps);
  BOOST_REQUIRE_EQUAL(context->query_device_ex(device.context, nullptr, &room.attributes, size), 0);
  BOOST_CHECK_EQUAL(room.attributes.completion_timestamp_mask, UINT64_MAX);
  unsigned char after = 0;
  std::memcpy(&after, reinterpret_cast<unsigned char*>(&room.attributes) + size, 1);
  BOOST_CHECK_EQUAL(after, 0xaa);
  BOOST_CHECK_EQUAL(context->query_device_ex(device.context, nullptr, &room.attributes, 8), EINVAL);
}

BOOST_AUTO_TEST_CASE(the_compatible_query_port_writes_48_octets) {
  OpenDevice device;
  unsigned char room[64];
  std::memset(room, 0xaa, sizeof room);
  auto* const compatible = reinterpret_cast<_compat_ibv_port_attr*>(room);
  BOOST_REQUIRE_EQUAL((ibv_query_port)(device.context, 1, compatible), 0);
  BOOST_CHECK_EQUAL(room[48], 0xaa);
  ibv_port_attr full{};
  BOOST_REQUIRE_EQUAL(ibv_query_port(device.context, 1, &full), 0);
  BOOST_CHECK_EQUAL(std::memcmp(room, &full, 48), 0);
  BOOST_CHECK_EQUAL(full.state, IBV_PORT_ACTIVE);
  BOOST_CHECK_EQUAL(full.active_mtu, IBV_MTU_4096);
  BOOST_CHECK_EQUAL(static_cast<int>(full.link_layer), static_cast<int>(IBV_LINK_LAYER_ETHERNET));
  BOOST_CHECK_EQUAL(full.lid, 0);  // Ethernet has none
  BOOST_CHECK_EQUAL(full.flags, IBV_QPF_GRH_REQUIRED);
  BOOST_CHECK_EQUAL(ibv_query_port(device.context, 2, &full), EINVAL);
}

BOOST_AUTO_TEST_CASE(the_gid_is_the_nodes_address) {
  OpenDevice device;
  const unsigned char expected[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 47, 91, 1};
  ibv_gid gid{};
  BOOST_REQUIRE_EQUAL(ibv_query_gid(device.context, 1, 0, &gid), 0);
  BOOST_CHECK_EQUAL(std::memcmp(gid.raw, expected, sizeof expected), 0);
  BOOST_CHECK_EQUAL(ibv_query_gid(device.context, 1, 200, &gid), -1);
  ibv_gid_entry entries[4] = {};
  BOOST_CHECK_EQUAL(ibv_query_gid_table(device.context, entries, 4, 0), 2);
  BOOST_CHECK_EQUAL(entries[0].gid_type, IBV_GID_TYPE_ROCE_V2);
  BOOST_CHECK_EQUAL(std::memcmp(entries[0].gid.raw, expected, sizeof expected), 0);
  BOOST_CHECK_EQUAL(ibv_query_gid_table(device.context, entries, 0, 0), -EINVAL);
  BOOST_CHECK_EQUAL(ibv_query_gid_ex(device.context, 1, 0, &entries[1], 1), EINVAL);
  // The second entry is the link-local address of its MAC.
  const unsigned char link_local[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x56, 127, 0xff, 0xfe, 47, 91, 1};
  BOOST_CHECK_EQUAL(entries[1].gid_index, 1u);
  BOOST_CHECK_EQUAL(std::memcmp(entries[1].gid.raw, link_local, sizeof link_local), 0);
  // The table is as long as what exists on this link; behind it is nothing.
  ibv_port_attr port{};
  BOOST_CHECK_EQUAL(ibv_query_port(device.context, 1, &port), 0);
  BOOST_CHECK_EQUAL(port.gid_tbl_len, 2);
  for (const unsigned index : {2u, 3u, 4u}) {
    BOOST_CHECK_EQUAL(ibv_query_gid_ex(device.context, 1, index, &entries[1], 0), EINVAL);
    BOOST_CHECK_EQUAL(ibv_query_gid(device.context, 1, static_cast<int>(index), &gid), -1);
    BOOST_CHECK_EQUAL(errno, EINVAL);
  }
}

BOOST_AUTO_TEST_CASE(the_one_pkey_is_the_default_one) {
  OpenDevice device;
  __be16 pkey = 0;
  BOOST_REQUIRE_EQUAL(ibv_query_pkey(device.context, 1, 0, &pkey), 0);
  BOOST_CHECK_EQUAL(pkey, 0xffff);
  BOOST_CHECK_EQUAL(ibv_get_pkey_index(device.context, 1, pkey), 0);
  BOOST_CHECK_EQUAL(ibv_get_pkey_index(device.context, 1, 0x1234), -1);
  BOOST_CHECK_EQUAL(ibv_query_pkey(device.context, 1, 1, &pkey), -1);
}

BOOST_AUTO_TEST_CASE(numbers_have_the_known_words) {
  BOOST_CHECK_EQUAL(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded");
  BOOST_CHECK_EQUAL(ibv_wc_status_str(out_of_range<ibv_wc_status>(99)), "unknown");
  BOOST_CHECK_EQUAL(ibv_event_type_str(IBV_EVENT_SRQ_LIMIT_REACHED), "SRQ limit reached");
  BOOST_CHECK_EQUAL(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
  BOOST_CHECK_EQUAL(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown");
  BOOST_CHECK_EQUAL(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
  BOOST_CHECK_EQUAL(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1);
  BOOST_CHECK_EQUAL(mult_to_ibv_rate(4), IBV_RATE_10_GBPS);
  BOOST_CHECK_EQUAL(mult_to_ibv_rate(-1), IBV_RATE_MAX);
}
