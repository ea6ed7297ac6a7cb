// A slot of a queue is free when the completion that frees it was polled, and not before (IBTA vol 1, 10.8.5).
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr std::uint32_t kSlots = 4;
const QpCapabilities kSmall{.max_send_wr = kSlots, .max_recv_wr = kSlots, .max_send_sge = 1, .max_recv_sge = 1};

/// How many more requests of this kind a send queue takes. What is taken is executed.
std::uint32_t sends_taken(Endpoint& end, World& world,
                          const SendRequest& request = {.opcode = SendOpcode::rdma_write}) {
  std::uint32_t taken = 0;
  while (end.try_post(request).ok()) BOOST_TEST_REQUIRE(++taken < 100u);
  world.run_to_rest();
  return taken;
}

std::uint32_t receives_taken(Endpoint& end, std::span<const Sge> room = {}) {
  std::uint32_t taken = 0;
  while (end.try_receive(1, room).ok()) BOOST_TEST_REQUIRE(++taken < 100u);
  return taken;
}

Completion poll_one(Endpoint& end, CqHandle cq) {
  Completion completion;
  BOOST_TEST_REQUIRE(end.nic().poll_cq(cq, {&completion, 1}) == 1u);
  return completion;
}

std::uint64_t refused(Endpoint& end) {
  return end.counters().get(Counter::posts_refused_unpolled);
}

/// Node 1 sends to two QPs of node 2 that share a receive queue.
struct Shared {
  explicit Shared(QpType type = QpType::rc) : sender(world, 2, {.type = type}), seed(world, 1) {
    options.type = type;
    options.srq = Endpoint::take(seed.nic().create_srq({.pd = seed.pd, .max_wr = kSlots, .max_sge = 1}));
    receiver = std::make_unique<Endpoint>(seed, options);
    receiver->connect(2, sender.qpn());
    sender.connect(1, receiver->qpn());
  }
  std::uint32_t taken() {
    std::uint32_t taken = 0;
    while (seed.nic().post_srq_receive(options.srq, {taken, {}}).ok()) BOOST_TEST_REQUIRE(++taken < 100u);
    return taken;
  }
  void send(int count) {
    for (int i = 0; i < count; ++i) sender.post({.opcode = SendOpcode::send});
    world.run_to_rest();
  }

  World world;
  Endpoint sender, seed;
  QpOptions options;
  std::unique_ptr<Endpoint> receiver;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_send_queue_is_full_until_completions_are_polled) {
  for (const QpType type : {QpType::rc, QpType::uc}) {
    Pair pair({.type = type, .capabilities = kSmall});
    BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
    BOOST_TEST(pair.a.nic().query_cq(pair.a.send_cq)->depth == kSlots);  // done, all of them
    BOOST_CHECK(pair.a.try_post({.opcode = SendOpcode::rdma_write}).error() == VerbsError::no_memory);
    BOOST_TEST(refused(pair.a) == 1u);  // the first refusal came while none was done
    poll_one(pair.a, pair.a.send_cq);
    BOOST_TEST(sends_taken(pair.a, pair.world) == 1u);
    BOOST_TEST(pair.a.poll_sent().size() == kSlots);
    BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
  }
}

BOOST_AUTO_TEST_CASE(a_datagram_queue_is_full_until_completions_are_polled) {
  Pair pair({.type = QpType::ud, .capabilities = kSmall});
  const SendRequest datagram{.opcode = SendOpcode::send,
                             .address_handle = Endpoint::take(pair.a.nic().create_ah(pair.a.pd, Endpoint::path_to(2))),
                             .remote_qpn = pair.b.qpn(),
                             .remote_qkey = pair.b.options().qkey};
  const Buffer memory(pair.b.nic(), pair.b.pd, 64);
  const Sge room = memory.sge();  // for a GRH
  BOOST_TEST(receives_taken(pair.b, {&room, 1}) == kSlots);
  BOOST_TEST(sends_taken(pair.a, pair.world, datagram) == kSlots);
  BOOST_TEST(sends_taken(pair.a, pair.world, datagram) == 0u);
  BOOST_TEST(receives_taken(pair.b, {&room, 1}) == 0u);
  poll_one(pair.a, pair.a.send_cq);
  poll_one(pair.b, pair.b.recv_cq);
  BOOST_TEST(sends_taken(pair.a, pair.world, datagram) == 1u);
  BOOST_TEST(receives_taken(pair.b, {&room, 1}) == 1u);
}

