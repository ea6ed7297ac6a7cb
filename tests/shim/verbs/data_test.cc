// Work through the C ABI between two contexts of one process: every operation, lists, limits, errors.
#include <endian.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

struct Pair {
  explicit Pair(EndpointOptions options = {}) : a(options), b(options) { connect(a, b); }
  Endpoint a;
  Endpoint b;
};

void fill(Endpoint& endpoint, std::size_t offset, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) endpoint.buffer[offset + i] = static_cast<char>(i * 7 + 1);
}

bool holds_fill(const Endpoint& endpoint, std::size_t offset, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i)
    if (endpoint.buffer[offset + i] != static_cast<char>(i * 7 + 1)) return false;
  return true;
}

/// A datagram, and the answer to the address that it brought.
void exchange_datagrams(int gid_index) {
  Pair pair({.type = IBV_QPT_UD});
  fill(pair.a, 0, 300);
  ibv_ah_attr address = address_of(pair.b, gid_index);
  ibv_ah* const to_b = ibv_create_ah(pair.a.pd, &address);
  BOOST_REQUIRE(to_b != nullptr);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 0, 1024), 0);
  ibv_sge sge = pair.a.sge(0, 300);
  ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
  request.wr.ud = {.ah = to_b, .remote_qpn = pair.b.qp->qp_num, .remote_qkey = kQkey};
  BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  ibv_wc received = next_completion(pair.b.cq);
  BOOST_CHECK_EQUAL(received.status, IBV_WC_SUCCESS);
  BOOST_CHECK((received.wc_flags & IBV_WC_GRH) != 0);
  BOOST_CHECK_EQUAL(received.byte_len, 340u);
  BOOST_CHECK_EQUAL(received.src_qp, pair.a.qp->qp_num);
  BOOST_CHECK(holds_fill(pair.b, 40, 300));

  auto* const grh = reinterpret_cast<ibv_grh*>(pair.b.buffer.data());
  ibv_ah_attr answer{};
  BOOST_REQUIRE_EQUAL(ibv_init_ah_from_wc(pair.b.context, 1, &received, grh, &answer), 0);
  BOOST_CHECK_EQUAL(std::memcmp(answer.grh.dgid.raw, address.grh.dgid.raw, 16), 0);
  ibv_ah* const to_a = ibv_create_ah_from_wc(pair.b.pd, &received, grh, 1);
  BOOST_REQUIRE(to_a != nullptr);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  BOOST_REQUIRE_EQUAL(pair.a.post_receive(2, 2048, 1024), 0);
  ibv_sge back = pair.b.sge(40, 300);
  ibv_send_wr reply = pair.b.request(IBV_WR_SEND, &back);
  reply.wr.ud = {.ah = to_a, .remote_qpn = received.src_qp, .remote_qkey = kQkey};
  BOOST_REQUIRE_EQUAL(pair.b.post(reply), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).wr_id, 2u);
  BOOST_CHECK(holds_fill(pair.a, 2088, 300));
  reply.wr.ud.ah = nullptr;
  BOOST_CHECK_EQUAL(pair.b.post(reply), EINVAL);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(to_a), 0);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(to_b), 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_send_with_immediate_fills_the_receive) {
  Pair pair;
  fill(pair.a, 0, 5000);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(42, 8192, 6000), 0);
  ibv_sge sge = pair.a.sge(0, 5000);
  ibv_send_wr request = pair.a.request(IBV_WR_SEND_WITH_IMM, &sge);
  request.imm_data = htobe32(0x01020304);
  BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  const ibv_wc received = next_completion(pair.b.cq);
  BOOST_CHECK_EQUAL(received.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(received.opcode, IBV_WC_RECV);
  BOOST_CHECK_EQUAL(received.wr_id, 42u);
  BOOST_CHECK_EQUAL(received.byte_len, 5000u);
  BOOST_CHECK_EQUAL(received.qp_num, pair.b.qp->qp_num);
  BOOST_CHECK((received.wc_flags & IBV_WC_WITH_IMM) != 0);
  BOOST_CHECK_EQUAL(received.imm_data, htobe32(0x01020304));
  BOOST_CHECK(holds_fill(pair.b, 8192, 5000));
  const ibv_wc sent = next_completion(pair.a.cq);
  BOOST_CHECK_EQUAL(sent.status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(sent.opcode, IBV_WC_SEND);
  BOOST_CHECK_EQUAL(sent.wr_id, 7u);
}

BOOST_AUTO_TEST_CASE(write_and_read_move_memory_that_the_target_does_not_touch) {
  Pair pair;
  fill(pair.a, 0, 10000);
  ibv_sge sge = pair.a.sge(0, 10000);
  ibv_send_wr write = pair.a.request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.remote_addr = pair.b.address(20000);
  write.wr.rdma.rkey = pair.b.mr->rkey;
  BOOST_REQUIRE_EQUAL(pair.a.post(write), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).opcode, IBV_WC_RDMA_WRITE);
  BOOST_CHECK(holds_fill(pair.b, 20000, 10000));
  ibv_sge into = pair.a.sge(40000, 10000);
  ibv_send_wr read = pair.a.request(IBV_WR_RDMA_READ, &into);
  read.wr.rdma.remote_addr = pair.b.address(20000);
  read.wr.rdma.rkey = pair.b.mr->rkey;
  BOOST_REQUIRE_EQUAL(pair.a.post(read), 0);
  const ibv_wc completion = next_completion(pair.a.cq);
  BOOST_CHECK_EQUAL(completion.opcode, IBV_WC_RDMA_READ);
  BOOST_CHECK_EQUAL(completion.byte_len, 10000u);
  BOOST_CHECK(holds_fill(pair.a, 40000, 10000));
}

