// Selective repeat, packet by packet: what the requester sends again and when, what the responder places, keeps and
// says, and how both ends agree on it. Every loss pattern of short exchanges is loss_test's, seeded worlds are
// random_world_test's.
#include "emulator/nic/transport_ib/selective_repeat/selective_repeat.h"

#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using wire::kTakesSelectiveRepeat;
using wire::NakCode;
using wire::Psn;

namespace {

constexpr std::uint32_t kMtu = 256;
constexpr std::uint8_t kNak = wire::nak_syndrome(NakCode::psn_sequence_error);
constexpr QpOptions kOptions{.mtu = kMtu, .timeout = 14};  // about 67 ms
constexpr LossRecoveryConfig kNegotiated{.policy = RecoveryPolicy::selective_repeat};
constexpr LossRecoveryConfig kAgreed{.policy = RecoveryPolicy::selective_repeat, .negotiates = false};

WorldOptions world_of(const LossRecoveryConfig& config) {
  return {.latency = nanoseconds(0), .loss_recovery = config};
}
Script script_of(const LossRecoveryConfig& config, const QpOptions& options = kOptions) {
  return Script(options, 1 << 16, world_of(config));
}
std::vector<std::byte> payload(std::size_t bytes, std::uint8_t value) {
  return std::vector<std::byte>(bytes, std::byte{value});
}

/// Packet `index` of a WRITE of `packets` full packets to the start of the script's buffer.
PacketSpec write_packet(const Script& script, std::uint32_t index, std::uint32_t packets, std::uint8_t value) {
  const bool is_first = index == 0;
  const bool is_last = index + 1 == packets;
  PacketSpec spec{.opcode = rc(is_first  ? OperationCode::write_first
                               : is_last ? OperationCode::write_last
                                         : OperationCode::write_middle),
                  .psn = 100 + index,
                  .ack_request = is_last,
                  .payload = payload(kMtu, value)};
  spec.reserved7 = kTakesSelectiveRepeat;
  if (is_first)
    spec.reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, packets * kMtu};
  else
    spec.placement = {script.buffer.address(std::size_t{index} * kMtu), script.buffer.rkey(), (packets - index) * kMtu};
  return spec;
}
PacketSpec send_only(std::uint32_t psn, std::uint32_t number, std::uint8_t value) {
  return {.opcode = rc(OperationCode::send_only),
          .psn = psn,
          .ack_request = true,
          .payload = payload(16, value),
          .placement = wire::PlacementEth{.address = 0, .key = number}};
}
PacketSpec sack_of(std::uint32_t missing, std::uint32_t highest, std::uint64_t below = 0) {
  return {.opcode = rc(OperationCode::acknowledge),
          .psn = missing,
          .aeth = {kNak, 0},
          .sack = wire::SackEth{.highest = Psn(highest), .below = below}};
}
bool holds(Script& script, std::size_t offset, std::size_t bytes, std::uint8_t value) {
  return same_bytes(script.buffer.bytes().subspan(offset, bytes), payload(bytes, value));
}

/// A WRITE of so many packets, posted.
void post_write(Script& script, std::uint32_t packets) {
  const Sge from = script.buffer.sge(0, std::size_t{packets} * kMtu);
  script.end.post(
      {.opcode = SendOpcode::rdma_write, .sges = {&from, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 0x77}}});
}
void expect_writes(Script& script, std::uint32_t packets) {
  for (std::uint32_t i = 0; i < packets; ++i) BOOST_TEST_REQUIRE(script.next().psn == 100 + i);
}

