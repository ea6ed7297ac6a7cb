// The requester of a reliable connection, packet by packet, against IBTA vol 1 chapter 9.7.
#include <boost/test/unit_test.hpp>

#include "tests/support/narrow_port.h"
#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using enum CompletionStatus;
using wire::NakCode;

namespace {

constexpr std::uint32_t kMtu = 256;
constexpr std::uint8_t kTimeout = 8;
constexpr Duration kAckTimeout{std::int64_t{4096} << kTimeout};
constexpr std::uint64_t kRemote = 0x123456780000;
const QpOptions kOptions{.mtu = kMtu, .timeout = kTimeout, .retry_count = 2};

void post(Script& script, SendOpcode opcode, std::size_t bytes, std::uint64_t wr_id = 1, bool fence = false) {
  const Sge sge = script.buffer.sge(0, bytes);
  script.end.post({.wr_id = wr_id,
                   .opcode = opcode,
                   .fence = fence,
                   .sges = {&sge, 1},
                   .operand = {.remote = {.address = kRemote, .rkey = 0x77, .compare_or_add = 1}}});
  script.world.run_until(script.world.now());
}
PacketSpec read_response(OperationCode code, std::uint32_t psn, std::size_t bytes, std::uint8_t value = 0x5c) {
  return {.opcode = rc(code),
          .psn = psn,
          .aeth = {wire::ack_syndrome(31), 0},
          .payload = std::vector<std::byte>(bytes, std::byte{value})};
}
wire::Reth reth_of(const Script& script) {
  const auto packet = wire::parse_frame(script.last_frame);
  BOOST_REQUIRE(packet.ok());
  return packet->reth();
}

}  // namespace

BOOST_AUTO_TEST_CASE(write_goes_out_as_first_middle_last_and_asks_for_one_ack) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_write, 2 * kMtu + 1);
  const Traced first = script.expect(rc(OperationCode::write_first), 100);
  BOOST_TEST(first.length == 2 * kMtu + 1);
  BOOST_TEST(!first.ack_request);
  BOOST_TEST(!script.expect(rc(OperationCode::write_middle), 101).ack_request);
  const Traced last = script.expect(rc(OperationCode::write_last), 102);
  BOOST_TEST(last.ack_request);
  BOOST_TEST(last.payload_bytes == 1u);
  BOOST_TEST(script.end.poll_sent().empty());
  script.acknowledge(102, 1);
  check_statuses(script.end.poll_sent(), {success});
  script.expect_silence(seconds(100));
}

BOOST_AUTO_TEST_CASE(one_acknowledgement_completes_everything_before_it_in_order) {
  Script script(kOptions);
  for (std::uint64_t i = 0; i < 4; ++i) post(script, SendOpcode::rdma_write, 10, i);
  script.acknowledge(102);
  const auto sent = script.end.poll_sent();
  BOOST_TEST_REQUIRE(sent.size() == 3u);
  for (std::uint64_t i = 0; i < 3; ++i) BOOST_TEST(sent[i].wr_id == i);
}

BOOST_AUTO_TEST_CASE(acknowledgements_of_nothing_outstanding_are_ignored) {
  Script script(kOptions);
  script.acknowledge(100);
  post(script, SendOpcode::rdma_write, 10);
  script.acknowledge(99);
  script.acknowledge(101);
  script.acknowledge(100 + 0x800000);
  BOOST_TEST(script.end.poll_sent().empty());
  script.acknowledge(100);
  check_statuses(script.end.poll_sent(), {success});
  script.acknowledge(100);
  BOOST_TEST(script.end.poll_sent().empty());
}

