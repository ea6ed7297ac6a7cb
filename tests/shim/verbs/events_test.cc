// Events: descriptors that can be polled, read once each, and acknowledged before their object goes.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/shim/verbs_fixture.h"
#include "tests/support/cancelled_threads.h"

using namespace verbs_test;

namespace {

bool is_readable(int descriptor, int timeout_ms = 0) {
  pollfd wait{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&wait, 1, timeout_ms) == 1 && (wait.revents & POLLIN) != 0;
}

void set_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  BOOST_REQUIRE_EQUAL(fcntl(descriptor, F_SETFL, flags | O_NONBLOCK), 0);
}

/// The next event of a context, acknowledged; the test fails when none comes.
ibv_async_event next_event(const Endpoint& end) {
  ibv_async_event event{};
  event.event_type = IBV_EVENT_DEVICE_FATAL;
  BOOST_REQUIRE(wait_for([&] {
    ibv_wc completion{};  // whoever polls runs the NIC
    static_cast<void>(ibv_poll_cq(end.cq, 0, &completion));
    return is_readable(end.context->async_fd, 10);
  }));
  BOOST_REQUIRE_EQUAL(ibv_get_async_event(end.context, &event), 0);
  ibv_ack_async_event(&event);
  return event;
}

void to_state(ibv_qp* qp, ibv_qp_state state, bool tells_when_drained = false) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.en_sqd_async_notify = 1;
  BOOST_REQUIRE_EQUAL(
      ibv_modify_qp(qp, &attributes, IBV_QP_STATE | (tells_when_drained ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0)), 0);
}

struct Pair {
  Pair() : a({.with_channel = true}), b({.with_channel = true}) { connect(a, b); }
  /// One send from a to b, with an event on b when it was armed.
  void send() {
    BOOST_REQUIRE_EQUAL(b.post_receive(1, 0, 64), 0);
    ibv_sge sge = a.sge(0, 8);
    ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
    request.send_flags = 0;
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
  }
  Endpoint a;
  Endpoint b;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_armed_queue_gives_one_event_for_one_arming) {
  Pair pair;
  set_nonblocking(pair.b.channel->fd);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  BOOST_CHECK_EQUAL(ibv_get_cq_event(pair.b.channel, &cq, &context), -1);
  BOOST_CHECK_EQUAL(errno, EAGAIN);
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
  BOOST_CHECK(!is_readable(pair.b.channel->fd));
  pair.send();
  pair.send();
  BOOST_REQUIRE(is_readable(pair.b.channel->fd, 10000));
  BOOST_REQUIRE_EQUAL(ibv_get_cq_event(pair.b.channel, &cq, &context), 0);
  BOOST_CHECK(cq == pair.b.cq && context == &pair.b);
  BOOST_CHECK(!is_readable(pair.b.channel->fd));
  BOOST_CHECK_EQUAL(ibv_get_cq_event(pair.b.channel, &cq, &context), -1);
  ibv_ack_cq_events(pair.b.cq, 1);
  next_completion(pair.b.cq);
  next_completion(pair.b.cq);
}

BOOST_AUTO_TEST_CASE(a_blocking_wait_ends_with_the_event) {
  Pair pair;
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
  std::atomic<bool> woken = false;
  std::thread waiter([&] {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(pair.b.channel, &cq, &context) == 0) {
      ibv_ack_cq_events(cq, 1);
      woken = true;
    }
  });
  pair.send();
  waiter.join();
  BOOST_CHECK(woken.load());
}

namespace {

/// rping's thread: takes an event, arms anew, polls; for ever.
void* handle_events(void* argument) {
  Endpoint& end = *static_cast<Endpoint*>(argument);
  for (;;) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(end.channel, &cq, &context) != 0) return nullptr;
    ibv_ack_cq_events(cq, 1);
    if (ibv_req_notify_cq(cq, 0) != 0) return nullptr;
    ibv_wc completion{};
    while (ibv_poll_cq(cq, 1, &completion) > 0) continue;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_thread_that_handles_events_may_be_cancelled_at_any_moment) {
  Pair pair;
  const auto send = [&] {
    BOOST_REQUIRE_EQUAL(pair.b.post_receive(1, 0, 64), 0);
    ibv_sge sge = pair.a.sge(0, 8);
    ibv_send_wr request = pair.a.request(IBV_WR_SEND, &sge);
    BOOST_REQUIRE_EQUAL(pair.a.post(request), 0);
    BOOST_REQUIRE_EQUAL(next_completion(pair.a.cq).status, IBV_WC_SUCCESS);
  };
  for (int i = 0; i < 200; ++i) {
    BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
    pthread_t handler{};
    BOOST_REQUIRE_EQUAL(pthread_create(&handler, nullptr, handle_events, &pair.b), 0);
    for (int sends = 0; sends < i % 8; ++sends) send();
    BOOST_REQUIRE_EQUAL(pthread_cancel(handler), 0);
    void* result = nullptr;
    BOOST_REQUIRE_EQUAL(pthread_join(handler, &result), 0);
    BOOST_TEST(result == PTHREAD_CANCELED);
    // All that was sent arrives, and the next event is told.
    ibv_wc completion{};
    while (ibv_poll_cq(pair.b.cq, 1, &completion) > 0) continue;
    while (is_readable(pair.b.channel->fd)) {
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      BOOST_REQUIRE_EQUAL(ibv_get_cq_event(pair.b.channel, &cq, &context), 0);
      ibv_ack_cq_events(cq, 1);
    }
    BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
    send();
    BOOST_REQUIRE(is_readable(pair.b.channel->fd, 20'000));
  }
}

BOOST_AUTO_TEST_CASE(destroying_a_queue_waits_for_what_was_not_acknowledged) {
  Pair pair;
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
  pair.send();
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_get_cq_event(pair.b.channel, &cq, &context), 0);
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(pair.b.qp), 0);
  pair.b.qp = nullptr;
  std::atomic<bool> destroyed = false;
  std::atomic<bool> acknowledged = false;
  std::thread destroyer([&] {
    ibv_destroy_cq(cq);
    destroyed = true;
    BOOST_CHECK(acknowledged.load());
  });
  // Nothing to wait for here but that it does not happen: a moment in which a faulty one would have returned.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) BOOST_REQUIRE(!destroyed.load());
  acknowledged = true;
  ibv_ack_cq_events(cq, 1);
  destroyer.join();
  pair.b.cq = nullptr;
}

