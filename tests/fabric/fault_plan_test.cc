// The grammar of faults, and which packets a rule hits.
#include "emulator/fabric/fault_plan.h"

#include <boost/test/unit_test.hpp>

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

std::string error_of(std::string_view text) {
  const auto rule = parse_fault(text);
  BOOST_REQUIRE_MESSAGE(!rule.ok(), "'" << text << "' was accepted");
  BOOST_CHECK(rule.error().find('\n') == std::string::npos);
  return rule.error();
}

struct Plan {
  explicit Plan(std::string_view text, std::uint64_t seed = 1, std::string_view link = "a")
      : plan({rule_of(text)}, seed, link) {}
  FaultVerdict judge(const PacketSpec& spec, unsigned from = 1, unsigned to = 2) {
    const auto frame = test::make_frame(from, to, spec);
    const auto packet = wire::parse_frame(frame);
    BOOST_REQUIRE(packet.ok());
    return plan.judge(*packet);
  }
  bool drops(const PacketSpec& spec) { return judge(spec).drop; }
  bool drops(std::uint32_t psn, std::uint32_t qpn = 0x11) {
    return drops({.opcode = rc(OperationCode::send_only), .psn = psn, .dest_qp = wire::Qpn(qpn)});
  }
  FaultPlan plan;
};

