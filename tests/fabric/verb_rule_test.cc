// Verbs that fail: what may be said, and which calls it hits.
#include "emulator/fabric/verb_rule.h"

#include <boost/test/unit_test.hpp>

#include "emulator/fabric/verb_faults.h"

using namespace verbena;
using namespace verbena::fabric;

namespace {

VerbRule good(std::string_view text) {
  const auto rule = parse_verb_rule(text);
  BOOST_REQUIRE_MESSAGE(rule.ok(), (rule.ok() ? "" : rule.error()));
  return *rule;
}
bool is_refused(std::string_view text, std::string_view because) {
  const auto rule = parse_verb_rule(text);
  return !rule.ok() && rule.error().find(because) != std::string::npos && rule.error().find('\n') == std::string::npos;
}
/// The errors of so many calls.
std::vector<int> errors_of(std::string_view text, const VerbCall& call, std::size_t calls, std::uint64_t seed = 1) {
  VerbFaults faults({good(text)}, seed);
  std::vector<int> errors;
  for (std::size_t i = 0; i < calls; ++i) errors.push_back(faults.judge(call, Time{}).error);
  return errors;
}
using Errors = std::vector<int>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_call_fails_with_the_error_that_is_said) {
  BOOST_TEST(
      (errors_of("fail verb=create_cq nth=2 errno=EINVAL", {.verb = Verb::create_cq}, 3) == Errors{0, EINVAL, 0}));
  BOOST_TEST((errors_of("fail verb=create_cq nth=2", {.verb = Verb::create_cq}, 3) == Errors{0, ENOMEM, 0}));
  BOOST_TEST((errors_of("fail verb=create_cq", {.verb = Verb::create_qp}, 2) == Errors{0, 0}));
  BOOST_TEST((errors_of("fail verb=any nth=1", {.verb = Verb::destroy_qp}, 2) == Errors{EBUSY, 0}));
}

BOOST_AUTO_TEST_CASE(conditions_choose_the_calls) {
  const VerbCall post{.verb = Verb::post_send, .qp = 1, .device = 2};
  BOOST_TEST((errors_of("fail verb=post_send qp=1", post, 1) == Errors{ENOMEM}));
  BOOST_TEST((errors_of("fail verb=post_send qp=0", post, 1) == Errors{0}));
  BOOST_TEST((errors_of("fail verb=post_send device=0-1", post, 1) == Errors{0}));
  BOOST_TEST((errors_of("fail verb=post_send every=3", post, 6) == Errors{0, 0, ENOMEM, 0, 0, ENOMEM}));
  BOOST_TEST((errors_of("fail verb=post_send count=2", post, 3) == Errors{ENOMEM, ENOMEM, 0}));
  BOOST_TEST((errors_of("fail verb=post_send qp=0", {.verb = Verb::post_send}, 1) == Errors{0}));
}

BOOST_AUTO_TEST_CASE(a_probability_is_kept_and_the_same_each_time) {
  const VerbCall call{.verb = Verb::reg_mr};
  constexpr std::size_t kCalls = 10'000;
  const Errors errors = errors_of("fail verb=reg_mr 10%", call, kCalls);
  const auto hits = std::ranges::count(errors, ENOMEM);
  BOOST_TEST((hits > 850 && hits < 1150));
  BOOST_TEST((errors == errors_of("fail verb=reg_mr p=0.1", call, kCalls)));
  BOOST_TEST((errors != errors_of("fail verb=reg_mr 10%", call, kCalls, 2)));
}

