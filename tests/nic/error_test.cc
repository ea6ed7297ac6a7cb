// What goes wrong between two QPs, seen from both sides: statuses, states, events, and the order of what is flushed.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

bool has_event(const std::vector<AsyncEventType>& events, AsyncEventType type) {
  return std::find(events.begin(), events.end(), type) != events.end();
}

/// a posts one request; the two ends are then expected as said.
struct Outcome {
  CompletionStatus requester;
  std::optional<AsyncEventType> responder_event;
  std::optional<CompletionStatus> receive;  // of the one receive that the responder has posted
};

void check_outcome(Pair& pair, const SendRequest& request, const Outcome& outcome) {
  pair.a.post(request);
  pair.a.post({.wr_id = 99, .opcode = SendOpcode::send});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {outcome.requester, flushed});
  BOOST_CHECK(pair.a.state() == QpState::error);
  BOOST_CHECK(pair.b.state() == QpState::error);
  const auto events = pair.b.poll_events();
  for (const auto type : {AsyncEventType::qp_access_error, AsyncEventType::qp_request_error})
    BOOST_TEST(has_event(events, type) == (outcome.responder_event == type));
  const auto received = pair.b.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(name_of(received[0].status) == name_of(outcome.receive.value_or(flushed)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wrong_key_address_length_or_right_is_a_remote_access_error) {
  const auto refused = [](SendOpcode opcode, auto&& spoil, QpOptions options = {}) {
    Pair pair(options, 4096);
    Buffer read_only(pair.b.nic(), pair.b.pd, 4096, 0);
    PdHandle other_pd = Endpoint::take(pair.b.nic().allocate_pd());
    Buffer foreign(pair.b.nic(), other_pd, 4096);
    pair.b.receive(1, {pair.b_buffer.sge()});
    const Sge sge = pair.a_buffer.sge(0, 8);
    SendRequest request{.opcode = opcode,
                        .sges = {&sge, 1},
                        .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}};
    spoil(request, pair, read_only, foreign);
    check_outcome(pair, request, {remote_access_error, AsyncEventType::qp_access_error, std::nullopt});
  };
  for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read, SendOpcode::fetch_and_add}) {
    BOOST_TEST_CONTEXT("opcode " << static_cast<int>(opcode)) {
      using Ref = SendRequest&;
      refused(opcode, [](Ref request, Pair&, Buffer&, Buffer&) { request.operand.remote.rkey ^= 1; });
      refused(opcode, [](Ref request, Pair&, Buffer&, Buffer&) { request.operand.remote.rkey ^= 0x40000000; });
      refused(opcode, [](Ref request, Pair&, Buffer&, Buffer&) { request.operand.remote.address -= 8; });
      refused(opcode, [](Ref request, Pair&, Buffer&, Buffer&) { request.operand.remote.address += 4096; });
      refused(opcode, [](Ref request, Pair&, Buffer&, Buffer&) { request.operand.remote.address = UINT64_MAX - 7; });
      refused(opcode,
              [](Ref request, Pair&, Buffer& read_only, Buffer&) { request.operand.remote.rkey = read_only.rkey(); });
      refused(opcode,
              [](Ref request, Pair&, Buffer&, Buffer& foreign) { request.operand.remote.rkey = foreign.rkey(); });
      refused(opcode, [](Ref, Pair& pair, Buffer&, Buffer&) {
        BOOST_REQUIRE(pair.b.nic().deregister_memory(pair.b_buffer.mr()).ok());
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(write_with_immediate_to_a_wrong_key_fails_its_receive) {
  Pair pair({}, 4096);
  pair.b.receive(1, {});
  const Sge sge = pair.a_buffer.sge(0, 8);
  check_outcome(pair,
                {.opcode = SendOpcode::rdma_write_with_immediate,
                 .sges = {&sge, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey() ^ 1}}},
                {remote_access_error, AsyncEventType::qp_access_error, local_access_error});
}

BOOST_AUTO_TEST_CASE(last_octet_of_a_region_can_be_reached_and_the_next_not) {
  Pair pair({}, 4096);
  const Sge two = pair.a_buffer.sge(0, 2);
  pair.b.receive(1, {});
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&two, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(4094), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success});
  check_outcome(pair,
                {.opcode = SendOpcode::rdma_write,
                 .sges = {&two, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(4095), .rkey = pair.b_buffer.rkey()}}},
                {remote_access_error, AsyncEventType::qp_access_error, std::nullopt});
}

