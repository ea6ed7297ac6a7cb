// The responder of a reliable connection, packet by packet, against IBTA vol 1 chapter 9.7.
#include <boost/test/unit_test.hpp>

#include "tests/support/script.h"

using namespace verbena;
using namespace verbena::test;
using wire::NakCode;

namespace {

constexpr std::uint32_t kMtu = 256;
const QpOptions kOptions{.mtu = kMtu};

std::vector<std::byte> payload(std::size_t bytes, std::uint8_t value = 0xab) {
  return std::vector<std::byte>(bytes, std::byte{value});
}
PacketSpec send_only(std::uint32_t psn, std::size_t bytes = 10, bool ack = true) {
  return {.opcode = rc(OperationCode::send_only), .psn = psn, .ack_request = ack, .payload = payload(bytes)};
}
PacketSpec write_only(const Script& script, std::uint32_t psn, std::size_t bytes, std::uint8_t value = 0xab) {
  return {.opcode = rc(OperationCode::write_only),
          .psn = psn,
          .ack_request = true,
          .reth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, static_cast<std::uint32_t>(bytes)},
          .payload = payload(bytes, value)};
}
PacketSpec read_request(const Script& script, std::uint32_t psn, std::size_t offset, std::uint32_t bytes) {
  return {.opcode = rc(OperationCode::read_request),
          .psn = psn,
          .ack_request = true,
          .reth = {script.buffer.address(offset), wire::Rkey{script.buffer.rkey()}, bytes}};
}
PacketSpec fetch_add(const Script& script, std::uint32_t psn, std::uint64_t add) {
  return {.opcode = rc(OperationCode::fetch_add),
          .psn = psn,
          .ack_request = true,
          .atomic_eth = {script.buffer.address(), wire::Rkey{script.buffer.rkey()}, add, 0}};
}
std::uint64_t original_of(const Script& script) {
  const auto packet = wire::parse_frame(script.last_frame);
  BOOST_REQUIRE(packet.ok());
  return packet->atomic_ack_eth().original;
}
bool payload_is(const Script& script, std::span<const std::byte> expected) {
  const auto packet = wire::parse_frame(script.last_frame);
  BOOST_REQUIRE(packet.ok());
  return same_bytes(packet->payload(), expected);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_is_acknowledged_where_the_requester_asks_for_it) {
  Script script(kOptions);
  const wire::Reth reth{script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 3 * kMtu};
  script.peer({.opcode = rc(OperationCode::write_first), .psn = 100, .reth = reth, .payload = payload(kMtu)});
  script.peer({.opcode = rc(OperationCode::write_middle), .psn = 101, .payload = payload(kMtu)});
  script.expect_silence();
  script.peer({.opcode = rc(OperationCode::write_last), .psn = 102, .ack_request = true, .payload = payload(kMtu)});
  const Traced acknowledge = script.expect(rc(OperationCode::acknowledge), 102);
  BOOST_TEST(acknowledge.msn == 1u);
  BOOST_CHECK(acknowledge.dest_qp == wire::Qpn(Script::kPeerQpn));
  script.expect_silence(seconds(10));
}

BOOST_AUTO_TEST_CASE(ack_request_in_mid_message_is_answered_with_the_msn_before) {
  Script script(kOptions);
  const wire::Reth reth{script.buffer.address(), wire::Rkey{script.buffer.rkey()}, 2 * kMtu};
  script.peer({.opcode = rc(OperationCode::write_first),
               .psn = 100,
               .ack_request = true,
               .reth = reth,
               .payload = payload(kMtu)});
  BOOST_TEST(script.expect(rc(OperationCode::acknowledge), 100).msn == 0u);
}

BOOST_AUTO_TEST_CASE(acknowledgements_of_a_batch_coalesce) {
  Script script(kOptions);
  script.peer_batch({write_only(script, 100, 8), write_only(script, 101, 8), write_only(script, 102, 8)});
  BOOST_TEST(script.expect(rc(OperationCode::acknowledge), 102).msn == 3u);
  script.expect_silence();
}

