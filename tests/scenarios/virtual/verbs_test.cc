// Every verb over every transport: all messages complete, every octet is verified where it should be.
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

std::string workload(const std::string& words) {
  return test::star(3, "workloads:\n  - {name: w, " + words + "}\nexpect: [data-intact]\n");
}

void check_verified(const std::string& words, std::uint64_t messages) {
  BOOST_TEST_CONTEXT(words) {
    const Outcome outcome = test::run(workload(words));
    BOOST_TEST_REQUIRE(outcome.held(), test::story(outcome));
    const WorkloadOutcome& result = outcome.workloads[0];
    BOOST_TEST(result.statuses[0].number == messages);
    BOOST_TEST(result.verified_messages == messages);
    BOOST_TEST(result.pairs_finished == result.pairs);
    BOOST_TEST(result.finished.has_value());
    BOOST_TEST(result.latency.count() == messages);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_verb_over_rc) {
  for (const char* verb : {"send", "write", "write-imm", "read"})
    check_verified(
        "verb: " + std::string(verb) + ", from: n1, to: n2, size: [{from: 0, to: 20KiB}], count: 60, depth: 5", 60);
  for (const char* verb : {"cas", "fetch-add"})
    check_verified("verb: " + std::string(verb) + ", from: n1, to: n2, count: 60, depth: 5", 60);
}

BOOST_AUTO_TEST_CASE(mixed_verbs_over_rc) {
  const Outcome outcome =
      test::run(workload("verb: mixed, from: n1, to: n2, size: [0, 7, {from: 8, to: 9KiB}], count: 400, depth: 9"));
  BOOST_TEST_REQUIRE(outcome.held(), test::story(outcome));
  BOOST_TEST(outcome.workloads[0].statuses[0].number == 400u);
  BOOST_TEST(outcome.workloads[0].verified_messages >= 400u);
  BOOST_TEST(outcome.workloads[0].receive_statuses[0].number > 50u);
}

BOOST_AUTO_TEST_CASE(unreliable_transports_without_loss) {
  check_verified("verb: send, transport: uc, from: n1, to: n2, size: [{from: 1, to: 9KiB}], count: 80, depth: 4", 80);
  check_verified("verb: write, transport: uc, from: n1, to: n2, size: 9KiB, count: 80, depth: 4", 80);
  check_verified("verb: write-imm, transport: uc, from: n1, to: n2, size: 9KiB, count: 80, depth: 4", 80);
  check_verified("verb: send, transport: ud, from: n1, to: n2, size: [{from: 0, to: 4KiB}], count: 60, depth: 4", 60);
}

BOOST_AUTO_TEST_CASE(patterns_couple_whom_they_say) {
  const auto pairs = [](const std::string& words) {
    const Outcome outcome = test::run(workload("verb: write, size: 64, count: 2, " + words));
    BOOST_TEST(outcome.held(), test::story(outcome));
    return outcome.workloads[0].pairs;
  };
  BOOST_TEST(pairs("from: [n1, n2], to: [n2, n3]") == 2u);
  BOOST_TEST(pairs("pattern: incast, from: [n1, n2], to: n3, qps: 3") == 6u);
  BOOST_TEST(pairs("pattern: outcast, from: n1, to: [n2, n3]") == 2u);
  BOOST_TEST(pairs("pattern: all-to-all") == 6u);
  BOOST_TEST(pairs("pattern: permutation") == 3u);
}

BOOST_AUTO_TEST_CASE(an_allreduce_sums_with_and_without_loss) {
  for (const char* loss : {"0%", "1%"}) {
    const Outcome outcome =
        test::run(test::star(5,
                             "workloads:\n  - {name: w, verb: write, pattern: ring-allreduce, size: 100000, count: 3}\n"
                             "faults:\n  - {packet: \"drop " +
                                 std::string(loss) + "\", on: all}\nexpect: [data-intact, finished]\n"));
    BOOST_TEST_REQUIRE(outcome.held(), test::story(outcome));
    BOOST_TEST(outcome.workloads[0].verified_messages == 15u);            // a vector of each member in each round
    BOOST_TEST(outcome.workloads[0].statuses[0].number == 5u * 8u * 3u);  // 2 (N - 1) steps
  }
}

BOOST_AUTO_TEST_CASE(an_open_loop_keeps_its_rate_and_a_duration_ends_it) {
  const Outcome outcome =
      test::run(workload("verb: write, from: n1, to: n2, size: 1KiB, duration: 10ms, rate: 100000, depth: 16"));
  BOOST_TEST_REQUIRE(outcome.held(), test::story(outcome));
  BOOST_TEST(outcome.workloads[0].statuses[0].number == 1000u);
  BOOST_TEST(outcome.workloads[0].finished->ns > 9'900'000);
  BOOST_TEST(outcome.workloads[0].finished->ns < 10'100'000);
}

BOOST_AUTO_TEST_CASE(without_payload_everything_completes_and_nothing_is_verified) {
  const Outcome outcome = test::run("payload: false\n" + test::star(2,
                                                                    "workloads:\n"
                                                                    "  - {name: w, verb: mixed, from: n1, to: n2, "
                                                                    "size: 16KiB, count: 100}\n"));
  BOOST_TEST_REQUIRE(outcome.held(), test::story(outcome));
  BOOST_TEST(outcome.workloads[0].statuses[0].number == 100u);
  BOOST_TEST(outcome.workloads[0].verified_messages == 0u);
}

BOOST_AUTO_TEST_CASE(damage_behind_a_repaired_icrc_is_found) {
  const Outcome outcome = test::run(test::star(
      2,
      "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 50}\n"
      "faults:\n  - {packet: \"corrupt where=payload repair=yes every=10\", link: n1}\nexpect: [data-intact]\n"));
  BOOST_TEST(!test::held(outcome, 0), test::story(outcome));
  BOOST_TEST(outcome.workloads[0].damaged >= 4u);
  BOOST_TEST(outcome.workloads[0].damage.at(0).find("instead of") != std::string::npos);
}

/// Of a connection that lost an answer to it nothing more can be said, and its fetch-adds are no longer seen: those of
/// the other connection, on the same word, are no chain without them.
BOOST_AUTO_TEST_CASE(packet_changed_behind_its_icrc_gives_no_false_atomics_report) {
  const Outcome outcome = test::run(
      test::star(3,
                 "workloads:\n"
                 "  - {name: w, verb: fetch-add, pattern: incast, from: [n1, n2], to: n3, count: 40, depth: 1, "
                 "rate: 10000}\n"
                 "faults:\n"
                 "  - {packet: \"corrupt where=psn repair=yes count=1\", link: \"s1->n1\", when: {workload: w, "
                 "completed: 10}}\n"));
  BOOST_TEST(outcome.held(), test::story(outcome));
  BOOST_TEST_REQUIRE(outcome.faults.size() == 1u);
  BOOST_TEST(outcome.faults[0].hits == 1u);
  BOOST_TEST(outcome.violations_total == 0u);
}
