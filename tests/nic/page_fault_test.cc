// Pages of on-demand regions that take time to come (NicConfig::page_fault_delay).
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;

namespace {

constexpr Duration kDelay = microseconds(500);
constexpr std::uint32_t kAccess = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic;

/// One retry of each kind, and an ACK timeout of 65 us: what waits for pages must not use them up.
constexpr QpOptions kImpatient{.timeout = 4, .retry_count = 1, .rnr_retry = 7, .min_rnr_timer = 10};

/// Both sides have a region of which no page is there.
struct Paged : Pair {
  explicit Paged(const QpOptions& options = kImpatient)
      : Pair(options, 1 << 16, {.page_fault_delay = kDelay}),
        here(a.nic(), a.pd, 1 << 16, kAccess | kOnDemand),
        there(b.nic(), b.pd, 1 << 16, kAccess | kOnDemand) {
    here.fill(5);
    there.fill(6);
  }
  void ask(SendOpcode opcode, const Sge& local, const Buffer& remote) {
    a.post({.opcode = opcode,
            .sges = {&local, 1},
            .operand = {.remote = {.address = Buffer::address(), .rkey = remote.rkey()}}});
  }
  /// Runs until what was posted is done, and returns how long that took.
  Duration run() {
    const Time begin = world.now();
    std::vector<Completion> done;
    BOOST_TEST(world.run_while_not([&] { return !(done = a.poll_sent()).empty(); }));
    check_statuses(done, {success});
    return world.now() - begin;
  }
  std::uint64_t faults(Endpoint& end) { return end.counters().get(Counter::page_faults); }

  Buffer here;
  Buffer there;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_write_to_a_missing_page_is_put_off_by_an_rnr_nak) {
  Paged pair;
  pair.ask(SendOpcode::rdma_write, pair.a_buffer.sge(0, 64), pair.there);
  BOOST_TEST(pair.run().ns >= kDelay.ns);
  BOOST_TEST(pair.b.counters().get(Counter::rnr_nak_sent) >= 1u);
  BOOST_TEST(pair.faults(pair.b) == 1u);
  BOOST_TEST(pair.there.word(0) == pair.a_buffer.word(0));
  pair.ask(SendOpcode::rdma_write, pair.a_buffer.sge(0, 64), pair.there);
  BOOST_TEST(pair.run().ns < kDelay.ns);
  BOOST_TEST(pair.faults(pair.b) == 1u);
}

BOOST_AUTO_TEST_CASE(the_rnr_nak_names_the_qps_timer_and_the_packet) {
  Script script({.min_rnr_timer = 12}, 1 << 16, {.latency = nanoseconds(0), .page_fault_delay = kDelay});
  const Buffer paged(script.end.nic(), script.end.pd, 1 << 14, kAccess | kOnDemand);
  const auto write = [&](OperationCode code, std::uint32_t psn) {
    script.peer({.opcode = rc(code),
                 .psn = psn,
                 .ack_request = true,
                 .reth = {Buffer::address(), wire::Rkey{paged.rkey()}, 8192},
                 .payload = std::vector<std::byte>(1024)});
  };
  write(OperationCode::write_first, 100);
  script.expect_rnr_nak(12, 100);
  script.expect_silence(kDelay);
  write(OperationCode::write_first, 100);
  script.expect_acknowledge(100);
  for (std::uint32_t psn = 101; psn <= 103; ++psn) {
    write(OperationCode::write_middle, psn);
    script.expect_acknowledge(psn);
  }
  write(OperationCode::write_middle, 104);  // the second page
  script.expect_rnr_nak(12, 104);
}

BOOST_AUTO_TEST_CASE(a_peer_that_waits_for_no_receiver_fails_as_on_hardware) {
  QpOptions options = kImpatient;
  options.rnr_retry = 0;
  Paged pair(options);
  pair.ask(SendOpcode::rdma_write, pair.a_buffer.sge(0, 64), pair.there);
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {rnr_retry_exceeded});
}

BOOST_AUTO_TEST_CASE(what_is_sent_from_missing_pages_waits_for_them) {
  Paged pair;
  pair.ask(SendOpcode::rdma_write, pair.here.sge(0, 20000), pair.b_buffer);
  BOOST_TEST(pair.run().ns >= 5 * kDelay.ns);
  BOOST_TEST(pair.faults(pair.a) == 5u);
  BOOST_TEST(pair.b.counters().get(Counter::rnr_nak_sent) == 0u);
  BOOST_TEST(same_bytes(pair.here.bytes().first(20000), pair.b_buffer.bytes().first(20000)));
}

BOOST_AUTO_TEST_CASE(a_read_waits_for_pages_on_both_sides) {
  Paged pair;
  pair.ask(SendOpcode::rdma_read, pair.here.sge(0, 20000), pair.there);
  BOOST_TEST(pair.run().ns >= kDelay.ns);
  BOOST_TEST(pair.faults(pair.a) == 5u);
  BOOST_TEST(pair.faults(pair.b) == 5u);
  BOOST_TEST(same_bytes(pair.here.bytes().first(20000), pair.there.bytes().first(20000)));
}