BOOST_AUTO_TEST_CASE(a_gap_gives_one_nak_until_it_is_closed_and_a_new_gap_another) {
  Script script(kOptions);
  script.peer(write_only(script, 100, 8));
  script.expect_acknowledge(100);
  script.peer(write_only(script, 102, 8));
  script.expect_nak(NakCode::psn_sequence_error, 101);
  script.peer(write_only(script, 103, 8));
  script.peer(write_only(script, 105, 8));
  script.expect_silence();
  script.peer(write_only(script, 101, 8));
  script.expect_acknowledge(101);
  script.peer(write_only(script, 104, 8));
  script.expect_nak(NakCode::psn_sequence_error, 102);
  BOOST_TEST(script.end.counters().get(Counter::out_of_sequence) == 4u);
}

BOOST_AUTO_TEST_CASE(duplicate_write_is_acknowledged_again_and_not_written_again) {
  Script script(kOptions);
  script.peer(write_only(script, 100, 8, 0x11));
  script.expect_acknowledge(100);
  script.peer(write_only(script, 101, 8, 0x22));
  script.expect_acknowledge(101);
  script.peer(write_only(script, 100, 8, 0x11));
  const Traced again = script.next();
  BOOST_TEST(again.psn == 101u);  // one acknowledgement stands for all before
  BOOST_TEST(again.msn == 2u);
  BOOST_TEST(script.buffer.word(0) == 0x2222222222222222u);
  BOOST_TEST(script.end.counters().get(Counter::duplicate_request) == 1u);
}

BOOST_AUTO_TEST_CASE(a_duplicate_send_takes_no_second_receive) {
  Script script(kOptions);
  for (std::uint64_t i = 0; i < 2; ++i) script.end.receive(i, {script.buffer.sge(i * 100, 100)});
  script.peer(send_only(100));
  script.expect_acknowledge(100);
  script.peer(send_only(100));
  script.expect_acknowledge(100);
  BOOST_TEST(script.end.poll_received().size() == 1u);
  script.peer(send_only(101));
  script.expect_acknowledge(101);
  BOOST_TEST(script.end.poll_received().at(0).wr_id == 1u);
}

BOOST_AUTO_TEST_CASE(duplicate_atomic_brings_the_original_result_unexecuted) {
  Script script(kOptions);
  script.buffer.word(0) = 10;
  script.peer(fetch_add(script, 100, 5));
  script.expect(rc(OperationCode::atomic_acknowledge), 100);
  BOOST_TEST(original_of(script) == 10u);
  script.peer(fetch_add(script, 101, 1));
  script.expect(rc(OperationCode::atomic_acknowledge), 101);
  BOOST_TEST(original_of(script) == 15u);
  script.peer(fetch_add(script, 100, 5));
  script.expect(rc(OperationCode::atomic_acknowledge), 100);
  BOOST_TEST(original_of(script) == 10u);
  BOOST_TEST(script.buffer.word(0) == 16u);
}

BOOST_AUTO_TEST_CASE(read_is_answered_first_middle_last_and_takes_as_many_psns) {
  Script script(kOptions);
  script.peer(read_request(script, 100, 0, 2 * kMtu + 5));
  const Traced first = script.expect(rc(OperationCode::read_response_first), 100);
  BOOST_TEST(first.msn == 1u);
  BOOST_TEST(payload_is(script, script.buffer.bytes().first(kMtu)));
  script.expect(rc(OperationCode::read_response_middle), 101);
  BOOST_TEST(payload_is(script, script.buffer.bytes().subspan(kMtu, kMtu)));
  script.expect(rc(OperationCode::read_response_last), 102);
  BOOST_TEST(payload_is(script, script.buffer.bytes().subspan(2 * kMtu, 5)));
  script.peer(read_request(script, 103, 0, 0));
  BOOST_TEST(script.expect(rc(OperationCode::read_response_only), 103).payload_bytes == 0u);
  script.peer(write_only(script, 104, 8));
  script.expect_acknowledge(104);
}