BOOST_AUTO_TEST_CASE(a_zero_length_access_needs_no_valid_key) {
  Pair pair;
  for (const SendOpcode opcode : {SendOpcode::rdma_write, SendOpcode::rdma_read})
    pair.a.post({.opcode = opcode, .operand = {.remote = {.address = 1, .rkey = 0xdead}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {success, success});
}

BOOST_AUTO_TEST_CASE(operation_that_the_qp_does_not_allow_is_an_invalid_request) {
  const auto refused = [](SendOpcode opcode, std::uint32_t right) {
    QpOptions options;
    options.access &= ~right;
    Pair pair(options, 4096);
    pair.b.receive(1, {pair.b_buffer.sge()});
    const Sge sge = pair.a_buffer.sge(0, 8);
    check_outcome(pair,
                  {.opcode = opcode,
                   .sges = {&sge, 1},
                   .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}},
                  {remote_invalid_request, AsyncEventType::qp_request_error, std::nullopt});
  };
  refused(SendOpcode::rdma_write, kRemoteWrite);
  refused(SendOpcode::rdma_read, kRemoteRead);
  refused(SendOpcode::compare_and_swap, kRemoteAtomic);
}

BOOST_AUTO_TEST_CASE(an_atomic_off_its_natural_boundary_is_an_invalid_request) {
  Pair pair({}, 4096);
  pair.b.receive(1, {});
  const Sge sge = pair.a_buffer.sge(0, 8);
  check_outcome(pair,
                {.opcode = SendOpcode::fetch_and_add,
                 .sges = {&sge, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(4), .rkey = pair.b_buffer.rkey()}}},
                {remote_invalid_request, AsyncEventType::qp_request_error, std::nullopt});
}

BOOST_AUTO_TEST_CASE(a_send_longer_than_the_receive_fails_both) {
  for (const std::size_t room : {0u, 9u, 1024u, 2999u}) {
    Pair pair;
    pair.b.receive(1, {pair.b_buffer.sge(0, room)});
    pair.b_buffer.clear();
    const Sge sge = pair.a_buffer.sge(0, 3000);
    check_outcome(pair, {.opcode = SendOpcode::send, .sges = {&sge, 1}},
                  {remote_invalid_request, std::nullopt, local_length_error});
    BOOST_TEST(std::all_of(pair.b_buffer.bytes().begin() + static_cast<std::ptrdiff_t>(room),
                           pair.b_buffer.bytes().end(), [](std::byte octet) { return octet == std::byte{0}; }));
  }
}

BOOST_AUTO_TEST_CASE(a_receive_with_a_wrong_key_fails_both) {
  Pair pair;
  Sge bad = pair.b_buffer.sge(0, 100);
  bad.lkey ^= 1;
  pair.b.receive(1, {bad});
  const Sge sge = pair.a_buffer.sge(0, 10);
  check_outcome(pair, {.opcode = SendOpcode::send, .sges = {&sge, 1}},
                {remote_operation_error, std::nullopt, local_protection_error});
}

BOOST_AUTO_TEST_CASE(a_receive_into_memory_without_local_write_fails_both) {
  Pair pair;
  Buffer read_only(pair.b.nic(), pair.b.pd, 100, 0);
  pair.b.receive(1, {read_only.sge()});
  const Sge sge = pair.a_buffer.sge(0, 10);
  check_outcome(pair, {.opcode = SendOpcode::send, .sges = {&sge, 1}},
                {remote_operation_error, std::nullopt, local_protection_error});
}