PacketSpec acknowledge(std::uint32_t psn, std::uint8_t syndrome) {
  return {.opcode = rc(OperationCode::acknowledge), .psn = psn, .aeth = {syndrome, 0}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(probabilities_are_exact_in_every_spelling) {
  BOOST_TEST(rule_of("drop 0.1%").probability_ppb == 1'000'000u);
  BOOST_TEST(rule_of("drop p=0.001").probability_ppb == 1'000'000u);
  BOOST_TEST(rule_of("drop p=1e-3").probability_ppb == 1'000'000u);
  BOOST_TEST(rule_of("drop 100%").probability_ppb == kCertainPpb);
  BOOST_TEST(rule_of("drop p=1").probability_ppb == kCertainPpb);
  BOOST_TEST(rule_of("drop p=1.000").probability_ppb == kCertainPpb);
  BOOST_TEST(rule_of("drop p=.5").probability_ppb == kCertainPpb / 2);
  BOOST_TEST(rule_of("drop 0%").probability_ppb == 0u);
  BOOST_TEST(rule_of("drop p=0.000000001").probability_ppb == 1u);
  BOOST_TEST(rule_of("drop").probability_ppb == kCertainPpb);
}

BOOST_AUTO_TEST_CASE(a_whole_rule_is_understood_in_any_order_of_its_words) {
  const FaultRule rule = rule_of(
      "  corrupt  count=5 where=payload every=100\tpsn=4-7 0.5% iter=all qp=2 repair=yes dir=both "
      "opcode=write ");
  BOOST_CHECK(rule.action == FaultAction::corrupt);
  BOOST_CHECK(rule.psns == (Range{4, 7}));
  BOOST_CHECK(rule.flows == (Range{2, 2}));
  BOOST_CHECK(rule.iterations == Range{});
  BOOST_CHECK(rule.kind == PacketKind::write);
  BOOST_CHECK(rule.place == CorruptPlace::payload);
  BOOST_TEST(rule.repair_icrc);
  BOOST_TEST(rule.every == 100u);
  BOOST_TEST(rule.count_max == 5u);
  BOOST_TEST(rule.sees(FaultDirection::rx));
  BOOST_TEST(rule.text ==
             "corrupt count=5 where=payload every=100 psn=4-7 0.5% iter=all qp=2 repair=yes dir=both opcode=write");
}

BOOST_AUTO_TEST_CASE(times_and_packets_of_delay_and_reorder_are_understood) {
  BOOST_TEST(rule_of("delay by=10us").delay.ns == 10'000);
  BOOST_TEST(rule_of("delay by=2ms 1%").delay.ns == 2'000'000);
  BOOST_TEST(rule_of("delay by=7ns").delay.ns == 7);
  BOOST_TEST(rule_of("delay by=60s").delay.ns == 60'000'000'000);
  BOOST_TEST(rule_of("reorder by=3").packets == 3u);
  BOOST_TEST(rule_of("reorder by=3 within=5us").hold_max.ns == 5'000);
  BOOST_TEST(rule_of("reorder").hold_max.ns == kReorderHoldDefault.ns);
}

BOOST_AUTO_TEST_CASE(exact_packet_means_its_first_transmission_by_default) {
  BOOST_CHECK(rule_of("drop psn=4").iterations == (Range{1, 1}));
  BOOST_CHECK(rule_of("drop psn=4 iter=2-3").iterations == (Range{2, 3}));
  BOOST_CHECK(!rule_of("drop 1%").iterations.has_value());
}

BOOST_AUTO_TEST_CASE(error_names_the_wrong_word_and_the_right_ones_in_one_line) {
  BOOST_TEST(
      error_of("dorp 1%") ==
      "fault 'dorp 1%', column 1: unknown action 'dorp': use one of drop, burst-loss, duplicate, delay, reorder, "
      "corrupt, truncate, mark, count; did you mean 'drop'?");
  BOOST_TEST(error_of("drop  1% qp=x").find("', column 10: 'qp=x' is not understood") != std::string::npos);
  BOOST_TEST(error_of("drop opcod=ack").find("did you mean 'opcode'?") != std::string::npos);
  BOOST_TEST(error_of("drop opcode=rnr_nak").find("did you mean 'rnr-nak'?") != std::string::npos);
  BOOST_TEST(error_of("drop 0.1%, qp=0").find("'0.1%,' ends in a comma") != std::string::npos);
  BOOST_TEST(error_of("") ==
             "fault '': is empty: begin with one of drop, burst-loss, duplicate, delay, reorder, corrupt, "
             "truncate, mark, count");
  BOOST_TEST(error_of("drop 101%").find("'101%' is not a probability") != std::string::npos);
  BOOST_TEST(error_of("drop opcode=rdma").find("'opcode=rdma' is not understood: use one of any, write") !=
             std::string::npos);
  for (const char* text : {"drop 1",
                           "drop p=2",
                           "drop p=",
                           "drop %",
                           "drop p=-0.1",
                           "drop p=0.0000000001",
                           "drop p=1e10",
                           "drop p=1e-99",
                           "drop psn=x",
                           "drop psn=7-4",
                           "drop psn=16777216",
                           "drop psn=4-",
                           "drop psn=-4",
                           "drop iter=0",
                           "drop every=0",
                           "drop count=99999999999",
                           "drop by=3",
                           "delay",
                           "delay by=0us",
                           "delay by=61s",
                           "delay by=10",
                           "delay by=us",
                           "delay by=99999999999s",
                           "reorder by=0",
                           "reorder by=10us",
                           "corrupt where=ip",
                           "corrupt repair=yes",
                           "drop 1% 1%",
                           "corrupt repair=yes where=icrc",
                           "corrupt repair=maybe where=header",
                           "drop qp=1 qp=1",
                           "drop dir=up",
                           "drop p=1.1",
                           "drop =",
                           "drop =4",
                           "1% drop",
                           "drop\x01 1%",
                           "drop 1\n%"})
    BOOST_TEST(!error_of(text).empty());
}

BOOST_AUTO_TEST_CASE(an_exact_packet_is_hit_once_and_nothing_else) {
  Plan plan("drop qp=0 psn=4");
  for (std::uint32_t psn = 100; psn < 120; ++psn) BOOST_TEST(plan.drops(psn) == (psn == 104));
  for (std::uint32_t psn = 104; psn < 120; ++psn) BOOST_TEST(!plan.drops(psn));
  BOOST_TEST(plan.plan.counters(0).applied == 1u);
}

BOOST_AUTO_TEST_CASE(iterations_count_the_rounds_of_transmission_of_one_psn) {
  Plan plan("drop qp=0 psn=2 iter=2-3");
  const std::vector<bool> dropped{plan.drops(50), plan.drops(51), plan.drops(52), plan.drops(53), plan.drops(52),
                                  plan.drops(53), plan.drops(52), plan.drops(53), plan.drops(52)};
  BOOST_CHECK(dropped == (std::vector<bool>{false, false, false, false, true, false, true, false, false}));
}

BOOST_AUTO_TEST_CASE(a_psn_far_behind_is_never_taken_for_its_first_transmission) {
  Plan plan("drop psn=0 iter=1");
  BOOST_TEST(plan.drops(7));
  for (std::uint32_t psn = 8; psn < 8 + 2 * kIterationWindow; ++psn) BOOST_TEST_REQUIRE(!plan.drops(psn));
  BOOST_TEST(!plan.drops(7));
}

BOOST_AUTO_TEST_CASE(psns_are_relative_to_the_first_and_wrap_at_24_bits) {
  Plan plan("drop psn=3");
  BOOST_TEST(!plan.drops(0xfffffe));
  BOOST_TEST(!plan.drops(0xffffff));
  BOOST_TEST(!plan.drops(0));
  BOOST_TEST(plan.drops(1));
}

BOOST_AUTO_TEST_CASE(flows_are_numbered_in_the_order_of_their_first_request) {
  Plan plan("drop qp=1 psn=0");
  // A response and a management packet come first: neither opens a flow of requests.
  PacketSpec response = acknowledge(9, 0x1f);
  response.dest_qp = wire::Qpn(0x30);
  BOOST_TEST(!plan.drops(response));
  BOOST_TEST(!plan.drops({.opcode = test::ud(OperationCode::send_only), .psn = 0, .dest_qp = wire::kGsiQpn}));
  BOOST_TEST(!plan.drops(5, 0x20));
  BOOST_TEST(!plan.drops(6, 0x20));
  BOOST_TEST(plan.drops(70, 0x30));
  BOOST_TEST(!plan.drops(80, 0x40));
}

BOOST_AUTO_TEST_CASE(responses_match_qp_and_psn_only_if_their_kind_is_named) {
  Plan any("drop qp=0 psn=0 iter=all");
  BOOST_TEST(!any.drops(acknowledge(5, 0x1f)));
  Plan acks("drop opcode=ack qp=0 psn=1");
  BOOST_TEST(!acks.drops(5));
  BOOST_TEST(!acks.drops(acknowledge(5, 0x1f)));
  BOOST_TEST(acks.drops(acknowledge(6, 0x1f)));
}

BOOST_AUTO_TEST_CASE(each_kind_of_packet_is_told_from_the_others) {
  const PacketSpec write{.opcode = rc(OperationCode::write_middle), .payload = std::vector<std::byte>(16)};
  const PacketSpec send{.opcode = rc(OperationCode::send_only_with_immediate)};
  const PacketSpec read{.opcode = rc(OperationCode::read_request)};
  const PacketSpec read_response{.opcode = rc(OperationCode::read_response_middle),
                                 .payload = std::vector<std::byte>(16)};
  const PacketSpec atomic{.opcode = rc(OperationCode::fetch_add)};
  const PacketSpec atomic_response{.opcode = rc(OperationCode::atomic_acknowledge)};
  const PacketSpec cm{.opcode = test::ud(OperationCode::send_only), .dest_qp = wire::kGsiQpn};
  const PacketSpec ack = acknowledge(0, wire::ack_syndrome(31));
  const PacketSpec nak = acknowledge(0, wire::nak_syndrome(wire::NakCode::psn_sequence_error));
  const PacketSpec rnr = acknowledge(0, wire::rnr_syndrome(12));
  const std::vector<std::pair<std::string, PacketSpec>> packets{
      {"write", write},   {"send", send},
      {"read", read},     {"read-response", read_response},
      {"atomic", atomic}, {"atomic-response", atomic_response},
      {"cm", cm},         {"ack", ack},
      {"nak", nak},       {"nak", rnr}};
  for (const char* kind : {"write", "send", "read", "read-response", "atomic", "atomic-response", "cm", "ack", "nak"})
    for (const auto& [name, packet] : packets) {
      BOOST_TEST_CONTEXT("opcode=" << kind << " on " << name) {
        BOOST_TEST(Plan(std::string("drop opcode=") + kind).drops(packet) == (name == kind));
        BOOST_TEST(Plan("drop opcode=any").drops(packet));
      }
    }
}

BOOST_AUTO_TEST_CASE(every_and_count_pick_matches_by_number) {
  Plan plan("drop every=10 count=2");
  std::vector<std::uint32_t> dropped;
  for (std::uint32_t i = 1; i <= 50; ++i)
    if (plan.drops(i)) dropped.push_back(i);
  BOOST_CHECK(dropped == (std::vector<std::uint32_t>{10, 20}));
  BOOST_TEST(plan.plan.counters(0).matched == 50u);
  BOOST_TEST(plan.plan.counters(0).applied == 2u);
}

BOOST_AUTO_TEST_CASE(a_probability_strikes_about_as_often_as_it_says) {
  Plan plan("drop 10%");
  constexpr std::uint32_t kPackets = 20'000;
  std::uint32_t dropped = 0;
  for (std::uint32_t i = 0; i < kPackets; ++i) dropped += plan.drops(i) ? 1 : 0;
  BOOST_TEST(dropped > kPackets / 10 - 200);
  BOOST_TEST(dropped < kPackets / 10 + 200);
}

BOOST_AUTO_TEST_CASE(decisions_repeat_by_seed_and_differ_by_seed_or_link) {
  const auto pattern = [](std::uint64_t seed, std::string_view link) {
    Plan plan("drop 30%", seed, link);
    std::vector<bool> dropped;
    for (std::uint32_t i = 0; i < 200; ++i) dropped.push_back(plan.drops(i));
    return dropped;
  };
  BOOST_CHECK(pattern(1, "a") == pattern(1, "a"));
  BOOST_CHECK(pattern(1, "a") != pattern(2, "a"));
  BOOST_CHECK(pattern(1, "a") != pattern(1, "b"));
}

BOOST_AUTO_TEST_CASE(decisions_on_a_flow_do_not_depend_on_what_travels_beside_it) {
  const auto pattern = [](bool with_others) {
    Plan plan("drop 30%");
    std::vector<bool> dropped;
    for (std::uint32_t i = 0; i < 200; ++i) {
      if (with_others && i % 3 == 0) (void)plan.drops(i, 0x99);
      if (with_others && i % 2 == 0) (void)plan.drops(acknowledge(i, 0x1f));  // of the same flow
      dropped.push_back(plan.drops(i));
    }
    return dropped;
  };
  BOOST_CHECK(pattern(false) == pattern(true));
}

BOOST_AUTO_TEST_CASE(a_comment_names_the_gravest_fault) {
  FaultPlan plan({rule_of("delay by=1us"), rule_of("corrupt where=header"), rule_of("duplicate")}, 1, "a");
  const auto frame = test::make_frame(1, 2, {});
  const auto packet = wire::parse_frame(frame);
  const FaultVerdict verdict = plan.judge(*packet);
  BOOST_TEST(verdict.comment == "verbena: corrupted by fault 'corrupt where=header'");
  BOOST_TEST(verdict.copies == 1u);
  BOOST_TEST(verdict.delay.ns == 1000);
  Plan nothing("drop psn=1");
  BOOST_TEST(nothing.judge({}).clean());
}

BOOST_AUTO_TEST_CASE(flows_beyond_the_table_still_meet_rules_without_qp) {
  Plan exact("drop psn=0");
  Plan any("drop");
  for (std::uint32_t qpn = 2; qpn < 2 + kFlowsMax; ++qpn) BOOST_TEST_REQUIRE(exact.drops(0, qpn));
  BOOST_TEST(!exact.drops(0, 0x5555));
  BOOST_TEST(exact.plan.untracked_packets() == 1u);
  for (std::uint32_t qpn = 2; qpn < 10 + kFlowsMax; ++qpn) BOOST_TEST_REQUIRE(any.drops(0, qpn));
}

BOOST_AUTO_TEST_CASE(rules_are_sorted_by_the_direction_they_look_at) {
  const std::vector<FaultRule> rules{rule_of("drop 1%"), rule_of("drop 2% dir=rx"), rule_of("drop 3% dir=both")};
  BOOST_TEST(rules_of_direction(rules, true).size() == 2u);
  BOOST_TEST(rules_of_direction(rules, false).size() == 2u);
  BOOST_TEST(rules_of_direction(rules, false).front().probability_ppb == 20'000'000u);
}
