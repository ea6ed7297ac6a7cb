// Completion queues, notifications, shared receive queues, limits, and what may be destroyed when.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

std::size_t completion_events(Nic& nic, CqHandle cq) {
  std::size_t count = 0;
  while (const auto event = nic.poll_completion_event())
    if (event->cq == cq) ++count;
  return count;
}

void send_to_b(Pair& pair, bool solicited) {
  pair.b.receive(1, {});
  pair.a.post({.opcode = SendOpcode::send, .solicited = solicited});
  pair.world.run_to_rest();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_notification_comes_once_for_the_next_completion) {
  Pair pair;
  Nic& nic = pair.b.nic();
  send_to_b(pair, false);
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 0u);
  BOOST_TEST(nic.request_notification(pair.b.recv_cq, false).ok());
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 0u);  // what is there already does not count
  send_to_b(pair, false);
  send_to_b(pair, false);
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 1u);
}

BOOST_AUTO_TEST_CASE(solicited_notification_waits_for_solicited_or_failed_ones) {
  Pair pair;
  Nic& nic = pair.b.nic();
  BOOST_TEST(nic.request_notification(pair.b.recv_cq, true).ok());
  send_to_b(pair, false);
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 0u);
  send_to_b(pair, true);
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 1u);
  BOOST_TEST(nic.request_notification(pair.b.recv_cq, true).ok());
  pair.b.receive(1, {});
  pair.b.to_state(QpState::error);
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 1u);
}

BOOST_AUTO_TEST_CASE(asking_for_solicited_ones_does_not_weaken_asking_for_all) {
  Pair pair;
  Nic& nic = pair.b.nic();
  BOOST_TEST(nic.request_notification(pair.b.recv_cq, false).ok());
  BOOST_TEST(nic.request_notification(pair.b.recv_cq, true).ok());
  send_to_b(pair, false);
  BOOST_TEST(completion_events(nic, pair.b.recv_cq) == 1u);
}

BOOST_AUTO_TEST_CASE(an_overrun_cq_says_so_once_and_its_queue_pairs_fail) {
  Pair pair({.cq_entries = 4});
  for (int i = 0; i < 10; ++i) pair.a.post({.opcode = SendOpcode::rdma_write});
  pair.world.run_to_rest();
  const auto events = pair.a.poll_events();
  BOOST_TEST(std::count(events.begin(), events.end(), AsyncEventType::cq_error) == 1);
  BOOST_TEST(std::count(events.begin(), events.end(), AsyncEventType::qp_fatal) == 1);
  BOOST_CHECK(pair.a.state() == QpState::error);
  BOOST_TEST(pair.a.poll_sent().size() <= 4u);
}

BOOST_AUTO_TEST_CASE(cq_holds_what_it_promised_and_is_resized_while_filled) {
  Pair pair({.cq_entries = 8});
  Nic& nic = pair.a.nic();
  const std::uint32_t entries = nic.query_cq(pair.a.send_cq)->entries;
  BOOST_TEST(entries >= 8u);
  for (std::uint64_t i = 0; i < entries; ++i) pair.a.post({.wr_id = i, .opcode = SendOpcode::rdma_write});
  pair.world.run_to_rest();
  BOOST_TEST(nic.query_cq(pair.a.send_cq)->depth == entries);
  BOOST_TEST(!nic.resize_cq(pair.a.send_cq, entries - 1).ok());
  BOOST_TEST(nic.resize_cq(pair.a.send_cq, 100).ok());
  for (std::uint64_t i = 0; i < 20; ++i) pair.a.post({.wr_id = entries + i, .opcode = SendOpcode::rdma_write});
  pair.world.run_to_rest();
  const auto sent = pair.a.poll_sent();
  BOOST_TEST_REQUIRE(sent.size() == entries + 20);
  for (std::uint64_t i = 0; i < sent.size(); ++i) BOOST_TEST(sent[i].wr_id == i);
}