BOOST_AUTO_TEST_CASE(unsignaled_requests_hold_slots_until_a_signaled_poll) {
  Pair pair({.capabilities = kSmall, .signal_all = false});
  const SendRequest silent{.opcode = SendOpcode::rdma_write};
  pair.a.post(silent);
  pair.a.post(silent);
  pair.a.post({.opcode = SendOpcode::rdma_write, .signaled = true});
  pair.a.post(silent);
  pair.world.run_to_rest();
  BOOST_TEST(sends_taken(pair.a, pair.world, silent) == 0u);
  check_statuses(pair.a.poll_sent(), {success});
  BOOST_TEST(sends_taken(pair.a, pair.world, silent) == 3u);
  BOOST_TEST(pair.a.poll_sent().empty());
  BOOST_TEST(sends_taken(pair.a, pair.world, silent) == 0u);  // nothing is signaled: for good
}

BOOST_AUTO_TEST_CASE(binds_and_invalidations_hold_slots_as_all_requests_do) {
  Pair pair({.capabilities = kSmall, .signal_all = false});
  const Buffer region(pair.a.nic(), pair.a.pd, 64, kLocalWrite | kRemoteWrite | kMwBind);
  const MemoryWindow window = Endpoint::take(pair.a.nic().allocate_window(pair.a.pd, WindowType::type2));
  const SendRequest bind{.opcode = SendOpcode::bind_memory_window,
                         .signaled = true,
                         .operand = {.binding = {.window = window.handle,
                                                 .rkey = (window.rkey & ~0xffu) | ((window.rkey + 1) & 0xffu),
                                                 .lkey = region.lkey(),
                                                 .address = Buffer::address(),
                                                 .length = 8,
                                                 .access = kRemoteWrite}}};
  pair.a.post(bind);
  BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots - 1);
  BOOST_TEST(sends_taken(pair.a, pair.world) == 0u);
  BOOST_CHECK(poll_one(pair.a, pair.a.send_cq).status == success);
  BOOST_TEST(sends_taken(pair.a, pair.world) == 1u);
}

BOOST_AUTO_TEST_CASE(a_receive_queue_is_full_until_completions_are_polled) {
  Pair pair({.capabilities = kSmall});
  BOOST_TEST(receives_taken(pair.b) == kSlots);
  for (std::uint32_t i = 0; i < kSlots; ++i) pair.a.post({.opcode = SendOpcode::send});
  pair.world.run_to_rest();
  BOOST_TEST(receives_taken(pair.b) == 0u);
  BOOST_TEST(refused(pair.b) == 1u);
  poll_one(pair.b, pair.b.recv_cq);
  BOOST_TEST(receives_taken(pair.b) == 1u);
}

BOOST_AUTO_TEST_CASE(flushed_requests_hold_their_slots_until_they_are_polled) {
  Pair pair({.capabilities = kSmall});
  pair.a.to_state(QpState::error);
  BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
  BOOST_TEST(receives_taken(pair.a) == kSlots);
  check_statuses(pair.a.poll_sent(), {flushed, flushed, flushed, flushed});
  BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
  BOOST_TEST(receives_taken(pair.a) == 0u);
  check_statuses(pair.a.poll_received(), {flushed, flushed, flushed, flushed});
  BOOST_TEST(receives_taken(pair.a) == kSlots);
}

BOOST_AUTO_TEST_CASE(reset_frees_all_slots_and_old_completions_free_none_again) {
  Pair pair({.capabilities = kSmall});
  receives_taken(pair.a);
  sends_taken(pair.a, pair.world);
  pair.a.to_state(QpState::error);
  pair.a.to_state(QpState::reset);
  pair.a.connect(2, pair.b.qpn());
  BOOST_TEST(receives_taken(pair.a) == kSlots);
  BOOST_TEST(pair.a.poll_sent().empty());
  BOOST_TEST(pair.a.poll_received().empty());
  pair.a.to_state(QpState::error);
  BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
  BOOST_TEST(receives_taken(pair.a) == 0u);
}

