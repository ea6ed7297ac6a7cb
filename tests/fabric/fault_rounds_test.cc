// Which packets a rule hits by message, packet and round, and what it does that changes with the link or the frame:
// bursts, jitter, fields, truncation, marks.
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/alter_frame.h"
#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/flow_table.h"
#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::fabric;
using test::PacketSpec;
using test::rc;
using wire::OperationCode;

namespace {

FaultRule rule_of(std::string_view text) {
  const auto rule = parse_fault(text);
  BOOST_REQUIRE_MESSAGE(rule.ok(), (rule.ok() ? "" : rule.error()));
  return *rule;
}
FaultPlan plan_of(std::string_view text, std::uint64_t seed = 1) {
  return FaultPlan({rule_of(text)}, seed, "a");
}

FaultVerdict judge(FaultPlan& plan, const PacketSpec& spec) {
  const auto frame = test::make_frame(1, 2, spec);
  const auto packet = wire::parse_frame(frame);
  BOOST_REQUIRE(packet.ok());
  return plan.judge(*packet);
}

PacketSpec write_packet(std::uint32_t psn, OperationCode code) {
  return {.opcode = rc(code), .psn = psn, .payload = std::vector<std::byte>(16)};
}

/// Messages of four packets each, from PSN `base` on.
constexpr std::uint32_t kPackets = 4;
PacketSpec nth(std::uint32_t base, std::uint32_t n) {
  const std::uint32_t place = n % kPackets;
  const OperationCode code = place == 0              ? OperationCode::write_first
                             : place == kPackets - 1 ? OperationCode::write_last
                                                     : OperationCode::write_middle;
  return write_packet(base + n, code);
}

/// Which of the packets, by their place in `sent`, are dropped.
std::vector<std::size_t> dropped(std::string_view text, const std::vector<std::uint32_t>& sent, std::uint32_t base) {
  FaultPlan plan = plan_of(text);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (judge(plan, nth(base, sent[i])).drop) places.push_back(i);
  return places;
}

using Places = std::vector<std::size_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(messages_and_packets_count_from_zero_across_the_psn_wrap) {
  const std::vector<std::uint32_t> sent{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const std::uint32_t base : {100u, 0xfffffau, 0xffffffu}) {
    BOOST_CHECK(dropped("drop msg=1", sent, base) == (Places{4, 5, 6, 7}));
    BOOST_CHECK(dropped("drop packet=2", sent, base) == (Places{2, 6, 10}));
    BOOST_CHECK(dropped("drop msg=1-2 packet=0", sent, base) == (Places{4, 8}));
    BOOST_CHECK(dropped("drop part=first", sent, base) == (Places{0, 4, 8}));
    BOOST_CHECK(dropped("drop part=last", sent, base) == (Places{3, 7, 11}));
    BOOST_CHECK(dropped("drop part=middle count=3", sent, base) == (Places{1, 2, 5}));
  }
}

BOOST_AUTO_TEST_CASE(round_begins_with_each_go_back_and_each_new_message) {
  // Two messages, the first sent in three rounds, the second in two: with any depth of the send queue.
  const std::vector<std::uint32_t> sent{0, 1, 2, 3, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7};
  BOOST_CHECK(dropped("drop msg=0 packet=2 round=1", sent, 9) == (Places{2}));
  BOOST_CHECK(dropped("drop msg=0 packet=2 round=2", sent, 9) == (Places{5}));
  BOOST_CHECK(dropped("drop msg=0 packet=2 round=3", sent, 9) == (Places{9}));
  BOOST_CHECK(dropped("drop msg=1 packet=0 round=1", sent, 9) == (Places{7}));
  BOOST_CHECK(dropped("drop msg=1 packet=0 round=2", sent, 9) == (Places{11}));
  // Packet 2 of message 1 is sent for the first time, but in the message's second round.
  BOOST_CHECK(dropped("drop msg=1 packet=2 round=2", sent, 9) == (Places{13}));
}

BOOST_AUTO_TEST_CASE(a_message_that_is_long_past_is_in_no_rule) {
  FaultPlan plan = plan_of("drop msg=0 packet=0 round=2-1000");
  for (std::uint32_t psn = 0; psn <= kMessagesRemembered; ++psn)
    BOOST_TEST_REQUIRE(!judge(plan, {.opcode = rc(OperationCode::send_only), .psn = psn}).drop);
  BOOST_TEST(!judge(plan, {.opcode = rc(OperationCode::send_only), .psn = 0}).drop);
}

BOOST_AUTO_TEST_CASE(data_means_sends_writes_and_read_responses_and_their_flows) {
  FaultPlan plan = plan_of("drop opcode=data qp=0 packet=0 round=1");
  const PacketSpec response{.opcode = rc(OperationCode::read_response_only), .psn = 5, .aeth = {0x1f, 0}};
  const PacketSpec acknowledge{.opcode = rc(OperationCode::acknowledge), .psn = 4, .aeth = {0x1f, 0}};
  BOOST_TEST(!judge(plan, acknowledge).drop);
  BOOST_TEST(!judge(plan, {.opcode = rc(OperationCode::read_request), .psn = 1}).drop);
  BOOST_TEST(judge(plan, {.opcode = rc(OperationCode::send_only), .psn = 2}).drop);
  BOOST_TEST(judge(plan, response).drop);
}

BOOST_AUTO_TEST_CASE(rnr_nak_and_cnp_are_kinds_of_their_own) {
  const PacketSpec rnr{.opcode = rc(OperationCode::acknowledge), .aeth = {wire::rnr_syndrome(12), 0}};
  const PacketSpec nak{.opcode = rc(OperationCode::acknowledge),
                       .aeth = {wire::nak_syndrome(wire::NakCode::psn_sequence_error), 0}};
  const PacketSpec cnp{.opcode = wire::Opcode::cnp, .payload = std::vector<std::byte>(16)};
  FaultPlan rnrs = plan_of("drop opcode=rnr-nak");
  BOOST_TEST(judge(rnrs, rnr).drop);
  BOOST_TEST(!judge(rnrs, nak).drop);
  BOOST_TEST(!judge(rnrs, cnp).drop);
  FaultPlan cnps = plan_of("drop opcode=cnp");
  BOOST_TEST(judge(cnps, cnp).drop);
  BOOST_TEST(!judge(cnps, rnr).drop);
}

BOOST_AUTO_TEST_CASE(a_notification_in_front_does_not_take_the_flow_its_numbers) {
  FaultPlan plan = plan_of("drop qp=0 psn=0");
  BOOST_TEST(!judge(plan, {.opcode = wire::Opcode::cnp, .payload = std::vector<std::byte>(16)}).drop);
  BOOST_TEST(judge(plan, {.opcode = rc(OperationCode::send_only), .psn = 77}).drop);
}

BOOST_AUTO_TEST_CASE(bursts_lose_packets_in_runs_of_the_length_that_r_says) {
  FaultPlan plan = plan_of("burst-loss p=0.01 r=0.1");
  constexpr std::uint32_t kSent = 100'000;
  std::uint32_t lost = 0;
  std::uint32_t runs = 0;
  bool before = false;
  for (std::uint32_t psn = 0; psn < kSent; ++psn) {
    const bool now = judge(plan, {.psn = psn}).drop;
    lost += now ? 1 : 0;
    runs += now && !before ? 1 : 0;
    before = now;
  }
  // In the long run p / (p + r) of the time is bad, and a bad time lasts 1 / r packets.
  BOOST_TEST(lost > kSent / 11 * 85 / 100);
  BOOST_TEST(lost < kSent / 11 * 115 / 100);
  BOOST_TEST(lost / runs >= 9u);
  BOOST_TEST(lost / runs <= 11u);
}

BOOST_AUTO_TEST_CASE(bursts_advance_with_each_packet_and_repeat_by_seed) {
  const auto pattern = [](std::uint64_t seed) {
    FaultPlan plan = plan_of("burst-loss p=5% r=30% bad=80% opcode=send", seed);
    std::vector<bool> lost;
    for (std::uint32_t psn = 0; psn < 500; ++psn) {
      BOOST_TEST(!judge(plan, {.opcode = rc(OperationCode::read_request), .psn = psn}).drop);
      lost.push_back(judge(plan, {.psn = psn}).drop);
    }
    return lost;
  };
  BOOST_CHECK(pattern(1) == pattern(1));
  BOOST_CHECK(pattern(1) != pattern(2));
  FaultPlan never = plan_of("burst-loss p=0 r=1");
  FaultPlan always = plan_of("burst-loss p=0 r=0 good=100%");
  BOOST_TEST(!judge(never, {}).drop);
  BOOST_TEST(judge(always, {}).drop);
}

BOOST_AUTO_TEST_CASE(jitter_adds_up_to_its_time_and_differs_from_packet_to_packet) {
  FaultPlan plan = plan_of("delay by=10us jitter=5us");
  BOOST_TEST(plan.needs_time());
  Duration least = seconds(1);
  Duration most{0};
  for (std::uint32_t psn = 0; psn < 1000; ++psn) {
    const Duration delay = judge(plan, {.psn = psn}).delay;
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  BOOST_TEST(least.ns >= 10'000);
  BOOST_TEST(least.ns < 10'100);
  BOOST_TEST(most.ns <= 15'000);
  BOOST_TEST(most.ns > 14'900);
}

BOOST_AUTO_TEST_CASE(corruption_hits_the_named_field_and_mends_the_icrc_if_asked) {
  const PacketSpec spec{.opcode = rc(OperationCode::write_only),
                        .psn = 0x123456,
                        .reth = {0x1122334455667788, wire::Rkey(0x99aabbcc), 16},
                        .payload = std::vector<std::byte>(16)};
  for (const std::string field : {"opcode", "pkey", "dest-qp", "psn", "address", "rkey", "length"})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      BOOST_TEST_CONTEXT(field << " seed " << seed) {
        FaultPlan plan = plan_of("corrupt repair=yes where=" + field, seed);
        auto frame = test::make_frame(1, 2, spec);
        const FaultVerdict verdict = judge(plan, spec);
        BOOST_TEST_REQUIRE(verdict.alters_frame());
        const AlteredFrame altered = alter_frame(frame, verdict);
        BOOST_TEST(altered.corrupted);
        BOOST_TEST(altered.bytes == frame.size());
        const auto packet = wire::parse_frame(frame);
        if (!packet) {  // only another opcode can make it unreadable
          BOOST_TEST(field == "opcode");
          continue;
        }
        BOOST_TEST(packet->icrc_is_valid());
        BOOST_TEST((packet->bth().opcode != spec.opcode) == (field == "opcode"));
        BOOST_TEST((packet->bth().pkey != spec.pkey) == (field == "pkey"));
        BOOST_TEST((packet->bth().dest_qp != spec.dest_qp) == (field == "dest-qp"));
        BOOST_TEST((packet->bth().psn.value() != spec.psn) == (field == "psn"));
        if (field == "opcode") continue;
        BOOST_TEST((packet->reth().address != spec.reth.address) == (field == "address"));
        BOOST_TEST((packet->reth().rkey != spec.reth.rkey) == (field == "rkey"));
        BOOST_TEST((packet->reth().length != spec.reth.length) == (field == "length"));
      }
    }
  FaultPlan syndrome = plan_of("corrupt where=syndrome");
  BOOST_TEST(judge(syndrome, spec).clean());
  BOOST_TEST(!judge(syndrome, {.opcode = rc(OperationCode::acknowledge)}).clean());
}

BOOST_AUTO_TEST_CASE(truncated_frame_keeps_its_beginning_and_a_short_one_stays) {
  FaultPlan plan = plan_of("truncate to=70");
  const PacketSpec spec = write_packet(0, OperationCode::write_middle);
  auto frame = test::make_frame(1, 2, spec);
  const auto whole = frame;
  const AlteredFrame altered = alter_frame(frame, judge(plan, spec));
  BOOST_TEST(altered.bytes == 70u);
  BOOST_TEST(altered.corrupted);
  BOOST_CHECK(frame == whole);
  BOOST_TEST(!wire::parse_frame(std::span<const std::byte>(frame).first(altered.bytes)).ok());
  BOOST_TEST(judge(plan, {.opcode = rc(OperationCode::acknowledge)}).clean());
}

BOOST_AUTO_TEST_CASE(mark_sets_congestion_experienced_and_keeps_the_checks_right) {
  FaultPlan plan = plan_of("mark");
  auto frame = test::make_frame(1, 2, {});
  const FaultVerdict verdict = judge(plan, {});
  BOOST_TEST(!alter_frame(frame, verdict).corrupted);
  const auto packet = wire::parse_frame(frame);
  BOOST_REQUIRE(packet.ok());
  BOOST_TEST((packet->ip().traffic_class() & 3) == 3);
  BOOST_TEST(packet->icrc_is_valid());
  std::uint32_t sum = 0;
  for (std::size_t i = 14; i < 34; i += 2)
    sum += static_cast<std::uint32_t>(frame[i]) << 8 | static_cast<std::uint32_t>(frame[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  BOOST_TEST(sum == 0xffffu);
  BOOST_TEST(is_ecn_capable(frame));
  const auto marked = frame;
  mark_congestion(frame);
  BOOST_CHECK(frame == marked);
  std::vector<std::byte> runt(20);
  BOOST_TEST(!mark_congestion(runt));
}

BOOST_AUTO_TEST_CASE(what_the_new_actions_lack_is_said) {
  const auto error_of = [](std::string_view text) {
    const auto rule = parse_fault(text);
    BOOST_REQUIRE_MESSAGE(!rule.ok(), "'" << text << "' was accepted");
    return rule.error();
  };
  BOOST_TEST(error_of("burst-loss 1%") ==
             "fault 'burst-loss 1%': burst-loss needs the probabilities to turn bad and good again: p=0.001 r=0.2");
  BOOST_TEST(error_of("truncate") == "fault 'truncate': truncate needs a size: to=60");
  for (const char* text : {"truncate to=13", "truncate to=70000", "mark to=60", "drop r=1", "delay jitter=61s",
                           "drop part=only", "drop round=0", "burst-loss p=0.1 r=2", "drop msg=-1", "drop packet=x"})
    BOOST_TEST(!error_of(text).empty());
}

BOOST_AUTO_TEST_CASE(a_rule_goes_on_counting_when_others_come_and_go) {
  const FaultRule counted = rule_of("drop psn=2-9 every=2 count=3");
  FaultPlan plan({counted}, 1, "a>b");
  std::vector<std::uint32_t> dropped;
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    if (psn == 5) plan.replace({rule_of("duplicate psn=0"), counted});
    if (psn == 7) plan.replace({counted});
    const FaultVerdict verdict = judge(plan, {.opcode = rc(OperationCode::send_only), .psn = 1000 + psn});
    if (verdict.drop) dropped.push_back(psn);
    BOOST_TEST(verdict.copies == (psn == 5 ? 1u : 0u));  // the flow's first packet for the rule that came then
  }
  const std::vector<std::uint32_t> expected{3, 5, 7};
  BOOST_TEST(dropped == expected, boost::test_tools::per_element());
  BOOST_TEST(plan.counters(0).applied == 3u);
}

BOOST_AUTO_TEST_CASE(rule_that_was_away_or_has_another_owner_counts_anew) {
  FaultRule first = rule_of("drop psn=1");
  FaultPlan plan({first}, 1, "a>b");
  const auto drops = [&](std::uint32_t psn) {
    return judge(plan, {.opcode = rc(OperationCode::send_only), .psn = psn}).drop;
  };
  BOOST_TEST(!drops(50));
  BOOST_TEST(drops(51));
  plan.replace({});
  BOOST_TEST(plan.empty());
  BOOST_TEST(!drops(52));
  plan.replace({first});
  BOOST_TEST(!drops(60));
  BOOST_TEST(drops(61));
  FaultRule second = first;
  second.id = 7;
  plan.replace({first, second});
  BOOST_TEST(!drops(70));
  BOOST_TEST(drops(71));
  BOOST_TEST(plan.counters(0).applied == 1u);
  BOOST_TEST(plan.counters(1).applied == 1u);
}