BOOST_AUTO_TEST_CASE(atomics_return_what_was_there) {
  Pair pair;
  std::uint64_t value = 40;
  std::memcpy(pair.b.buffer.data() + 64, &value, sizeof value);
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr add = pair.a.request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
  add.wr.atomic = {.remote_addr = pair.b.address(64), .compare_add = 2, .swap = 0, .rkey = pair.b.mr->rkey};
  BOOST_REQUIRE_EQUAL(pair.a.post(add), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).opcode, IBV_WC_FETCH_ADD);
  std::memcpy(&value, pair.a.buffer.data(), sizeof value);
  BOOST_CHECK_EQUAL(value, 40u);
  ibv_send_wr swap = pair.a.request(IBV_WR_ATOMIC_CMP_AND_SWP, &sge);
  swap.wr.atomic = {.remote_addr = pair.b.address(64), .compare_add = 42, .swap = 1000, .rkey = pair.b.mr->rkey};
  BOOST_REQUIRE_EQUAL(pair.a.post(swap), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).opcode, IBV_WC_COMP_SWAP);
  std::memcpy(&value, pair.a.buffer.data(), sizeof value);
  BOOST_CHECK_EQUAL(value, 42u);
  std::memcpy(&value, pair.b.buffer.data() + 64, sizeof value);
  BOOST_CHECK_EQUAL(value, 1000u);
}

BOOST_AUTO_TEST_CASE(inline_data_may_be_reused_at_once_and_needs_no_key) {
  Pair pair;
  char text[32] = "inline";
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 0, 64), 0);
  ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(text), .length = sizeof text, .lkey = 0xdead};
  ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
  request.send_flags |= IBV_SEND_INLINE;
  BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  std::memset(text, 0, sizeof text);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(pair.b.buffer.data(), "inline");
}

BOOST_AUTO_TEST_CASE(a_list_stops_at_the_first_request_that_fails) {
  Pair pair;
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr list[3] = {pair.a.request(IBV_WR_SEND, &sge), pair.a.request(out_of_range<ibv_wr_opcode>(77), &sge),
                         pair.a.request(IBV_WR_SEND, &sge)};
  list[0].next = &list[1];
  list[1].next = &list[2];
  ibv_send_wr* bad = nullptr;
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 0, 64), 0);
  BOOST_CHECK_EQUAL(ibv_post_send(pair.a.qp, list, &bad), EINVAL);
  BOOST_CHECK(bad == &list[1]);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).byte_len, 8u);
  list[0].next = nullptr;
  list[0].num_sge = 1000;
  BOOST_CHECK_EQUAL(ibv_post_send(pair.a.qp, list, &bad), EINVAL);
  BOOST_CHECK(bad == &list[0]);
  list[0].num_sge = -1;
  BOOST_CHECK_EQUAL(ibv_post_send(pair.a.qp, list, &bad), EINVAL);
}