BOOST_AUTO_TEST_CASE(queues_that_share_a_cq_free_only_their_own_slots) {
  Pair pair({.capabilities = kSmall});
  Endpoint other_a(pair.a, pair.a.options()), other_b(pair.b, pair.b.options());
  other_a.connect(2, other_b.qpn());
  other_b.connect(1, other_a.qpn());
  BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
  BOOST_TEST(sends_taken(other_a, pair.world) == kSlots);
  for (int i = 0; i < 3; ++i) BOOST_CHECK(poll_one(pair.a, pair.a.send_cq).qpn == pair.a.qpn());
  BOOST_TEST(sends_taken(other_a, pair.world) == 0u);
  BOOST_TEST(sends_taken(pair.a, pair.world) == 3u);
  BOOST_TEST(pair.a.nic().destroy_qp(pair.a.qp).ok());  // takes its four with it
  for (std::uint32_t i = 0; i < kSlots; ++i) BOOST_CHECK(poll_one(pair.a, pair.a.send_cq).qpn == other_a.qpn());
  BOOST_TEST(sends_taken(other_a, pair.world) == kSlots);
}

BOOST_AUTO_TEST_CASE(a_completion_that_is_lost_in_an_overrun_frees_nothing) {
  Pair pair({.cq_entries = 2, .capabilities = kSmall});
  receives_taken(pair.a);
  pair.a.to_state(QpState::error);
  BOOST_TEST(pair.a.poll_received().size() == 2u);
  BOOST_TEST(receives_taken(pair.a) == 2u);
}

BOOST_AUTO_TEST_CASE(completions_that_move_with_a_resized_cq_free_their_slots) {
  Pair pair({.cq_entries = kSlots, .capabilities = kSmall});
  sends_taken(pair.a, pair.world);
  BOOST_REQUIRE(pair.a.nic().resize_cq(pair.a.send_cq, 100).ok());
  BOOST_TEST(sends_taken(pair.a, pair.world) == 0u);
  BOOST_TEST(pair.a.poll_sent().size() == kSlots);
  BOOST_TEST(sends_taken(pair.a, pair.world) == kSlots);
}

BOOST_AUTO_TEST_CASE(a_shared_receive_queue_is_full_until_completions_are_polled) {
  for (const QpType type : {QpType::rc, QpType::uc}) {
    Shared shared(type);
    BOOST_TEST(shared.taken() == kSlots);
    shared.send(3);
    BOOST_TEST(shared.taken() == 0u);
    poll_one(shared.seed, shared.seed.recv_cq);
    BOOST_TEST(shared.taken() == 1u);
    BOOST_TEST(shared.seed.poll_received().size() == 2u);
    BOOST_TEST(shared.taken() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(ended_or_reset_qp_gives_back_its_srq_slots) {
  for (const bool ends : {false, true}) {
    Shared shared;
    shared.taken();
    shared.send(3);
    if (ends)
      BOOST_TEST(shared.seed.nic().destroy_qp(shared.receiver->qp).ok());
    else
      shared.receiver->to_state(QpState::reset);
    BOOST_TEST(shared.seed.poll_received().empty());
    BOOST_TEST(shared.taken() == 3u);
  }
}

BOOST_AUTO_TEST_CASE(srq_is_not_made_smaller_than_its_slots_in_use) {
  Shared shared;
  shared.taken();
  shared.send(2);
  Nic& nic = shared.seed.nic();
  BOOST_TEST(!nic.modify_srq(shared.options.srq, kSlots - 1, std::nullopt).ok());
  BOOST_TEST(nic.modify_srq(shared.options.srq, 2 * kSlots, std::nullopt).ok());
  BOOST_TEST(shared.taken() == kSlots);
  BOOST_TEST(shared.seed.poll_received().size() == 2u);
  BOOST_TEST(shared.taken() == 2u);
}

BOOST_AUTO_TEST_CASE(requests_that_are_posted_together_find_room_all_or_none) {
  Pair pair({.capabilities = kSmall});
  const auto post = [&](std::uint32_t together) {
    return pair.a.nic().post_send(pair.a.qp, {.opcode = SendOpcode::rdma_write}, pair.world.now(), together);
  };
  BOOST_CHECK(post(kSlots + 1).error() == VerbsError::no_memory);
  BOOST_TEST(refused(pair.a) == 0u);
  for (std::uint32_t left = kSlots; left != 0; --left) BOOST_TEST(post(left).ok());
  pair.world.run_to_rest();
  poll_one(pair.a, pair.a.send_cq);
  BOOST_CHECK(post(2).error() == VerbsError::no_memory);
  BOOST_TEST(refused(pair.a) == 1u);
  BOOST_TEST(post(1).ok());
}