BOOST_AUTO_TEST_CASE(silent_peer_is_asked_at_each_timeout_until_retries_are_spent) {
  Script script(kOptions);
  const Time start = script.world.now();
  post(script, SendOpcode::rdma_write, kMtu + 1, 1);
  post(script, SendOpcode::rdma_write, 1, 2);
  for (int round = 0; round <= 2; ++round) {
    const Traced first = script.expect(rc(OperationCode::write_first), 100, kAckTimeout);
    BOOST_TEST((first.at - start).ns == kAckTimeout.ns * round);
    script.expect(rc(OperationCode::write_last), 101);
    script.expect(rc(OperationCode::write_only), 102);
    script.expect_silence();
  }
  BOOST_TEST(script.end.poll_sent().empty());
  script.expect_silence(seconds(10));
  const auto sent = script.end.poll_sent();
  check_statuses(sent, {retry_exceeded, flushed});
  BOOST_TEST(sent.at(0).wr_id == 1u);
  BOOST_CHECK(script.end.state() == QpState::error);
  BOOST_TEST(script.end.counters().get(Counter::local_ack_timeout_err) == 3u);
  BOOST_TEST(script.end.counters().get(Counter::retry_exceeded_err) == 1u);
  BOOST_TEST(script.end.counters().get(Counter::tx_retransmitted_packets) == 6u);
}

BOOST_AUTO_TEST_CASE(progress_gives_the_retries_back) {
  Script script(kOptions);
  for (std::uint32_t i = 0; i < 6; ++i) {
    post(script, SendOpcode::rdma_write, 1);
    script.expect(rc(OperationCode::write_only), 100 + i);
    script.expect(rc(OperationCode::write_only), 100 + i, kAckTimeout);
    script.expect(rc(OperationCode::write_only), 100 + i, kAckTimeout);
    script.acknowledge(100 + i);
    check_statuses(script.end.poll_sent(), {success});
  }
}

