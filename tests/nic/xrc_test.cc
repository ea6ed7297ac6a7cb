// Extended reliable connections: an SRQ is named by each message, domains must agree, QPs with several holders.
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

/// Node 1 sends to node 2, which has two SRQs in one domain and PDs of their own.
struct Extended {
  Extended() : a(world, 1), b(world, 2), other_pd(Endpoint::take(b.nic().allocate_pd())) {
    domain = Endpoint::take(b.nic().create_xrc_domain());
    srq = make_srq(b.pd);
    other_srq = make_srq(other_pd);
    QpInit send{.pd = a.pd,
                .type = QpType::xrc_send,
                .send_cq = a.send_cq,
                .capabilities = a.options().capabilities,
                .signal_all = true};
    sender = Endpoint::take(a.nic().create_qp(send));
    QpInit receive{.type = QpType::xrc_receive, .xrc_domain = domain};
    receiver = Endpoint::take(b.nic().create_qp(receive));
    connect();
  }

  SrqHandle make_srq(PdHandle pd) {
    return Endpoint::take(
        b.nic().create_srq({.pd = pd, .xrc_domain = domain, .cq = b.recv_cq, .max_wr = 16, .max_sge = 2}));
  }
  void connect() {
    modify(a, sender, a.init_attributes(), kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags);
    modify(b, receiver, b.init_attributes(), kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags);
    constexpr std::uint32_t kConnected = kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn;
    modify(a, sender, a.rtr_attributes(2, b.nic().qpn(receiver)), kConnected);
    modify(b, receiver, b.rtr_attributes(1, a.nic().qpn(sender)), kConnected | kQpMaxDestReadAtomic | kQpMinRnrTimer);
    modify(a, sender, a.rts_attributes(),
           kQpState | kQpSqPsn | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpMaxReadAtomic);
    modify(b, receiver, b.rts_attributes(), kQpState | kQpSqPsn | kQpTimeout);
  }
  void modify(Endpoint& end, QpHandle qp, const QpAttributes& attributes, std::uint32_t mask) {
    BOOST_REQUIRE(end.nic().modify_qp(qp, attributes, mask, world.now()).ok());
  }
  void receive(SrqHandle into, std::uint64_t wr_id, const Sge& sge) {
    BOOST_REQUIRE(b.nic().post_srq_receive(into, {wr_id, {&sge, 1}}).ok());
  }
  wire::Qpn number(SrqHandle of) { return Endpoint::take(b.nic().srq_number(of)); }
  void post(SendRequest request, SrqHandle to) {
    request.remote_qpn = number(to);
    BOOST_REQUIRE(a.nic().post_send(sender, request, world.now()).ok());
  }

  World world;
  Endpoint a, b;
  PdHandle other_pd;
  XrcDomainHandle domain;
  SrqHandle srq, other_srq;
  QpHandle sender, receiver;
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_message_goes_to_the_queue_that_it_names) {
  Extended x;
  Buffer from(x.a.nic(), x.a.pd, 8192), first(x.b.nic(), x.b.pd, 8192), second(x.b.nic(), x.other_pd, 8192);
  from.fill(1);
  x.receive(x.srq, 11, first.sge());
  x.receive(x.other_srq, 22, second.sge());
  const Sge sge = from.sge(0, 5000);
  x.post({.wr_id = 1, .opcode = SendOpcode::send, .sges = {&sge, 1}}, x.other_srq);
  x.post({.wr_id = 2, .opcode = SendOpcode::send_with_immediate, .sges = {&sge, 1}, .immediate = 7}, x.srq);
  x.world.run_to_rest();
  check_statuses(x.a.poll_sent(), {success, success});
  const auto received = x.b.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 2u);
  BOOST_TEST(received[0].wr_id == 22u);
  BOOST_TEST(received[1].wr_id == 11u);
  BOOST_TEST(received[1].immediate == 7u);
  BOOST_TEST((received[0].qpn == x.b.nic().qpn(x.receiver)));
  BOOST_TEST(received[0].byte_count == 5000u);
  BOOST_TEST(same_bytes(from.bytes().first(5000), first.bytes().first(5000)));
  BOOST_TEST(same_bytes(from.bytes().first(5000), second.bytes().first(5000)));
}

