// Faults happen at their time or on their condition, and do what they say.
#include "tests/scenarios/virtual/runs.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

Outcome with_faults(const std::string& faults,
                    const std::string& words = "verb: write, size: 4KiB, count: 400, depth: 8",
                    const std::string& nic = "timeout: 8, retry-count: 7") {
  return test::run(
      test::star(3, "workloads:\n  - {name: w, from: n1, to: n2, " + words + "}\nfaults:\n" + faults, nic));
}

}  // namespace

BOOST_AUTO_TEST_CASE(packet_faults_have_a_beginning_and_an_end) {
  const Outcome timed = with_faults("  - {packet: drop, link: \"n1->s1\", from: 20us, until: 30us}\n");
  BOOST_TEST(timed.held(), test::story(timed));
  BOOST_TEST_REQUIRE(timed.faults.size() == 1u);
  BOOST_TEST(timed.faults[0].time->ns == 20'000);
  BOOST_TEST(timed.faults[0].hits > 0u);
  BOOST_TEST(timed.packets_lost == timed.faults[0].hits);
  const Outcome never =
      with_faults("  - {packet: drop, link: \"n1->s1\", when: {workload: w, completed: 1000}, for: 1ms}\n");
  BOOST_TEST(never.held(), test::story(never));
  BOOST_TEST(!never.faults[0].time.has_value());
}

BOOST_AUTO_TEST_CASE(conditions_count_completions_and_packets) {
  const Outcome completions =
      with_faults("  - {link-flap: n1-s1, down: 100us, up: 100us, when: {workload: w, completed: 100}}\n");
  BOOST_TEST(completions.held(), test::story(completions));
  BOOST_TEST_REQUIRE(completions.faults[0].time.has_value());
  const Outcome packets =
      with_faults("  - {packet: \"drop count=3\", link: \"n1->s1\", when: {link: n1-s1, carried: 50}, for: 1s}\n");
  BOOST_TEST(packets.held(), test::story(packets));
  BOOST_TEST_REQUIRE(packets.faults[0].time.has_value());
  BOOST_TEST(packets.faults[0].hits == 3u);
}

BOOST_AUTO_TEST_CASE(a_fault_begins_once_another_has_hit_packets) {
  const Outcome outcome = with_faults(
      "  - {packet: \"drop msg=20-39 round=1\", link: \"n1->s1\", for: 1s}\n"
      "  - {packet: mark, link: \"n1->s1\", when: {fault: \"drop msg=20-39 round=1\", hits: 1}, after: 1ns}\n"
      "  - {packet: \"mark qp=0\", link: \"n1->s1\", when: {fault: \"drop msg=20-39 round=1\", hits: 1000}}\n");
  BOOST_TEST(outcome.held(), test::story(outcome));
  BOOST_TEST_REQUIRE(outcome.faults.size() == 3u);
  BOOST_TEST(outcome.faults[0].hits > 0u);
  BOOST_TEST_REQUIRE(outcome.faults[1].time.has_value());
  BOOST_TEST(outcome.faults[1].time->ns > 0);
  BOOST_TEST(outcome.faults[1].hits > 0u);
  BOOST_TEST(!outcome.faults[2].time.has_value());
}

BOOST_AUTO_TEST_CASE(a_hit_counts_for_the_rule_that_made_it_alone) {
  const Outcome outcome = with_faults(
      "  - {packet: \"drop iter=1 psn=1\", link: \"n1->s1\"}\n"
      "  - {packet: \"drop iter=1 psn=10\", link: \"n1->s1\"}\n"
      "  - {packet: \"duplicate psn=20\", link: \"n1->s1\"}\n"
      "  - {packet: \"duplicate psn=20\", link: \"s1->n2\", for: 1ns}\n"
      "  - {packet: \"mark psn=30 iter=1\", link: \"n1->s1\"}\n"
      "  - {packet: \"delay by=1us psn=30 iter=1\", link: \"n1->s1\"}\n",
      "verb: write, size: 4KiB, count: 40");
  BOOST_TEST_REQUIRE(outcome.faults.size() == 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    BOOST_TEST_CONTEXT(i) {
      BOOST_TEST(outcome.faults[i].hits == (i == 3 ? 0u : 1u));
    }
  }
  BOOST_TEST(outcome.packets_lost == 2u);
}

BOOST_AUTO_TEST_CASE(links_and_switches_and_partitions_come_back) {
  for (const char* fault :
       {"{link-down: n1-s1, at: 20us, for: 2ms}", "{switch-crash: s1, at: 20us, for: 2ms}",
        "{partition: n1, peers: n2, at: 20us, for: 2ms}",
        "{partition: n1, peers: n2, one-way: true, at: 20us, for: 2ms}", "{port-error: n2, at: 20us, for: 2ms}",
        "{node-freeze: n2, at: 20us, for: 2ms}", "{link-rate: n1-s1, rate: 1Gbps, at: 20us}",
        "{link-delay: n1-s1, delay: 100us, jitter: 10us, at: 20us}"}) {
    BOOST_TEST_CONTEXT(fault) {
      const Outcome slow = with_faults(std::string("  - ") + fault + "\n");
      BOOST_TEST(slow.held(), test::story(slow));
      BOOST_TEST(slow.workloads[0].finished->ns > 2'000'000);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_restarted_target_is_connected_anew_and_the_rest_is_done) {
  const Outcome outcome = with_faults("  - {node-crash: n2, at: 20us, for: 1ms}\n",
                                      "verb: mixed, size: 4KiB, count: 400, depth: 8", "timeout: 8, retry-count: 2");
  BOOST_TEST(outcome.workloads[0].statuses[12].number == 1u);  // retry_exceeded
  BOOST_TEST(outcome.workloads[0].statuses[0].number == 400u);
  BOOST_TEST(outcome.workloads[0].pairs_finished == 1u);
  BOOST_TEST(outcome.workloads[0].damaged == 0u, test::story(outcome));
  BOOST_TEST(outcome.violations_total == 0u, test::story(outcome));
}

BOOST_AUTO_TEST_CASE(a_restarted_initiator_begins_from_the_start) {
  const Outcome outcome = with_faults("  - {node-crash: n1, at: 20us, for: 1ms}\n");
  const WorkloadOutcome& result = outcome.workloads[0];
  BOOST_TEST(outcome.held(), test::story(outcome));
  BOOST_TEST(result.statuses[0].number > 400u);
  BOOST_TEST(result.statuses[0].number < 800u);
}

BOOST_AUTO_TEST_CASE(who_still_sends_to_a_node_that_has_restarted_meets_no_new_qp) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome outcome =
        test::run(test::star(4,
                             "workloads:\n"
                             "  - {name: r, verb: read, pattern: all-to-all, size: 64, count: 400, depth: 16}\n"
                             "  - {name: w, verb: write, pattern: all-to-all, size: 64, count: 200, depth: 8}\n"
                             "faults:\n  - {node-crash: n1, at: 60us, for: 1200us}\n",
                             "timeout: 10, retry-count: 4"),
                  seed);
    BOOST_TEST(outcome.violations_total == 0u, test::story(outcome));
  }
}

BOOST_AUTO_TEST_CASE(an_rnr_storm_makes_rnr_naks_until_it_is_over) {
  const std::string sends = "verb: send, size: 1KiB, count: 400, depth: 8, receive-depth: 16";
  const std::string nic = "timeout: 8, retry-count: 7, rnr-retry: 7, min-rnr-timer: 1";
  const Outcome calm = with_faults("  - {rnr-storm: n3, at: 20us, for: 2ms}\n", sends, nic);
  BOOST_TEST(calm.held(), test::story(calm));
  BOOST_TEST(calm.workloads[0].finished->ns < 2'000'000);
  const Outcome storm = with_faults("  - {rnr-storm: n2, at: 20us, for: 2ms}\n", sends, nic);
  BOOST_TEST(storm.held(), test::story(storm));
  BOOST_TEST(storm.workloads[0].finished->ns > 2'000'000);
}

BOOST_AUTO_TEST_CASE(verbs_can_fail) {
  const Outcome status = with_faults("  - {completion-status: w, status: remote_access_error, times: 3, at: 20us}\n");
  BOOST_TEST(status.workloads[0].statuses[10].number == 3u);
  BOOST_TEST(status.workloads[0].statuses[0].number == 397u);
  BOOST_TEST(!status.held());  // the pair has not finished all its messages
  const Outcome registration = with_faults("  - {registration-failure: n2, times: 2, at: 0s}\n");
  BOOST_TEST(registration.held(), test::story(registration));
  BOOST_TEST(registration.workloads[0].finished->ns > 2'000'000);  // tried again each millisecond
  const Outcome posts = with_faults("  - {post-failure: n1, times: 5, at: 0s}\n");
  BOOST_TEST(posts.held(), test::story(posts));
}

BOOST_AUTO_TEST_CASE(fault_goes_on_counting_while_another_of_its_link_changes) {
  const std::string counted = "  - {packet: \"drop opcode=write every=10 count=3\", link: \"n1->s1\"}\n";
  const std::string others =
      "  - {packet: \"duplicate 1%\", link: \"n1->s1\", from: 20us, until: 40us}\n"
      "  - {packet: \"drop opcode=write every=10 count=3\", link: \"n1->s1\", from: 30us, until: 50us}\n";
  const Outcome alone = with_faults(counted);
  BOOST_TEST(alone.packets_lost == 3u);
  const Outcome outcome = with_faults(counted + others);
  BOOST_TEST(outcome.held(), test::story(outcome));
  BOOST_TEST_REQUIRE(outcome.faults.size() == 3u);
  BOOST_TEST(outcome.packets_lost == 6u);  // the second one of these words has its own three
}

BOOST_AUTO_TEST_CASE(each_of_two_overlapping_partitions_heals_by_itself) {
  const auto finish = [](const std::string& faults) {
    const Outcome outcome = with_faults(faults);
    BOOST_TEST(outcome.held(), test::story(outcome));
    return outcome.workloads[0].finished->ns;
  };
  const std::string wide = "  - {partition: n1, at: 20us, for: 4ms}\n";
  BOOST_TEST(finish(wide + "  - {partition: n1, peers: n2, at: 20us, for: 1ms}\n") > 4'000'000);
  BOOST_TEST(finish(wide + "  - {partition: n3, at: 20us, for: 1ms}\n") > 4'000'000);
  const std::string open = "  - {partition: n1, at: 20us}\n  - {partition: [n1, n3], peers: n2, at: 20us}\n";
  const std::int64_t healed_ns = finish(open + "  - {heal: n1, at: 1ms}\n  - {heal: [n1, n3], peers: n2, at: 3ms}\n");
  BOOST_TEST(healed_ns > 3'000'000);
  const std::int64_t all_ns = finish(open + "  - {heal: all, at: 1ms}\n");
  BOOST_TEST(all_ns > 1'000'000);
  BOOST_TEST(all_ns < 3'000'000);
}

BOOST_AUTO_TEST_CASE(unreliable_endpoints_reconnect_after_their_targets_restart) {
  for (const char* transport : {"uc", "ud"}) {
    BOOST_TEST_CONTEXT(transport) {
      const Outcome outcome = test::run(
          test::star(2, "workloads:\n  - {name: w, from: n1, to: n2, verb: send, transport: " + std::string(transport) +
                            ", size: 1KiB, count: 400, depth: 4, rate: 100000}\n"
                            "faults:\n  - {node-crash: n2, at: 1ms, for: 1ms}\n"));
      BOOST_TEST(outcome.held(), test::story(outcome));
      const WorkloadOutcome& result = outcome.workloads[0];
      BOOST_TEST(result.statuses[0].number == 400u);
      BOOST_TEST(result.damaged == 0u, test::story(outcome));
      // 4 ms of messages, of which those of 2 ms (the crash and connecting) are lost.
      BOOST_TEST(result.receive_statuses[0].number > 150u);
      BOOST_TEST(result.receive_statuses[0].number < 350u);
      BOOST_TEST(result.receive_statuses[0].last.ns > 3'500'000);
    }
  }
}

BOOST_AUTO_TEST_CASE(ports_that_lose_their_cable_say_so) {
  const auto counted = [](const std::string& fault, const std::string& expect) {
    const Outcome outcome = test::run(
        test::star(3,
                   "workloads:\n  - {name: w, from: n1, to: n2, verb: write, size: 4KiB, count: 400, depth: 8}\n"
                   "faults:\n  - " +
                       fault + "\nexpect:\n" + expect));
    BOOST_TEST(outcome.held(), fault << test::story(outcome));
  };
  const std::string n1 = "  - {counter: link_downed, of: n1, is: ";
  const std::string n3 = "  - {counter: link_downed, of: n3, is: ";
  const std::string events = "  - {counter: async_events, of: n1, is: ";
  counted("{port-error: n1, at: 20us, for: 1ms}", n1 + "1}\n" + n3 + "0}\n" + events + "2}\n");
  counted("{link-down: n1-s1, at: 20us, for: 1ms}", n1 + "1}\n" + n3 + "0}\n" + events + "2}\n");
  counted("{link-flap: n1-s1, at: 20us, down: 50us, up: 50us, times: 4}", n1 + "4}\n" + events + "8}\n");
  counted("{switch-crash: s1, at: 20us, for: 1ms}", n1 + "1}\n" + n3 + "1}\n");
  counted("{partition: n1, at: 20us, for: 1ms}", n1 + "0}\n");
}

BOOST_AUTO_TEST_CASE(removed_device_flushes_its_work_and_its_peer_hears_no_more) {
  const std::string work = "verb: write, size: 4KiB, count: 400, depth: 8";
  const Outcome target = with_faults("  - {device-removal: n2, at: 20us}\n", work, "timeout: 8, retry-count: 2");
  BOOST_TEST(target.workloads[0].statuses[12].number == 1u, test::story(target));  // retry_exceeded
  BOOST_TEST(target.workloads[0].pairs_finished == 0u);
  const Outcome initiator = with_faults("  - {device-removal: n1, at: 20us}\n", work);
  BOOST_TEST(initiator.workloads[0].statuses[5].number == 8u, test::story(initiator));  // all that was outstanding
  BOOST_TEST(initiator.workloads[0].statuses[12].number == 0u);
  BOOST_TEST(initiator.workloads[0].pairs_finished == 0u);
  BOOST_TEST(initiator.violations_total == 0u, test::story(initiator));
  // Gone before the first connection: no stream tries again until the scenario's end.
  for (const char* const host : {"n1", "n2"}) {
    const Outcome never = with_faults(std::string("  - {device-removal: ") + host + ", at: 0ns}\n", work);
    BOOST_TEST(never.workloads[0].pairs_finished == 0u, test::story(never));
    BOOST_TEST((never.elapsed < milliseconds(2)), never.elapsed.ns);
  }
  const Outcome back =
      with_faults("  - {device-removal: n2, at: 20us, for: 1ms}\n", work, "timeout: 8, retry-count: 2");
  BOOST_TEST(back.workloads[0].pairs_finished == 1u, test::story(back));
}