BOOST_AUTO_TEST_CASE(a_time_is_counted_from_the_first_call) {
  VerbFaults faults({good("fail verb=post_recv after=2s")}, 1);
  const Time start{7'000'000'000};
  BOOST_TEST(faults.judge({.verb = Verb::create_qp}, start).error == 0);
  BOOST_TEST(faults.judge({.verb = Verb::post_recv}, start + milliseconds(1999)).error == 0);
  BOOST_TEST(faults.judge({.verb = Verb::post_recv}, start + seconds(2)).error == ENOMEM);
  BOOST_TEST((faults.counters(0).matched == 1 && faults.counters(0).applied == 1));
}

BOOST_AUTO_TEST_CASE(delays_add_up_and_one_rule_fails_the_call) {
  VerbFaults faults({good("delay verb=modify_qp by=50ms"), good("fail verb=modify_qp errno=ETIMEDOUT"),
                     good("fail verb=modify_qp errno=EINVAL"), good("delay verb=any by=1ms")},
                    1);
  const VerbVerdict verdict = faults.judge({.verb = Verb::modify_qp}, Time{});
  BOOST_TEST((verdict.error == ETIMEDOUT && verdict.delay.ns == milliseconds(51).ns));
  BOOST_TEST((faults.counters(1).applied == 1 && faults.counters(2).matched == 0));
  BOOST_TEST((faults.concerns(Verb::poll_cq) && !VerbFaults({good("fail verb=reg_mr")}, 1).concerns(Verb::poll_cq)));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  BOOST_TEST(is_refused("fail", "fail needs a verb: verb=create_cq"));
  BOOST_TEST(is_refused("fail verb=create_qc", "did you mean"));
  BOOST_TEST(is_refused("fail verb=create_cq nth=0", "a number from 1"));
  BOOST_TEST(is_refused("fail verb=create_cq errno=ENOMEN", "did you mean"));
  BOOST_TEST(is_refused("fail verb=create_cq by=5ms", "'by' does not belong to fail"));
  BOOST_TEST(is_refused("delay verb=create_cq", "by=50ms"));
  BOOST_TEST(is_refused("drop verb=create_cq", "unknown action 'drop'"));
}

BOOST_AUTO_TEST_CASE(an_error_that_the_verb_never_gives_is_told) {
  BOOST_TEST(warning_of(good("fail verb=destroy_qp errno=ENOSPC")) ==
             "ibv_destroy_qp never gives ENOSPC (its man page has EBUSY); it will now");
  BOOST_TEST(warning_of(good("fail verb=create_qp errno=EPERM")).empty());
  BOOST_TEST(warning_of(good("fail verb=any errno=ENOSPC")).empty());
}

BOOST_AUTO_TEST_CASE(rules_of_verbs_are_told_from_those_of_packets) {
  BOOST_TEST((is_verb_rule("fail verb=create_cq") && is_verb_rule("delay by=1ms verb=reg_mr")));
  BOOST_TEST((!is_verb_rule("delay by=1ms") && !is_verb_rule("drop 1%") && !is_verb_rule("")));
}

BOOST_AUTO_TEST_CASE(every_example_is_right) {
  for (const FaultActionWords& action : verb_action_words()) {
    BOOST_TEST(parse_verb_rule(action.action.example).ok(), action.action.example);
    for (const FaultWord& word : action.parameters) BOOST_TEST(parse_verb_rule(word.example).ok(), word.example);
  }
  for (const FaultWord& word : verb_condition_words()) BOOST_TEST(parse_verb_rule(word.example).ok(), word.example);
}

namespace {
nic::CompletionVerdict verdict_of(VerbFaults& faults, const nic::JudgedCompletion& completion) {
  return faults.judge(completion, 0, Time{});
}
constexpr nic::JudgedCompletion kSent{.qp = 1, .cq = 2};
constexpr nic::JudgedCompletion kReceived{.qp = 1, .cq = 3, .is_receive = true};
}  // namespace

BOOST_AUTO_TEST_CASE(a_completion_gets_the_status_that_is_said) {
  VerbFaults faults({good("completion qp=1 of=send nth=2 status=REM_OP_ERR")}, 1);
  BOOST_CHECK(!verdict_of(faults, kSent).status);
  BOOST_CHECK(!verdict_of(faults, kReceived).status);
  BOOST_CHECK(!verdict_of(faults, {.qp = 2}).status);
  const auto verdict = verdict_of(faults, kSent);
  BOOST_CHECK(verdict.status == nic::CompletionStatus::remote_operation_error);
  BOOST_TEST(!verdict.is_report_only);
  BOOST_CHECK(!verdict_of(faults, kSent).status);
  BOOST_TEST(faults.counters(0).applied == 1U);
  BOOST_TEST(faults.concerns_completions());
}

BOOST_AUTO_TEST_CASE(what_comes_of_a_completion_adds_up) {
  VerbFaults faults({good("completion cq=2 by=5ms twice=yes"), good("completion spoiled=yes by=1ms"),
                     good("completion of=receive lost=yes"), good("cq-overrun cq=9")},
                    1);
  const auto sent = verdict_of(faults, kSent);
  BOOST_TEST(sent.delay.ns == 6'000'000);
  BOOST_TEST(sent.comes_twice);
  BOOST_TEST(sent.garbage != 0U);
  BOOST_TEST(!sent.is_lost);
  BOOST_TEST(!sent.overruns);
  BOOST_TEST(verdict_of(faults, kReceived).is_lost);
  BOOST_TEST(verdict_of(faults, {.cq = 9}).overruns);
}

BOOST_AUTO_TEST_CASE(garbage_alone_is_for_what_has_failed) {
  VerbFaults faults({good("completion nth=1 of=receive status=LOC_LEN_ERR"), good("completion spoiled=yes nth=2")}, 1);
  BOOST_TEST(verdict_of(faults, kSent).garbage == 0U);
  BOOST_TEST(verdict_of(faults, {.status = nic::CompletionStatus::flushed}).garbage == 0U);  // the first that fails
  BOOST_TEST(verdict_of(faults, kReceived).garbage != 0U);  // the second: the rule before it has made it fail
  BOOST_TEST(faults.counters(1).matched == 2U);
}

BOOST_AUTO_TEST_CASE(events_are_due_since_the_first_call_and_come_once) {
  VerbFaults faults({good("async event=PORT_ERR port=2 at=1ms"), good("async event=QP_FATAL qp=3-4 device=1 at=2ms")},
                    1);
  BOOST_CHECK(faults.next_event(0) == kNever);
  const Time begin{1'000};
  faults.judge(VerbCall{.verb = Verb::open_device}, begin);
  BOOST_CHECK(faults.next_event(0) == begin + milliseconds(1));
  BOOST_CHECK(!faults.take_event(0, begin));
  const auto port = faults.take_event(0, begin + milliseconds(1));
  BOOST_REQUIRE(port.has_value());
  BOOST_TEST(faults.counters(0).applied == 0U);
  faults.event_raised(*port);
  BOOST_TEST(faults.counters(0).applied == 1U);
  BOOST_CHECK(port->type == nic::AsyncEventType::port_error);
  BOOST_TEST(port->first == 2U);
  BOOST_CHECK(faults.next_event(0) == kNever);
  BOOST_REQUIRE(faults.take_event(1, begin + milliseconds(2)).has_value());  // the port's, of device 1
  const auto qp = faults.take_event(1, begin + milliseconds(2));
  BOOST_REQUIRE(qp.has_value());
  BOOST_TEST(qp->first == 3U);
  BOOST_TEST(qp->last == 4U);
  BOOST_CHECK(!faults.take_event(1, begin + milliseconds(9)));
}

BOOST_AUTO_TEST_CASE(rules_of_completions_that_mean_nothing_are_refused) {
  BOOST_TEST(is_refused("completion nth=3", "what comes of it"));
  BOOST_TEST(is_refused("completion lost=yes twice=yes", "neither late, nor twice"));
  BOOST_TEST(is_refused("completion by=1ms only-report=yes", "goes with a status"));
  BOOST_TEST(is_refused("completion status=REM_OP_ER", "did you mean 'REM_OP_ERR'"));
  BOOST_TEST(is_refused("completion verb=poll_cq status=REM_OP_ERR", "does not belong to completion"));
  BOOST_TEST(is_refused("fail verb=reg_mr status=REM_OP_ERR", "does not belong to fail"));
  BOOST_TEST(is_refused("async at=1s", "needs an event"));
  BOOST_TEST(is_refused("async event=QP_FATAL nth=3", "does not belong to async"));
  BOOST_TEST(is_refused("async event=PORT_ERR qp=1", "goes with an event of a QP"));
  BOOST_TEST(is_refused("async event=QP_FATAL cq=1", "goes with an event of a CQ"));
  BOOST_TEST(is_refused("async event=QP_FATAL port=1", "goes with an event of a port"));
  BOOST_TEST(is_refused("fial nth=1", "did you mean 'fail'"));
  BOOST_TEST(is_refused("cq-overrun nth=0", "a number from 1"));
  BOOST_TEST(is_verb_rule("cq-overrun nth=1"));
  BOOST_TEST(is_verb_rule("async event=QP_FATAL"));
  BOOST_TEST(!is_verb_rule("delay by=1ms"));
  BOOST_TEST(!is_verb_rule("dorp 1%"));
  BOOST_TEST(!is_verb_rule("mark every=10"));
  BOOST_TEST(!is_verb_rule("nothing-like-it"));
  for (const std::string_view text : {"fail nth=1", "completion lost=yes", "async at=1s", "complete lost=yes", "asinc"})
    BOOST_TEST(is_verb_rule(text), text);
}

BOOST_AUTO_TEST_CASE(a_rule_that_cannot_fit_asks_for_no_judgement) {
  VerbFaults faults({good("fail verb=post_send qp=1"), good("completion cq=4 status=REM_OP_ERR")}, 1);
  BOOST_TEST(!faults.passes(VerbCall{.verb = Verb::post_send, .qp = 1}));
  BOOST_TEST(faults.passes(VerbCall{.verb = Verb::post_send, .qp = 0}));
  BOOST_TEST(faults.passes(VerbCall{.verb = Verb::post_recv, .qp = 1}));
  BOOST_TEST(faults.passes(kSent, 0));
  BOOST_TEST(!faults.passes({.cq = 4}, 0));
  BOOST_TEST(!faults.needs_time());
  faults.begin(Time{1'000'000});
  BOOST_TEST(faults.judge(VerbCall{.verb = Verb::post_send, .qp = 1}, Time{}).error == ENOMEM);
}

BOOST_AUTO_TEST_CASE(a_time_counts_from_where_it_begins) {
  VerbFaults faults({good("fail verb=reg_mr after=2ms")}, 1);
  BOOST_TEST(faults.needs_time());
  faults.begin(Time{0} + milliseconds(1));
  BOOST_TEST(faults.judge(VerbCall{.verb = Verb::reg_mr}, Time{0} + milliseconds(2)).error == 0);
  BOOST_TEST(faults.judge(VerbCall{.verb = Verb::reg_mr}, Time{0} + milliseconds(3)).error == ENOMEM);
}

BOOST_AUTO_TEST_CASE(news_of_connections_are_replaced) {
  VerbFaults faults({good("reject reason=stale-connection nth=2"), good("cm-event event=ADDR_ERROR errno=ENETUNREACH"),
                     good("cm-event event=UNREACHABLE device=1"), good("cm-event event=REJECTED")},
                    1);
  const Time now{};
  BOOST_CHECK(faults.judge(ConnectionStep::request, 0, now).end == PlannedEnd::none);
  BOOST_TEST(faults.struck().empty());
  const ConnectionVerdict refused = faults.judge(ConnectionStep::request, 0, now);
  BOOST_CHECK(refused.end == PlannedEnd::rejected);
  BOOST_CHECK(refused.reason == wire::RejectReason::stale_connection);
  BOOST_TEST(faults.struck().size() == 1U);
  const ConnectionVerdict address = faults.judge(ConnectionStep::address, 0, now);
  BOOST_CHECK(address.end == PlannedEnd::address_error);
  BOOST_TEST(address.error == ENETUNREACH);
  BOOST_CHECK(faults.judge(ConnectionStep::route, 0, now).end == PlannedEnd::none);
  const ConnectionVerdict elsewhere = faults.judge(ConnectionStep::answer, 1, now);
  BOOST_CHECK(elsewhere.end == PlannedEnd::unreachable);
  BOOST_TEST(elsewhere.error == ETIMEDOUT);
  const ConnectionVerdict here = faults.judge(ConnectionStep::answer, 0, now);
  BOOST_CHECK(here.end == PlannedEnd::rejected);
  BOOST_CHECK(here.reason == wire::RejectReason::consumer_defined);
  BOOST_CHECK(faults.judge(ConnectionStep::member, 0, now).end == PlannedEnd::none);
  BOOST_TEST(faults.passes(VerbCall{.verb = Verb::rdma_connect}));  // they are no calls
  BOOST_TEST(!faults.concerns_completions());
}

BOOST_AUTO_TEST_CASE(a_call_kills) {
  VerbFaults faults({good("kill verb=rdma_accept nth=2")}, 1);
  BOOST_TEST(!faults.judge(VerbCall{.verb = Verb::rdma_accept}, Time{}).kills);
  BOOST_TEST(!faults.judge(VerbCall{.verb = Verb::rdma_connect}, Time{}).kills);
  BOOST_TEST(faults.judge(VerbCall{.verb = Verb::rdma_accept}, Time{}).kills);
}

BOOST_AUTO_TEST_CASE(rules_of_connections_that_mean_nothing_are_refused) {
  BOOST_TEST(is_refused("kill", "needs a verb"));
  BOOST_TEST(is_refused("cm-event", "needs an event"));
  BOOST_TEST(is_refused("cm-event event=ADDR_ERROR reason=no-qp", "goes with event=REJECTED"));
  BOOST_TEST(is_refused("cm-event event=REJECTED errno=EIO", "has a reason and no errno"));
  BOOST_TEST(is_refused("cm-event event=QP_FATAL", "use one of ADDR_ERROR"));
  BOOST_TEST(is_refused("reject reason=stale", "did you mean 'stale-connection'"));
  BOOST_TEST(is_refused("reject qp=1", "does not belong to reject"));
  BOOST_TEST(is_verb_rule("reject"));
  BOOST_TEST(is_verb_rule("cm-event event=UNREACHABLE"));
  BOOST_TEST(is_verb_rule("kil nth=1"));
  BOOST_TEST(!is_verb_rule("reorder by=3"));
  BOOST_TEST(warning_of(good("cm-event event=ADDR_ERROR errno=EPERM")).empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_hit_is_counted_in_passing) {
  VerbFaults faults({good("fail verb=post_send nth=3"), good("fail verb=reg_mr every=2"),
                     good("fail verb=create_qp count=1"), good("completion qp=1 nth=2 status=REM_OP_ERR")},
                    1);
  const VerbCall send{.verb = Verb::post_send};
  BOOST_TEST(faults.passes(send));
  BOOST_TEST(faults.passes(send));
  BOOST_TEST(!faults.passes(send));  // the third one is for judge()
  BOOST_TEST(faults.counters(0).matched == 2U);
  BOOST_TEST(faults.judge(send, Time{}).error == ENOMEM);
  BOOST_TEST(faults.passes(send));  // no other one hits
  BOOST_TEST(faults.counters(0).matched == 4U);
  BOOST_TEST(faults.counters(0).applied == 1U);
  BOOST_TEST(faults.passes(VerbCall{.verb = Verb::reg_mr}));
  BOOST_TEST(!faults.passes(VerbCall{.verb = Verb::reg_mr}));
  BOOST_TEST(faults.judge(VerbCall{.verb = Verb::create_qp}, Time{}).error == ENOMEM);
  BOOST_TEST(faults.passes(VerbCall{.verb = Verb::create_qp}));
  BOOST_TEST(faults.passes(VerbCall{.verb = Verb::dereg_mr}));  // no rule fits
  BOOST_TEST(faults.passes(nic::JudgedCompletion{.qp = 1}, 0));
  BOOST_TEST(!faults.passes(nic::JudgedCompletion{.qp = 1}, 0));
  BOOST_TEST(faults.passes(nic::JudgedCompletion{.qp = 2}, 0));
  // Of two rules that fit judge() says what becomes of it, and of one that waits for a time.
  VerbFaults more({good("fail verb=any nth=9"), good("fail verb=post_send nth=9"), good("fail verb=reg_mr after=1s")},
                  1);
  BOOST_TEST(!more.passes(send));
  BOOST_TEST(!VerbFaults({good("fail verb=reg_mr after=1s")}, 1).passes(VerbCall{.verb = Verb::reg_mr}));
  BOOST_TEST(more.counters(0).matched == 0U);
}

BOOST_AUTO_TEST_CASE(chance_is_the_same_in_passing) {
  VerbFaults judged({good("fail verb=post_send p=0.3")}, 7);
  VerbFaults passing({good("fail verb=post_send p=0.3")}, 7);
  const VerbCall send{.verb = Verb::post_send};
  for (int i = 0; i < 200; ++i) {
    const int error = judged.judge(send, Time{}).error;
    BOOST_TEST((passing.passes(send) ? 0 : passing.judge(send, Time{}).error) == error);
  }
  BOOST_TEST(judged.counters(0).applied == passing.counters(0).applied);
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_plan_counts_with_it) {
  VerbFaults before({good("fail verb=post_send nth=2")}, 1);
  VerbFaults after = before;
  BOOST_TEST(before.passes(VerbCall{.verb = Verb::post_send}));
  BOOST_TEST(!after.passes(VerbCall{.verb = Verb::post_send}));
}