BOOST_AUTO_TEST_CASE(timeout_0_waits_for_ever) {
  QpOptions options = kOptions;
  options.timeout = 0;
  Script script(options);
  post(script, SendOpcode::rdma_write, 1);
  (void)script.next();
  script.expect_silence(seconds(10'000));
  script.acknowledge(100);
  check_statuses(script.end.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(sequence_nak_resends_from_its_psn_and_acks_all_before) {
  Script script(kOptions);
  for (std::uint64_t i = 0; i < 3; ++i) post(script, SendOpcode::rdma_write, 1, i);
  for (int i = 0; i < 3; ++i) (void)script.next();
  script.acknowledge(101, 1, wire::nak_syndrome(NakCode::psn_sequence_error));
  check_statuses(script.end.poll_sent(), {success});
  script.expect(rc(OperationCode::write_only), 101);
  script.expect(rc(OperationCode::write_only), 102);
  script.expect_silence();
  script.acknowledge(102, 3);
  check_statuses(script.end.poll_sent(), {success, success});
  BOOST_TEST(script.end.counters().get(Counter::packet_seq_err) == 1u);
}

BOOST_AUTO_TEST_CASE(retransmission_in_mid_message_has_the_bytes_of_that_place) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_write, 3 * kMtu);
  for (int i = 0; i < 3; ++i) (void)script.next();
  script.acknowledge(101, 0, wire::nak_syndrome(NakCode::psn_sequence_error));
  script.expect(rc(OperationCode::write_middle), 101);
  const auto packet = wire::parse_frame(script.last_frame);
  BOOST_TEST(same_bytes(packet->payload(), script.buffer.bytes().subspan(kMtu, kMtu)));
  script.expect(rc(OperationCode::write_last), 102);
}

BOOST_AUTO_TEST_CASE(an_rnr_nak_is_waited_out_before_the_send_is_repeated) {
  Script script(kOptions);
  post(script, SendOpcode::send, 10, 1);
  post(script, SendOpcode::send, 10, 2);
  (void)script.next();
  (void)script.next();
  script.acknowledge(100, 0, wire::rnr_syndrome(14));
  script.expect_silence(wire::rnr_timer(14) - nanoseconds(1));
  script.expect(rc(OperationCode::send_only), 100, nanoseconds(1));
  script.expect(rc(OperationCode::send_only), 101);
  script.acknowledge(101, 2);
  check_statuses(script.end.poll_sent(), {success, success});
}

BOOST_AUTO_TEST_CASE(rnr_retries_are_counted_and_seven_means_for_ever) {
  QpOptions options = kOptions;
  options.rnr_retry = 2;
  Script script(options);
  post(script, SendOpcode::send, 10, 1);
  post(script, SendOpcode::rdma_write, 10, 2);
  for (int i = 0; i < 3; ++i) {
    script.expect(rc(OperationCode::send_only), 100, wire::rnr_timer(1));
    script.expect(rc(OperationCode::write_only), 101);
    script.acknowledge(100, 0, wire::rnr_syndrome(1));
  }
  check_statuses(script.end.poll_sent(), {rnr_retry_exceeded, flushed});
  BOOST_CHECK(script.end.state() == QpState::error);

  options.rnr_retry = 7;
  Script patient(options);
  post(patient, SendOpcode::send, 10, 1);
  for (int i = 0; i < 50; ++i) {
    patient.expect(rc(OperationCode::send_only), 100, wire::rnr_timer(1));
    patient.acknowledge(100, 0, wire::rnr_syndrome(1));
  }
  patient.expect(rc(OperationCode::send_only), 100, wire::rnr_timer(1));
  patient.acknowledge(100);
  check_statuses(patient.end.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(fatal_nak_becomes_its_status_and_the_rest_is_flushed) {
  for (const auto& [code, status] : {std::pair{NakCode::invalid_request, remote_invalid_request},
                                     std::pair{NakCode::remote_access_error, remote_access_error},
                                     std::pair{NakCode::remote_operational_error, remote_operation_error}}) {
    Script script(kOptions);
    script.end.receive(50, {});
    for (std::uint64_t i = 0; i < 4; ++i) post(script, SendOpcode::rdma_write, 10, i);
    script.acknowledge(101, 1, wire::nak_syndrome(code));
    const auto sent = script.end.poll_sent();
    check_statuses(sent, {success, status, flushed, flushed});
    for (std::uint64_t i = 0; i < sent.size(); ++i) BOOST_TEST(sent[i].wr_id == i);
    check_statuses(script.end.poll_received(), {flushed});
    BOOST_CHECK(script.end.state() == QpState::error);
  }
}

BOOST_AUTO_TEST_CASE(read_takes_its_responses_psns_and_completes_with_the_last) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_read, 2 * kMtu + 1, 1);
  post(script, SendOpcode::rdma_write, 1, 2);
  const Traced request = script.expect(rc(OperationCode::read_request), 100);
  BOOST_TEST(request.length == 2 * kMtu + 1);
  script.expect(rc(OperationCode::write_only), 103);
  script.peer(read_response(OperationCode::read_response_first, 100, kMtu));
  script.peer(read_response(OperationCode::read_response_middle, 101, kMtu));
  BOOST_TEST(script.end.poll_sent().empty());
  script.peer(read_response(OperationCode::read_response_last, 102, 1));
  check_statuses(script.end.poll_sent(), {success});
  script.acknowledge(103);
  check_statuses(script.end.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(a_lost_read_response_is_asked_for_again_from_the_missing_psn) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_read, 4 * kMtu);
  (void)script.next();
  script.peer(read_response(OperationCode::read_response_first, 100, kMtu));
  script.peer(read_response(OperationCode::read_response_middle, 102, kMtu));
  script.expect(rc(OperationCode::read_request), 101);
  BOOST_TEST(reth_of(script).length == 3 * kMtu);
  BOOST_TEST(reth_of(script).address == kRemote + kMtu);
  script.peer(read_response(OperationCode::read_response_last, 103, kMtu));  // stale: of the first request
  script.expect_silence();
  script.peer(read_response(OperationCode::read_response_first, 101, kMtu));
  script.peer(read_response(OperationCode::read_response_middle, 102, kMtu));
  script.peer(read_response(OperationCode::read_response_last, 103, kMtu));
  check_statuses(script.end.poll_sent(), {success});
  BOOST_TEST(script.end.counters().get(Counter::implied_nak_seq_err) == 1u);
}

BOOST_AUTO_TEST_CASE(acknowledgement_beyond_an_unanswered_read_repeats_the_read) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_read, 8, 1);
  post(script, SendOpcode::rdma_write, 8, 2);
  (void)script.next();
  (void)script.next();
  script.acknowledge(101, 2);
  BOOST_TEST(script.end.poll_sent().empty());
  script.expect(rc(OperationCode::read_request), 100);
  script.expect(rc(OperationCode::write_only), 101);
  script.peer(read_response(OperationCode::read_response_only, 100, 8));
  script.acknowledge(101, 2);
  check_statuses(script.end.poll_sent(), {success, success});
}

