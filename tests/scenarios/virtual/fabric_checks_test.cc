// What is watched in a network with traffic classes: each rule is silent where all is well, and speaks where it is
// broken.
#include "scenarios/virtual/fabric_checks.h"

#include <boost/test/unit_test.hpp>

#include "scenarios/virtual/run_virtual.h"
#include "tests/scenarios/language/reading.h"
#include "tests/support/frames.h"
#include "wire/pause_frame.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

Outcome run(const std::string& topology, const std::string& workloads, const std::string& rest = "") {
  return run_virtual(test::good("name: t\ntimeout: 200ms\npayload: false\ntopology: " + topology +
                                "\nnic: {mtu: 1024, dscp: 26, timeout: 20}\nworkloads:\n" + workloads + rest),
                     {});
}
std::uint64_t reports(const Outcome& outcome, std::string_view checker) {
  return static_cast<std::uint64_t>(std::count_if(outcome.violations.begin(), outcome.violations.end(),
                                                  [&](const auto& one) { return one.checker == checker; }));
}

constexpr const char* kIncast =
    "  - {name: w, verb: write, pattern: incast, from: [n1, n2, n3], to: n4, size: 256KiB, count: 8, depth: 4}\n";

}  // namespace

BOOST_AUTO_TEST_CASE(an_incast_in_a_lossless_class_breaks_no_rule) {
  const Outcome outcome =
      run("{shape: star, hosts: 4, link: {rate: 10Gbps}, qos: {lossless: 3, buffer: 400KB, xoff: 30KB, reaction: 1us}}",
          kIncast);
  BOOST_TEST(outcome.held());
  BOOST_TEST(outcome.pause_frames > 10u);
  BOOST_TEST(outcome.violations_total == 0u);
}

BOOST_AUTO_TEST_CASE(pause_frames_are_counted_where_they_arrive) {
  for (const std::string pause : {"pfc", "global"}) {
    const std::string lossless = pause == "pfc" ? "[3, 4]" : "all";
    const Outcome outcome = run("{shape: star, hosts: 4, link: {rate: 10Gbps}, qos: {lossless: " + lossless +
                                    ", pause: " + pause + ", buffer: 800KB, xoff: 30KB, xon-offset: 5KB}}",
                                kIncast,
                                "expect:\n  - {finished: w}\n  - {pauses: [n1, n2, n3], min: 11, name: senders}\n"
                                "  - {pauses: n1->s1, min: 3, name: one}\n  - {pauses: n1, min: 3, name: host}\n"
                                "  - {pauses: [n4, s1], is: 0}\n  - {pauses: all, max: 10}\n");
    BOOST_TEST_REQUIRE(outcome.expectations.size() >= 6u);
    for (std::size_t i = 0; i < 5; ++i)
      BOOST_TEST(outcome.expectations[i].held, pause << ": " << outcome.expectations[i].observed);
    BOOST_TEST(!outcome.expectations[5].held);
    // None is lost, and each is counted once, however many classes it speaks of.
    BOOST_TEST(outcome.expectations[1].value.value_or(0) == static_cast<double>(outcome.pause_frames));
    BOOST_TEST(outcome.expectations[2].value.value_or(0) == outcome.expectations[3].value.value_or(1));
    BOOST_TEST(outcome.expectations[5].value.value_or(0) == static_cast<double>(outcome.pause_frames));
  }
}

