// 64 threads on the verbs: on the same objects and on objects of their own, making and destroying them meanwhile. What
// is posted completes once, what is received came once, and the thread sanitizer has nothing to say.
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/shim/verbs_fixture.h"

using namespace verbs_test;

namespace {

constexpr int kThreads = 64;
constexpr int kRounds = 20;  // of each thread

/// Boost's checks are not made for threads: a thread counts what went wrong, and the test looks at the sum.
class Threads {
 public:
  template <class Body>
  void run(Body body) {
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number)
      threads.emplace_back([&, number] {
        if (!body(number)) ++wrong_;
      });
    for (std::thread& thread : threads) thread.join();
    BOOST_TEST(wrong_.load() == 0);
  }

 private:
  std::atomic<int> wrong_{0};
};

/// Posts until the queue has room.
bool post_when_there_is_room(ibv_qp* qp, ibv_send_wr& request) {
  ibv_send_wr* bad = nullptr;
  return wait_for([&] {
    const int error = ibv_post_send(qp, &request, &bad);
    return error != ENOMEM || (std::this_thread::yield(), false);
  });
}

/// Counts each work request's completion; polled by whoever comes.
struct Tally {
  std::array<std::atomic<int>, std::size_t{kThreads} * kRounds> seen{};
  std::atomic<int> failed{0};
  std::atomic<int> all{0};

  bool poll(ibv_cq* cq) {
    std::array<ibv_wc, 8> completions;
    const int count = ibv_poll_cq(cq, static_cast<int>(completions.size()), completions.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[static_cast<std::size_t>(i)];
      if (completion.status != IBV_WC_SUCCESS || completion.wr_id >= seen.size()) {
        ++failed;
      } else {
        ++seen[completion.wr_id];
      }
      ++all;
    }
    return count >= 0;
  }
  void check() {
    BOOST_TEST(failed.load() == 0);
    BOOST_TEST(all.load() == kThreads * kRounds);
    for (const auto& times : seen) BOOST_TEST_REQUIRE(times.load() == 1);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(all_post_to_and_poll_the_same_queues) {
  Endpoint a({.cq_entries = 2048});
  Endpoint b;
  connect(a, b);
  Tally tally;
  Threads().run([&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      const auto id = static_cast<std::uint64_t>(number * kRounds + round);
      ibv_sge from = a.sge(static_cast<std::size_t>(number) * 64, 8);
      ibv_send_wr request = a.request(IBV_WR_RDMA_WRITE, &from);
      request.wr_id = id;
      request.wr.rdma = {.remote_addr = b.address(static_cast<std::size_t>(number) * 64), .rkey = b.mr->rkey};
      if (!post_when_there_is_room(a.qp, request) || !tally.poll(a.cq)) return false;
    }
    return wait_for([&] { return tally.poll(a.cq) && tally.all.load() == kThreads * kRounds; });
  });
  tally.check();
}

BOOST_AUTO_TEST_CASE(all_add_to_one_counter_which_misses_none) {
  Endpoint a({.cq_entries = 2048});
  Endpoint b;
  connect(a, b);
  auto* const counter = reinterpret_cast<std::uint64_t*>(b.buffer.data());
  *counter = 0;
  Tally tally;
  Threads().run([&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      ibv_sge old = a.sge(static_cast<std::size_t>(number) * 64, 8);
      ibv_send_wr request = a.request(IBV_WR_ATOMIC_FETCH_AND_ADD, &old);
      request.wr_id = static_cast<std::uint64_t>(number * kRounds + round);
      request.wr.atomic = {.remote_addr = b.address(0), .compare_add = 1, .swap = 0, .rkey = b.mr->rkey};
      if (!post_when_there_is_room(a.qp, request) || !tally.poll(a.cq)) return false;
    }
    return wait_for([&] { return tally.poll(a.cq) && tally.all.load() == kThreads * kRounds; });
  });
  tally.check();
  BOOST_TEST(*counter == static_cast<std::uint64_t>(kThreads * kRounds));
}