BOOST_AUTO_TEST_CASE(a_full_queue_has_no_memory_for_more) {
  Endpoint endpoint;
  BOOST_REQUIRE_EQUAL(to_init(endpoint), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(endpoint.qp, &attributes, IBV_QP_CAP, &init), 0);
  for (std::uint32_t i = 0; i < init.cap.max_recv_wr; ++i) BOOST_REQUIRE_EQUAL(endpoint.post_receive(i, 0, 8), 0);
  BOOST_CHECK_EQUAL(endpoint.post_receive(99, 0, 8), ENOMEM);
}

BOOST_AUTO_TEST_CASE(more_completions_than_one_batch_arrive_in_one_poll) {
  constexpr int kMany = 80;
  Pair pair(
      {.cq_entries = 256,
       .capabilities = {
           .max_send_wr = kMany, .max_recv_wr = kMany, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0}});
  for (int i = 0; i < kMany; ++i) BOOST_REQUIRE_EQUAL(pair.b.post_receive(static_cast<std::uint64_t>(i), 0, 8), 0);
  ibv_sge sge = pair.a.sge(0, 8);
  for (int i = 0; i < kMany; ++i) {
    ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
    request.send_flags = 0;
    BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  }
  std::vector<ibv_wc> completions(kMany + 1);
  int got = 0;
  BOOST_REQUIRE(wait_for([&] {
    got += ibv_poll_cq(pair.b.cq, kMany + 1 - got, completions.data() + got);
    return got >= kMany;
  }));
  BOOST_CHECK_EQUAL(got, kMany);
  for (int i = 0; i < kMany; ++i)
    BOOST_CHECK_EQUAL(completions[static_cast<std::size_t>(i)].wr_id, static_cast<std::uint64_t>(i));
}

BOOST_AUTO_TEST_CASE(a_wrong_key_ends_as_remote_access_error_and_flushes_the_rest) {
  Pair pair;
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr write = pair.a.request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.remote_addr = pair.b.address(0);
  write.wr.rdma.rkey = pair.b.mr->rkey ^ 0x5a5a;
  BOOST_REQUIRE_EQUAL(pair.a.post(write), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
  BOOST_CHECK_EQUAL(pair.a.post_receive(5, 0, 8), 0);
  const ibv_wc flushed = next_completion(pair.a.cq);
  BOOST_CHECK_EQUAL(flushed.status, IBV_WC_WR_FLUSH_ERR);
  BOOST_CHECK_EQUAL(flushed.wr_id, 5u);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_STATE, &init), 0);
  BOOST_CHECK_EQUAL(attributes.qp_state, IBV_QPS_ERR);
  BOOST_CHECK_EQUAL(pair.a.qp->state, IBV_QPS_ERR);
}

BOOST_AUTO_TEST_CASE(a_datagram_brings_the_address_to_answer) {
  exchange_datagrams(0);
}

BOOST_AUTO_TEST_CASE(a_shared_receive_queue_serves_its_qp_and_tells_its_size) {
  Pair pair({.with_srq = true});
  ibv_srq_attr attributes{};
  BOOST_REQUIRE_EQUAL(ibv_query_srq(pair.b.srq, &attributes), 0);
  BOOST_CHECK_GE(attributes.max_wr, 16u);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(9, 0, 64), 0);
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).wr_id, 9u);
}

BOOST_AUTO_TEST_CASE(an_unreliable_connection_carries_a_send) {
  Pair pair({.type = IBV_QPT_UC});
  fill(pair.a, 0, 3000);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(3, 0, 4096), 0);
  ibv_sge sge = pair.a.sge(0, 3000);
  ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
  BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).byte_len, 3000u);
  BOOST_CHECK(holds_fill(pair.b, 0, 3000));
}
