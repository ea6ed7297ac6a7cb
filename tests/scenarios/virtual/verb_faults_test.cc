// Verbs that fail under virtual time, by the rules that live programs have: on time, by order, and the same ones again.
#include "scenarios/outcome/report.h"
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

std::string text_with(const std::string& faults, const std::string& words) {
  return test::star(3, "workloads:\n  - {name: w, from: n1, to: n2, " + words + "}\nfaults:\n" + faults,
                    "timeout: 8, retry-count: 7");
}
Outcome with_faults(const std::string& faults,
                    const std::string& words = "verb: write, size: 4KiB, count: 400, depth: 8") {
  return test::run(text_with(faults, words));
}

std::uint64_t count_of(const Outcome& outcome, nic::CompletionStatus status) {
  return outcome.workloads[0].statuses[static_cast<std::size_t>(status)].number;
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_fail_by_their_order_and_are_tried_again) {
  const Outcome registration = with_faults("  - {verbs: fail verb=reg_mr nth=1-2, node: n2}\n");
  BOOST_TEST(registration.held(), test::story(registration));
  BOOST_TEST(registration.faults[0].hits == 2u);
  BOOST_TEST(registration.workloads[0].finished->ns > 2'000'000);  // tried again each millisecond
  for (const char* verb : {"alloc_pd", "create_cq", "create_qp", "modify_qp"}) {
    const Outcome outcome = with_faults(std::string("  - {verbs: fail verb=") + verb + " nth=1, node: n1}\n");
    BOOST_TEST(outcome.held(), test::story(outcome));
    BOOST_TEST(outcome.faults[0].hits == 1u, verb);
    BOOST_TEST(outcome.workloads[0].finished->ns > 1'000'000, verb);
  }
  const Outcome post = with_faults("  - {verbs: fail verb=post_send nth=100, node: n1, at: 1us}\n");
  BOOST_TEST(post.faults[0].hits == 1u);
  const Outcome receive =
      with_faults("  - {verbs: fail verb=post_recv nth=3, node: n2}\n", "verb: send, size: 4KiB, count: 100, depth: 4");
  BOOST_TEST(receive.faults[0].hits == 1u);
  BOOST_TEST(receive.held(), test::story(receive));
}

BOOST_AUTO_TEST_CASE(a_rule_is_there_for_its_time_on_its_node) {
  const Outcome elsewhere = with_faults("  - {verbs: fail verb=post_send, node: n3}\n");
  BOOST_TEST(elsewhere.held(), test::story(elsewhere));
  BOOST_TEST(elsewhere.faults[0].hits == 0u);
  const Scenario scenario =
      test::good(text_with("  - {verbs: fail verb=post_send, node: n3}\n", "verb: write, size: 4KiB, count: 4"));
  BOOST_TEST(report_text(scenario, elsewhere).find("fault     fail verb=post_send: from 0 ns on, 0 calls hit\n") !=
             std::string::npos);
  const Outcome over = with_faults("  - {verbs: fail verb=post_send, node: n1, at: 20us, until: 21us}\n");
  BOOST_TEST(over.faults[0].time->ns == 20'000);
  const Outcome never =
      with_faults("  - {verbs: fail verb=post_send, when: {workload: w, completed: 1000}, for: 1ms}\n");
  BOOST_TEST(never.held(), test::story(never));
  BOOST_TEST(!never.faults[0].time.has_value());
}

BOOST_AUTO_TEST_CASE(completions_fail_and_their_QPs_with_them) {
  const Outcome failed = with_faults("  - {verbs: completion of=send nth=50 status=REM_OP_ERR, node: n1}\n");
  BOOST_TEST(failed.faults[0].hits == 1u);
  BOOST_TEST(count_of(failed, nic::CompletionStatus::remote_operation_error) == 1u);
  BOOST_TEST(count_of(failed, nic::CompletionStatus::flushed) == 7u);  // what the queue still had
  const Outcome reported =
      with_faults("  - {verbs: completion of=send nth=50-51 status=GENERAL_ERR only-report=yes, node: n1}\n");
  BOOST_TEST(count_of(reported, nic::CompletionStatus::general_error) == 2u);
  BOOST_TEST(count_of(reported, nic::CompletionStatus::flushed) == 0u);
  const Outcome late = with_faults("  - {verbs: completion of=send nth=400 by=5ms, node: n1}\n");
  BOOST_TEST(late.held(), test::story(late));
  BOOST_TEST(late.workloads[0].finished->ns > 5'000'000);
}

BOOST_AUTO_TEST_CASE(software_whose_call_is_late_does_nothing_else) {
  const Outcome late = with_faults("  - {verbs: delay verb=post_send nth=200 by=3ms, node: n1}\n");
  BOOST_TEST(late.held(), test::story(late));
  BOOST_TEST(late.faults[0].hits == 1u);
  BOOST_TEST(late.workloads[0].finished->ns > 3'000'000);
}

BOOST_AUTO_TEST_CASE(events_come_at_their_time) {
  const Outcome outcome = with_faults("  - {verbs: async event=QP_FATAL qp=0 at=30us, node: n1}\n");
  BOOST_TEST(outcome.faults[0].hits == 1u);
  BOOST_TEST(count_of(outcome, nic::CompletionStatus::flushed) > 0u);
}

// A NIC that is new has a judge again.
BOOST_AUTO_TEST_CASE(rules_go_on_on_a_node_that_starts_again) {
  const Outcome outcome = with_faults(
      "  - {verbs: completion of=receive every=5 twice=yes, node: n2}\n"
      "  - {node-restart: n2, at: 50us}\n",
      "verb: send, size: 1KiB, count: 200, depth: 4");
  BOOST_TEST(outcome.faults[0].hits > 0u);
}

BOOST_AUTO_TEST_CASE(chance_is_the_seeds) {
  const std::string faults = "  - {verbs: completion of=send by=1us 5%, node: n1}\n";
  const Outcome first = with_faults(faults);
  const Outcome again = with_faults(faults);
  BOOST_TEST(first.faults[0].hits > 5u);
  BOOST_TEST(first.faults[0].hits < 60u);
  BOOST_TEST(first.faults[0].hits == again.faults[0].hits);
  BOOST_TEST(first.trace_hash == again.trace_hash);
}

BOOST_AUTO_TEST_CASE(short_forms_count_what_they_hit) {
  const Outcome outcome = with_faults(
      "  - {registration-failure: n2, times: 2}\n"
      "  - {completion-status: w, status: remote_access_error, times: 3}\n"
      "  - {post-failure: n3}\n");
  BOOST_TEST(outcome.faults[0].hits == 2u);
  BOOST_TEST(outcome.faults[1].hits == 3u);
  BOOST_TEST(outcome.faults[2].hits == 0u);
}
