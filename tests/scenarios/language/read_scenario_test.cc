// What a scenario's text means, and what is said about a wrong one.
#include "scenarios/language/read_scenario.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "tests/scenarios/language/reading.h"

using namespace verbena;
using namespace verbena::scenarios;
using test::check_error;
using test::error_of;
using test::good;
using test::in_braces;
using test::with;

BOOST_AUTO_TEST_CASE(a_small_scenario_has_every_default_filled_in) {
  const Scenario scenario = good(
      "topology: {shape: star, hosts: 2}\n"
      "workloads: [{verb: write, from: n1, to: n2, size: 64KiB, count: 100}]\n");
  BOOST_TEST(scenario.name == "test");
  BOOST_TEST((scenario.clock == Clock::virtual_time));
  BOOST_TEST(scenario.seed == 1u);
  BOOST_TEST(scenario.timeout.ns == seconds(60).ns);
  BOOST_TEST(scenario.detection.ns == milliseconds(10).ns);
  BOOST_TEST(scenario.topology.hosts == 2u);
  BOOST_REQUIRE_EQUAL(scenario.nics.size(), 2u);
  BOOST_TEST(scenario.nics[0].mtu() == 4096u);
  BOOST_TEST(scenario.nics[0].profile == "ideal");
  BOOST_REQUIRE_EQUAL(scenario.workloads.size(), 1u);
  const Workload& workload = scenario.workloads[0];
  BOOST_TEST(workload.name == "workload1");
  BOOST_TEST(
      (workload.verb == Verb::write && workload.transport == Transport::rc && workload.pattern == Pattern::pair));
  BOOST_TEST((workload.from == std::vector<std::uint32_t>{0} && workload.to == std::vector<std::uint32_t>{1}));
  BOOST_TEST(workload.sizes.at(0).least == 65536u);
  BOOST_TEST(workload.check);
  BOOST_TEST(workload.queue_depth == 16u);
  BOOST_TEST(workload.place.line == 2u);
}

