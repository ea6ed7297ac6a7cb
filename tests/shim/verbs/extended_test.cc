// The extended interfaces: reading completions by field, building requests by call.
#include <endian.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr std::uint64_t kOperations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE |
                                      IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

struct Pair {
  explicit Pair(ibv_qp_type type = IBV_QPT_RC, std::uint64_t operations = kOperations)
      : a({.type = type, .send_operations = operations}), b({.type = type}) {
    connect(a, b);
    qp = ibv_qp_to_qp_ex(a.qp);
    BOOST_REQUIRE(qp != nullptr);
  }
  Endpoint a;
  Endpoint b;
  ibv_qp_ex* qp = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_CASE(only_a_qp_created_with_operations_is_extended) {
  Endpoint plain;
  BOOST_CHECK(ibv_qp_to_qp_ex(plain.qp) == nullptr);
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = attributes.recv_cq = plain.cq;
  attributes.qp_type = IBV_QPT_UD;
  attributes.pd = plain.pd;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;  // not of a UD QP
  BOOST_CHECK(ibv_create_qp_ex(plain.context, &attributes) == nullptr);
  BOOST_CHECK_EQUAL(errno, EOPNOTSUPP);
}

BOOST_AUTO_TEST_CASE(a_batch_is_posted_together) {
  Pair pair;
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 1024, 64), 0);
  std::strcpy(pair.a.buffer.data(), "written");
  std::uint64_t value = 5;
  std::memcpy(pair.b.buffer.data() + 256, &value, sizeof value);
  ibv_wr_start(pair.qp);
  pair.qp->wr_id = 10;
  pair.qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_write(pair.qp, pair.b.mr->rkey, pair.b.address(0));
  ibv_wr_set_sge(pair.qp, pair.a.mr->lkey, pair.a.address(0), 8);
  pair.qp->wr_id = 11;
  ibv_wr_atomic_fetch_add(pair.qp, pair.b.mr->rkey, pair.b.address(256), 3);
  ibv_wr_set_sge(pair.qp, pair.a.mr->lkey, pair.a.address(512), 8);
  pair.qp->wr_id = 12;
  char text[16] = "inline text";
  ibv_wr_send_imm(pair.qp, htobe32(77));
  ibv_wr_set_inline_data(pair.qp, text, sizeof text);
  std::memset(text, 0, sizeof text);  // taken when it was set
  BOOST_REQUIRE_EQUAL(ibv_wr_complete(pair.qp), 0);
  for (std::uint64_t wr_id = 10; wr_id <= 12; ++wr_id) {
    const ibv_wc completion = next_completion(pair.a.cq);
    BOOST_CHECK_EQUAL(completion.status, IBV_WC_SUCCESS);
    BOOST_CHECK_EQUAL(completion.wr_id, wr_id);
  }
  BOOST_CHECK_EQUAL(pair.b.buffer.data(), "written");
  BOOST_CHECK_EQUAL(pair.b.buffer.data() + 1024, "inline text");
  std::memcpy(&value, pair.b.buffer.data() + 256, sizeof value);
  BOOST_CHECK_EQUAL(value, 8u);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).imm_data, htobe32(77));
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_aborted_or_refused_posts_nothing) {
  Pair pair;
  pair.qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(pair.qp);
  ibv_wr_send(pair.qp);
  ibv_wr_abort(pair.qp);
  ibv_wr_start(pair.qp);
  ibv_wr_send(pair.qp);
  ibv_wr_atomic_cmp_swp(pair.qp, pair.b.mr->rkey, pair.b.address(0), 1, 2);  // not among the operations asked for
  BOOST_CHECK_EQUAL(ibv_wr_complete(pair.qp), EOPNOTSUPP);
  ibv_wr_start(pair.qp);
  ibv_wr_set_sge(pair.qp, pair.a.mr->lkey, pair.a.address(0), 8);  // of no request
  BOOST_CHECK_EQUAL(ibv_wr_complete(pair.qp), EINVAL);
  ibv_wr_start(pair.qp);
  ibv_wr_send(pair.qp);
  std::vector<char> large(1 << 20);
  ibv_wr_set_inline_data(pair.qp, large.data(), large.size());
  BOOST_CHECK_EQUAL(ibv_wr_complete(pair.qp), EINVAL);
  ibv_wc completion{};
  BOOST_CHECK_EQUAL(ibv_poll_cq(pair.a.cq, 1, &completion), 0);
  BOOST_CHECK_EQUAL(ibv_poll_cq(pair.b.cq, 1, &completion), 0);
}

