// Programs that post without polling meet ENOMEM, as on hardware (apache/brpc#3132 is of one that did): what is done
// holds its slot until its completion, or that of a later signaled request, is polled.
#include <endian.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr ibv_qp_cap kSmall{
    .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};

struct Pair {
  explicit Pair(std::uint64_t operations = 0)
      : a({.capabilities = kSmall, .send_operations = operations}), b({.capabilities = kSmall}) {
    connect(a, b);
  }
  /// One request that writes `mark` to the peer. What posting it answers.
  int post(char mark, unsigned flags = IBV_SEND_SIGNALED) {
    a.buffer[0] = mark;
    ibv_sge sge = a.sge(0, 1);
    ibv_send_wr request = to_peer(&sge);
    request.send_flags = flags;
    return a.post(request);
  }
  ibv_send_wr to_peer(ibv_sge* sge) {
    ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, sge);
    request.wr.rdma.remote_addr = b.address(0);
    request.wr.rdma.rkey = b.mr->rkey;
    return request;
  }
  /// The peer sees it, whose CQ alone is polled: the flow control of a program of its own.
  bool arrives(char mark) {
    return wait_for([&] {
      ibv_wc none{};
      BOOST_REQUIRE_EQUAL(ibv_poll_cq(b.cq, 1, &none), 0);
      return *const_cast<volatile char*>(b.buffer.data()) == mark;
    });
  }
  Endpoint a;
  Endpoint b;
};

}  // namespace

BOOST_AUTO_TEST_CASE(unpolled_send_queue_is_refused_when_used_up) {
  Pair pair;
  int posted = 0;
  int answer = 0;
  for (; posted < 50; ++posted) {
    const char mark = static_cast<char>(posted + 1);
    answer = pair.post(mark);
    if (answer != 0) break;
    BOOST_REQUIRE(pair.arrives(mark));
  }
  BOOST_CHECK_EQUAL(posted, 4);
  BOOST_CHECK_EQUAL(answer, ENOMEM);
  for (int i = 0; i < 4; ++i) BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  for (int i = 0; i < 4; ++i) BOOST_CHECK_EQUAL(pair.post('x'), 0);
}

BOOST_AUTO_TEST_CASE(a_program_that_signals_nothing_is_refused_for_good) {
  Pair pair;
  for (int i = 0; i < 4; ++i) {
    const char mark = static_cast<char>(i + 1);
    BOOST_REQUIRE_EQUAL(pair.post(mark, 0), 0);
    BOOST_REQUIRE(pair.arrives(mark));
  }
  BOOST_CHECK_EQUAL(pair.post('x', 0), ENOMEM);
  ibv_wc none{};
  BOOST_CHECK_EQUAL(ibv_poll_cq(pair.a.cq, 1, &none), 0);
  BOOST_CHECK_EQUAL(pair.post('x', 0), ENOMEM);
}

BOOST_AUTO_TEST_CASE(a_list_is_posted_up_to_the_request_that_finds_no_room) {
  Pair pair;
  BOOST_REQUIRE_EQUAL(pair.post('1'), 0);
  BOOST_REQUIRE(pair.arrives('1'));
  ibv_sge sge = pair.a.sge(0, 1);
  std::vector<ibv_send_wr> list(6, pair.to_peer(&sge));
  for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i].next = &list[i + 1];
  ibv_send_wr* bad = nullptr;
  BOOST_CHECK_EQUAL(ibv_post_send(pair.a.qp, list.data(), &bad), ENOMEM);
  BOOST_CHECK(bad == &list[3]);
  std::vector<ibv_recv_wr> receives(6);
  for (std::size_t i = 0; i + 1 < receives.size(); ++i) receives[i].next = &receives[i + 1];
  ibv_recv_wr* bad_receive = nullptr;
  BOOST_CHECK_EQUAL(ibv_post_recv(pair.a.qp, receives.data(), &bad_receive), ENOMEM);
  BOOST_CHECK(bad_receive == &receives[4]);
}

