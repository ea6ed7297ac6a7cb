// All loss patterns of short exchanges, by mask: the data is whole, each operation happens once and completes once.
#include <bit>
#include <boost/test/unit_test.hpp>

#include "tests/support/endpoint.h"

using namespace verbena;
using namespace verbena::test;

namespace {

constexpr std::uint32_t kMtu = 256;
constexpr Duration kLongest = seconds(1);

/// With 7 retries, more losses than this may rightly end in retry_exceeded.
constexpr int kLossesMax = 7;

struct Recovery {
  const char* name;
  LossRecoveryConfig config;
  Duration latency{};  // until what is known to be lost is sent again
};
const Recovery kRecoveries[] = {
    {"go-back-N", {}},
    {"selective repeat", {.policy = RecoveryPolicy::selective_repeat}},
    {"selective repeat from the first packet on", {.policy = RecoveryPolicy::selective_repeat, .negotiates = false}},
    {"selective repeat, of two packets at a time",
     {.policy = RecoveryPolicy::selective_repeat, .bdp_packets = 2, .negotiates = false}},
    {"go-back-N that takes its time", {}, microseconds(10)},
    {"selective repeat that takes its time",
     {.policy = RecoveryPolicy::selective_repeat, .negotiates = false},
     microseconds(10)},
};

/// Runs `exchange` under every pattern of loss among the first `there` frames from a to b and the first `back` frames
/// of the other direction. One connection serves all patterns, so that what one leaves behind meets the next.
template <class Exchange>
void for_all_patterns_of(const Recovery& recovery, unsigned there, unsigned back, std::uint32_t first_psn,
                         Exchange&& exchange) {
  Pair pair({.mtu = kMtu, .timeout = 8, .first_psn = first_psn}, 4096,
            {.loss_recovery = recovery.config,
             .nak_reaction_latency = recovery.latency,
             .implied_nak_latency = recovery.latency});
  for (std::uint64_t lost_back = 0; lost_back < std::uint64_t{1} << back; ++lost_back) {
    for (std::uint64_t lost_there = 0; lost_there < std::uint64_t{1} << there; ++lost_there) {
      if (std::popcount(lost_there) + std::popcount(lost_back) > kLossesMax) continue;
      pair.world.lose(1, 2, lost_there);
      pair.world.lose(2, 1, lost_back);
      pair.a_buffer.fill(lost_there * 1024 + lost_back);
      pair.b_buffer.fill(~lost_there * 1024 + lost_back);
      pair.world.clear_trace();
      exchange(pair);
      pair.world.run_to_rest(kLongest);
      const bool fine = pair.a.state() == QpState::rts && pair.b.state() == QpState::rts;
      BOOST_TEST_REQUIRE(fine, "lost a->b " << lost_there << " b->a " << lost_back);
    }
  }
}
template <class Exchange>
void for_all_patterns(unsigned there, unsigned back, std::uint32_t first_psn, Exchange&& exchange) {
  for (const Recovery& recovery : kRecoveries)
    BOOST_TEST_CONTEXT(recovery.name) for_all_patterns_of(recovery, there, back, first_psn, exchange);
}

struct Check {
  const Pair& pair;
  void one_success(const std::vector<Completion>& completions, const char* what) const {
    BOOST_TEST_REQUIRE(completions.size() == 1u, what << ": completions " << completions.size());
    BOOST_TEST_REQUIRE(name_of(completions[0].status) == "success");
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_write_of_three_packets_survives_every_pattern) {
  for_all_patterns(8, 4, 100, [](Pair& pair) {
    const Sge from = pair.a_buffer.sge(0, 3 * kMtu);
    pair.a.post({.opcode = SendOpcode::rdma_write,
                 .sges = {&from, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest(kLongest);
    Check{pair}.one_success(pair.a.poll_sent(), "write");
    BOOST_TEST_REQUIRE(same_bytes(pair.a_buffer.bytes().first(3 * kMtu), pair.b_buffer.bytes().first(3 * kMtu)));
  });
}

BOOST_AUTO_TEST_CASE(a_send_of_three_packets_is_received_once_under_every_pattern) {
  for_all_patterns(8, 4, 0xfffff0, [](Pair& pair) {
    const Sge from = pair.a_buffer.sge(0, 3 * kMtu);
    pair.b.receive(3, {pair.b_buffer.sge(0, 3 * kMtu)});
    pair.a.post({.opcode = SendOpcode::send, .sges = {&from, 1}});
    pair.world.run_to_rest(kLongest);
    Check{pair}.one_success(pair.a.poll_sent(), "send");
    Check{pair}.one_success(pair.b.poll_received(), "receive");
    BOOST_TEST_REQUIRE(same_bytes(pair.a_buffer.bytes().first(3 * kMtu), pair.b_buffer.bytes().first(3 * kMtu)));
  });
}

BOOST_AUTO_TEST_CASE(a_read_of_three_packets_survives_every_pattern) {
  for_all_patterns(4, 8, 0xffffe0, [](Pair& pair) {
    const Sge into = pair.a_buffer.sge(0, 3 * kMtu);
    pair.a.post({.opcode = SendOpcode::rdma_read,
                 .sges = {&into, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
    pair.world.run_to_rest(kLongest);
    Check{pair}.one_success(pair.a.poll_sent(), "read");
    BOOST_TEST_REQUIRE(same_bytes(pair.a_buffer.bytes().first(3 * kMtu), pair.b_buffer.bytes().first(3 * kMtu)));
  });
}

BOOST_AUTO_TEST_CASE(atomic_is_executed_once_and_true_under_every_loss_pattern) {
  std::uint64_t value = 0;
  bool started = false;
  for_all_patterns(5, 5, 0xfffff0, [&](Pair& pair) {
    if (!started) value = pair.b_buffer.word(511) = 1000;
    started = true;
    pair.b_buffer.word(511) = value;  // the buffers are filled anew for each pattern
    const Sge result = pair.a_buffer.sge(0, 8);
    pair.a.post({.opcode = SendOpcode::fetch_and_add,
                 .sges = {&result, 1},
                 .operand = {.remote = {.address = pair.b_buffer.address(511 * 8),
                                        .rkey = pair.b_buffer.rkey(),
                                        .compare_or_add = 3}}});
    pair.world.run_to_rest(kLongest);
    Check{pair}.one_success(pair.a.poll_sent(), "atomic");
    BOOST_TEST_REQUIRE(pair.a_buffer.word(0) == value);
    value += 3;
    BOOST_TEST_REQUIRE(pair.b_buffer.word(511) == value);
  });
}

BOOST_AUTO_TEST_CASE(mixed_batch_completes_once_in_order_under_every_pattern) {
  std::uint64_t counter = 0;
  for_all_patterns(8, 6, 0xffff00, [&](Pair& pair) {
    pair.b_buffer.word(500) = counter;
    pair.b.receive(9, {pair.b_buffer.sge(2048, kMtu)});
    const Sge write_from = pair.a_buffer.sge(0, 2 * kMtu);
    const Sge read_into = pair.a_buffer.sge(1024, 2 * kMtu);
    const Sge atomic_into = pair.a_buffer.sge(2048, 8);
    const Sge send_from = pair.a_buffer.sge(3072, 100);
    const auto post = [&](std::uint64_t id, SendOpcode opcode, const Sge& sge, std::size_t offset) {
      pair.a.post({.wr_id = id,
                   .opcode = opcode,
                   .sges = {&sge, 1},
                   .operand = {.remote = {.address = pair.b_buffer.address(offset),
                                          .rkey = pair.b_buffer.rkey(),
                                          .compare_or_add = 1}}});
    };
    post(0, SendOpcode::rdma_write, write_from, 0);
    post(1, SendOpcode::rdma_read, read_into, 0);  // reads what was just written
    post(2, SendOpcode::fetch_and_add, atomic_into, 4000);
    post(3, SendOpcode::send, send_from, 0);
    pair.world.run_to_rest(kLongest);
    const auto sent = pair.a.poll_sent();
    BOOST_TEST_REQUIRE(sent.size() == 4u);
    for (std::uint64_t i = 0; i < 4; ++i) BOOST_TEST_REQUIRE(sent[i].wr_id == i);
    check_statuses(sent, {CompletionStatus::success, CompletionStatus::success, CompletionStatus::success,
                          CompletionStatus::success});
    Check{pair}.one_success(pair.b.poll_received(), "receive");
    const auto written = pair.a_buffer.bytes().first(2 * kMtu);
    BOOST_TEST_REQUIRE(same_bytes(written, pair.b_buffer.bytes().first(2 * kMtu)));
    BOOST_TEST_REQUIRE(same_bytes(written, pair.a_buffer.bytes().subspan(1024, 2 * kMtu)));
    BOOST_TEST_REQUIRE(same_bytes(pair.a_buffer.bytes().subspan(3072, 100), pair.b_buffer.bytes().subspan(2048, 100)));
    BOOST_TEST_REQUIRE(pair.a_buffer.word(256) == counter);
    BOOST_TEST_REQUIRE(pair.b_buffer.word(500) == ++counter);
  });
}

BOOST_AUTO_TEST_CASE(both_directions_at_once_survive_every_pattern) {
  for_all_patterns(6, 6, 0xfffe00, [](Pair& pair) {
    const auto write = [](Endpoint& end, const Sge& from, const Buffer& to) {
      end.post({.opcode = SendOpcode::rdma_write,
                .sges = {&from, 1},
                .operand = {.remote = {.address = to.address(2048), .rkey = to.rkey()}}});
    };
    write(pair.a, pair.a_buffer.sge(0, 3 * kMtu), pair.b_buffer);
    write(pair.b, pair.b_buffer.sge(0, 3 * kMtu), pair.a_buffer);
    pair.world.run_to_rest(kLongest);
    Check{pair}.one_success(pair.a.poll_sent(), "a");
    Check{pair}.one_success(pair.b.poll_sent(), "b");
    BOOST_TEST_REQUIRE(
        same_bytes(pair.a_buffer.bytes().first(3 * kMtu), pair.b_buffer.bytes().subspan(2048, 3 * kMtu)));
    BOOST_TEST_REQUIRE(
        same_bytes(pair.b_buffer.bytes().first(3 * kMtu), pair.a_buffer.bytes().subspan(2048, 3 * kMtu)));
  });
}

BOOST_AUTO_TEST_CASE(unreliable_connection_delivers_a_message_whole_or_not_at_all) {
  QpOptions options{.type = QpType::uc, .mtu = kMtu};
  Pair pair(options, 8192);
  for (std::uint64_t lost = 0; lost < 64; ++lost) {  // two messages of three packets
    pair.b_buffer.clear();
    pair.a_buffer.fill(lost);
    pair.world.lose(1, 2, lost);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t message = 0; message < 2; ++message) {
      const Sge from = pair.a_buffer.sge(message * 1024, 3 * kMtu);
      pair.b.receive(message, {pair.b_buffer.sge(message * 1024, 3 * kMtu)});
      pair.a.post({.wr_id = message, .opcode = SendOpcode::send, .sges = {&from, 1}});
    }
    pair.world.run_to_rest(kLongest);
    check_statuses(pair.a.poll_sent(), {CompletionStatus::success, CompletionStatus::success});
    const bool first = (lost & 7) == 0;
    const bool second = (lost >> 3 & 7) == 0;
    const auto received = pair.b.poll_received();
    BOOST_TEST_REQUIRE(received.size() == static_cast<std::size_t>(first) + static_cast<std::size_t>(second),
                       "lost " << lost);
    for (std::size_t i = 0; i < received.size(); ++i) {
      BOOST_TEST(name_of(received[i].status) == "success");
      BOOST_TEST(received[i].byte_count == 3 * kMtu);
      // A receive is consumed by the message that arrives whole, not by the one that was lost.
      BOOST_TEST(received[i].wr_id == i);
      const std::size_t message = i == 0 && !first ? 1 : i;
      BOOST_TEST_REQUIRE(same_bytes(pair.a_buffer.bytes().subspan(message * 1024, 3 * kMtu),
                                    pair.b_buffer.bytes().subspan(received[i].wr_id * 1024, 3 * kMtu)),
                         "lost " << lost);
    }
    BOOST_CHECK(pair.b.state() == QpState::rts);
    // The next round starts with an empty receive queue: take what is left with messages that arrive.
    pair.world.lose(1, 2, 0);
    for (std::size_t left = received.size(); left < 2; ++left) pair.a.post({.opcode = SendOpcode::send});
    pair.world.run_to_rest(kLongest);
    BOOST_TEST_REQUIRE(pair.b.poll_received().size() == 2 - received.size());
    pair.a.poll_sent();
  }
}

namespace {

constexpr Duration kWire = microseconds(1);
constexpr Duration kLatency = microseconds(25);

/// When the node sent its n-th frame of this PSN.
Time sent_at(const Pair& pair, unsigned from, std::uint32_t psn, unsigned nth) {
  for (const Traced& frame : pair.world.trace())
    if (frame.from == from && frame.psn == psn && nth-- == 0) return frame.at;
  BOOST_FAIL("no such frame");
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_nak_is_followed_by_what_it_asks_for_after_the_nics_latency) {
  Pair pair({.mtu = kMtu, .timeout = 14, .first_psn = 100}, 4096,
            {.latency = kWire, .nak_reaction_latency = kLatency, .implied_nak_latency = milliseconds(5)});
  pair.world.lose(1, 2, 0b10);
  const Sge from = pair.a_buffer.sge(0, 4 * kMtu);
  pair.a.post({.opcode = SendOpcode::rdma_write,
               .sges = {&from, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest(kLongest);
  Check{pair}.one_success(pair.a.poll_sent(), "write");
  const Time nak = sent_at(pair, 2, 101, 0);
  BOOST_TEST((sent_at(pair, 1, 101, 1) - nak).ns == (kWire + kLatency).ns);
  BOOST_TEST((sent_at(pair, 1, 103, 1) - nak).ns == (kWire + kLatency).ns);
}

BOOST_AUTO_TEST_CASE(gap_in_read_responses_is_asked_for_after_the_nics_latency) {
  Pair pair({.mtu = kMtu, .timeout = 14, .first_psn = 100}, 4096,
            {.latency = kWire, .nak_reaction_latency = milliseconds(5), .implied_nak_latency = kLatency});
  pair.world.lose(2, 1, 0b10);
  const Sge into = pair.a_buffer.sge(0, 4 * kMtu);
  pair.a.post({.opcode = SendOpcode::rdma_read,
               .sges = {&into, 1},
               .operand = {.remote = {.address = pair.b_buffer.address(), .rkey = pair.b_buffer.rkey()}}});
  pair.world.run_to_rest(kLongest);
  Check{pair}.one_success(pair.a.poll_sent(), "read");
  BOOST_TEST((sent_at(pair, 1, 101, 0) - sent_at(pair, 2, 102, 0)).ns == (kWire + kLatency).ns);
}