BOOST_AUTO_TEST_CASE(a_batch_beyond_the_queue_is_refused_whole) {
  Pair pair;
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(pair.a.qp, &attributes, IBV_QP_CAP, &init), 0);
  ibv_wr_start(pair.qp);
  for (std::uint32_t i = 0; i <= init.cap.max_send_wr; ++i) ibv_wr_send(pair.qp);
  BOOST_CHECK_EQUAL(ibv_wr_complete(pair.qp), ENOMEM);
  ibv_wc completion{};
  BOOST_CHECK_EQUAL(ibv_poll_cq(pair.b.cq, 1, &completion), 0);
}

BOOST_AUTO_TEST_CASE(a_datagram_is_addressed_by_call) {
  Pair pair(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
  ibv_ah_attr address = address_of(pair.b);
  ibv_ah* const ah = ibv_create_ah(pair.a.pd, &address);
  BOOST_REQUIRE(ah != nullptr);
  BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 0, 256), 0);
  ibv_wr_start(pair.qp);
  pair.qp->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(pair.qp);
  ibv_wr_set_ud_addr(pair.qp, ah, pair.b.qp->qp_num, kQkey);
  const ibv_sge sges[2] = {pair.a.sge(0, 10), pair.a.sge(100, 20)};
  ibv_wr_set_sge_list(pair.qp, 2, sges);
  BOOST_REQUIRE_EQUAL(ibv_wr_complete(pair.qp), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.b.cq).byte_len, 70u);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(ibv_destroy_ah(ah), 0);
}

BOOST_AUTO_TEST_CASE(completions_are_read_field_by_field) {
  Endpoint a;
  Endpoint b;
  ibv_cq_init_attr_ex cq_attributes{};
  cq_attributes.cqe = 16;
  cq_attributes.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                           IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* const cq = ibv_create_cq_ex(b.context, &cq_attributes);
  BOOST_REQUIRE(cq != nullptr);
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(b.qp), 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
  init.cap = b.options.capabilities;
  init.qp_type = IBV_QPT_RC;
  b.qp = ibv_create_qp(b.pd, &init);
  BOOST_REQUIRE(b.qp != nullptr);
  connect(a, b);
  ibv_poll_cq_attr poll_attributes{};
  BOOST_CHECK_EQUAL(ibv_start_poll(cq, &poll_attributes), ENOENT);
  ibv_sge sge = a.sge(0, 24);
  for (std::uint32_t i = 0; i < 2; ++i) {
    BOOST_REQUIRE_EQUAL(b.post_receive(i, 0, 64), 0);
    ibv_send_wr request = a.request(IBV_WR_SEND_WITH_IMM, &sge);
    request.imm_data = htobe32(i);
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
    next_completion(a.cq);  // acknowledged, so the completion of the other side is there
  }
  BOOST_REQUIRE_EQUAL(ibv_start_poll(cq, &poll_attributes), 0);
  BOOST_CHECK_EQUAL(cq->wr_id, 0u);
  BOOST_CHECK_EQUAL(cq->status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(ibv_wc_read_opcode(cq), IBV_WC_RECV);
  BOOST_CHECK_EQUAL(ibv_wc_read_byte_len(cq), 24u);
  BOOST_CHECK_EQUAL(ibv_wc_read_qp_num(cq), b.qp->qp_num);
  BOOST_CHECK((ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM) != 0);
  const std::uint64_t first_ns = ibv_wc_read_completion_ts(cq);
  BOOST_REQUIRE_EQUAL(ibv_next_poll(cq), 0);
  BOOST_CHECK_EQUAL(ibv_wc_read_imm_data(cq), htobe32(1));
  BOOST_CHECK_GE(ibv_wc_read_completion_ts(cq), first_ns);
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  const std::uint64_t now_ns =
      static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(wall.tv_nsec);
  BOOST_CHECK_LT(now_ns - ibv_wc_read_completion_wallclock_ns(cq), 10'000'000'000u);
  BOOST_CHECK_EQUAL(ibv_next_poll(cq), ENOENT);
  ibv_end_poll(cq);
  ibv_values_ex values{.comp_mask = IBV_VALUES_MASK_RAW_CLOCK, .raw_clock = {}};
  BOOST_REQUIRE_EQUAL(ibv_query_rt_values_ex(b.context, &values), 0);
  const std::uint64_t clock_ns = static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1'000'000'000 +
                                 static_cast<std::uint64_t>(values.raw_clock.tv_nsec);
  BOOST_CHECK_GE(clock_ns, first_ns);
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(b.qp), 0);
  b.qp = nullptr;
  BOOST_CHECK_EQUAL(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}