BOOST_AUTO_TEST_CASE(a_batch_that_finds_no_room_posts_nothing) {
  Pair pair(IBV_QP_EX_WITH_RDMA_WRITE);
  ibv_qp_ex* const qp = ibv_qp_to_qp_ex(pair.a.qp);
  BOOST_REQUIRE(qp != nullptr);
  const auto batch = [&](int requests) {
    ibv_wr_start(qp);
    qp->wr_flags = IBV_SEND_SIGNALED;
    for (int i = 0; i < requests; ++i) {
      ibv_wr_rdma_write(qp, pair.b.mr->rkey, pair.b.address(0));
      ibv_wr_set_sge(qp, pair.a.mr->lkey, pair.a.address(0), 1);
    }
    return ibv_wr_complete(qp);
  };
  BOOST_REQUIRE_EQUAL(batch(2), 0);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  BOOST_REQUIRE_EQUAL(batch(2), 0);
  BOOST_CHECK_EQUAL(batch(3), ENOMEM);
  BOOST_CHECK_EQUAL(batch(2), 0);
  for (int i = 0; i < 4; ++i) BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  ibv_wc none{};
  BOOST_CHECK_EQUAL(ibv_poll_cq(pair.a.cq, 1, &none), 0);
}

BOOST_AUTO_TEST_CASE(extended_cq_frees_a_slot_with_each_completion_shown) {
  Pair pair;
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = 16;
  wanted.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* const cq = ibv_create_cq_ex(pair.a.context, &wanted);
  BOOST_REQUIRE(cq != nullptr);
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(pair.a.qp), 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq);
  init.cap = kSmall;
  init.qp_type = IBV_QPT_RC;
  pair.a.qp = ibv_create_qp(pair.a.pd, &init);
  BOOST_REQUIRE(pair.a.qp != nullptr);
  Endpoint peer({.capabilities = kSmall});
  connect(pair.a, peer);
  ibv_qp_attr failed{};
  failed.qp_state = IBV_QPS_ERR;
  BOOST_REQUIRE_EQUAL(ibv_modify_qp(pair.a.qp, &failed, IBV_QP_STATE), 0);
  for (int i = 0; i < 4; ++i) BOOST_REQUIRE_EQUAL(pair.a.post_receive(1, 0, 8), 0);
  BOOST_CHECK_EQUAL(pair.a.post_receive(1, 0, 8), ENOMEM);
  ibv_poll_cq_attr attributes{};
  BOOST_REQUIRE_EQUAL(ibv_start_poll(cq, &attributes), 0);
  BOOST_CHECK_EQUAL(cq->status, IBV_WC_WR_FLUSH_ERR);
  BOOST_CHECK_EQUAL(pair.a.post_receive(1, 0, 8), 0);
  BOOST_CHECK_EQUAL(pair.a.post_receive(1, 0, 8), ENOMEM);
  BOOST_REQUIRE_EQUAL(ibv_next_poll(cq), 0);
  BOOST_CHECK_EQUAL(pair.a.post_receive(1, 0, 8), 0);
  BOOST_CHECK_EQUAL(pair.a.post_receive(1, 0, 8), ENOMEM);
  ibv_end_poll(cq);
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(pair.a.qp), 0);
  pair.a.qp = nullptr;
  BOOST_CHECK_EQUAL(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

BOOST_AUTO_TEST_CASE(a_shared_receive_queue_is_full_until_completions_are_polled) {
  Endpoint a({.capabilities = kSmall}), b({.with_srq = true, .capabilities = kSmall});
  connect(a, b);
  const auto taken = [&] {
    int count = 0;
    while (b.post_receive(1, 0, 8) == 0) BOOST_REQUIRE(++count < 10'000);
    return count;
  };
  BOOST_CHECK_GT(taken(), 0);
  ibv_sge sge = a.sge(0, 8);
  for (int i = 0; i < 3; ++i) {
    ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
    BOOST_CHECK_EQUAL(next_completion(a.cq).status, IBV_WC_SUCCESS);
  }
  BOOST_CHECK_EQUAL(taken(), 0);
  BOOST_CHECK_EQUAL(next_completion(b.cq).status, IBV_WC_SUCCESS);
  BOOST_CHECK_EQUAL(taken(), 1);
}