BOOST_AUTO_TEST_CASE(a_destroyed_queue_leaves_no_event_behind) {
  Pair pair;
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
  pair.send();
  BOOST_REQUIRE(is_readable(pair.b.channel->fd, 10000));
  BOOST_REQUIRE_EQUAL(ibv_destroy_qp(pair.b.qp), 0);
  pair.b.qp = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_destroy_cq(pair.b.cq), 0);
  pair.b.cq = nullptr;
  BOOST_CHECK(!is_readable(pair.b.channel->fd));
}

BOOST_AUTO_TEST_CASE(an_error_on_the_responder_is_an_async_event_of_its_qp) {
  Pair pair;
  set_nonblocking(pair.b.context->async_fd);
  ibv_async_event event{};
  BOOST_CHECK_EQUAL(ibv_get_async_event(pair.b.context, &event), -1);
  BOOST_CHECK_EQUAL(errno, EAGAIN);
  ibv_sge sge = pair.a.sge(0, 8);
  ibv_send_wr write = pair.a.request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.remote_addr = pair.b.address(0);
  write.wr.rdma.rkey = pair.b.mr->rkey ^ 0x5a5a;
  BOOST_REQUIRE_EQUAL(pair.a.post(write), 0);
  BOOST_CHECK_EQUAL(next_completion(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
  BOOST_REQUIRE(is_readable(pair.b.context->async_fd, 10000));
  BOOST_REQUIRE_EQUAL(ibv_get_async_event(pair.b.context, &event), 0);
  BOOST_CHECK_EQUAL(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  BOOST_CHECK(event.element.qp == pair.b.qp);
  ibv_ack_async_event(&event);
}

BOOST_AUTO_TEST_CASE(a_shared_receive_queue_that_runs_low_says_so_once) {
  Endpoint a;
  Endpoint b({.with_srq = true});
  connect(a, b);
  for (std::uint64_t i = 0; i < 4; ++i) BOOST_REQUIRE_EQUAL(b.post_receive(i, 0, 64), 0);
  ibv_srq_attr attributes{.max_wr = 0, .max_sge = 0, .srq_limit = 3};
  BOOST_REQUIRE_EQUAL(ibv_modify_srq(b.srq, &attributes, IBV_SRQ_LIMIT), 0);
  ibv_sge sge = a.sge(0, 8);
  for (int i = 0; i < 3; ++i) {
    ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
    next_completion(b.cq);
  }
  ibv_async_event event{};
  BOOST_REQUIRE(wait_for([&] { return is_readable(b.context->async_fd, 10); }));
  set_nonblocking(b.context->async_fd);
  // The connection's first packet may have been reported as well.
  bool limit_reached = false;
  while (ibv_get_async_event(b.context, &event) == 0) {
    if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED) {
      BOOST_CHECK(event.element.srq == b.srq && !limit_reached);
      limit_reached = true;
    }
    ibv_ack_async_event(&event);
  }
  BOOST_CHECK(limit_reached);
}

BOOST_AUTO_TEST_CASE(a_completion_queue_that_overruns_says_so_and_so_does_its_qp) {
  Endpoint a({.cq_entries = 1});
  Endpoint b;
  connect(a, b);
  BOOST_REQUIRE_EQUAL(a.cq->cqe, 1);
  ibv_sge sge = a.sge(0, 8);
  for (int i = 0; i < 2; ++i) {
    ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &sge);
    request.wr.rdma = {.remote_addr = b.address(0), .rkey = b.mr->rkey};
    BOOST_REQUIRE_EQUAL(a.post(request), 0);
  }
  const ibv_async_event first = next_event(a);
  BOOST_CHECK_EQUAL(first.event_type, IBV_EVENT_CQ_ERR);
  BOOST_CHECK(first.element.cq == a.cq);
  const ibv_async_event second = next_event(a);
  BOOST_CHECK_EQUAL(second.event_type, IBV_EVENT_QP_FATAL);
  BOOST_CHECK(second.element.qp == a.qp);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  BOOST_REQUIRE_EQUAL(ibv_query_qp(a.qp, &attributes, IBV_QP_STATE, &init), 0);
  BOOST_CHECK_EQUAL(attributes.qp_state, IBV_QPS_ERR);
}

BOOST_AUTO_TEST_CASE(drained_send_queue_and_failed_srq_user_raise_their_events) {
  Endpoint a;
  Endpoint b({.with_srq = true});
  connect(a, b);
  to_state(a.qp, IBV_QPS_SQD, true);
  const ibv_async_event drained = next_event(a);
  BOOST_CHECK_EQUAL(drained.event_type, IBV_EVENT_SQ_DRAINED);
  BOOST_CHECK(drained.element.qp == a.qp);
  to_state(b.qp, IBV_QPS_ERR);
  const ibv_async_event last = next_event(b);
  BOOST_CHECK_EQUAL(last.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
  BOOST_CHECK(last.element.qp == b.qp);
}