BOOST_AUTO_TEST_CASE(send_from_forbidden_memory_fails_here_in_order) {
  for (const bool out_of_bounds : {false, true}) {
    Pair pair({}, 4096);
    Sge bad = pair.a_buffer.sge(0, 3000);
    if (out_of_bounds)
      bad.address += 4096 - 2999;
    else
      bad.lkey ^= 1;
    const Sge good = pair.a_buffer.sge(0, 2000);
    const auto write = [&](std::uint64_t id, const Sge& sge) {
      pair.a.post({.wr_id = id,
                   .opcode = SendOpcode::rdma_write,
                   .sges = {&sge, 1},
                   .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    };
    write(1, good);
    write(2, bad);
    write(3, good);
    pair.world.run_to_rest();
    const auto sent = pair.a.poll_sent();
    check_statuses(sent, {success, local_protection_error, flushed});
    for (std::uint64_t i = 0; i < sent.size(); ++i) BOOST_TEST(sent[i].wr_id == i + 1);
    BOOST_CHECK(pair.a.state() == QpState::error);
  }
}

BOOST_AUTO_TEST_CASE(a_read_into_memory_that_is_not_allowed_fails_here) {
  for (const SendOpcode opcode : {SendOpcode::rdma_read, SendOpcode::fetch_and_add}) {
    Pair pair({}, 4096);
    Buffer read_only(pair.a.nic(), pair.a.pd, 100, 0);
    const Sge sge = read_only.sge(0, 8);
    pair.a.post({.opcode = opcode,
                 .sges = {&sge, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest();
    check_statuses(pair.a.poll_sent(), {local_protection_error});
  }
}

BOOST_AUTO_TEST_CASE(atomic_of_other_than_eight_octets_is_a_local_length_error) {
  Pair pair;
  const Sge sge = pair.a_buffer.sge(0, 4);
  pair.a.post({.opcode = SendOpcode::fetch_and_add,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {local_length_error});
}

BOOST_AUTO_TEST_CASE(reads_beyond_the_responders_resources_are_invalid_requests) {
  World world;
  Endpoint a(world, 1, {.max_read_atomic = 8});
  Endpoint b(world, 2, {.max_dest_read_atomic = 2});
  Buffer into(a.nic(), a.pd, 64), from(b.nic(), b.pd, 64);
  a.connect(2, b.qpn());
  b.connect(1, a.qpn());
  const Sge sge = into.sge(0, 8);
  for (int i = 0; i < 8; ++i)
    a.post({.opcode = SendOpcode::rdma_read,
            .sges = {&sge, 1},
            .operand = {.remote = {.address = from.address(), .rkey = from.rkey()}}});
  world.run_to_rest();
  const auto sent = a.poll_sent();
  BOOST_TEST_REQUIRE(sent.size() == 8u);
  BOOST_TEST(name_of(sent[2].status) == "remote_invalid_request");
  BOOST_TEST(name_of(sent[7].status) == "flushed");
}

BOOST_AUTO_TEST_CASE(vanished_peer_times_out_and_only_its_own_qp_suffers) {
  World world({.nodes = 3});
  const QpOptions options{.timeout = 6, .retry_count = 3};
  Endpoint a(world, 1, options), gone(world, 2, options), a2(a, options), c(world, 3, options);
  Buffer from(a.nic(), a.pd, 4096), to(c.nic(), c.pd, 4096);
  a.connect(2, gone.qpn());
  gone.connect(1, a.qpn());
  a2.connect(3, c.qpn());
  c.connect(1, a2.qpn());
  world.cut(1, 2);
  const Sge sge = from.sge();
  a.post({.wr_id = 1, .opcode = SendOpcode::send, .sges = {&sge, 1}});
  a2.post({.wr_id = 2,
           .opcode = SendOpcode::rdma_write,
           .sges = {&sge, 1},
           .operand = {.remote = {.address = to.address(), .rkey = to.rkey()}}});
  world.run_to_rest(seconds(1));
  const auto sent = a.poll_sent();
  BOOST_TEST_REQUIRE(sent.size() == 2u);
  BOOST_TEST(sent[0].wr_id == 2u);
  check_statuses(sent, {success, retry_exceeded});
  BOOST_CHECK(a2.state() == QpState::rts);
  BOOST_CHECK(a.state() == QpState::error);
}

BOOST_AUTO_TEST_CASE(error_state_flushes_both_queues_in_order_and_later_posts) {
  Pair pair;
  pair.world.cut(1, 2);
  for (std::uint64_t i = 0; i < 3; ++i) {
    pair.a.receive(10 + i, {});
    pair.a.post({.wr_id = i, .opcode = SendOpcode::send});
  }
  pair.world.run_for(microseconds(10));
  pair.a.to_state(QpState::error);
  const auto sent = pair.a.poll_sent();
  const auto received = pair.a.poll_received();
  check_statuses(sent, {flushed, flushed, flushed});
  check_statuses(received, {flushed, flushed, flushed});
  for (std::uint64_t i = 0; i < 3; ++i) {
    BOOST_TEST(sent[i].wr_id == i);
    BOOST_TEST(received[i].wr_id == 10 + i);
  }
  pair.a.post({.wr_id = 5, .opcode = SendOpcode::send});
  pair.a.receive(15, {});
  check_statuses(pair.a.poll_sent(), {flushed});
  check_statuses(pair.a.poll_received(), {flushed});
  pair.world.clear_trace();
  pair.world.run_to_rest();
  BOOST_TEST(pair.world.trace().empty());
}

BOOST_AUTO_TEST_CASE(a_failed_pair_can_be_reset_and_connected_again) {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    pair.a.post({.opcode = SendOpcode::rdma_read, .sges = {}, .operand = {.remote = {.address = 0, .rkey = 0}}});
    const Sge sge = pair.a_buffer.sge(0, 8);
    pair.a.post(
        {.opcode = SendOpcode::rdma_write, .sges = {&sge, 1}, .operand = {.remote = {.address = 0, .rkey = 0}}});
    pair.world.run_to_rest();
    check_statuses(pair.a.poll_sent(), {success, remote_access_error});
    for (Endpoint* end : {&pair.a, &pair.b}) end->to_state(QpState::reset);
    pair.a.connect(2, pair.b.qpn());
    pair.b.connect(1, pair.a.qpn());
  }
}

BOOST_AUTO_TEST_CASE(uc_message_too_long_for_its_receive_is_dropped) {
  for (const bool is_shared : {false, true}) {
    World world;
    Endpoint a(world, 1, {.type = QpType::uc, .mtu = 256});
    Endpoint b(world, 2, {.type = QpType::uc, .mtu = 256});
    const SrqHandle srq = Endpoint::take(b.nic().create_srq({.pd = b.pd, .max_wr = 4, .max_sge = 1}));
    Endpoint shared(b, {.type = QpType::uc, .mtu = 256, .srq = srq});
    Endpoint& receiver = is_shared ? shared : b;
    a.connect(2, receiver.qpn());
    receiver.connect(1, a.qpn());
    Buffer from(a.nic(), a.pd, 4096), into(b.nic(), b.pd, 4096);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const Sge sge = into.sge(i * 1024, 700);
      if (is_shared)
        BOOST_REQUIRE(b.nic().post_srq_receive(srq, {i, {&sge, 1}}).ok());
      else
        b.receive(i, {sge});
    }
    for (const std::size_t bytes : {701u, 700u, 600u}) {
      const Sge sge = from.sge(0, bytes);
      a.post({.opcode = SendOpcode::send, .sges = {&sge, 1}});
      world.run_to_rest();
    }
    check_statuses(a.poll_sent(), {success, success, success});
    const auto received = receiver.poll_received();
    if (is_shared)
      check_statuses(received, {remote_invalid_request, success});
    else
      check_statuses(received, {success, success});
    BOOST_TEST(received[0].wr_id == 0u);
    BOOST_TEST(received[1].wr_id == 1u);
    BOOST_CHECK(receiver.state() == QpState::rts);
    BOOST_TEST(b.counters().get(Counter::uc_dropped_messages) == (is_shared ? 2u : 1u));
  }
}