BOOST_AUTO_TEST_CASE(read_returns_what_was_there_despite_later_writes) {
  Script script(kOptions);
  const auto begin = script.buffer.bytes().first(2 * kMtu);
  const std::vector<std::byte> old(begin.begin(), begin.end());
  const auto of_old = [&](std::size_t offset) { return std::span(old).subspan(offset, kMtu); };
  script.peer_batch({read_request(script, 100, 0, 2 * kMtu), write_only(script, 102, kMtu, 0x11),
                     write_only(script, 103, 8, 0x22), fetch_add(script, 104, 1), read_request(script, 105, 0, kMtu),
                     write_only(script, 106, kMtu, 0x33), read_request(script, 107, 0, kMtu)});
  script.expect(rc(OperationCode::read_response_first), 100);
  BOOST_TEST(payload_is(script, of_old(0)));
  script.expect(rc(OperationCode::read_response_last), 101);
  BOOST_TEST(payload_is(script, of_old(kMtu)));
  script.expect(rc(OperationCode::atomic_acknowledge), 104);
  BOOST_TEST(original_of(script) == 0x2222222222222222u);
  script.expect(rc(OperationCode::read_response_only), 105);
  std::vector<std::byte> between = payload(kMtu, 0x11);
  std::fill_n(between.begin(), 8, std::byte{0x22});
  between[0] = std::byte{0x23};  // on a little-endian machine
  BOOST_TEST(payload_is(script, between));
  script.expect(rc(OperationCode::read_response_only), 107);
  BOOST_TEST(payload_is(script, payload(kMtu, 0x33)));
}

BOOST_AUTO_TEST_CASE(of_what_is_kept_for_a_read_there_is_no_more_than_a_limit) {
  Script script(kOptions);
  const auto first = script.buffer.bytes().first(8);
  const std::vector<std::byte> old(first.begin(), first.end());
  std::vector<PacketSpec> batch{read_request(script, 100, 0, 8)};
  for (std::uint32_t i = 0; i < 300; ++i) batch.push_back(write_only(script, 101 + i, 8, static_cast<std::uint8_t>(i)));
  script.peer_batch(batch);
  script.expect(rc(OperationCode::read_response_only), 100);
  BOOST_TEST(payload_is(script, old));  // the oldest is what counts
  script.expect_acknowledge(400);
}

BOOST_AUTO_TEST_CASE(duplicate_read_is_executed_again_from_its_own_psn) {
  Script script(kOptions);
  script.peer(read_request(script, 100, 0, 3 * kMtu));
  for (int i = 0; i < 3; ++i) (void)script.next();
  script.buffer.fill(99);
  script.peer(read_request(script, 101, kMtu, 2 * kMtu));  // the rest of it
  script.expect(rc(OperationCode::read_response_first), 101);
  BOOST_TEST(payload_is(script, script.buffer.bytes().subspan(kMtu, kMtu)));
  script.expect(rc(OperationCode::read_response_last), 102);
  script.peer(write_only(script, 103, 8));
  script.expect_acknowledge(103);
}

BOOST_AUTO_TEST_CASE(a_storm_of_duplicate_reads_takes_no_new_read_its_answer) {
  constexpr std::uint32_t kNew = 100 + 64;
  Script script(kOptions);
  for (std::uint32_t psn = 100; psn < kNew; ++psn) {
    script.peer(read_request(script, psn, 0, 8));
    script.expect(rc(OperationCode::read_response_only), psn);
  }
  for (std::uint32_t psn = 100; psn < kNew; ++psn) script.deliver(read_request(script, psn, 0, 8));
  for (std::uint32_t psn = kNew; psn < kNew + 4; ++psn) script.deliver(read_request(script, psn, 0, 8));
  std::uint32_t replays = 0;
  Traced response = script.next(milliseconds(1));
  for (; response.psn < kNew; response = script.next(milliseconds(1))) ++replays;
  BOOST_TEST(replays > 0u);
  BOOST_TEST(response.psn == kNew);
  for (std::uint32_t psn = kNew + 1; psn < kNew + 4; ++psn) script.expect(rc(OperationCode::read_response_only), psn);
}

BOOST_AUTO_TEST_CASE(send_without_a_receive_gets_an_rnr_nak_and_drops_the_rest) {
  Script script({.mtu = kMtu, .min_rnr_timer = 14});
  script.peer_batch({send_only(100), send_only(101)});
  script.expect_rnr_nak(14, 100);
  script.expect_silence(seconds(1));
  script.end.receive(1, {script.buffer.sge(0, 100)});
  script.peer(send_only(100));
  script.expect_acknowledge(100);
  check_statuses(script.end.poll_received(), {CompletionStatus::success});
  script.peer(send_only(101));
  script.expect_rnr_nak(14, 101);
}

BOOST_AUTO_TEST_CASE(each_retry_that_finds_no_receive_gets_an_rnr_nak_again) {
  Script script(kOptions);
  for (int i = 0; i < 3; ++i) {
    script.peer(send_only(100));
    script.expect_rnr_nak(kOptions.min_rnr_timer, 100);
  }
  BOOST_TEST(script.end.counters().get(Counter::rnr_nak_sent) == 3u);
}