BOOST_AUTO_TEST_CASE(no_more_reads_and_atomics_are_outstanding_than_agreed) {
  QpOptions options = kOptions;
  options.max_read_atomic = 2;
  Script script(options);
  post(script, SendOpcode::rdma_read, 8);
  post(script, SendOpcode::fetch_and_add, 8);
  post(script, SendOpcode::rdma_read, 8);
  post(script, SendOpcode::rdma_write, 8);
  script.expect(rc(OperationCode::read_request), 100);
  script.expect(rc(OperationCode::fetch_add), 101);
  script.expect_silence();  // the write stays behind the read: requests leave in order
  script.peer(read_response(OperationCode::read_response_only, 100, 8));
  script.expect(rc(OperationCode::read_request), 102);
  script.expect(rc(OperationCode::write_only), 103);
}

BOOST_AUTO_TEST_CASE(a_fence_waits_for_the_reads_before_it) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_read, 8, 1);
  post(script, SendOpcode::rdma_write, 8, 2, true);
  script.expect(rc(OperationCode::read_request), 100);
  script.expect_silence();
  script.peer(read_response(OperationCode::read_response_only, 100, 8));
  script.expect(rc(OperationCode::write_only), 101);
}

BOOST_AUTO_TEST_CASE(a_read_response_of_the_wrong_size_or_place_is_a_bad_response) {
  for (const auto& [code, bytes] : {std::pair{OperationCode::read_response_only, std::size_t{kMtu}},
                                    std::pair{OperationCode::read_response_first, std::size_t{10}},
                                    std::pair{OperationCode::atomic_acknowledge, std::size_t{0}}}) {
    Script script(kOptions);
    post(script, SendOpcode::rdma_read, 2 * kMtu, 1);
    script.peer(read_response(code, 100, bytes));
    check_statuses(script.end.poll_sent(), {bad_response});
    BOOST_CHECK(script.end.state() == QpState::error);
  }
}

BOOST_AUTO_TEST_CASE(psns_wrap_on_the_way_out) {
  QpOptions options = kOptions;
  options.first_psn = 0xffffff;
  Script script(options);
  post(script, SendOpcode::rdma_write, 3 * kMtu);
  script.expect(rc(OperationCode::write_first), 0xffffff);
  script.expect(rc(OperationCode::write_middle), 0);
  script.expect(rc(OperationCode::write_last), 1);
  script.acknowledge(0, 0, wire::nak_syndrome(NakCode::psn_sequence_error));
  script.expect(rc(OperationCode::write_middle), 0);
  script.expect(rc(OperationCode::write_last), 1);
  script.acknowledge(1, 1);
  check_statuses(script.end.poll_sent(), {success});
}

BOOST_AUTO_TEST_CASE(without_credits_one_send_at_a_time_probes) {
  Script script(kOptions);
  post(script, SendOpcode::send, 1);
  (void)script.next();
  script.acknowledge(100, 1, wire::ack_syndrome(0));  // no receive is left
  for (int i = 0; i < 3; ++i) post(script, SendOpcode::send, 1);
  script.expect(rc(OperationCode::send_only), 101);
  script.expect_silence();
  script.acknowledge(101, 2, wire::ack_syndrome(wire::credit_code_of(2)));
  script.expect(rc(OperationCode::send_only), 102);
  script.expect(rc(OperationCode::send_only), 103);
}

BOOST_AUTO_TEST_CASE(send_beyond_the_credits_waits_behind_its_first_packet) {
  Script script(kOptions);
  post(script, SendOpcode::send, 1);
  (void)script.next();
  script.acknowledge(100, 1, wire::ack_syndrome(0));
  post(script, SendOpcode::send, 4 * kMtu);
  BOOST_TEST(script.expect(rc(OperationCode::send_first), 101).ack_request);
  script.expect_silence();
  script.acknowledge(101, 1, wire::ack_syndrome(0));  // a receive was there, and is the last one
  BOOST_TEST(!script.expect(rc(OperationCode::send_middle), 102).ack_request);
  BOOST_TEST(!script.expect(rc(OperationCode::send_middle), 103).ack_request);
  BOOST_TEST(script.expect(rc(OperationCode::send_last), 104).ack_request);
  script.acknowledge(104, 2, wire::ack_syndrome(0));
  check_statuses(script.end.poll_sent(), {success, success});
}