BOOST_AUTO_TEST_CASE(reads_writes_and_atomics_use_the_named_queues_pd) {
  Extended x;
  Buffer from(x.a.nic(), x.a.pd, 8192), memory(x.b.nic(), x.other_pd, 8192);
  from.fill(1);
  memory.fill(2);
  const Sge sge = from.sge(0, 4096);
  const Sge word = from.sge(4096, 8);
  const std::uint64_t before = memory.word(0);
  x.post({.opcode = SendOpcode::fetch_and_add,
          .sges = {&word, 1},
          .operand = {.remote = {.address = memory.address(), .rkey = memory.rkey(), .compare_or_add = 5}}},
         x.other_srq);
  x.post({.opcode = SendOpcode::rdma_write,
          .sges = {&sge, 1},
          .operand = {.remote = {.address = memory.address(4096), .rkey = memory.rkey()}}},
         x.other_srq);
  x.post({.opcode = SendOpcode::rdma_read,
          .sges = {&sge, 1},
          .operand = {.remote = {.address = memory.address(), .rkey = memory.rkey()}}},
         x.other_srq);
  x.world.run_to_rest();
  check_statuses(x.a.poll_sent(), {success, success, success});
  BOOST_TEST(memory.word(0) == before + 5);
  BOOST_TEST(from.word(512) == before);
  BOOST_TEST(same_bytes(from.bytes().first(4096), memory.bytes().first(4096)));
  // The other queue's domain does not know that memory.
  x.post({.opcode = SendOpcode::rdma_write,
          .sges = {&sge, 1},
          .operand = {.remote = {.address = memory.address(), .rkey = memory.rkey()}}},
         x.srq);
  x.world.run_to_rest();
  check_statuses(x.a.poll_sent(), {remote_access_error});
}

BOOST_AUTO_TEST_CASE(a_queue_of_another_domain_or_none_ends_the_connection) {
  for (const bool gone : {false, true}) {
    Extended x;
    Buffer from(x.a.nic(), x.a.pd, 64);
    const auto other_domain = Endpoint::take(x.b.nic().create_xrc_domain());
    const auto foreign = Endpoint::take(x.b.nic().create_srq(
        {.pd = x.b.pd, .xrc_domain = other_domain, .cq = x.b.recv_cq, .max_wr = 16, .max_sge = 2}));
    const Sge sge = from.sge();
    SendRequest request{.opcode = SendOpcode::send, .sges = {&sge, 1}};
    request.remote_qpn = gone ? wire::Qpn(0xabcdef) : x.number(foreign);
    BOOST_REQUIRE(x.a.nic().post_send(x.sender, request, x.world.now()).ok());
    x.world.run_to_rest();
    check_statuses(x.a.poll_sent(), {remote_invalid_request});
    BOOST_TEST((Endpoint::take(x.b.nic().query_qp(x.receiver)).state == QpState::error));
  }
}

