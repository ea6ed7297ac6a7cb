// What several threads do that use librdmacm first, and at once: each of them is served, whichever commands librdmacm
// takes while it finds out whether there is AF_IB. Each round is a process of its own: there is one first use in each.
#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <thread>
#include <vector>

#include "tests/shim/rdma_cm/rdma_cm_fixture.h"

namespace {

constexpr unsigned kRounds = 12;
constexpr unsigned kThreads = 16;

/// True: the address and the route were found.
bool resolves(std::latch& start) {
  start.arrive_and_wait();
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  if (channel == nullptr || rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) return false;
  sockaddr_in to = rdma_cm_test::address(rdma_cm_test::own_address().c_str(), 7310);
  const auto comes = [&](rdma_cm_event_type wanted) {
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel, &event) != 0) return false;
    const bool is_it = event->event == wanted && event->status == 0;
    return rdma_ack_cm_event(event) == 0 && is_it;
  };
  const bool done = rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 2000) == 0 &&
                    comes(RDMA_CM_EVENT_ADDR_RESOLVED) && rdma_resolve_route(id, 2000) == 0 &&
                    comes(RDMA_CM_EVENT_ROUTE_RESOLVED) && id->route.num_paths == 1;
  rdma_destroy_id(id);
  rdma_destroy_event_channel(channel);
  return done;
}

int failures_of_a_process() {
  std::latch start(kThreads);
  std::atomic<int> failed{0};
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      if (!resolves(start)) ++failed;
    });
  threads.clear();
  return failed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_that_use_librdmacm_first_and_at_once_are_all_served) {
  for (unsigned round = 0; round < kRounds; ++round) {
    const pid_t child = fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) _exit(failures_of_a_process());
    int status = 0;
    BOOST_REQUIRE_EQUAL(waitpid(child, &status, 0), child);
    BOOST_REQUIRE(WIFEXITED(status));
    BOOST_CHECK_EQUAL(WEXITSTATUS(status), 0);
  }
}