BOOST_AUTO_TEST_CASE(a_write_with_immediate_takes_its_receive_at_the_last_packet) {
  Script script(kOptions);
  const wire::Reth reth{script.buffer.address(), wire::Rkey{script.buffer.rkey()}, kMtu + 1};
  script.peer({.opcode = rc(OperationCode::write_first), .psn = 100, .reth = reth, .payload = payload(kMtu)});
  const PacketSpec last{.opcode = rc(OperationCode::write_last_with_immediate),
                        .psn = 101,
                        .ack_request = true,
                        .immediate = {7},
                        .payload = payload(1)};
  script.peer(last);
  script.expect_rnr_nak(kOptions.min_rnr_timer, 101);
  script.end.receive(5, {});
  script.peer(last);
  script.expect_acknowledge(101);
  const auto received = script.end.poll_received();
  BOOST_TEST_REQUIRE(received.size() == 1u);
  BOOST_TEST(received[0].byte_count == kMtu + 1);
  BOOST_TEST(received[0].immediate == 7u);
}

BOOST_AUTO_TEST_CASE(acknowledgements_tell_how_many_receives_wait) {
  Script script(kOptions);
  for (std::uint64_t i = 0; i < 5; ++i) script.end.receive(i, {});
  script.peer(write_only(script, 100, 8));
  const auto syndrome = wire::Syndrome::decode(script.next().syndrome);
  BOOST_TEST(wire::credit_count_of(syndrome.value) == 4u);  // the code promises no more than there are
}

BOOST_AUTO_TEST_CASE(receive_of_the_current_message_counts_until_the_msn_does) {
  Script script(kOptions);
  for (std::uint64_t i = 0; i < 2; ++i) script.end.receive(i, {script.buffer.sge()});
  const auto announced = [&] {
    const Traced acknowledge = script.next();
    return acknowledge.msn + wire::credit_count_of(wire::Syndrome::decode(acknowledge.syndrome).value);
  };
  script.peer({.opcode = rc(OperationCode::send_first), .psn = 100, .ack_request = true, .payload = payload(kMtu)});
  BOOST_TEST(announced() == 2u);
  script.peer({.opcode = rc(OperationCode::send_last), .psn = 101, .ack_request = true, .payload = payload(1)});
  BOOST_TEST(announced() == 2u);
}

BOOST_AUTO_TEST_CASE(psns_wrap_at_24_bits_on_both_sides_of_a_gap) {
  Script script({.mtu = kMtu, .first_psn = 0xfffffe});
  script.peer(write_only(script, 0xfffffe, 8));
  script.expect_acknowledge(0xfffffe);
  script.peer(write_only(script, 0, 8));
  script.expect_nak(NakCode::psn_sequence_error, 0xffffff);
  script.peer(write_only(script, 0xffffff, 8));
  script.expect_acknowledge(0xffffff);
  script.peer(write_only(script, 0, 8));
  script.expect_acknowledge(0);
  script.peer(write_only(script, 0xffffff, 8));
  script.expect_acknowledge(0);
}

BOOST_AUTO_TEST_CASE(foreign_packets_are_dropped_and_counted_by_reason) {
  Script script(kOptions);
  const auto drops = [&](Counter counter, std::vector<std::byte> frame) {
    const std::uint64_t before = script.end.counters().get(counter);
    script.raw(std::move(frame));
    script.expect_silence();
    BOOST_TEST(script.end.counters().get(counter) == before + 1, to_string(counter));
  };
  PacketSpec spec = write_only(script, 100, 8);
  spec.dest_qp = script.end.qpn();
  auto bad_icrc = make_frame(2, 1, spec);
  bad_icrc.back() ^= std::byte{1};
  drops(Counter::rx_dropped_icrc, bad_icrc);
  drops(Counter::rx_dropped_wrong_source, make_frame(3, 1, spec));
  drops(Counter::rx_dropped_wrong_destination, make_frame(2, 3, spec));
  PacketSpec other = spec;
  other.pkey = 0x1234;
  drops(Counter::rx_dropped_pkey, make_frame(2, 1, other));
  other = spec;
  other.dest_qp = wire::Qpn(spec.dest_qp.value() + 1);
  drops(Counter::rx_dropped_no_qp, make_frame(2, 1, other));
  other = spec;
  other.opcode = uc(OperationCode::write_only);
  drops(Counter::rx_dropped_wrong_transport, make_frame(2, 1, other));
  drops(Counter::rx_dropped_malformed, std::vector<std::byte>(60));
  // And after all that the connection stands where it stood.
  script.peer(write_only(script, 100, 8));
  script.expect_acknowledge(100);
}