BOOST_AUTO_TEST_CASE(an_atomic_is_executed_once_whatever_it_waits_for) {
  Paged pair;
  const std::uint64_t before = pair.there.word(0);
  const Sge result = pair.here.sge(0, 8);
  pair.a.post({.opcode = SendOpcode::fetch_and_add,
               .sges = {&result, 1},
               .operand = {.remote = {.address = Buffer::address(), .rkey = pair.there.rkey(), .compare_or_add = 3}}});
  pair.run();
  BOOST_TEST(pair.there.word(0) == before + 3);
  BOOST_TEST(pair.here.word(0) == before);
}

BOOST_AUTO_TEST_CASE(a_receive_into_missing_pages_is_put_off_and_then_whole) {
  Paged pair;
  pair.b.receive(77, {pair.there.sge(0, 20000)});
  const Sge sge = pair.a_buffer.sge(0, 20000);
  pair.a.post({.sges = {&sge, 1}});
  BOOST_TEST(pair.run().ns >= kDelay.ns);
  const auto received = pair.b.poll_received();
  check_statuses(received, {success});
  BOOST_TEST(received.at(0).byte_count == 20000u);
  BOOST_TEST(same_bytes(pair.there.bytes().first(20000), pair.a_buffer.bytes().first(20000)));
  BOOST_TEST(pair.b.counters().get(Counter::rx_send_requests) == 1u);
}

BOOST_AUTO_TEST_CASE(a_datagram_into_missing_pages_is_lost_and_its_receive_is_not) {
  Paged pair({.type = QpType::ud});
  const AhHandle ah = Endpoint::take(pair.a.nic().create_ah(pair.a.pd, Endpoint::path_to(2)));
  pair.b.receive(77, {pair.there.sge(0, 1000)});
  const Sge sge = pair.a_buffer.sge(0, 100);
  const SendRequest datagram{
      .sges = {&sge, 1}, .address_handle = ah, .remote_qpn = pair.b.qpn(), .remote_qkey = 0x11111111};
  pair.a.post(datagram);
  pair.run();
  pair.world.run_for(kDelay + kDelay);
  BOOST_TEST(pair.b.poll_received().empty());
  pair.a.post(datagram);
  pair.run();
  pair.world.run_to_rest();
  const auto received = pair.b.poll_received();
  check_statuses(received, {success});
  BOOST_TEST(received.at(0).wr_id == 77u);
}

BOOST_AUTO_TEST_CASE(advice_takes_the_delay_away) {
  Paged pair;
  BOOST_TEST(pair.b.nic().prefetch_memory(pair.b.pd, pair.there.sge(0, 8192), true).ok());
  pair.ask(SendOpcode::rdma_write, pair.a_buffer.sge(0, 8192), pair.there);
  BOOST_TEST(pair.run().ns < kDelay.ns);
  BOOST_TEST(pair.faults(pair.b) == 0u);
  BOOST_TEST(pair.b.counters().get(Counter::page_prefetch) == 2u);
  BOOST_TEST(pair.b.counters().get(Counter::rnr_nak_sent) == 0u);
}

BOOST_AUTO_TEST_CASE(an_access_that_is_not_allowed_fails_at_once) {
  Paged pair;
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .operand = {.remote = {.address = 0, .rkey = pair.there.rkey()}}});  // zero octets
  BOOST_TEST(pair.run().ns < kDelay.ns);
  const Sge sge = pair.a_buffer.sge(0, 64);
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&sge, 1},
               .operand = {.remote = {.address = Buffer::address((1 << 16) - 32), .rkey = pair.there.rkey()}}});
  pair.world.run_to_rest();
  check_statuses(pair.a.poll_sent(), {remote_access_error});
  BOOST_TEST(pair.b.counters().get(Counter::rnr_nak_sent) == 0u);
}

BOOST_AUTO_TEST_CASE(two_streams_whose_pages_share_a_place_both_go_on) {
  // 64 MiB apart: the two pages have one place among those that the NIC keeps in mind.
  constexpr std::size_t kApart = std::size_t{64} << 20;
  Pair pair(kImpatient, 1 << 16, {.page_fault_delay = kDelay});
  const Buffer wide(pair.b.nic(), pair.b.pd, 2 * kApart, kAccess | kOnDemand);
  constexpr int kWrites = 20;
  for (int i = 0; i < kWrites; ++i) {
    const Sge sge = pair.a_buffer.sge(0, 64);
    pair.a.post({.opcode = SendOpcode::rdma_write,
                 .sges = {&sge, 1},
                 .operand = {.remote = {.address = Buffer::address(i % 2 == 0 ? 0 : kApart), .rkey = wide.rkey()}}});
  }
  pair.world.run_to_rest();
  BOOST_TEST(pair.a.poll_sent().size() == kWrites);
  BOOST_CHECK(pair.a.state() == QpState::rts);
}