/// How many more packets of 20 WRITEs of 32 packets are sent again than are lost, which is every 20th.
std::uint64_t retransmissions(const LossRecoveryConfig& config) {
  constexpr std::size_t kBytes = 32 * kMtu;
  Pair pair(kOptions, kBytes, {.latency = microseconds(1), .loss_recovery = config});
  fabric::Dice dice(1);
  pair.world.filter = [&](const Traced& traced, std::vector<std::byte>&) {
    return traced.from != 1 || dice.below(20) != 0;
  };
  for (std::uint64_t message = 0; message < 20; ++message) {
    pair.a_buffer.fill(message);
    const Sge from = pair.a_buffer.sge();
    pair.a.post({.opcode = SendOpcode::rdma_write,
                 .sges = {&from, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest();
    check_statuses(pair.a.poll_sent(), {CompletionStatus::success});
    BOOST_TEST_REQUIRE(same_bytes(pair.a_buffer.bytes(), pair.b_buffer.bytes()));
  }
  std::uint64_t lost = 0;
  for (const Traced& traced : pair.world.trace()) lost += traced.lost;
  BOOST_TEST(lost > 20u);
  BOOST_TEST(pair.a.counters().get(Counter::tx_retransmitted_packets) >= lost);
  return pair.a.counters().get(Counter::tx_retransmitted_packets) - lost;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_but_what_was_lost_is_sent_again) {
  BOOST_TEST(retransmissions(kAgreed) == 0u);
  BOOST_TEST(retransmissions({}) > 300u);
}

// -- Agreement ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_nic_without_extensions_does_not_look_at_reserved_bits) {
  constexpr std::size_t kBth = 14 + 20 + 8;
  constexpr std::size_t kOctets = 64;  // more than a header of ours
  for (const bool is_known_flow : {false, true}) {
    Script script;
    for (std::uint32_t psn = 100; psn < (is_known_flow ? 104u : 101u); ++psn) {
      auto frame = verbena::test::make_frame(2, 1,
                                             {.opcode = rc(OperationCode::write_only),
                                              .psn = psn,
                                              .dest_qp = script.end.qpn(),
                                              .ack_request = true,
                                              .reth = {script.buffer.address(), {script.buffer.rkey()}, kOctets},
                                              .payload = payload(kOctets, static_cast<std::uint8_t>(psn))});
      frame[kBth + 8] |= std::byte{0x7f};  // all of them (IBTA 9.2: transmitted as 0, ignored on receive)
      const auto covered = std::span(frame).subspan(14, frame.size() - 14 - wire::kIcrcBytes);
      const std::uint32_t icrc = wire::compute_icrc(covered, true);
      for (std::size_t i = 0; i < wire::kIcrcBytes; ++i)
        frame[frame.size() - wire::kIcrcBytes + i] = static_cast<std::byte>(icrc >> 8 * i);
      script.raw(frame);
      script.expect_acknowledge(psn);
      for (std::size_t i = 0; i < kOctets; ++i)
        BOOST_TEST(std::to_integer<std::uint32_t>(script.buffer.bytes()[i]) == psn);
    }
    BOOST_TEST(script.end.counters().get(Counter::rx_dropped_icrc) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_nothing_gets_packets_as_of_go_back_n) {
  Script script = script_of(kNegotiated);
  post_write(script, 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const Traced sent = script.next();
    BOOST_TEST(sent.reserved7 == kTakesSelectiveRepeat);  // reserved: who does not know it ignores it
    BOOST_TEST(!sent.placement);
    BOOST_TEST(sent.payload_bytes == kMtu);
  }
  script.acknowledge(101, 0, kNak);
  expect_writes(script, 0);
  script.expect(rc(OperationCode::write_middle), 101);
  script.expect(rc(OperationCode::write_last), 102);
  script.expect_silence(milliseconds(50));  // and its own timeout, not RTO_high
  // As responder: a gap is told of once, and nothing behind it is taken.
  script.peer({.opcode = rc(OperationCode::send_only), .psn = 101, .payload = payload(8, 1)});
  const Traced nak = script.next();
  BOOST_TEST(nak.syndrome == kNak);
  BOOST_TEST(!nak.sack);
  script.peer({.opcode = rc(OperationCode::send_only), .psn = 102, .payload = payload(8, 1)});
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(the_first_answer_of_a_peer_that_takes_it_changes_the_packets) {
  Script script = script_of(kNegotiated);
  post_write(script, 1);
  BOOST_TEST(!script.next().placement);
  script.peer(
      {.opcode = rc(OperationCode::acknowledge), .psn = 100, .aeth = {31, 1}, .reserved7 = kTakesSelectiveRepeat});
  post_write(script, 3);
  BOOST_TEST(!script.next().placement);  // FIRST has its RETH
  const Traced middle = script.next();
  BOOST_TEST_REQUIRE(middle.placement.has_value());
  BOOST_TEST(middle.placement->address == 0x1000 + kMtu);
  BOOST_TEST(middle.placement->key == 0x77u);
  BOOST_TEST(middle.placement->length == 2 * kMtu);
  BOOST_TEST(middle.payload_bytes == kMtu);
  BOOST_TEST(script.next().placement->length == kMtu);
}

BOOST_AUTO_TEST_CASE(requests_say_it_as_well_as_answers_and_a_reset_forgets_it) {
  Script script = script_of(kNegotiated);
  script.end.receive(1, {script.buffer.sge(0, 64)});
  script.peer(send_only(100, 0, 5));
  BOOST_TEST(script.next().reserved7 == kTakesSelectiveRepeat);
  const Sge from = script.buffer.sge(0, 8);
  script.end.post({.opcode = SendOpcode::send, .sges = {&from, 1}});
  BOOST_TEST(script.next().placement->key == 0u);
  script.end.to_state(QpState::reset);
  script.end.connect(2, wire::Qpn(Script::kPeerQpn));
  script.end.post({.opcode = SendOpcode::send, .sges = {&from, 1}});
  BOOST_TEST(!script.next().placement);
}

// -- Requester ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_nak_names_what_has_arrived_and_the_rest_below_it_is_lost) {
  Script script = script_of(kAgreed);
  post_write(script, 10);
  expect_writes(script, 10);
  script.peer(sack_of(102, 107, 0b101));  // 104 and 106 as well
  for (const std::uint32_t psn : {102u, 103u, 105u}) script.expect(rc(OperationCode::write_middle), psn);
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(what_is_missing_goes_out_once_however_many_naks_tell_of_it) {
  Script script = script_of(kAgreed);
  post_write(script, 10);
  expect_writes(script, 10);
  script.peer(sack_of(102, 103));
  BOOST_TEST(script.expect(rc(OperationCode::write_middle), 102).ack_request);
  script.peer(sack_of(102, 104, 0b1));
  script.expect_silence();
  script.peer(sack_of(102, 107, 0b11));  // 103 and 104 were told of before
  script.expect_silence();
  script.peer(sack_of(102, 109, 0b0));  // 108 is missing
  script.expect(rc(OperationCode::write_middle), 108);
  script.expect_silence();
  script.acknowledge(107, 0);
  script.expect_silence(microseconds(99));
  BOOST_TEST(script.end.counters().get(Counter::tx_retransmitted_packets) == 2u);
}

BOOST_AUTO_TEST_CASE(new_packets_follow_what_was_lost_as_far_as_the_window_goes) {
  LossRecoveryConfig config = kAgreed;
  config.bdp_packets = 5;
  Script script = script_of(config);
  post_write(script, 20);
  expect_writes(script, 5);
  script.expect_silence();
  script.peer(sack_of(101, 104, 0b11));
  script.expect(rc(OperationCode::write_middle), 101);
  script.expect(rc(OperationCode::write_middle), 105);  // 100 is acknowledged
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(the_bound_is_the_least_of_those_that_are_said) {
  constexpr std::uint64_t k40Gbps = 40'000'000'000;
  BOOST_TEST(bdp_window({}, 1024, k40Gbps) == 0u);
  BOOST_TEST(bdp_window({.bdp_packets = 110}, 1024, k40Gbps) == 110u);
  BOOST_TEST(bdp_window({.bdp_bytes = 120'000}, 1024, k40Gbps) == 117u);
  BOOST_TEST(bdp_window({.bdp_round_trip = microseconds(24)}, 1024, k40Gbps) == 117u);  // 120 KB
  BOOST_TEST(bdp_window({.bdp_packets = 110, .bdp_bytes = 120'000}, 1024, k40Gbps) == 110u);
  BOOST_TEST(bdp_window({.bdp_bytes = 100}, 1024, k40Gbps) == 1u);
}

BOOST_AUTO_TEST_CASE(few_packets_in_flight_wait_for_rto_low_and_more_for_rto_high) {
  for (const std::uint32_t packets : {2u, 3u}) {
    Script script = script_of(kAgreed);
    post_write(script, packets);
    expect_writes(script, packets);
    script.expect_silence(packets < 3 ? nanoseconds(99'999) : nanoseconds(319'999));
    script.expect(rc(OperationCode::write_first), 100, nanoseconds(1));
    script.expect_silence();  // the first alone: nothing is known of the others
    script.acknowledge(100, 0);
    script.expect(packets == 2 ? rc(OperationCode::write_last) : rc(OperationCode::write_middle), 101);
  }
}

BOOST_AUTO_TEST_CASE(timeouts_are_retries_no_oftener_than_the_qps_own_timeout) {
  QpOptions options = kOptions;
  options.timeout = 8;  // about 1 ms
  options.retry_count = 2;
  Script script = script_of(kAgreed, options);
  post_write(script, 1);
  unsigned sent = 0;
  script.world.filter = [&sent](const Traced&, std::vector<std::byte>&) { return ++sent, false; };
  const Time begin = script.world.now();
  BOOST_TEST_REQUIRE(script.world.run_while_not([&] { return script.end.state() == QpState::error; }));
  check_statuses(script.end.poll_sent(), {CompletionStatus::retry_exceeded});
  const Duration took = script.world.now() - begin;
  BOOST_TEST(took.ns >= 3 * 1'048'576);  // as with go-back-N: one more than the retries
  BOOST_TEST(took.ns < 3 * 1'048'576 + 300'000);
  BOOST_TEST(sent > 25u);
}

BOOST_AUTO_TEST_CASE(after_an_rnr_nak_all_that_has_not_arrived_goes_out_again) {
  Script script = script_of(kAgreed);
  const Sge from = script.buffer.sge(0, 8);
  for (int i = 0; i < 5; ++i) script.end.post({.opcode = SendOpcode::send, .sges = {&from, 1}});
  expect_writes(script, 5);
  script.peer(sack_of(101, 103));
  script.expect(rc(OperationCode::send_only), 101);
  script.expect(rc(OperationCode::send_only), 102);
  script.acknowledge(101, 0, wire::rnr_syndrome(1));  // 10 us
  script.peer(sack_of(101, 103));                     // a late one
  script.expect_silence(nanoseconds(9'999));
  script.expect(rc(OperationCode::send_only), 101, nanoseconds(1));
  script.expect(rc(OperationCode::send_only), 102);
  script.expect(rc(OperationCode::send_only), 104);
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(missing_responses_come_again_but_not_the_writes_behind) {
  Script script = script_of(kAgreed);
  const Sge into = script.buffer.sge(0, 4 * kMtu);
  const Sge from = script.buffer.sge(8192, 8);
  script.end.post(
      {.opcode = SendOpcode::rdma_read, .sges = {&into, 1}, .operand = {.remote = {.address = 0x1000, .rkey = 0x77}}});
  script.end.post(
      {.opcode = SendOpcode::rdma_write, .sges = {&from, 1}, .operand = {.remote = {.address = 0x9000, .rkey = 0x77}}});
  script.expect(rc(OperationCode::read_request), 100);
  script.expect(rc(OperationCode::write_only), 104);
  script.peer({.opcode = rc(OperationCode::read_response_first), .psn = 100, .payload = payload(kMtu, 1)});
  script.peer({.opcode = rc(OperationCode::read_response_middle), .psn = 102, .payload = payload(kMtu, 3)});
  BOOST_TEST(script.expect(rc(OperationCode::read_request), 101).length == 3 * kMtu);
  script.peer({.opcode = rc(OperationCode::read_response_last), .psn = 103, .payload = payload(kMtu, 4)});
  script.acknowledge(104, 2);
  script.expect_silence();
  script.peer({.opcode = rc(OperationCode::read_response_first), .psn = 101, .payload = payload(kMtu, 2)});
  script.peer({.opcode = rc(OperationCode::read_response_middle), .psn = 102, .payload = payload(kMtu, 3)});
  script.peer({.opcode = rc(OperationCode::read_response_last), .psn = 103, .payload = payload(kMtu, 4)});
  script.expect_silence(milliseconds(1));
  check_statuses(script.end.poll_sent(), {CompletionStatus::success, CompletionStatus::success});
  for (std::uint8_t i = 0; i < 4; ++i) BOOST_TEST(holds(script, i * kMtu, kMtu, static_cast<std::uint8_t>(i + 1)));
}

BOOST_AUTO_TEST_CASE(what_a_sack_says_of_packets_never_sent_is_ignored) {
  Script script = script_of(kAgreed);
  post_write(script, 4);
  expect_writes(script, 4);
  script.peer(sack_of(101, 200, ~std::uint64_t{0}));
  script.peer(sack_of(101, 99, ~std::uint64_t{0}));
  script.expect_silence();
  script.peer(sack_of(101, 103, ~std::uint64_t{0}));  // 102 and 101 themselves among them
  script.expect_silence(microseconds(200));
  script.acknowledge(103, 1);
  check_statuses(script.end.poll_sent(), {CompletionStatus::success});
}

// -- Responder ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(packets_ahead_are_placed_at_once_and_acked_with_the_gap) {
  Script script = script_of(kNegotiated);
  script.peer(write_packet(script, 0, 4, 1));
  script.expect_silence();
  script.peer(write_packet(script, 2, 4, 3));
  Traced nak = script.next();
  BOOST_TEST(nak.syndrome == kNak);
  BOOST_TEST(nak.psn == 101u);
  BOOST_TEST_REQUIRE(nak.sack.has_value());
  BOOST_TEST(nak.sack->highest.value() == 102u);
  BOOST_TEST(nak.sack->below == 0u);
  BOOST_TEST(holds(script, 2 * kMtu, kMtu, 3));
  script.peer(write_packet(script, 3, 4, 4));
  nak = script.next();
  BOOST_TEST(nak.psn == 101u);
  BOOST_TEST(nak.sack->highest.value() == 103u);
  BOOST_TEST(nak.sack->below == 1u);
  script.buffer.bytes()[2 * kMtu] = std::byte{77};  // what has been placed is not written a second time
  script.peer(write_packet(script, 1, 4, 2));
  const Traced acknowledge = script.expect(rc(OperationCode::acknowledge), 103);
  BOOST_TEST(acknowledge.msn == 1u);
  BOOST_TEST(acknowledge.reserved7 == kTakesSelectiveRepeat);
  BOOST_TEST(holds(script, 0, kMtu, 1));
  BOOST_TEST(holds(script, kMtu, kMtu, 2));
  BOOST_CHECK(script.buffer.bytes()[2 * kMtu] == std::byte{77});
  BOOST_TEST(holds(script, 3 * kMtu, kMtu, 4));
}

BOOST_AUTO_TEST_CASE(one_nak_stands_for_a_batch_and_a_closed_gap_gives_none) {
  Script script = script_of(kNegotiated);
  script.peer_batch({write_packet(script, 0, 8, 1), write_packet(script, 2, 8, 1), write_packet(script, 4, 8, 1),
                     write_packet(script, 5, 8, 1)});
  const Traced nak = script.next();
  BOOST_TEST(nak.psn == 101u);
  BOOST_TEST(nak.sack->highest.value() == 105u);
  BOOST_TEST(nak.sack->below == 0b101u);
  script.peer_batch({write_packet(script, 7, 8, 1), write_packet(script, 1, 8, 1), write_packet(script, 3, 8, 1),
                     write_packet(script, 6, 8, 1)});
  script.expect_acknowledge(107);
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(sends_go_to_their_own_receives_and_complete_in_order) {
  Script script = script_of(kNegotiated);
  for (std::uint64_t i = 0; i < 3; ++i) script.end.receive(i, {script.buffer.sge(i * 64, 64)});
  script.peer(send_only(102, 2, 12));
  BOOST_TEST(holds(script, 128, 16, 12));
  script.peer(send_only(101, 1, 11));
  BOOST_TEST(script.end.poll_received().empty());
  BOOST_TEST(script.next().sack->below == 0u);
  BOOST_TEST(script.next().sack->below == 1u);
  script.peer(send_only(100, 0, 10));
  script.expect_acknowledge(102);
  const auto received = script.end.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 3u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    BOOST_TEST(received[i].wr_id == i);
    BOOST_TEST(received[i].byte_count == 16u);
    BOOST_TEST(holds(script, i * 64, 16, static_cast<std::uint8_t>(10 + i)));
  }
}

BOOST_AUTO_TEST_CASE(send_without_a_receive_is_dropped_ahead_and_refused_in_turn) {
  Script script = script_of(kNegotiated);
  script.end.receive(0, {script.buffer.sge(0, 64)});
  PacketSpec write = write_packet(script, 0, 1, 9);
  write.opcode = rc(OperationCode::write_only);
  write.psn = 102;
  script.peer(write);
  BOOST_TEST(script.next().sack->highest.value() == 102u);
  script.peer(send_only(101, 1, 11));
  const Traced nak = script.next();
  BOOST_TEST(nak.sack->highest.value() == 102u);
  BOOST_TEST(nak.sack->below == 0u);  // 101 is not among what has arrived
  script.peer(send_only(100, 0, 10));
  script.expect_acknowledge(100);
  script.peer(send_only(101, 1, 11));
  script.expect_rnr_nak(1, 101);
}

BOOST_AUTO_TEST_CASE(write_with_immediate_without_a_receive_is_asked_for_again) {
  Script script = script_of(kNegotiated);
  PacketSpec write{.opcode = rc(OperationCode::write_only_with_immediate),
                   .psn = 101,
                   .ack_request = true,
                   .reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 16},
                   .immediate = {42},
                   .payload = payload(16, 4),
                   .reserved7 = kTakesSelectiveRepeat};
  script.peer(write);
  BOOST_TEST(script.next().sack->highest.value() == 101u);
  PacketSpec first = write_packet(script, 0, 1, 1);
  first.opcode = rc(OperationCode::write_only);
  first.reth.length = kMtu;
  script.peer(first);
  script.expect_rnr_nak(1, 101);
  script.end.receive(5, {});
  script.peer(write);
  script.expect_acknowledge(101);
  const auto received = script.end.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].immediate == 42u);
}

BOOST_AUTO_TEST_CASE(reads_and_atomics_wait_for_their_turn) {
  Script script = script_of(kNegotiated);
  script.buffer.word(0) = 5;
  PacketSpec add{.opcode = rc(OperationCode::fetch_add),
                 .psn = 101,
                 .ack_request = true,
                 .atomic_eth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 3, 0},
                 .reserved7 = kTakesSelectiveRepeat};
  PacketSpec atomic_write{.opcode = rc(OperationCode::atomic_write),
                          .psn = 102,
                          .ack_request = true,
                          .reth = {script.buffer.address(8), wire::Rkey{script.buffer.rkey()}, 8},
                          .payload = payload(8, 0x22),
                          .reserved7 = kTakesSelectiveRepeat};
  PacketSpec read{.opcode = rc(OperationCode::read_request),
                  .psn = 103,
                  .ack_request = true,
                  .reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 16},
                  .reserved7 = kTakesSelectiveRepeat};
  for (const PacketSpec& spec : {read, atomic_write, add}) script.peer(spec);
  BOOST_TEST(script.buffer.word(0) == 5u);
  BOOST_TEST(script.buffer.word(1) != 0x2222222222222222u);
  for (int i = 0; i < 3; ++i) BOOST_TEST(script.next().psn == 100u);
  PacketSpec write = write_packet(script, 0, 1, 0);
  write.opcode = rc(OperationCode::write_only);
  write.reth.length = 8;
  write.payload = payload(8, 0);
  script.peer(write);
  script.expect(rc(OperationCode::atomic_acknowledge), 101);
  script.expect(rc(OperationCode::read_response_only), 102);
  script.expect(rc(OperationCode::read_response_only), 103);
  const auto response = wire::parse_frame(script.last_frame);
  const std::array<std::uint64_t, 2> expected{3, 0x2222222222222222};
  BOOST_TEST(same_bytes(response->payload(), std::as_bytes(std::span(expected))));
}

BOOST_AUTO_TEST_CASE(later_of_two_overlapping_writes_stays_in_either_order) {
  Script script = script_of(kNegotiated);
  const auto write = [&](std::uint32_t psn, std::size_t offset, std::uint32_t bytes, std::uint8_t value) {
    script.peer({.opcode = rc(OperationCode::write_only),
                 .psn = psn,
                 .ack_request = true,
                 .reth = {script.buffer.address(offset), wire::Rkey{script.buffer.rkey()}, bytes},
                 .payload = payload(bytes, value),
                 .reserved7 = kTakesSelectiveRepeat});
  };
  write(103, 100, 20, 3);
  write(101, 60, 80, 1);    // around it
  write(102, 110, 100, 2);  // over its end
  write(100, 0, 256, 9);
  BOOST_TEST(holds(script, 0, 60, 9));
  BOOST_TEST(holds(script, 60, 40, 1));
  BOOST_TEST(holds(script, 100, 20, 3));
  BOOST_TEST(holds(script, 120, 90, 2));
  BOOST_TEST(holds(script, 210, 46, 9));
}

BOOST_AUTO_TEST_CASE(forbidden_write_is_not_placed_ahead_and_refused_in_turn) {
  Script script = script_of(kNegotiated);
  const PacketSpec first{
      .opcode = rc(OperationCode::send_only), .psn = 100, .payload = payload(0, 0), .placement = wire::PlacementEth{}};
  script.end.receive(0, {});
  PacketSpec write = write_packet(script, 1, 3, 9);
  write.placement->key ^= 1;  // a wrong rkey
  script.peer(write);
  BOOST_TEST(!script.next().sack);
  BOOST_TEST(!holds(script, kMtu, kMtu, 9));
  script.peer(first);
  write.opcode = rc(OperationCode::write_only);
  write.placement.reset();
  write.reth = {script.buffer.address(1 << 16), wire::Rkey{script.buffer.rkey()}, kMtu};  // out of bounds
  script.peer(write);
  script.expect_nak(NakCode::remote_access_error, 101);
}

BOOST_AUTO_TEST_CASE(packet_placed_outside_its_message_is_an_invalid_request) {
  for (const bool is_ahead : {false, true}) {
    Script script = script_of(kNegotiated);
    PacketSpec liar = write_packet(script, 1, 3, 2);
    liar.placement->address += 8;
    if (is_ahead) {
      script.peer(liar);
      BOOST_TEST(script.next().sack.has_value());
    }
    script.peer(write_packet(script, 0, 3, 1));
    if (!is_ahead) script.peer(liar);
    script.expect_nak(NakCode::invalid_request, 101);
    BOOST_CHECK(script.end.state() == QpState::error);
  }
}

BOOST_AUTO_TEST_CASE(a_shared_receive_queue_has_no_receive_for_a_message_ahead) {
  Script script = script_of(kNegotiated);
  const SrqHandle srq = Endpoint::take(script.end.nic().create_srq({.pd = script.end.pd, .max_wr = 8, .max_sge = 1}));
  QpOptions options = kOptions;
  options.srq = srq;
  Endpoint end(script.end, options);
  end.connect(2, wire::Qpn(Script::kPeerQpn));
  for (std::uint64_t i = 0; i < 2; ++i) {
    const Sge sge = script.buffer.sge(i * 64, 64);
    BOOST_REQUIRE(end.nic().post_srq_receive(srq, {i, {&sge, 1}}).ok());
  }
  const auto peer = [&](PacketSpec spec) {
    spec.dest_qp = end.qpn();
    script.raw(make_frame(2, 1, spec));
  };
  peer(send_only(101, 1, 11));
  const Traced nak = script.next();
  BOOST_TEST(nak.syndrome == kNak);
  BOOST_TEST(!nak.sack);
  peer(send_only(100, 0, 10));
  script.expect_acknowledge(100);
  peer(send_only(101, 1, 11));
  script.expect_acknowledge(101);
  BOOST_TEST(holds(script, 64, 16, 11));
}

BOOST_AUTO_TEST_CASE(duplicate_of_a_kept_packet_is_reported_and_changes_nothing) {
  Script script = script_of(kNegotiated);
  script.peer(write_packet(script, 2, 4, 3));
  BOOST_TEST(script.next().sack->highest.value() == 102u);
  script.peer(write_packet(script, 2, 4, 99));
  BOOST_TEST(script.next().sack->highest.value() == 102u);
  BOOST_TEST(holds(script, 2 * kMtu, kMtu, 3));
  BOOST_TEST(script.end.counters().get(Counter::duplicate_request) == 1u);
}