BOOST_AUTO_TEST_CASE(first_packet_in_rtr_establishes_communication_and_runs) {
  World world({.latency = nanoseconds(0)});
  Endpoint end(world, 1, kOptions);
  Endpoint peer(world, 2, kOptions);
  Buffer from(peer.nic(), peer.pd, 64), to(end.nic(), end.pd, 64);
  from.fill(5);
  end.to_init();
  end.to_rtr(2, peer.qpn());
  peer.connect(1, end.qpn());
  const Sge sge = from.sge();
  peer.post({.opcode = SendOpcode::rdma_write,
             .sges = {&sge, 1},
             .operand = {.remote = {.address = to.address(), .rkey = to.rkey()}}});
  world.run_to_rest();
  check_statuses(peer.poll_sent(), {CompletionStatus::success});
  BOOST_TEST(same_bytes(from.bytes(), to.bytes()));
  const auto events = end.poll_events();
  BOOST_TEST(events.size() == 1u);
  BOOST_CHECK(events.at(0) == AsyncEventType::communication_established);
}

BOOST_AUTO_TEST_CASE(packets_before_rtr_are_asked_for_by_the_next_one_at_once) {
  for (const bool is_ready_to_send : {false, true}) {
    World world({.latency = microseconds(1)});
    Endpoint end(world, 1, kOptions);
    Endpoint peer(world, 2, {.mtu = kMtu, .timeout = 20});  // four seconds
    Buffer buffer(end.nic(), end.pd, 64);
    end.to_init();
    for (std::uint64_t i = 0; i < 3; ++i) end.receive(i, {buffer.sge()});
    peer.connect(1, end.qpn());
    for (int i = 0; i < 2; ++i) peer.post({.opcode = SendOpcode::send});
    world.run_for(milliseconds(1));
    BOOST_TEST(end.counters().get(Counter::rx_dropped_qp_state) == 2u);
    end.to_rtr(2, peer.qpn());
    if (is_ready_to_send) end.to_rts();
    peer.post({.opcode = SendOpcode::send});
    world.run_for(microseconds(4));  // there, the NAK back, there, the ACK back
    BOOST_TEST(end.poll_received().size() == 3u);
    check_statuses(peer.poll_sent(), {CompletionStatus::success, CompletionStatus::success, CompletionStatus::success});
    BOOST_TEST(peer.counters().get(Counter::packet_seq_err) == 1u);
    BOOST_TEST(peer.counters().get(Counter::tx_retransmitted_packets) == 3u);
    BOOST_TEST(peer.counters().get(Counter::local_ack_timeout_err) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_qp_that_does_not_receive_yet_or_any_more_is_silent) {
  Script script(kOptions);
  script.end.to_state(QpState::error);
  script.peer(write_only(script, 100, 8));
  script.expect_silence();
  script.end.to_state(QpState::reset);
  script.peer(write_only(script, 100, 8));
  script.end.to_init();
  script.peer(write_only(script, 100, 8));
  script.expect_silence(seconds(1));
  BOOST_TEST(script.end.counters().get(Counter::rx_dropped_qp_state) == 3u);
}

BOOST_AUTO_TEST_CASE(a_read_whose_memory_goes_is_refused_whatever_else_is_owed) {
  // Behind the responses a NAK is owed: one that asks for what is missing, or one that ends the connection.
  for (const PacketSpec& next : {send_only(105), PacketSpec{.opcode = rc(OperationCode::write_last), .psn = 102}}) {
    Script script(kOptions);
    script.deliver(read_request(script, 100, 0, 2 * kMtu));
    script.deliver(next);
    BOOST_TEST(script.end.nic().deregister_memory(script.buffer.mr()).ok());
    script.world.run_for(nanoseconds(0));
    script.expect_nak(NakCode::remote_access_error, 100);
    script.expect_silence(milliseconds(100));
    BOOST_CHECK(script.end.state() == QpState::error);
  }
}
