// fork(): the child has nothing of the parent's device, may close what it inherited, and may open a device of its own.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

/// Runs `check` in a child; its result is the child's exit status. No test macro may be used in the child.
template <class Check>
int status_of_child(Check&& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check());
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool echo(Endpoint& a, Endpoint& b) {
  std::strcpy(a.buffer.data(), "echo");
  ibv_sge sge = a.sge(0, 8);
  ibv_send_wr write = a.request(IBV_WR_RDMA_WRITE, &sge);
  write.wr.rdma.remote_addr = b.address(128);
  write.wr.rdma.rkey = b.mr->rkey;
  return a.post(write) == 0 && next_completion(a.cq).status == IBV_WC_SUCCESS &&
         std::strcmp(b.buffer.data() + 128, "echo") == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fork_needs_no_preparation) {
  BOOST_CHECK_EQUAL(ibv_fork_init(), 0);
  BOOST_CHECK_EQUAL(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

BOOST_AUTO_TEST_CASE(the_child_cannot_use_what_it_inherited_but_may_close_it) {
  Endpoint a;
  Endpoint b({.with_channel = true});
  connect(a, b);
  BOOST_REQUIRE(echo(a, b));
  BOOST_CHECK_EQUAL(status_of_child([&] {
                      ibv_wc completion{};
                      ibv_sge sge = a.sge(0, 8);
                      ibv_send_wr request = a.request(IBV_WR_SEND, &sge);
                      ibv_cq* cq = nullptr;
                      void* context = nullptr;
                      if (a.post(request) != EIO) return 1;
                      if (ibv_poll_cq(a.cq, 1, &completion) != -1) return 2;
                      if (ibv_alloc_pd(a.context) != nullptr) return 3;
                      if (ibv_get_cq_event(b.channel, &cq, &context) != -1) return 4;
                      if (ibv_destroy_qp(a.qp) != 0 || ibv_dereg_mr(a.mr) != 0) return 5;
                      if (ibv_close_device(a.context) != 0) return 6;
                      return 0;
                    }),
                    0);
  BOOST_CHECK(echo(a, b));  // and the parent has not noticed
}

BOOST_AUTO_TEST_CASE(event_of_the_parent_waits_although_the_child_closes) {
  Endpoint a({.with_channel = true});
  Endpoint b;
  connect(a, b);
  BOOST_REQUIRE_EQUAL(ibv_req_notify_cq(a.cq, 0), 0);
  BOOST_REQUIRE(echo(a, b));
  pollfd readable{a.channel->fd, POLLIN, 0};
  BOOST_REQUIRE_EQUAL(poll(&readable, 1, 10'000), 1);
  BOOST_CHECK_EQUAL(status_of_child([&] {
                      if (ibv_destroy_qp(a.qp) != 0) return 1;
                      return ibv_destroy_cq(a.cq) == 0 ? 0 : 2;
                    }),
                    0);
  BOOST_REQUIRE_EQUAL(poll(&readable, 1, 0), 1);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  BOOST_REQUIRE_EQUAL(ibv_get_cq_event(a.channel, &cq, &context), 0);
  BOOST_CHECK(cq == a.cq);
  ibv_ack_cq_events(cq, 1);
}

BOOST_AUTO_TEST_CASE(the_child_may_open_the_device_anew) {
  Endpoint a;
  Endpoint b;
  connect(a, b);
  BOOST_CHECK_EQUAL(status_of_child([&] {
                      Endpoint own;
                      Endpoint peer;
                      connect(own, peer);
                      return echo(own, peer) && own.qp->qp_num != a.qp->qp_num ? 0 : 1;
                    }),
                    0);
  BOOST_CHECK(echo(a, b));
}

BOOST_AUTO_TEST_CASE(parent_and_child_both_open_after_the_fork) {
  int to_child[2];
  BOOST_REQUIRE_EQUAL(pipe(to_child), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;
    if (read(to_child[0], &go, 1) != 1) _exit(1);
    Endpoint a;
    Endpoint b;
    connect(a, b);
    _exit(echo(a, b) ? 0 : 2);
  }
  Endpoint a;
  Endpoint b;
  connect(a, b);
  BOOST_CHECK_EQUAL(write(to_child[1], "x", 1), 1);
  BOOST_CHECK(echo(a, b));
  int status = 0;
  BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
  BOOST_CHECK_EQUAL(status, 0);
  close(to_child[0]);
  close(to_child[1]);
}