BOOST_AUTO_TEST_CASE(a_full_send_queue_refuses_and_takes_again_after_a_completion) {
  Pair pair;
  pair.world.cut(1, 2);
  std::uint32_t posted = 0;
  while (pair.a.try_post({.opcode = SendOpcode::rdma_write}).ok()) BOOST_TEST_REQUIRE(++posted < 100'000);
  BOOST_TEST(posted >= pair.a.options().capabilities.max_send_wr);
  BOOST_CHECK(pair.a.try_post({.opcode = SendOpcode::rdma_write}).error() == VerbsError::no_memory);
  pair.world.run_for(microseconds(100));
  pair.world.cut(1, 2, false);
  pair.world.run_to_rest();
  BOOST_TEST(pair.a.poll_sent().size() == posted);
  BOOST_TEST(pair.a.try_post({.opcode = SendOpcode::rdma_write}).ok());
}

BOOST_AUTO_TEST_CASE(a_full_receive_queue_and_too_many_sges_are_refused) {
  Pair pair;
  std::uint32_t posted = 0;
  while (pair.b.try_receive(1, {}).ok()) BOOST_TEST_REQUIRE(++posted < 100'000);
  BOOST_TEST(posted >= pair.b.options().capabilities.max_recv_wr);
  const std::vector<Sge> many(40, pair.a_buffer.sge(0, 1));
  BOOST_CHECK(pair.a.try_post({.opcode = SendOpcode::send, .sges = many}).error() == VerbsError::invalid_argument);
  BOOST_CHECK(pair.a.try_receive(1, many).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(srq_receives_name_memory_of_the_srqs_own_pd) {
  for (const QpType type : {QpType::rc, QpType::uc, QpType::ud}) {
    World world;
    Endpoint seed(world, 1);
    Nic& nic = seed.nic();
    const PdHandle other = Endpoint::take(nic.allocate_pd());
    Buffer of_the_queue(nic, other, 256), of_the_qp(nic, seed.pd, 256);
    QpOptions shared{.type = type};
    shared.srq = Endpoint::take(nic.create_srq({.pd = other, .max_wr = 8, .max_sge = 1}));
    Endpoint receiver(seed, shared), sender(world, 2, {.type = type});
    receiver.connect(2, sender.qpn());
    sender.connect(1, receiver.qpn());
    for (const Buffer* buffer : {&of_the_queue, &of_the_qp}) {
      const Sge into = buffer->sge();
      BOOST_REQUIRE(nic.post_srq_receive(shared.srq, {1, {&into, 1}}).ok());
    }
    Buffer from(sender.nic(), sender.pd, 64);
    const Sge sge = from.sge();
    SendRequest request{.opcode = SendOpcode::send, .sges = {&sge, 1}};
    if (type == QpType::ud) {
      request.address_handle = Endpoint::take(sender.nic().create_ah(sender.pd, Endpoint::path_to(1)));
      request.remote_qpn = receiver.qpn();
      request.remote_qkey = receiver.options().qkey;
    }
    for (int i = 0; i < 2; ++i) sender.post(request);
    world.run_to_rest();
    check_statuses(receiver.poll_received(), {success, local_protection_error});
  }
}

BOOST_AUTO_TEST_CASE(a_shared_receive_queue_feeds_several_queue_pairs_in_order) {
  World world({.nodes = 3});
  Endpoint seed(world, 1);
  const SrqHandle srq = Endpoint::take(seed.nic().create_srq({.pd = seed.pd, .max_wr = 8, .max_sge = 2, .context = 5}));
  QpOptions shared;
  shared.srq = srq;
  Endpoint first(seed, shared), second(seed, shared);
  Endpoint left(world, 2), right(world, 3);
  first.connect(2, left.qpn());
  second.connect(3, right.qpn());
  left.connect(1, first.qpn());
  right.connect(1, second.qpn());
  BOOST_TEST(!first.try_receive(1, {}).ok());
  for (std::uint64_t i = 0; i < 4; ++i) BOOST_REQUIRE(seed.nic().post_srq_receive(srq, {i, {}}).ok());
  for (Endpoint* sender : {&left, &right, &left, &right}) {
    sender->post({.opcode = SendOpcode::send});
    world.run_to_rest();
  }
  for (const Traced& traced : world.trace())  // no credits: others may take what is there (9.7.7.2)
    if (traced.from == 1) BOOST_TEST(traced.syndrome == wire::ack_syndrome(wire::kUnlimitedCredits));
  const auto received = seed.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 4u);
  for (std::uint64_t i = 0; i < 4; ++i) {
    BOOST_TEST(received[i].wr_id == i);
    BOOST_CHECK(received[i].qpn == (i % 2 == 0 ? first.qpn() : second.qpn()));
  }
}

BOOST_AUTO_TEST_CASE(srq_limit_event_comes_once_per_arming) {
  World world;
  Endpoint seed(world, 1);
  const SrqHandle srq =
      Endpoint::take(seed.nic().create_srq({.pd = seed.pd, .max_wr = 16, .max_sge = 1, .context = 77}));
  QpOptions shared;
  shared.srq = srq;
  Endpoint end(seed, shared);
  Endpoint peer(world, 2);
  end.connect(2, peer.qpn());
  peer.connect(1, end.qpn());
  for (std::uint64_t i = 0; i < 10; ++i) BOOST_REQUIRE(seed.nic().post_srq_receive(srq, {i, {}}).ok());
  BOOST_REQUIRE(seed.nic().modify_srq(srq, std::nullopt, 8).ok());
  const auto consume_one = [&] {
    peer.post({.opcode = SendOpcode::send});
    world.run_to_rest();
    std::size_t count = 0;
    while (const auto event = seed.nic().poll_event())
      if (event->type == AsyncEventType::srq_limit_reached && event->context == 77) ++count;
    return count;
  };
  BOOST_TEST(consume_one() == 0u);  // 9 left
  BOOST_TEST(consume_one() == 0u);  // 8
  BOOST_TEST(consume_one() == 1u);  // 7: below the limit
  BOOST_TEST(consume_one() == 0u);
  BOOST_TEST(Endpoint::take(seed.nic().query_srq(srq)).limit == 0u);
  BOOST_REQUIRE(seed.nic().modify_srq(srq, std::nullopt, 6).ok());
  BOOST_TEST(consume_one() == 1u);
}

BOOST_AUTO_TEST_CASE(failed_qp_of_an_srq_says_when_its_last_receive_is_used) {
  World world;
  Endpoint seed(world, 1);
  const SrqHandle srq = Endpoint::take(seed.nic().create_srq({.pd = seed.pd, .max_wr = 16, .max_sge = 1}));
  QpOptions shared;
  shared.srq = srq;
  Endpoint end(seed, shared);
  end.connect(2, wire::Qpn(0x20077));
  BOOST_REQUIRE(seed.nic().post_srq_receive(srq, {1, {}}).ok());
  end.to_state(QpState::error);
  const auto events = end.poll_events();
  BOOST_TEST(std::count(events.begin(), events.end(), AsyncEventType::qp_last_wqe_reached) == 1);
  BOOST_TEST(end.poll_received().empty());  // the SRQ keeps its receives
}

BOOST_AUTO_TEST_CASE(receive_queue_attributes_are_ignored_beside_an_srq) {
  World world;
  Endpoint end(world, 1);
  Nic& nic = end.nic();
  const SrqHandle srq = Endpoint::take(nic.create_srq({.pd = end.pd, .max_wr = 4, .max_sge = 1}));
  const NicLimits limits;
  const auto asked = [&](SrqHandle shared) {
    QpInit init{.pd = end.pd, .type = QpType::rc, .send_cq = end.send_cq, .recv_cq = end.recv_cq, .srq = shared};
    init.capabilities = {
        .max_send_wr = 1, .max_recv_wr = limits.max_qp_wr + 1, .max_send_sge = 1, .max_recv_sge = limits.max_sge + 1};
    return init;
  };
  QpInit alone = asked({});
  BOOST_CHECK(nic.create_qp(alone).error() == VerbsError::invalid_argument);
  QpInit shared = asked(srq);
  BOOST_TEST(nic.create_qp(shared).ok());
  BOOST_TEST(shared.capabilities.max_recv_wr == 0u);
  BOOST_TEST(shared.capabilities.max_recv_sge == 0u);
  shared.capabilities.max_send_wr = limits.max_qp_wr + 1;
  BOOST_CHECK(nic.create_qp(shared).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(an_srq_is_taken_by_rc_uc_and_ud_qps_and_refused_by_others) {
  World world;
  Endpoint end(world, 1);
  Nic& nic = end.nic();
  const SrqHandle srq = Endpoint::take(nic.create_srq({.pd = end.pd, .max_wr = 4, .max_sge = 1}));
  for (const auto& [type, is_taken] : {std::pair{QpType::rc, true},
                                       {QpType::uc, true},
                                       {QpType::ud, true},
                                       {QpType::raw_packet, false},
                                       {QpType::xrc_send, false}}) {
    QpInit init{.pd = end.pd, .type = type, .send_cq = end.send_cq, .recv_cq = end.recv_cq, .srq = srq};
    init.capabilities = {.max_send_wr = 1, .max_send_sge = 1};
    const auto made = nic.create_qp(init);
    BOOST_TEST(made.ok() == is_taken);
    if (!made.ok()) BOOST_CHECK(made.error() == VerbsError::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(what_is_in_use_is_busy_and_what_is_unknown_is_invalid) {
  World world;
  Endpoint end(world, 1);
  Nic& nic = end.nic();
  const auto mr_buffer = std::make_unique<Buffer>(nic, end.pd, 64);
  BOOST_CHECK(nic.deallocate_pd(end.pd).error() == VerbsError::busy);
  BOOST_CHECK(nic.destroy_cq(end.send_cq).error() == VerbsError::busy);
  BOOST_CHECK(nic.destroy_cq(end.recv_cq).error() == VerbsError::busy);
  const SrqHandle srq = Endpoint::take(nic.create_srq({.pd = end.pd, .max_wr = 4, .max_sge = 1}));
  QpOptions shared;
  shared.srq = srq;
  Endpoint user(end, shared);
  BOOST_CHECK(nic.destroy_srq(srq).error() == VerbsError::busy);

  BOOST_TEST(nic.destroy_qp(user.qp).ok());
  BOOST_CHECK(nic.destroy_qp(user.qp).error() == VerbsError::invalid_argument);
  BOOST_TEST(nic.destroy_srq(srq).ok());
  BOOST_TEST(nic.destroy_qp(end.qp).ok());
  BOOST_TEST(nic.destroy_cq(end.send_cq).ok());
  BOOST_TEST(nic.destroy_cq(end.recv_cq).ok());
  BOOST_CHECK(nic.deallocate_pd(end.pd).error() == VerbsError::busy);  // the memory region
  BOOST_TEST(nic.deregister_memory(mr_buffer->mr()).ok());
  BOOST_CHECK(nic.deregister_memory(mr_buffer->mr()).error() == VerbsError::invalid_argument);
  BOOST_TEST(nic.deallocate_pd(end.pd).ok());
  BOOST_CHECK(nic.deallocate_pd(end.pd).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(objects_are_granted_up_to_the_announced_limits) {
  World world;  // limits: 64 QPs, 64 CQs, 256 MRs
  Nic& nic = world.nic(1);
  const PdHandle pd = Endpoint::take(nic.allocate_pd());
  std::vector<CqHandle> cqs;
  for (int i = 0; i < 64; ++i) cqs.push_back(Endpoint::take(nic.create_cq(4, 0)));
  BOOST_CHECK(nic.create_cq(4, 0).error() == VerbsError::no_memory);
  BOOST_TEST(nic.destroy_cq(cqs.back()).ok());
  BOOST_TEST(nic.create_cq(4, 0).ok());
  for (int i = 0; i < 64; ++i) {
    QpInit init{.pd = pd, .send_cq = cqs[0], .recv_cq = cqs[0]};
    BOOST_TEST_REQUIRE(nic.create_qp(init).ok());
  }
  QpInit init{.pd = pd, .send_cq = cqs[0], .recv_cq = cqs[0]};
  BOOST_CHECK(nic.create_qp(init).error() == VerbsError::no_memory);
  alignas(8) static std::byte memory[64];
  MemoryRegionInit region{
      .pd = pd, .address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)), .length = 64};
  for (int i = 0; i < 256; ++i) BOOST_TEST_REQUIRE(nic.register_memory(region).ok());
  BOOST_CHECK(nic.register_memory(region).error() == VerbsError::no_memory);
  init.capabilities.max_send_wr = nic.config().limits.max_qp_wr + 1;
  BOOST_CHECK(nic.create_qp(init).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(remote_rights_without_the_local_right_to_write_are_refused) {
  World world;
  Nic& nic = world.nic(1);
  const PdHandle pd = Endpoint::take(nic.allocate_pd());
  alignas(8) static std::byte memory[64];
  MemoryRegionInit region{
      .pd = pd, .address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)), .length = 64};
  for (const std::uint32_t access : {std::uint32_t{kRemoteWrite}, std::uint32_t{kRemoteAtomic}}) {
    region.access = access;
    BOOST_CHECK(nic.register_memory(region).error() == VerbsError::invalid_argument);
    region.access = access | kLocalWrite;
    BOOST_TEST(nic.register_memory(region).ok());
  }
}

BOOST_AUTO_TEST_CASE(destroyed_qp_takes_its_completions_events_and_timers_along) {
  Pair pair({.timeout = 4, .retry_count = 1});
  pair.world.cut(1, 2);
  pair.a.post({.opcode = SendOpcode::rdma_write});
  pair.world.run_for(microseconds(1));
  pair.a.receive(1, {});
  pair.a.to_state(QpState::error);
  BOOST_TEST(pair.a.nic().destroy_qp(pair.a.qp).ok());
  BOOST_TEST(pair.a.poll_sent().empty());
  BOOST_TEST(pair.a.poll_received().empty());
  BOOST_TEST(!pair.a.nic().next_deadline().has_value());
  BOOST_TEST(!pair.a.nic().has_events());
}

BOOST_AUTO_TEST_CASE(port_without_room_is_back_pressure_without_loss_or_retry) {
  WorldOptions narrow;
  narrow.port_frames = 1;
  Pair pair({.mtu = 256}, 1 << 16, narrow);
  const Sge sge = pair.a_buffer.sge(0, 1 << 16);
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.a.post({.opcode = SendOpcode::rdma_read,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success, success});
  BOOST_TEST(same_bytes(pair.a_buffer.bytes(), pair.b_buffer.bytes()));
  BOOST_TEST(pair.a.counters().get(Counter::tx_retransmitted_packets) == 0u);
}

BOOST_AUTO_TEST_CASE(interrupted_message_goes_on_before_other_queue_pairs) {
  constexpr std::uint32_t kPackets = 8;
  WorldOptions narrow;
  narrow.port_frames = 3;
  Pair pair({.mtu = 256}, 1 << 16, narrow);
  Endpoint other_a(pair.a, {.mtu = 256});
  Endpoint other_b(pair.b, {.mtu = 256});
  other_a.connect(2, other_b.qpn());
  other_b.connect(1, other_a.qpn());
  const Sge sge = pair.a_buffer.sge(0, kPackets * 256);
  for (Endpoint* endpoint : {&pair.a, &other_a})
    endpoint->post({.opcode = SendOpcode::rdma_write,
                    .sges = {&sge, 1},
                    .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  std::vector<wire::Qpn> order;
  for (const Traced& frame : pair.world.trace())
    if (frame.payload_bytes != 0) order.push_back(frame.dest_qp);
  BOOST_REQUIRE(order.size() == 2 * kPackets);
  for (std::size_t i = 0; i < order.size(); ++i)
    BOOST_TEST(order[i].value() == (i < kPackets ? pair.b : other_b).qpn().value());
}

BOOST_AUTO_TEST_CASE(completions_are_awaited_while_a_work_request_is_not_complete) {
  Pair pair;
  Nic& nic = pair.a.nic();
  BOOST_TEST(!nic.awaits_completions());
  pair.a.post({.opcode = SendOpcode::rdma_write});
  BOOST_TEST(nic.awaits_completions());
  pair.world.run_to_rest();
  BOOST_TEST(!nic.awaits_completions());  // it is there, polled or not
  pair.a.receive(1, {});
  BOOST_TEST(nic.awaits_completions());
  pair.b.post({.opcode = SendOpcode::send});
  pair.world.run_to_rest();
  BOOST_TEST(!nic.awaits_completions());
}

BOOST_AUTO_TEST_CASE(what_a_shared_queue_holds_is_awaited_by_its_queue_pairs) {
  World world;
  Endpoint seed(world, 1);
  Nic& nic = seed.nic();
  QpOptions shared;
  shared.srq = Endpoint::take(nic.create_srq({.pd = seed.pd, .max_wr = 8, .max_sge = 2, .context = 5}));
  const Endpoint user(seed, shared);
  BOOST_TEST(!nic.awaits_completions());
  BOOST_TEST(nic.post_srq_receive(shared.srq, {}).ok());
  BOOST_TEST(nic.awaits_completions());
}

BOOST_AUTO_TEST_CASE(queue_pairs_are_looked_through_as_long_as_they_are_few) {
  World world;
  std::vector<std::unique_ptr<Endpoint>> all;
  all.push_back(std::make_unique<Endpoint>(world, 1));
  Nic& nic = all.front()->nic();
  while (all.size() < 16) all.push_back(std::make_unique<Endpoint>(*all.front(), QpOptions{}));
  BOOST_TEST(!nic.awaits_completions());
  all.push_back(std::make_unique<Endpoint>(*all.front(), QpOptions{}));
  BOOST_TEST(nic.awaits_completions());
}