BOOST_AUTO_TEST_CASE(links_have_exact_units_a_default_a_trunk_and_overrides) {
  const Scenario scenario = good(
      "topology:\n"
      "  shape: dumbbell\n"
      "  hosts: 2\n"
      "  link: {rate: 2.5Gbps, delay: 1.5us, queue: 64KiB, ecn: 10KB, mtu: 1500}\n"
      "  trunk: {rate: 1Gbps}\n"
      "  links: [{between: [s1, n1], delay: 7ns}]\n"
      "workloads: [{verb: read, from: n1, to: n3, size: 1B, duration: 2ms}]\n");
  unsigned trunks = 0;
  unsigned changed = 0;
  for (const fabric::Cable& cable : scenario.topology.cables) {
    const bool host = scenario.topology.is_host(cable.a) || scenario.topology.is_host(cable.b);
    trunks += host ? 0 : 1;
    BOOST_TEST(cable.parameters.rate_bits_per_second == (host ? 2'500'000'000u : 1'000'000'000u));
    changed += cable.parameters.propagation.ns == 7 ? 1 : 0;
    BOOST_TEST(cable.parameters.queue_bytes == 65536u);
    BOOST_TEST(cable.parameters.ecn.kmax_bytes == 10'000u);
    BOOST_TEST(cable.parameters.mtu_bytes == 1500u);
  }
  BOOST_TEST(trunks == 1u);
  BOOST_TEST(changed == 1u);
}

BOOST_AUTO_TEST_CASE(every_shape_and_an_explicit_graph_are_understood) {
  const auto hosts = [](const std::string& topology) {
    return good("topology: " + topology + "\nworkloads: [{verb: send, pattern: all-to-all, size: 1, count: 1}]\n")
        .topology.hosts;
  };
  BOOST_TEST(hosts("{shape: star, hosts: 5}") == 5u);
  BOOST_TEST(hosts("{shape: line, hosts: 5}") == 5u);
  BOOST_TEST(hosts("{shape: ring, hosts: 5}") == 5u);
  BOOST_TEST(hosts("{shape: full-mesh, hosts: 5}") == 5u);
  BOOST_TEST(hosts("{shape: dumbbell, hosts: 5}") == 10u);
  BOOST_TEST(hosts("{shape: leaf-spine, leaves: 3, spines: 2, hosts-per-leaf: 4}") == 12u);
  BOOST_TEST(hosts("{shape: clos, pods: 3, racks: 2, hosts-per-rack: 4, aggregations: 2, cores: 1}") == 24u);
  BOOST_TEST(hosts("{shape: fat-tree, k: 4}") == 16u);
  BOOST_TEST(hosts("{nodes: [a, b], switches: [x], links: [{between: [a, x]}, {between: [x, b], rate: 1Gbps}]}") == 2u);
}

BOOST_AUTO_TEST_CASE(a_nic_has_a_default_own_words_and_a_profile) {
  const Scenario scenario = good(
      "topology: {shape: star, hosts: 3}\n"
      "nic: {profile: connectx, mtu: 1024, timeout: 18, nak-latency: 3us}\n"
      "nics: {n2: {mtu: 512, profile: rxe}, n3: {speed: 25Gbps}}\n"
      "workloads: [{verb: write, from: n1, to: n2, size: 1, count: 1}]\n");
  BOOST_TEST(scenario.nics[0].profile == "connectx");
  BOOST_TEST(scenario.nics[0].nak_latency.ns == 3'000);
  BOOST_TEST(scenario.nics[0].cnp_interval.ns == 4'000);
  BOOST_TEST(scenario.nics[1].profile == "rxe");
  BOOST_TEST(scenario.nics[1].acknowledge_every == 64u);
  BOOST_TEST(scenario.nics[1].mtu() == 512u);
  BOOST_TEST(scenario.nics[1].timeout.value() == 18);
  BOOST_TEST(scenario.nics[2].speed_bits_per_second.value() == 25'000'000'000u);
  BOOST_TEST(scenario.nics[2].mtu() == 1024u);
}

BOOST_AUTO_TEST_CASE(congestion_control_has_the_papers_parameters_by_default) {
  const Scenario scenario = good(
      "topology: {shape: star, hosts: 3, link: {ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%}}}\n"
      "nics: {n1: {congestion-control: dcqcn}, n2: {congestion-control: dcqcn, dcqcn-g: 5/1024, dcqcn-byte-counter: "
      "1MB,"
      " dcqcn-clamp-target-rate: false, cnp-interval: 4us}}\n"
      "workloads: [{verb: write, from: n1, to: n2, size: 1, count: 1}]\n");
  const fabric::EcnMarking& ecn = scenario.topology.cables[0].parameters.ecn;
  BOOST_TEST(ecn.kmin_bytes == 5'000u);
  BOOST_TEST(ecn.kmax_bytes == 200'000u);
  BOOST_TEST(ecn.pmax_ppb == 10'000'000u);
  const NicSettings& paper = scenario.nics[0];
  BOOST_CHECK(paper.congestion.policy == nic::CongestionPolicy::dcqcn);
  BOOST_CHECK(paper.congestion.dcqcn == nic::DcqcnParameters{});
  BOOST_TEST(paper.cnp_interval.ns == 50'000);
  const NicSettings& own = scenario.nics[1];
  BOOST_TEST(own.congestion.dcqcn.g == nic::kWhole / 1024 * 5);
  BOOST_TEST(own.congestion.dcqcn.byte_counter == 1'000'000u);
  BOOST_TEST(!own.congestion.dcqcn.clamp_target_rate);
  BOOST_TEST(own.cnp_interval.ns == 4'000);
  BOOST_CHECK(scenario.nics[2].congestion == nic::CongestionConfig{});
}

BOOST_AUTO_TEST_CASE(loss_recovery_has_the_papers_parameters_by_default) {
  const Scenario scenario = good(
      "topology: {shape: star, hosts: 3}\n"
      "nics: {n1: {loss-recovery: selective-repeat}, n2: {loss-recovery: selective-repeat, rto-low: 1ms, rto-high: "
      "20ms,"
      " rto-low-packets: 5, bdp-window: 120KB, recovery-negotiation: false}}\n"
      "workloads: [{verb: write, from: n1, to: n2, size: 1, count: 1}]\n");
  const nic::LossRecoveryConfig& paper = scenario.nics[0].loss_recovery;
  BOOST_CHECK(paper == nic::LossRecoveryConfig{.policy = nic::RecoveryPolicy::selective_repeat});
  BOOST_TEST(paper.rto_low.ns == 100'000);
  BOOST_TEST(paper.rto_high.ns == 320'000);
  BOOST_TEST(paper.rto_low_packets == 3u);
  const nic::LossRecoveryConfig& own = scenario.nics[1].loss_recovery;
  BOOST_TEST(own.rto_high.ns == 20'000'000);
  BOOST_TEST(own.bdp_bytes == 120'000u);
  BOOST_TEST(!own.negotiates);
  BOOST_CHECK(scenario.nics[2].loss_recovery == nic::LossRecoveryConfig{});
  const auto nic = [](const std::string& settings) {
    return "topology: {shape: star, hosts: 2}\nnic: " + settings +
           "\nworkloads: [{verb: write, from: n1, to: n2, size: 1, count: 1}]\n";
  };
  check_error(nic("{loss-recovery: ^sack}"), "want go-back-n or selective-repeat");
  check_error(nic("{bdp-window: ^0}"), "want packets, as in 110, or octets");
  check_error(nic("{rto-low: ^0ns}"), "want a time from 1us");
  check_error(nic("^{rto-high: 50us}"), "rto-low is above rto-high");
}

BOOST_AUTO_TEST_CASE(profile_beside_the_scenario_goes_first_and_errors_name_it) {
  namespace files = std::filesystem;
  const files::path folder = files::temp_directory_path() / "verbena-read-scenario-test";
  files::create_directories(folder / "profiles");
  std::ofstream(folder / "profiles" / "rxe.yaml") << "nak-latency: 77us\n";
  std::ofstream(folder / "odd.yaml") << "name: odd\nnak-latenzy: 1us\n";
  const auto text = [](const std::string& profile) {
    return "topology: {shape: star, hosts: 2}\nnic: {profile: " + profile +
           "}\nworkloads: [{verb: write, from: n1, to: n2, size: 1, count: 1}]\n";
  };
  const auto read = read_scenario(text("rxe"), (folder / "s.yaml").string(), test::own_profiles());
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(read->nics[0].nak_latency.ns == 77'000);
  const auto odd = read_scenario(text("odd"), (folder / "s.yaml").string());
  BOOST_REQUIRE(!odd.ok());
  BOOST_TEST(odd.error().file_name == (folder / "odd.yaml").string());
  BOOST_TEST(odd.error().place.line == 2u);
  files::remove_all(folder);
  check_error(text("^none"), "there is no such profile; looked for");
  const auto near = read_scenario(text("conectx5"), "s.yaml", test::own_profiles());
  BOOST_REQUIRE(!near.ok());
  BOOST_TEST(near.error().text.ends_with("; did you mean 'connectx'?"), near.error().text);
  check_error(text("^../rxe"), "a profile's name has small letters");
}

BOOST_AUTO_TEST_CASE(sizes_come_from_a_number_a_range_or_weighted_choices) {
  const auto sizes = [](const std::string& size) {
    return good("topology: {shape: star, hosts: 2}\nworkloads: [{verb: send, from: n1, to: n2, count: 1, size: " +
                size + "}]\n")
        .workloads[0]
        .sizes;
  };
  BOOST_TEST(sizes("0").at(0).most == 0u);
  BOOST_TEST(sizes("1.5KB").at(0).most == 1500u);
  BOOST_TEST(sizes("{from: 1, to: 4KiB}").at(0).most == 4096u);
  const auto choices = sizes("[{size: 64, weight: 9}, {from: 1KiB, to: 1MiB}, 7]");
  BOOST_REQUIRE_EQUAL(choices.size(), 3u);
  BOOST_TEST(choices[0].weight == 9u);
  BOOST_TEST(choices[1].least == 1024u);
  BOOST_TEST(choices[2].least == 7u);
}

BOOST_AUTO_TEST_CASE(what_is_no_scenario_at_all_is_said_in_one_line) {
  BOOST_TEST(error_of("").find("test.yaml:1:1: is empty") == 0u);
  // yaml-cpp 0.7 finds documents without end in it.
  BOOST_TEST(!error_of(",").empty());
  BOOST_TEST(!error_of(", x], rate: 1").empty());
  BOOST_TEST(error_of("a: [1\n").find("is not YAML") != std::string::npos);
  BOOST_TEST(error_of("\t- x: {\n").find("is not YAML") != std::string::npos);
  check_error("a: 1\n^---\nb: 2\n", "several documents");
  check_error("^- 1\n", "write a map");
  check_error("^hello\n", "write a map");
  BOOST_TEST(error_of(std::string(kScenarioBytesMax + 1, ' ')).find("is larger than") != std::string::npos);
  BOOST_TEST(error_of(std::string(100'000, '[')).size() < 1000u);
  BOOST_TEST(!error_of("? [a]\n: 1\n").empty());
  const auto missing = read_scenario_file("no-such-file.yaml");
  BOOST_REQUIRE(!missing.ok());
  BOOST_TEST(missing.error().line() == "no-such-file.yaml: there is no such file");
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_named_with_its_place_and_the_likely_one) {
  check_error(with("^sede: 3\n"), "unknown key 'sede' in the scenario: did you mean 'seed'?");
  check_error("topology: {shape: star, ^host: 3}\nworkloads: []\n",
              "unknown key 'host' in topology: did you mean 'hosts'?");
  check_error(with("  - {verb: write, from: n1, to: n3, size: 1, ^cuont: 1}\n"), "did you mean 'count'?");
  check_error(with("faults: [{link-down: n1, ^times: 2}]\n"), "unknown key 'times'");
  check_error(with("seed: 1\n^seed: 2\n"), "key 'seed' is written twice");
  check_error("topology: {shape: star, hosts: 3}\nnic: {^retry_count: 2}\nworkloads: []\n",
              "did you mean 'retry-count'?");
}

BOOST_AUTO_TEST_CASE(a_wrong_name_is_told_with_those_that_there_are) {
  const std::string mesh =
      "topology: {shape: ring, hosts: 3}\nworkloads: [{verb: send, from: n1, to: n2, size: 1, count: 1}]\n";
  check_error(mesh + "faults: [{link-down: ^s1-s4}]\n", "there are n1-s1, n2-s2, n3-s3, s1-s2, s2-s3");
  check_error(mesh + "faults: [{node-crash: ^n4}]\n", "there are n1, n2, n3");
  check_error(mesh + "faults: [{switch-crash: ^s9}]\n", "there are s1, s2, s3");
  check_error(mesh + "faults: [{packet: drop 1%, link: ^host}]\n", "; did you mean 'hosts'?");
  check_error(mesh + "nics: {n5: ^{mtu: 512}}\n", "nics: 'n5': there is no such node; there are n1, n2, n3");
  const std::string many =
      "topology: {shape: star, hosts: 40}\nworkloads: [{verb: send, from: n1, to: ^n41, size: 1, count: 1}]\n";
  check_error(many, "there are n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, ... n40, 40 in all; did you mean 'n1'?");
}

BOOST_AUTO_TEST_CASE(a_fault_that_is_written_almost_right_is_told_how_it_goes) {
  check_error(with("faults: [^{link_down: n1-s1}]\n"), "did you mean 'link-down'?");
  check_error(with("faults: [^{drop: 1%}]\n"), "write packet: \"drop 0.1%\"");
  check_error(with("faults: [{packet: drop 0.1%, ^qp=0}]\n"), "without commas: write packet: \"drop 0.1% qp=0\"");
  check_error(with("  - {verb: write, pattern: ^all_to_all, size: 1, count: 1}\n"), "did you mean 'all-to-all'?");
}

BOOST_AUTO_TEST_CASE(missing_programs_error_names_the_resolved_path) {
  check_error("clock: real\ntopology: {shape: star, hosts: 2}\nworkloads: [{exec: ^./no-such-program, node: n1}]\n",
              "the path begins where you run verbena, in /");
}

BOOST_AUTO_TEST_CASE(each_wrong_value_is_refused_at_its_place) {
  check_error(with("seed: ^-1\n"), "write a whole number from 0");
  check_error(with("seed: ^[1]\n"), "seed (a list) is not understood");
  check_error(with("^seed:\n"), "seed (nothing) is not understood");
  check_error(with("timeout: ^10\n"), "write a time");
  check_error(with("timeout: ^-10ms\n"), "write a time");
  check_error(with("timeout: ^10 ms\n"), "write a time");
  check_error(with("timeout: ^0s\n"), "write more than nothing");
  check_error(with("payload: ^maybe\n"), "use one of true, false");
  check_error(with("clock: ^sundial\n"), "use one of virtual, real");
  check_error("topology: {shape: star, hosts: 3, link: {rate: ^-1Gbps}}\nworkloads: []\n", "write a rate above 0");
  check_error("topology: {shape: star, hosts: 3, link: {rate: ^0Gbps}}\nworkloads: []\n", "write a rate above 0");
  check_error("topology: {shape: star, hosts: 3, link: {rate: ^100Gb}}\nworkloads: []\n", "write a rate");
  check_error("topology: {shape: star, hosts: 3, link: {queue: ^64kib}}\nworkloads: []\n", "write a size");
  check_error("topology: {shape: star, hosts: 3}\nnic: {mtu: ^1500}\nworkloads: []\n", "use one of 256, 512");
  check_error("topology: {shape: star, hosts: 3}\nnic: {timeout: ^32}\nworkloads: []\n", "from 0 to 31");
  check_error("topology: {shape: star, hosts: 3}\nnic: {congestion-control: ^bbr}\nworkloads: []\n",
              "want none, dcqcn, timely, swift, dctcp or hpcc");
  check_error("topology: {shape: star, hosts: 3}\nnic: {congestion-control: ^dcqnc}\nworkloads: []\n",
              "; did you mean 'dcqcn'?");
  check_error("topology: {shape: star, hosts: 3}\nnic: ^{timely-t-low: 600us}\nworkloads: []\n",
              "timely-t-low is above");
  check_error("topology: {shape: star, hosts: 3}\nnic: {dcqcn-timer: ^0ns}\nworkloads: []\n", "want a time from 1us");
  check_error("topology: {shape: star, hosts: 3}\nnic: {^dcqcn-timr: 1us}\nworkloads: []\n",
              "did you mean 'dcqcn-timer'?");
}

BOOST_AUTO_TEST_CASE(an_impossible_topology_is_refused) {
  const auto wrong = [](const std::string& topology, std::string_view words) {
    check_error("topology: " + topology + "\nworkloads: [{verb: send, pattern: all-to-all, size: 1, count: 1}]\n",
                words);
  };
  wrong("^{hosts: 3}", "needs a shape");
  wrong("{shape: ^torus, hosts: 3}", "use one of star, line");
  wrong("{shape: ^fat_tree, k: 4}", "; did you mean 'fat-tree'?");
  wrong("^{shape: star}", "'hosts' is missing");
  wrong("{shape: star, hosts: ^1}", "from 2");
  wrong("{shape: star, hosts: 3, k: ^4}", "'k' does not belong to shape star");
  wrong("{shape: fat-tree, k: ^5}", "even");
  wrong("{shape: full-mesh, hosts: ^60000}", "from 2 to 700");
  wrong("{shape: star, nodes: ^[a]}", "exclude each other");
  wrong("{shape: star, hosts: 3, links: [{between: ^[n1, n2], rate: 1Gbps}]}", "no link between n1 and n2");
  wrong("{shape: star, hosts: 3, links: [{between: [n1, ^n9]}]}", "no node or switch of this name");
  wrong("{shape: star, hosts: 3, link: ^{queue: 4KiB, ecn: 8KiB}}", "nothing would ever be marked");
  wrong("{shape: star, hosts: 3, link: {ecn: {kmin: ^9KB, kmax: 8KB, pmax: 1%}}}", "kmin is above kmax");
  wrong("{shape: star, hosts: 3, link: {ecn: {kmin: 5KB, kmax: 8KB, pmax: ^2}}}", "a probability");
  wrong("{shape: star, hosts: 3, link: {ecn: {kmin: 0, kmax: ^0, pmax: 1%}}}", "leave ecn out");
  wrong("{shape: star, hosts: 3, link: {ecn: ^{kmin: 5KB, kmax: 8KB}}}", "'pmax' is missing");
  wrong("{nodes: [a, ^a], switches: [x], links: [{between: [a, x]}]}", "the name is used twice");
  wrong("{nodes: [^a-b], switches: [x], links: [{between: [a-b, x]}]}", "a name has up to 40");
  wrong("{nodes: [^all], switches: [x], links: [{between: [all, x]}]}", "use another name");
  wrong("^{nodes: [a, b], switches: [x], links: [{between: [a, x]}]}", "impossible");
  wrong("^{nodes: [a, b], switches: [x, y], links: [{between: [a, x]}, {between: [b, y]}]}", "impossible");
  wrong("{nodes: [a, b], switches: [x], links: [{between: ^[a, a]}]}", "two different ends");
}

BOOST_AUTO_TEST_CASE(a_wrong_workload_is_refused) {
  const auto wrong = [](const std::string& workload, std::string_view words) {
    check_error("topology: {shape: star, hosts: 3}\nworkloads:\n- " + in_braces(workload) + "\n", words);
  };
  wrong("from: n1", "key 'verb' is missing");
  wrong("verb: write, from: n1, to: n2, size: 1", "say how much");
  wrong("verb: write, from: n1, to: n2, size: 1, count: 1, duration: ^1ms", "exclude each other");
  wrong("verb: write, from: n1, to: n2, size: 1, count: ^0", "from 1");
  wrong("verb: write, from: n1, to: ^n4, size: 1, count: 1", "there is no such node");
  wrong("verb: write, from: n1, to: ^s1, size: 1, count: 1", "it is a switch");
  wrong("verb: write, from: n1, to: ^n1, size: 1, count: 1", "does not send to itself");
  wrong("verb: write, from: [n1, n2], to: ^n3, size: 1, count: 1", "do not match");
  wrong("verb: write, from: [n1, ^n1], to: [n2, n3], size: 1, count: 1", "named twice");
  wrong("verb: ^write, transport: ud, from: n1, to: n2, size: 1, count: 1", "ud has send only");
  wrong("verb: ^read, transport: uc, from: n1, to: n2, size: 1, count: 1", "uc has send, write");
  wrong("verb: send, transport: ud, from: n1, to: n2, size: ^5000, count: 1", "from 0 to 4096");
  wrong("verb: cas, from: n1, to: n2, size: ^16, count: 1", "an atomic has 8 octets");
  wrong("verb: write, pattern: all-to-all, from: ^n1, size: 1, count: 1", "this pattern has among");
  wrong("verb: write, pattern: incast, from: n1, to: ^[n2, n3], size: 1, count: 1", "incast has one target");
  wrong("verb: write, from: n1, to: n2, size: {from: 10, to: ^5}, count: 1", "it is below from");
  wrong("verb: write, from: n1, to: n2, size: 1, duration: 70s", "after the scenario's timeout");
  wrong("verb: write, from: n1, to: n2, size: 1, count: 1, rate: ^-5", "from 1");
  wrong("name: ^all, verb: write, from: n1, to: n2, size: 1, count: 1", "use another name");
  wrong("exec: ^ls, node: n1", "needs clock: real");
  check_error(with("  - {name: ^w, verb: write, from: n1, to: n3, size: 1, count: 1}\n"),
              "two workloads are called 'w'");
  check_error(with("payload: false\nexpect: [^data-intact]\n"), "no data to compare");
}

BOOST_AUTO_TEST_CASE(programs_run_on_the_real_clock_and_must_be_there) {
  const auto real = [](const std::string& items) {
    return "clock: real\ntopology: {shape: star, hosts: 2}\nworkloads:\n" + items;
  };
  const Scenario scenario =
      good(real("- {name: server, exec: sh -c 'exit 0', node: n1, background: yes}\n"
                "- {name: client, exec: [ls, '${n1}:5', ''], node: n2, after: server, status: 2}\n"));
  BOOST_REQUIRE_EQUAL(scenario.programs.size(), 2u);
  BOOST_TEST((scenario.programs[0].arguments == std::vector<std::string>{"sh", "-c", "exit 0"}));
  BOOST_TEST((scenario.programs[1].arguments == std::vector<std::string>{"ls", "127.47.91.1:5", ""}));
  BOOST_TEST(scenario.programs[0].background);
  BOOST_TEST(scenario.programs[1].expected_status == 2);
  BOOST_TEST((scenario.programs[1].after == std::vector<std::string>{"server"}));
  check_error(real("- {exec: ^no-such-program-here -x, node: n1}\n"), "it is not on PATH");
  check_error(real("- {exec: ^/etc/passwd, node: n1}\n"), "no such executable file");
  check_error(real("- {exec: ^\"ls ${n7}\", node: n1}\n"), "there is no such node");
  check_error(real("- {exec: ^\"ls 'x\", node: n1}\n"), "a quotation mark is not closed");
  check_error(real("- {exec: ls, node: ^n3}\n"), "there is no such node");
  check_error(real("- {exec: ls, node: n1, after: ^late}\n"), "no program of this name");
  check_error(real("- {exec: ls, node: n1, name: server}\n- {exec: ls, node: n1, after: ^sever}\n"),
              "; did you mean 'server'?");
  BOOST_TEST(good(real("- {exec: ls, nodes: 2}\n")).programs[0].nodes == 2u);
  BOOST_TEST(scenario.programs[0].nodes == 0u);
  check_error(real("- {exec: ls, nodes: ^3}\n"), "from 1 to 2");
  check_error(real("- {exec: ls, nodes: ^0}\n"), "from 1 to 2");
  check_error(real("- {exec: ls, nodes: 2, node: ^n1}\n"), "exclude each other");
  const auto expecting = [&](const std::string& item) {
    return real("- {name: p, exec: ls, node: n1}\nexpect:\n- " + item + "\n");
  };
  const Scenario judged = good(expecting("{program: p, output: '([0-9]+) MB', min: 3}"));
  BOOST_TEST(*judged.expectations[0].value.least == 3);
  BOOST_TEST(!judged.expectations[0].status.has_value());
  BOOST_TEST(*good(expecting("{program: p, status: 4}")).expectations[0].status == 4);
  check_error(expecting("^{program: p, min: 3}"), "write output: as well");
  check_error(expecting("{program: p, output: ^'[0-9]+ MB', min: 3}"), "into parentheses");
  check_error(real("- ^{verb: write, from: n1, to: n2, size: 1, count: 1}\n"), "with clock: real");
}

BOOST_AUTO_TEST_CASE(expectations_are_read_with_their_bounds) {
  const Scenario scenario =
      good(with("expect:\n"
                "- data-intact\n"
                "- {completions: w, is: 10, until: 1ms}\n"
                "- {completions: all, status: retry_exceeded, max: 0}\n"
                "- {throughput: w, min: 1Gbps}\n"
                "- {latency: w, percentile: 99.9, max: 20us}\n"
                "- {counter: tx_retransmitted_packets, of: [n1, n3], min: 1, max: 5}\n"
                "- {qp-state: w, state: error, side: target}\n"
                "- {silence: n1->s1, from: 1ms}\n"
                "- {finished: w, within: 3ms}\n"
                "- {checker: all, max: 2}\n"
                "- {survivors: w, is: 1}\n"));
  BOOST_REQUIRE_EQUAL(scenario.expectations.size(), 11u);
  BOOST_TEST(scenario.expectations[1].value.contains(10));
  BOOST_TEST(!scenario.expectations[1].value.contains(9));
  BOOST_TEST(*scenario.expectations[1].time_ns.most == 1e6);
  BOOST_TEST(*scenario.expectations[2].status == 12);
  BOOST_TEST(scenario.expectations[2].workload == "");
  BOOST_TEST(*scenario.expectations[3].value.least == 1e9);
  BOOST_TEST(scenario.expectations[4].percentile == 99.9);
  BOOST_TEST((scenario.expectations[5].hosts == std::vector<std::uint32_t>{0, 2}));
  BOOST_TEST(scenario.expectations[6].qp_state == 6);
  BOOST_TEST(scenario.expectations[6].target_side);
  BOOST_REQUIRE_EQUAL(scenario.expectations[7].links.size(), 1u);
  BOOST_TEST((scenario.expectations[7].links[0].way != Way::both));
  BOOST_TEST(scenario.expectations[9].checker == "");
  BOOST_TEST(*scenario.expectations[8].time_ns.most == 3e6);
  BOOST_TEST(!scenario.expectations[8].time_ns.least.has_value());
  BOOST_TEST(scenario.expectations[5].text == "counter tx_retransmitted_packets, min 1, max 5");

  BOOST_TEST(scenario.expectations[9].checker == "");
  check_error(with("expect: [{checker: ^go-back-m, is: 0}]\n"), "did you mean go-back-n?");
  check_error(with("expect: [^{completion: w, is: 4}]\n"), "; did you mean 'completions'?");
  check_error(with("expect: [^{qp_state: w, state: rts}]\n"), "; did you mean 'qp-state'?");
  check_error(with("expect: [^data-intakt]\n"), "use one of data-intact, finished");
  check_error(with("expect: [{completions: ^v, is: 1}]\n"), "there is no workload of this name");
  for (const char* row :
       {"survivors: ^all, min: 1", "throughput: ^all, min: 1Gbps", "latency: ^all, mean: yes, max: 1ms",
        "slowdown: ^all, mean: yes, max: 2", "qp-state: ^all, state: rts"})
    check_error(with("expect: [{" + std::string(row) + "}]\n"), "name one workload");
  check_error(with("expect: [^{completions: w}]\n"), "say how many");
  check_error(with("expect: [{completions: w, is: 1, min: ^2}]\n"), "exclude each other");
  check_error(with("expect: [{completions: w, min: 3, max: ^2}]\n"), "it is below min");
  check_error(with("expect: [{completions: w, is: 1, status: ^bad}]\n"), "use one of success");
  check_error(with("expect: [{counter: ^tx_packetz, min: 1}]\n"), "did you mean tx_packets?");
  check_error(with("expect: [{checker: ^msm, is: 0}]\n"), "there is no such checker, did you mean msn?");
  check_error(with("expect: [{checker: ^x, is: 0}]\n"), "verbena check --list names them");
  check_error(with("expect: [{silence: all, from: 2ms, until: ^1ms}]\n"), "it is below from");
  check_error(with("expect: [{latency: w, percentile: ^101, max: 1us}]\n"), "from 0 to 100");
}

BOOST_AUTO_TEST_CASE(the_sockets_of_programs_are_cut_or_not_or_fail_after_a_time) {
  const auto real = [](const std::string& line) {
    return line + "clock: real\ntopology: {shape: star, hosts: 2}\nworkloads: [{name: one, node: n1, exec: ls}]\n";
  };
  BOOST_TEST(good(real("")).cuts_sockets);
  BOOST_TEST(good(real("sockets: cut\n")).cuts_sockets);
  BOOST_TEST(!good(real("sockets: uncut\n")).cuts_sockets);
  const Scenario timed = good(real("sockets: 1.5s\n"));
  BOOST_TEST((timed.cuts_sockets && timed.socket_timeout == milliseconds(1500)));
  BOOST_TEST(good(real("")).socket_timeout.ns == 0);
  check_error(real("sockets: ^maybe\n"), "use cut, uncut or a time such as 30s");
  check_error(real("sockets: ^0s\n"), "use cut, uncut or a time such as 30s");
  check_error(with("sockets: ^cut\n"), "only with clock: real");
}

BOOST_AUTO_TEST_CASE(tabs_and_zero_octets_are_named_as_what_they_are) {
  check_error("name: t\ntopology:\n^\tshape: star\nworkloads: []\n", "indented with blanks, not tabs");
  check_error("^\tname: t\n", "indented with blanks, not tabs");
  check_error(with("faults:\n  -^\tlink-down: n1\n"), "indented with blanks, not tabs");
  const Scenario fine = good(with("faults: [{link-down:\tn1}]\t# a tab elsewhere is no harm\n"));
  BOOST_TEST(fine.faults.size() == 1u);
  // Another mistake in a file with tabs where they may be is told as itself.
  check_error(with("faults:\t[{link-down: n1}\n^"), "is not YAML: end of");
  std::string zero = with("seed: ^_\n");
  zero[zero.find('_')] = '\0';
  check_error(zero, "an octet that is zero");
}

BOOST_AUTO_TEST_CASE(a_key_of_another_shape_is_answered_with_the_shapes_own) {
  const auto wrong = [](const std::string& topology, std::string_view words) {
    check_error("topology: " + topology + "\nworkloads: []\n", words);
  };
  wrong("{shape: fat-tree, hosts: ^16}", "k: 4 for 16 hosts");
  wrong("{shape: leaf-spine, hosts: ^16}", "hosts-per-leaf: 4 for 8 hosts");
  wrong("{shape: ring, k: ^4}", "it takes hosts");
}

BOOST_AUTO_TEST_CASE(capture_limits_are_the_clocks_own_unless_written) {
  BOOST_TEST(!good(with("")).capture.snap_bytes.has_value());
  const Scenario limited = good(with("capture: {snap: 256, limit: 64MiB}\n"));
  BOOST_TEST(*limited.capture.snap_bytes == 256u);
  BOOST_TEST(*limited.capture.octets_max == 64u << 20);
  BOOST_TEST(*good(with("capture: {snap: 0}\n")).capture.snap_bytes == 0u);
  check_error(with("capture: {snap: ^64}\n"), "the headers have up to 128 octets");
  check_error(with("capture: {limit: ^1KiB}\n"), "write a size from 4096");
}

BOOST_AUTO_TEST_CASE(sizes_come_from_points_of_a_distribution) {
  const auto workload = [](const std::string& size) {
    return good("topology: {shape: star, hosts: 2}\nworkloads: [{verb: send, from: n1, to: n2, count: 1, size: {cdf: " +
                size + "}}]\n")
        .workloads.at(0);
  };
  const auto sizes = workload("[[1KB, 10%], [2KB, 0.6], [2KB, 80%], [1MB, 100%]]").sizes;
  BOOST_REQUIRE_EQUAL(sizes.size(), 4u);
  BOOST_TEST((sizes[0].least == 1000 && sizes[0].most == 1000 && sizes[0].weight == 100'000'000));
  BOOST_TEST((sizes[1].least == 1001 && sizes[1].most == 2000 && sizes[1].weight == 500'000'000));
  BOOST_TEST((sizes[2].least == 2000 && sizes[2].most == 2000 && sizes[2].weight == 200'000'000));
  BOOST_TEST((sizes[3].least == 2001 && sizes[3].most == 1'000'000 && sizes[3].weight == 200'000'000));
  const auto from_zero = workload("[[1KB, 0%], [2KB, 100%]]").sizes;
  BOOST_REQUIRE_EQUAL(from_zero.size(), 1u);
  BOOST_TEST((from_zero[0].least == 1001 && from_zero[0].most == 2000));
}

BOOST_AUTO_TEST_CASE(flows_samples_and_names_are_read) {
  const Scenario scenario = good(
      "sample: 10us\ntopology: {shape: star, hosts: 3}\n"
      "workloads: [{name: w, verb: write, pattern: all-to-all, load: 70%, qp-reuse: no, size: 1KB, count: 9}]\n"
      "expect:\n"
      "  - {slowdown: w, mean: yes, max: 2.5, name: slow}\n"
      "  - {queue: s1->n1, percentile: 99, from: 1ms, max: 1MiB}\n"
      "  - {latency: w, mean: yes, max: 1ms}\n");
  BOOST_TEST(scenario.sample.ns == 10'000);
  BOOST_TEST(scenario.workloads[0].load_ppb == 700'000'000u);
  BOOST_TEST(!scenario.workloads[0].reuses_qps);
  BOOST_TEST(scenario.workloads[0].queue_depth == 1u);
  BOOST_TEST(scenario.expectations[0].name == "slow");
  BOOST_TEST(scenario.expectations[0].is_mean);
  BOOST_TEST(scenario.expectations[0].value.most.value_or(0) == 2.5);
  BOOST_TEST(scenario.expectations[0].text == "slowdown w, mean yes, max 2.5");
  BOOST_TEST(scenario.expectations[1].percentile == 99);
  BOOST_TEST(scenario.expectations[1].links.size() == 1u);
  BOOST_TEST(scenario.expectations[2].is_mean);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_flows_samples_and_names_is_said) {
  const auto workload = [](const std::string& keys) {
    check_error("topology: {shape: star, hosts: 2}\nworkloads:\n  - {from: n1, to: n2, count: 1, " + keys + "}\n", "");
  };
  workload("verb: read, size: 1KB, load: ^50%");
  workload("verb: write, transport: uc, size: 1KB, load: ^50%");
  workload("verb: write, size: 1KB, load: ^0");
  workload("verb: write, size: 1KB, load: ^150%");
  workload("verb: write, size: 1KB, rate: 5, load: ^50%");
  workload("verb: write, size: 1KB, qp-reuse: ^no");
  workload("verb: write, size: 1KB, load: 50%, qp-reuse: no, depth: ^4");
  workload("verb: write, size: {cdf: [[2KB, 10%], [^1KB, 100%]]}");
  workload("verb: write, size: {cdf: [[1KB, 20%], [2KB, ^10%], [3KB, 100%]]}");
  workload("verb: write, size: {cdf: ^[[1KB, 20%], [2KB, 90%]]}");
  workload("verb: write, size: {cdf: [^5]}");
  workload("verb: write, size: {cdf: [[5, 100%]], from: ^5}");
  check_error("sample: ^1ns\n" + with(""), "before the timeout");
  check_error("sample: ^0ns\n" + with(""), "before the timeout");
  check_error(with("expect: [{queue: ^s1, max: 1}]\n"), "sample:");
  check_error("sample: 1ms\n" + with("expect: [^{queue: s1}]\n"), "say how much");
  check_error(with("expect: [{pauses: ^s1, max: 1}]\n"), "qos:");
  check_error(
      "topology: {shape: star, hosts: 2, qos: {lossless: 3}}\n"
      "workloads: [{from: n1, to: n2, verb: write, size: 1, count: 1}]\nexpect: [^{pauses: s1}]\n",
      "how many");
  const std::string real =
      "clock: real\ntopology: {shape: star, hosts: 2}\nworkloads: [{name: one, node: n1, exec: ls}]\n";
  check_error("sample: ^999us\n" + real, "1ms at the least");
  BOOST_TEST(good("sample: 1ms\n" + real).sample.ns == 1'000'000);
  check_error(with("expect: [{rtt: ^n1, max: 1ms}]\n"), "timely and swift");
  check_error(with("expect: [{slowdown: ^w, max: 1}]\n"), "load:");
  check_error(with("expect: [{latency: w, size-from: 2KB, size-until: ^1KB, max: 1ms}]\n"), "below");
  check_error(with("expect: [{latency: w, percentile: 5, mean: ^yes, max: 1ms}]\n"), "");
  check_error(with("expect: [{latency: w, max: 1ms, name: a}, {throughput: w, min: 1Mbps, name: ^a}]\n"), "name");
}

BOOST_AUTO_TEST_CASE(names_and_complaints_are_shown_without_control_characters) {
  const auto read = good(
      "name: \"x\\e[2J\"\ntopology: {shape: star, hosts: 2}\n"
      "workloads: [{name: \"w\\n held\", verb: write, from: n1, to: n2, size: 64, count: 3}]\n"
      "expect: [{throughput: \"w\\n held\", min: 1Mbps, name: \"\\u202e\"}]\n");
  BOOST_TEST(read.name == "x\\x1b[2J");
  BOOST_TEST(read.workloads.at(0).name == "w\\x0a held");
  BOOST_TEST(read.expectations.at(0).text.find("throughput w\\x0a held") == 0u);
  BOOST_TEST(read.expectations.at(0).name == "\\xe2\\x80\\xae");
  check_error(with("expect: [{throughput: ^\"\\e[31m\", min: 1Mbps}]\n"), "\\x1b[31m");
}