BOOST_AUTO_TEST_CASE(an_empty_queue_is_waited_for) {
  Extended x;
  Buffer from(x.a.nic(), x.a.pd, 64), into(x.b.nic(), x.b.pd, 64);
  const Sge sge = from.sge();
  x.post({.opcode = SendOpcode::send, .sges = {&sge, 1}}, x.srq);
  x.world.run_for(microseconds(50));
  BOOST_TEST(x.a.poll_sent().empty());
  BOOST_TEST(x.b.counters().get(Counter::rnr_nak_sent) > 0u);
  x.receive(x.srq, 1, into.sge());
  x.world.run_to_rest();
  check_statuses(x.a.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(lost_packets_are_sent_again) {
  Extended x;
  Buffer from(x.a.nic(), x.a.pd, 20000), into(x.b.nic(), x.b.pd, 20000);
  from.fill(9);
  x.receive(x.srq, 1, into.sge());
  x.world.lose(1, 2, 0b1010);
  x.world.lose(2, 1, 0b1);
  const Sge sge = from.sge();
  x.post({.opcode = SendOpcode::send, .sges = {&sge, 1}}, x.srq);
  x.post({.opcode = SendOpcode::rdma_read,
          .sges = {&sge, 1},
          .operand = {.remote = {.address = into.address(), .rkey = into.rkey()}}},
         x.srq);
  x.world.run_to_rest();
  check_statuses(x.a.poll_sent(), {success, success});
  BOOST_TEST(same_bytes(from.bytes(), into.bytes()));
}

BOOST_AUTO_TEST_CASE(objects_in_use_are_busy_and_a_receiver_ends_with_its_holder) {
  Extended x;
  Nic& nic = x.b.nic();
  BOOST_CHECK(nic.destroy_xrc_domain(x.domain).error() == VerbsError::busy);
  BOOST_CHECK(nic.open_qp(x.domain, nic.qpn(x.b.qp)).error() == VerbsError::invalid_argument);
  BOOST_TEST(nic.open_qp(x.domain, nic.qpn(x.receiver)).ok());
  BOOST_TEST(nic.destroy_qp(x.receiver).ok());
  BOOST_TEST(nic.query_qp(x.receiver).ok());
  BOOST_TEST(nic.destroy_qp(x.receiver).ok());
  BOOST_CHECK(nic.query_qp(x.receiver).error() == VerbsError::invalid_argument);
  BOOST_TEST(nic.destroy_srq(x.srq).ok());
  BOOST_TEST(nic.destroy_srq(x.other_srq).ok());
  BOOST_TEST(nic.destroy_xrc_domain(x.domain).ok());
  BOOST_CHECK(nic.destroy_xrc_domain(x.domain).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_queue_may_go_in_the_middle_of_a_message) {
  Extended x;
  Buffer from(x.a.nic(), x.a.pd, 20000), into(x.b.nic(), x.b.pd, 20000);
  x.receive(x.srq, 1, into.sge());
  x.world.lose(1, 2, ~std::uint64_t{1});  // the first packet arrives, no other does
  const Sge sge = from.sge();
  x.post({.opcode = SendOpcode::send, .sges = {&sge, 1}}, x.srq);
  x.world.run_for(microseconds(100));
  BOOST_TEST(x.b.nic().destroy_srq(x.srq).ok());
  x.world.lose(1, 2, 0);
  x.world.run_to_rest();
  check_statuses(x.a.poll_sent(), {remote_invalid_request});
}

BOOST_AUTO_TEST_CASE(a_receiver_has_nothing_to_post_to) {
  Extended x;
  const Sge sge{};
  BOOST_CHECK(x.b.nic().post_send(x.receiver, {.sges = {&sge, 1}}, x.world.now()).error() ==
              VerbsError::invalid_argument);
  BOOST_CHECK(x.b.nic().post_receive(x.receiver, {1, {}}).error() == VerbsError::invalid_argument);
  BOOST_CHECK(x.a.nic().post_receive(x.sender, {1, {}}).error() == VerbsError::invalid_argument);
}

BOOST_AUTO_TEST_CASE(polling_frees_the_named_queues_slots_without_the_receiver) {
  for (const bool is_gone : {false, true}) {
    Extended x;
    const auto taken = [&](SrqHandle srq) {
      std::uint32_t count = 0;
      while (x.b.nic().post_srq_receive(srq, {count, {}}).ok()) BOOST_TEST_REQUIRE(++count < 100u);
      return count;
    };
    BOOST_TEST(taken(x.srq) == 16u);
    BOOST_TEST(taken(x.other_srq) == 16u);
    for (const SrqHandle to : {x.srq, x.other_srq, x.srq}) x.post({.opcode = SendOpcode::send}, to);
    x.world.run_to_rest();
    BOOST_TEST(taken(x.srq) + taken(x.other_srq) == 0u);
    if (is_gone) BOOST_TEST(x.b.nic().destroy_qp(x.receiver).ok());
    BOOST_TEST(x.b.poll_received().size() == 3u);
    BOOST_TEST(taken(x.srq) == 2u);
    BOOST_TEST(taken(x.other_srq) == 1u);
  }
}

BOOST_AUTO_TEST_CASE(completion_of_a_destroyed_queue_frees_no_slot_of_the_next) {
  Extended x;
  BOOST_REQUIRE(x.b.nic().post_srq_receive(x.srq, {1, {}}).ok());
  x.post({.opcode = SendOpcode::send}, x.srq);
  x.world.run_to_rest();
  BOOST_TEST(x.b.nic().destroy_srq(x.srq).ok());
  const SrqHandle next = x.make_srq(x.b.pd);
  for (std::uint64_t i = 0; i < 16; ++i) BOOST_REQUIRE(x.b.nic().post_srq_receive(next, {i, {}}).ok());
  BOOST_TEST(x.b.poll_received().size() == 1u);
  BOOST_TEST(!x.b.nic().post_srq_receive(next, {16, {}}).ok());
}
