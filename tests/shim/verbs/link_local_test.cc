// The second entry of the GID table: the link-local address, over links that carry whole frames.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {
constexpr int kLinkLocal = 1;
}

BOOST_AUTO_TEST_CASE(a_connection_writes_and_reads) {
  Endpoint a;
  Endpoint b;
  connect(a, b, kLinkLocal);
  std::strcpy(a.buffer.data(), "over IPv6");
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    ibv_sge sge = a.sge(opcode == IBV_WR_RDMA_WRITE ? 0 : 5000, 4000);
    ibv_send_wr request = a.request(opcode, &sge);
    request.wr.rdma = {.remote_addr = b.address(10000), .rkey = b.mr->rkey};
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
    BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  }
  BOOST_CHECK_EQUAL(std::strcmp(b.buffer.data() + 10000, "over IPv6"), 0);
  BOOST_CHECK_EQUAL(std::strcmp(a.buffer.data() + 5000, "over IPv6"), 0);
}

BOOST_AUTO_TEST_CASE(a_datagram_has_the_senders_link_local_address_in_its_grh) {
  Endpoint a({.type = IBV_QPT_UD});
  Endpoint b({.type = IBV_QPT_UD});
  connect(a, b);
  ibv_ah_attr path = address_of(b, kLinkLocal);
  ibv_ah* const ah = ibv_create_ah(a.pd, &path);
  BOOST_REQUIRE(ah != nullptr);
  BOOST_REQUIRE_EQUAL(b.post_receive(1, 0, 1024), 0);
  ibv_sge sge = a.sge(0, 100);
  ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
  request.wr.ud = {.ah = ah, .remote_qpn = b.qp->qp_num, .remote_qkey = kQkey};
  BOOST_REQUIRE_EQUAL(a.post(request), 0);
  ibv_wc received = next_completion(b.cq);
  BOOST_REQUIRE_EQUAL(received.status, IBV_WC_SUCCESS);
  auto* const grh = reinterpret_cast<ibv_grh*>(b.buffer.data());
  BOOST_CHECK_EQUAL(std::memcmp(grh->sgid.raw, path.grh.dgid.raw, 16), 0);
  BOOST_CHECK_EQUAL(std::memcmp(grh->dgid.raw, path.grh.dgid.raw, 16), 0);
  ibv_ah_attr answer{};
  BOOST_REQUIRE_EQUAL(ibv_init_ah_from_wc(b.context, 1, &received, grh, &answer), 0);
  BOOST_CHECK_EQUAL(answer.grh.sgid_index, kLinkLocal);
  BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(ah), 0);
}

BOOST_AUTO_TEST_CASE(source_and_destination_are_of_one_family) {
  Endpoint a;
  ibv_ah_attr path = address_of(a, kLinkLocal);
  path.grh.sgid_index = 0;
  BOOST_CHECK(ibv_create_ah(a.pd, &path) == nullptr);
  path.grh.sgid_index = 2;  // not used
  BOOST_CHECK(ibv_create_ah(a.pd, &path) == nullptr);
}