BOOST_AUTO_TEST_CASE(packet_held_for_reorder_or_copy_breaks_no_rule_when_it_goes) {
  for (const char* fault : {"reorder by=4 within=100us p=1% opcode=data", "duplicate 10% opcode=data"}) {
    const Outcome outcome = run(
        "{shape: star, hosts: 4, link: {rate: 10Gbps}, qos: {lossless: 3, buffer: 400KB, xoff: 30KB, reaction: 1us}}",
        kIncast, "faults:\n  - {packet: \"" + std::string(fault) + "\", link: all}\n");
    BOOST_TEST(outcome.held());
    BOOST_TEST(outcome.pause_frames > 10u);
    BOOST_TEST(outcome.violations_total == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_headroom_that_is_too_small_loses_packets_and_says_where) {
  const Outcome outcome =
      run("{shape: star, hosts: 4, link: {rate: 10Gbps, delay: 20us}, "
          "qos: {lossless: 3, buffer: 400KB, xoff: 30KB, headroom: 5KB}}",
          kIncast, "expect: [{checker: lossless, min: 1}, {checker: pause-deadlock, is: 0}, {finished: w}]\n");
  BOOST_TEST(outcome.held());
  BOOST_TEST_REQUIRE(reports(outcome, "lossless") == 1u);
  BOOST_TEST(outcome.violations.front().text.find("s1->n4: verbena: dropped, lossless class without headroom") !=
             std::string::npos);
  BOOST_TEST(outcome.notes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_ring_that_waits_for_itself_is_named) {
  const Outcome outcome =
      run("{shape: ring, hosts: 5, link: {rate: 40Gbps}, trunk: {rate: 10Gbps}, "
          "qos: {lossless: 3, buffer: 400KB, xoff: 20KB, xon-offset: 10KB, pause-quanta: 20000}}",
          "  - {name: w, verb: write, from: [n1, n2, n3, n4, n5], to: [n3, n4, n5, n1, n2], size: 1MiB, count: 20, "
          "depth: 4}\n",
          "expect: [{checker: pause-deadlock, is: 1}, {survivors: w, max: 4}]\n");
  BOOST_TEST_REQUIRE(reports(outcome, "pause-deadlock") == 1u);
  BOOST_TEST(outcome.violations.front().text.find("s1->s2 waits for s2->s3 waits for s3->s4 waits for s4->s5 waits for "
                                                  "s5->s1") != std::string::npos,
             outcome.violations.front().text);
}

BOOST_AUTO_TEST_CASE(a_packet_that_begins_while_its_class_is_paused_is_reported) {
  const Scenario scenario = test::good(
      "name: t\ntopology: {shape: star, hosts: 2, link: {rate: 10Gbps}, qos: {lossless: 3, reaction: 1us}}\n"
      "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 1}\n");
  const fabric::Network network(scenario.topology, {});
  FabricChecks checks(scenario, network, Time{0});
  std::vector<std::byte> pause(wire::kPauseFrameBytes);
  wire::write_pause_frame({.classes = 0x08, .quanta = {0, 0, 0, 1000}}, pause);  // 51.2 us
  wire::FramePath path;
  path.source = test::node_gid(1);
  path.destination = test::node_gid(2);
  path.traffic_class = 26 << 2;
  const auto packet =
      test::make_frame(wire::FrameTemplate(path), {.opcode = test::rc(wire::OperationCode::acknowledge)});
  const auto see = [&](std::int64_t ns, sim::FrameEvent event, bool backward, const std::vector<std::byte>& frame) {
    checks.observe({.time = Time{ns}, .link = {0, backward}, .event = event, .frame = frame});
  };
  see(900, sim::FrameEvent::sent, false, packet);      // before
  see(1000, sim::FrameEvent::delivered, true, pause);  // from the switch, at the host
  see(1999, sim::FrameEvent::sent, false, packet);     // during the reaction
  see(5000, sim::FrameEvent::sent, true, packet);      // the other way
  see(52'200, sim::FrameEvent::sent, false, packet);   // when it is over
  Outcome before;
  CheckerReports none;
  FabricChecks(checks).finish(Time{60'000}, before, none);
  BOOST_TEST(before.violations_total == 0u);
  see(70'000, sim::FrameEvent::delivered, true, pause);
  see(75'000, sim::FrameEvent::sent, false, packet);
  Outcome outcome;
  CheckerReports all;
  checks.finish(Time{80'000}, outcome, all);
  BOOST_TEST(reports(outcome, "pause") == 1u);
  BOOST_TEST(all.rows.front().reports == 1u);
}