BOOST_AUTO_TEST_CASE(all_feed_one_shared_receive_queue) {
  Endpoint sender({.cq_entries = 2048});
  Endpoint receiver({.with_srq = true, .cq_entries = 2048});
  connect(sender, receiver);
  Tally sent, received;
  Threads().run([&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      const auto id = static_cast<std::uint64_t>(number * kRounds + round);
      const bool posted = wait_for([&] {
        return receiver.post_receive(id, static_cast<std::size_t>(number) * 64, 64) == 0 || !received.poll(receiver.cq);
      });
      ibv_sge from = sender.sge(static_cast<std::size_t>(number) * 64, 16);
      ibv_send_wr request = sender.request(IBV_WR_SEND, &from);
      request.wr_id = id;
      if (!posted || !post_when_there_is_room(sender.qp, request)) return false;
      if (!sent.poll(sender.cq) || !received.poll(receiver.cq)) return false;
    }
    return wait_for([&] {
      return sent.poll(sender.cq) && received.poll(receiver.cq) && sent.all.load() == kThreads * kRounds &&
             received.all.load() == kThreads * kRounds;
    });
  });
  sent.check();
  received.check();
}

BOOST_AUTO_TEST_CASE(each_makes_uses_and_destroys_objects_of_its_own) {
  Endpoint shared;  // whose protection domain everybody uses as well
  const ibv_ah_attr own_node = address_of(shared);
  Threads().run([&](int number) {
    for (int round = 0; round < 3; ++round) {
      std::array<char, 256> memory{};
      ibv_mr* const mr = ibv_reg_mr(shared.pd, memory.data(), memory.size(), kAllAccess);
      ibv_cq* const cq = ibv_create_cq(shared.context, 16, nullptr, nullptr, 0);
      if (mr == nullptr || cq == nullptr) return false;
      ibv_qp_init_attr attributes{};
      attributes.send_cq = attributes.recv_cq = cq;
      attributes.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
      attributes.qp_type = IBV_QPT_UD;
      ibv_qp* const qp = ibv_create_qp(shared.pd, &attributes);
      ibv_ah_attr path = own_node;
      ibv_ah* const ah = ibv_create_ah(shared.pd, &path);
      if (qp == nullptr || ah == nullptr) return false;
      ibv_qp_attr state{};
      state.qp_state = IBV_QPS_INIT;
      state.port_num = 1;
      state.qkey = kQkey;
      if (ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) != 0) return false;
      state.qp_state = IBV_QPS_RTR;
      if (ibv_modify_qp(qp, &state, IBV_QP_STATE) != 0) return false;
      state.qp_state = IBV_QPS_RTS;
      if (ibv_modify_qp(qp, &state, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0) return false;
      // A datagram to itself: 40 octets of GRH go before it.
      memory[0] = static_cast<char>(number);
      ibv_sge into{.addr = reinterpret_cast<std::uint64_t>(memory.data() + 64), .length = 64, .lkey = mr->lkey};
      ibv_recv_wr receive{.wr_id = 1, .next = nullptr, .sg_list = &into, .num_sge = 1};
      ibv_recv_wr* bad_receive = nullptr;
      ibv_sge from{.addr = reinterpret_cast<std::uint64_t>(memory.data()), .length = 8, .lkey = mr->lkey};
      ibv_send_wr send{};
      send.wr_id = 2;
      send.opcode = IBV_WR_SEND;
      send.send_flags = IBV_SEND_SIGNALED;
      send.sg_list = &from;
      send.num_sge = 1;
      send.wr.ud = {.ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = kQkey};
      ibv_send_wr* bad = nullptr;
      if (ibv_post_recv(qp, &receive, &bad_receive) != 0 || ibv_post_send(qp, &send, &bad) != 0) return false;
      int done = 0;
      const bool both = wait_for([&] {
        ibv_wc completion{};
        if (ibv_poll_cq(cq, 1, &completion) == 1) done += completion.status == IBV_WC_SUCCESS ? 1 : 100;
        return done >= 2;
      });
      if (!both || done != 2 || memory[64 + 40] != static_cast<char>(number)) return false;
      if (ibv_destroy_qp(qp) != 0 || ibv_destroy_ah(ah) != 0 || ibv_destroy_cq(cq) != 0 || ibv_dereg_mr(mr) != 0)
        return false;
    }
    return true;
  });
}

BOOST_AUTO_TEST_CASE(each_opens_and_closes_the_device) {
  Threads().run([](int) {
    int number = 0;
    ibv_device** const list = ibv_get_device_list(&number);
    if (list == nullptr || number != 1) return false;
    ibv_context* const context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    if (context == nullptr) return false;
    ibv_device_attr attributes{};
    ibv_pd* const pd = ibv_alloc_pd(context);
    return ibv_query_device(context, &attributes) == 0 && pd != nullptr && ibv_dealloc_pd(pd) == 0 &&
           ibv_close_device(context) == 0;
  });
}