BOOST_AUTO_TEST_CASE(limit_that_becomes_known_in_mid_send_does_not_stop_it) {
  Script script(kOptions, 1 << 16, {.latency = nanoseconds(0), .port_frames = 2});
  post(script, SendOpcode::send, 1);
  (void)script.next();
  const Sge sge = script.buffer.sge(0, 4 * kMtu);
  script.end.post({.opcode = SendOpcode::send, .sges = {&sge, 1}});
  NarrowPort two(2);
  script.end.nic().transmit(script.world.now(), two, 2);
  script.deliver({.opcode = rc(OperationCode::acknowledge), .psn = 100, .aeth = {wire::ack_syndrome(0), 1}});
  NarrowPort rest(8);
  script.end.nic().transmit(script.world.now(), rest, 8);
  BOOST_TEST(rest.psns == (std::vector<std::uint32_t>{103, 104}));
}

BOOST_AUTO_TEST_CASE(what_consumes_no_receive_leaves_the_credits_to_what_does) {
  Script script(kOptions);
  post(script, SendOpcode::send, 1);
  (void)script.next();
  script.acknowledge(100, 1, wire::ack_syndrome(1));
  post(script, SendOpcode::rdma_write, 1);
  post(script, SendOpcode::rdma_read, 1);
  post(script, SendOpcode::send, 1);
  post(script, SendOpcode::send, 1);
  script.expect(rc(OperationCode::write_only), 101);
  script.expect(rc(OperationCode::read_request), 102);
  script.expect(rc(OperationCode::send_only), 103);
  script.expect_silence();
  script.acknowledge(101, 2, wire::ack_syndrome(1));  // knows nothing of the READ: takes nothing back
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(a_request_is_marked_solicited_where_its_message_ends) {
  Script script(kOptions);
  const Sge sge = script.buffer.sge(0, 2 * kMtu);
  script.end.post({.opcode = SendOpcode::send, .solicited = true, .sges = {&sge, 1}});
  script.world.run_until(script.world.now());
  BOOST_TEST(!script.next().solicited);
  BOOST_TEST(script.next().solicited);
}

BOOST_AUTO_TEST_CASE(rnr_nak_behind_a_missing_read_response_makes_both_wait) {
  constexpr std::uint8_t kOneMs = 14;  // about a millisecond (table 46)
  Script script(kOptions);
  post(script, SendOpcode::rdma_read, 8, 1);
  post(script, SendOpcode::send, 8, 2);
  script.expect(rc(OperationCode::read_request), 100);
  script.expect(rc(OperationCode::send_only), 101);
  const Time refused = script.world.now();
  script.acknowledge(101, 1, wire::rnr_syndrome(kOneMs));
  script.expect_silence();
  const Traced again = script.expect(rc(OperationCode::read_request), 100, wire::rnr_timer(kOneMs));
  BOOST_TEST((again.at - refused).ns == wire::rnr_timer(kOneMs).ns);
  script.expect(rc(OperationCode::send_only), 101);
  BOOST_TEST(script.end.counters().get(Counter::rnr_nak_received) == 1u);
  BOOST_TEST(script.end.counters().get(Counter::implied_nak_seq_err) == 1u);
  script.peer(read_response(OperationCode::read_response_only, 100, 8));
  script.acknowledge(101, 2);
  check_statuses(script.end.poll_sent(), {success, success});
}

BOOST_AUTO_TEST_CASE(missing_read_responses_spend_the_retries_despite_rnr_naks) {
  Script script(kOptions);
  post(script, SendOpcode::rdma_read, 8, 1);
  post(script, SendOpcode::send, 8, 2);
  for (int round = 0; round <= kOptions.retry_count; ++round) {
    script.expect(rc(OperationCode::read_request), 100, milliseconds(1));
    script.expect(rc(OperationCode::send_only), 101);
    script.acknowledge(101, 1, wire::rnr_syndrome(1));
    script.acknowledge(101, 1, wire::rnr_syndrome(1));  // a copy of it is no news
  }
  check_statuses(script.end.poll_sent(), {retry_exceeded, flushed});
}
