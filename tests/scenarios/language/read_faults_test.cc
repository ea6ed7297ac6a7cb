// Faults in a scenario: on which links and when, Lumina's events, and what happens to links, switches and nodes.
#include <boost/test/unit_test.hpp>

#include "emulator/fabric/element_rows.h"
#include "emulator/fabric/fault_plan.h"
#include "scenarios/language/read_scenario.h"
#include "tests/scenarios/language/reading.h"
#include "tests/support/frames.h"

using namespace verbena;
using namespace verbena::scenarios;
using test::check_error;
using test::good;
using test::in_braces;
using test::with;

namespace {

using Change = fabric::ElementChange::Kind;
using Node = fabric::NodeChange::Kind;
using Software = fabric::SoftwareFault::Kind;

const fabric::PacketRule& packet_fault(const Scenario& scenario, std::size_t index = 0) {
  return std::get<fabric::PacketRule>(scenario.faults.at(index).what);
}
const fabric::ElementChange& element(const Scenario& scenario, std::size_t index = 0) {
  return std::get<fabric::ElementChange>(scenario.faults.at(index).what);
}
const fabric::SoftwareFault& software(const Scenario& scenario) {
  return std::get<fabric::SoftwareFault>(scenario.faults.at(0).what);
}

/// "n1->s1 n2->s1 s1->n3", sorted.
std::string directions(const Scenario& scenario, const std::vector<fabric::LinkId>& links) {
  std::vector<std::string> names;
  for (const fabric::LinkId& link : links) {
    const fabric::Cable& cable = scenario.topology.cables.at(link.cable);
    const std::string& a = scenario.topology.vertices[cable.a].name;
    const std::string& b = scenario.topology.vertices[cable.b].name;
    names.push_back(link.backward ? b + "->" + a : a + "->" + b);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

std::string on(const std::string& names, const std::string& fault = "drop 1%") {
  const Scenario scenario = good(with("faults: [{packet: " + fault + ", on: " + names + "}]\n"));
  return directions(scenario, packet_fault(scenario).links);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_packet_fault_is_on_the_links_that_it_names) {
  const std::string all = "n1->s1 n2->s1 n3->s1 s1->n1 s1->n2 s1->n3";
  const Scenario plain = good(with("faults: [drop 0.1%]\n"));
  BOOST_TEST(directions(plain, packet_fault(plain).links) == all);
  BOOST_TEST(packet_fault(plain).rule.probability_ppb == 1'000'000u);
  BOOST_TEST(on("all") == all);
  BOOST_TEST(on("hosts") == all);
  BOOST_TEST(on("hosts", "drop 1% dir=tx") == "n1->s1 n2->s1 n3->s1");
  BOOST_TEST(on("n1") == "n1->s1");
  BOOST_TEST(on("n1", "drop 1% dir=rx") == "s1->n1");
  BOOST_TEST(on("n1", "drop 1% dir=both") == "n1->s1 s1->n1");
  BOOST_TEST(on("s1") == "s1->n1 s1->n2 s1->n3");
  BOOST_TEST(on("n2-s1") == "n2->s1 s1->n2");
  BOOST_TEST(on("s1-n2", "drop 1% dir=tx") == "s1->n2");
  BOOST_TEST(on("n2->s1") == "n2->s1");
  BOOST_TEST(on("[n1, s1->n1, n3-s1]") == "n1->s1 n3->s1 s1->n1 s1->n3");
  const auto wrong = [](const std::string& fault, std::string_view words) {
    check_error(with("faults:\n- " + in_braces(fault) + "\n"), words);
  };
  wrong("packet: drop 1%, on: ^n9", "there is no such node, switch or link");
  wrong("packet: drop 1%, on: ^n1-n2", "there is no such link");
  wrong("packet: drop 1% dir=rx, on: ^n1->s1", "leave dir= out");
  wrong("packet: drop 1% dir=rx, on: ^all", "dir= has no meaning here");
  wrong("packet: drop 1%, on: ^trunks", "no such links");
  wrong("packet: ^drop -1%", "'-1%' is not a probability");
  wrong("packet: ^dorp 1%", "unknown action 'dorp'");
  wrong("packet: drop 1%, link-down: n1", "a fault is one thing");
  wrong("pakcet: drop 1%", "a map with one of the keys packet");
}

BOOST_AUTO_TEST_CASE(a_fault_begins_and_ends_at_times_or_with_a_condition) {
  const Scenario scenario =
      good(with("faults:\n"
                "- {packet: drop 1%, from: 1ms, until: 3ms}\n"
                "- {packet: drop 1%, from: 1ms, for: 3ms}\n"
                "- {packet: drop 1%, when: {workload: w, completed: 5}, after: 2us, for: 1ms}\n"
                "- {packet: drop 1%, when: {link: s1-n1, carried: 100}}\n"
                "- {packet: drop psn=7, link: n1-s1}\n"
                "- {node-crash: n1, when: {fault: drop psn=7, hits: 2}}\n"));
  BOOST_TEST(scenario.faults[0].trigger.at.ns == 1'000'000);
  BOOST_TEST(scenario.faults[0].trigger.until->ns == 3'000'000);
  BOOST_TEST(scenario.faults[1].trigger.until->ns == 4'000'000);
  const Trigger& completed = scenario.faults[2].trigger;
  BOOST_REQUIRE(completed.condition.has_value());
  BOOST_TEST((completed.condition->kind == Trigger::Condition::Kind::completions));
  BOOST_TEST(completed.condition->subject == "w");
  BOOST_TEST(completed.condition->count == 5u);
  BOOST_TEST(completed.condition->after.ns == 2'000);
  BOOST_TEST(completed.lasting->ns == 1'000'000);
  BOOST_TEST(scenario.faults[3].trigger.condition->subject ==
             scenario.topology.cable_name(scenario.topology.vertices[0].name == "n1" ? 0 : 1));
  const Trigger::Condition& hit = *scenario.faults[5].trigger.condition;
  BOOST_TEST((hit.kind == Trigger::Condition::Kind::hits));
  BOOST_TEST(hit.fault == 4u);
  BOOST_TEST(hit.count == 2u);
  const auto wrong = [](const std::string& times, std::string_view words) {
    check_error(with("faults:\n- " + in_braces("packet: drop 1%, " + times) + "\n"), words);
  };
  wrong("from: 2ms, until: ^1ms", "would end before it begins");
  wrong("from: 1ms, until: ^1ms", "would end before it begins");
  wrong("until: 1ms, for: ^1ms", "exclude each other");
  wrong("from: ^60s", "timeout is over");
  wrong("after: ^1ms", "a time after a condition");
  wrong("from: 1ms, when: ^{workload: w, completed: 1}", "exclude each other");
  wrong("when: {workload: w, completed: 1}, until: ^1s", "use for:");
  wrong("when: {workload: ^x, completed: 1}", "there is no workload");
  wrong("when: ^{workload: w}", "'completed' is missing");
  wrong("when: {workload: w, completed: 1, carried: ^1}", "it belongs to link:");
  wrong("when: {link: n1-s1, carried: 1, hits: ^1}", "it belongs to fault:");
  wrong("when: {fault: ^drop 1%, hits: 1}", "no fault of packets or verbs above has this text");
  check_error(with("faults:\n- drop 1%\n- drop 1%\n- {node-crash: n1, when: {fault: ^drop 1%, hits: 1}}\n"),
              "two faults above have this text");
  wrong("when: {workload: w, link: ^n1-s1, completed: 1}", "exclude each other");
  wrong("from: ^-1ms", "write a time");
}

BOOST_AUTO_TEST_CASE(lumina_events_are_taken_as_they_are_written) {
  const Scenario scenario =
      good(with("faults:\n"
                "- data-pkt-events:\n"
                "    - qpn:  0   # as in Lumina's own example\n"
                "      psn:  4\n"
                "      type: ecn\n"
                "      iter: 1\n"
                "    - {qpn: 1, psn: all, type: drop, iter: 2, msg: 3-5, every: 2, count: 7}\n"
                "    - {qpn: 0-3, psn: 2-3, type: bit-error, opcode: read-response, dir: rx}\n"));
  BOOST_REQUIRE_EQUAL(scenario.faults.size(), 3u);
  BOOST_TEST(scenario.faults[0].text == "mark opcode=data qp=0 packet=4 round=1");
  BOOST_TEST(scenario.faults[1].text == "drop opcode=data qp=1 packet=all round=2 msg=3-5 every=2 count=7");
  BOOST_TEST(scenario.faults[2].text == "corrupt where=icrc opcode=read-response qp=0-3 packet=2-3 round=1 dir=rx");
  BOOST_TEST(directions(scenario, packet_fault(scenario, 0).links) == "n1->s1 n2->s1 n3->s1");
  BOOST_TEST(directions(scenario, packet_fault(scenario, 2).links) == "s1->n1 s1->n2 s1->n3");
  const auto wrong = [](const std::string& event, std::string_view words) {
    check_error(with("faults: [{data-pkt-events: [" + in_braces(event) + "]}]\n"), words);
  };
  wrong("qpn: 0, psn: 4, type: ^delay, iter: 1", "use one of drop, ecn, bit-error");
  wrong("qpn: 0, psn: 4, type: drop, iter: ^0", "a number from 1");
  wrong("qpn: 0, psn: ^-4, type: drop", "a number from 0");
  wrong("qpn: 0, psn: ^5-4, type: drop", "a range such as 4-7");
  wrong("qpn: 0, type: drop", "'psn' is missing");
  wrong("qpn: 0, psn: 1, type: drop, ^iteration: 1", "did you mean 'iter'?");
  wrong("qpn: 0, psn: 1, type: drop, opcode: rdma", "use one of any, write");
}

BOOST_AUTO_TEST_CASE(lumina_event_hits_its_packet_of_every_message_in_its_round) {
  const Scenario scenario = good(with("faults: [{data-pkt-events: {qpn: 0, psn: 1, type: drop, iter: 2}}]\n"));
  fabric::FaultPlan plan({packet_fault(scenario).rule}, 1, "a");
  // Two messages of two packets across the wrap of PSNs, each sent twice.
  const std::vector<std::uint32_t> psns{0xffffff, 0, 0xffffff, 0, 1, 2, 1, 2};
  std::vector<std::size_t> dropped;
  for (std::size_t i = 0; i < psns.size(); ++i) {
    const auto code = i % 2 == 0 ? wire::OperationCode::write_first : wire::OperationCode::write_last;
    const auto frame =
        test::make_frame(1, 2, {.opcode = test::rc(code), .psn = psns[i], .payload = std::vector<std::byte>(8)});
    if (plan.judge(*wire::parse_frame(frame)).drop) dropped.push_back(i);
  }
  BOOST_TEST((dropped == std::vector<std::size_t>{3, 7}));
}

BOOST_AUTO_TEST_CASE(every_fault_of_links_switches_nodes_and_verbs_is_understood) {
  const auto one = [](const std::string& fault) { return good(with("faults: [{" + fault + "}]\n")); };
  const std::vector<std::pair<std::string, fabric::FaultKind>> plain{
      {"link-down: n1-s1, at: 1ms", Change::link_down},
      {"link-up: all", Change::link_up},
      {"link-flap: n1, down: 1ms, up: 2ms, times: 3", Change::link_down},
      {"link-rate: n1-s1, rate: 1Gbps", Change::link_rate},
      {"link-delay: n1-s1, delay: 10us, jitter: 5us", Change::link_delay},
      {"heal: all", Change::heal},
      {"switch-crash: s1", Change::switch_crash},
      {"switch-restart: s1", Change::switch_restart},
      {"node-crash: n2", Node::crash},
      {"node-freeze: [n1, n2]", Node::freeze},
      {"node-thaw: all", Node::thaw},
      {"node-restart: n2", Node::restart},
      {"device-removal: [n1, n2]", Software::device_removal},
      {"port-error: n1", Change::port_error},
      {"port-active: n1", Change::port_active},
      {"rnr-storm: n2, for: 3ms", Software::rnr_storm},
      {"completion-status: w, status: remote_access_error, times: 2", Software::completion_status},
      {"registration-failure: n1, times: 2", Software::registration_failure},
      {"post-failure: n1", Software::post_failure}};
  for (const auto& [text, kind] : plain) {
    const Scenario scenario = one(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_TEST(scenario.faults.size() == 1u);
      BOOST_TEST((fabric::row_of(scenario.faults[0].what)->kind == kind));
    }
  }
  BOOST_TEST(one("link-flap: n1, down: 1ms, up: 2ms, times: 3").faults[0].flap->times == 3u);
  BOOST_TEST(software(one("rnr-storm: n2, at: 1ms, until: 4ms")).lasts.ns == 3'000'000);
  BOOST_TEST(software(one("completion-status: w, status: remote_access_error")).status == 10);
  BOOST_TEST(element(one("link-rate: n1-s1, rate: 1Gbps")).rate_bits_per_second == 1'000'000'000u);
}

BOOST_AUTO_TEST_CASE(fault_with_an_end_is_two_and_a_partition_two_directions) {
  const Scenario crash = good(with("faults: [{node-crash: n2, at: 1ms, for: 2ms}]\n"));
  BOOST_REQUIRE_EQUAL(crash.faults.size(), 2u);
  BOOST_TEST((std::get<fabric::NodeChange>(crash.faults[1].what).kind == Node::restart));
  BOOST_TEST(crash.faults[1].trigger.at.ns == 3'000'000);
  BOOST_TEST(!crash.faults[0].trigger.until.has_value());
  const Scenario when =
      good(with("faults: [{link-down: n2, when: {workload: w, completed: 3}, after: 1us, for: 2us}]\n"));
  BOOST_TEST(when.faults.at(1).trigger.condition->after.ns == 3'000);
  const Scenario partition = good(with("faults: [{partition: n1, until: 2ms}]\n"));
  BOOST_REQUIRE_EQUAL(partition.faults.size(), 4u);
  BOOST_TEST((element(partition, 0).peers == std::vector<std::uint32_t>{1, 2}));
  BOOST_TEST((element(partition, 2).hosts == std::vector<std::uint32_t>{1, 2}));
  BOOST_TEST((element(partition, 3).kind == Change::heal));
  const Scenario one_way = good(with("faults: [{partition: n1, peers: n2, one-way: true}]\n"));
  BOOST_TEST(one_way.faults.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_wrong_fault_of_an_element_is_refused) {
  const auto wrong = [](const std::string& fault, std::string_view words) {
    check_error(with("faults:\n- " + in_braces(fault) + "\n"), words);
  };
  wrong("link-down: ^n1->s1", "a whole link is wanted");
  wrong("switch-crash: ^n1", "there is no such switch");
  wrong("node-crash: ^s1", "it is a switch");
  wrong("partition: ^all", "nobody is left");
  wrong("partition: ^n1, peers: n1", "on both sides");
  wrong("link-rate: n1", "'rate' is missing");
  wrong("link-rate: n1, rate: ^-1Gbps", "write a rate above 0");
  wrong("link-flap: n1, down: ^0ms, up: 1ms", "more than nothing");
  wrong("link-flap: n1, down: 1s, up: 1s, times: 31", "take longer than the scenario's timeout");
  wrong("rnr-storm: n1", "say how long");
  wrong("completion-status: ^all, status: flushed", "name one workload");
  wrong("node-freeze: n1, at: 2ms, until: ^1ms", "would end before it begins");
  wrong("heal: ^n1", "no partition above is between these");
  wrong("heal: ^n7", "there is no such node");
  wrong("heal: all, peers: ^n1", "heal: all ends every partition");
  check_error(with("faults:\n- {partition: n1, peers: n2}\n- {heal: ^n1, peers: n3}\n"), "no partition above");
  check_error(with("faults:\n- {partition: n1, peers: n2, one-way: yes}\n- {heal: ^n2, peers: n1}\n"),
              "no partition above");
}

BOOST_AUTO_TEST_CASE(a_heal_names_the_partition_that_it_ends) {
  const Scenario both = good(with("faults: [{partition: n1, peers: n2}, {heal: n1, peers: n2, at: 1ms}]\n"));
  BOOST_REQUIRE_EQUAL(both.faults.size(), 4u);
  for (const std::size_t way : {0u, 1u}) {
    BOOST_TEST((element(both, 2 + way).kind == Change::heal));
    BOOST_TEST((element(both, 2 + way).hosts == element(both, way).hosts));
    BOOST_TEST((element(both, 2 + way).peers == element(both, way).peers));
  }
  const Scenario one_way = good(
      with("faults: [{partition: n1, one-way: true}, {heal: n1, one-way: true, at: 1ms}, {heal: all, at: 2ms}]\n"));
  BOOST_REQUIRE_EQUAL(one_way.faults.size(), 3u);
  BOOST_TEST(element(one_way, 1).peers.size() == 2u);
  BOOST_TEST(element(one_way, 2).hosts.empty());
}

BOOST_AUTO_TEST_CASE(on_means_link_and_neither_is_read_as_a_yaml_boolean) {
  const auto links = [](const std::string& key) {
    const Scenario scenario = good(with("faults: [{packet: drop 1%, " + key + ": n1->s1}]\n"));
    return directions(scenario, packet_fault(scenario).links);
  };
  BOOST_TEST(links("link") == "n1->s1");
  BOOST_TEST(links("on") == "n1->s1");
  const Scenario lumina = good(with("faults: [{data-pkt-events: {qpn: 0, psn: 1, type: drop}, link: n1->s1}]\n"));
  BOOST_TEST(directions(lumina, packet_fault(lumina).links) == "n1->s1");
  check_error(with("faults: [{packet: drop 1%, link: n1, on: ^n1}]\n"), "'link' and 'on' exclude each other");
  // What PyYAML makes of `on`.
  check_error(with("faults: [{packet: drop 1%, ^true: n1}]\n"), "write link");
  check_error(with("faults: [{link-down: n1, ^true: n1}]\n"), "unknown key 'true' in faults");
}

BOOST_AUTO_TEST_CASE(other_ways_to_write_nodes_are_answered_with_the_right_one) {
  const auto wrong = [](const std::string& fault, std::string_view words) {
    check_error(with("faults:\n- " + in_braces(fault) + "\n"), words);
  };
  wrong("partition: ^[[n1], [n2, n3]]", "{partition: [n1, n2], peers: [n3, n4]}");
  wrong("partition: ^{a: n1, b: n2}", "{partition: [n1, n2], peers: [n3, n4]}");
  wrong("partition: n1, peers: ^[[n2], n3]", "{partition: [n1, n2], peers: [n3, n4]}");
  wrong("partition: ^all", "peers");
  wrong("partition: ^n1 n2", "several names are a list: [n1, n2]");
  wrong("partition: ^'n1,n2'", "several names are a list: [n1, n2]");
  wrong("partition: ^n1-s1", "it is a link, and a node is wanted");
  wrong("switch-crash: ^s1 s2", "several names are a list");
  wrong("link-down: ^n1-s1 n2-s1", "several names are a list");
}

BOOST_AUTO_TEST_CASE(a_rule_for_verbs_is_of_nodes) {
  const auto read = [](const std::string& fault) { return good(with("faults: [{" + fault + "}]\n")); };
  const auto wrong = [](const std::string& fault, std::string_view words) {
    check_error(with("faults:\n- " + in_braces(fault) + "\n"), words);
  };
  const Scenario scenario = read("verbs: fail verb=reg_mr nth=2, node: n2, at: 1ms, for: 2ms");
  const auto& rule = std::get<fabric::HostVerbRule>(scenario.faults.at(0).what);
  BOOST_TEST(rule.rule.text == "fail verb=reg_mr nth=2");
  BOOST_TEST((rule.hosts == std::vector<std::uint32_t>{1}));
  BOOST_TEST(scenario.faults[0].trigger.at.ns == 1'000'000);
  BOOST_TEST(scenario.faults[0].trigger.until->ns == 3'000'000);
  const Scenario everywhere = read("verbs: completion nth=3 lost=yes");
  BOOST_TEST(std::get<fabric::HostVerbRule>(everywhere.faults.at(0).what).hosts.size() == everywhere.topology.hosts);
  wrong("verbs: ^fail verb=reg_mx", "column 6: 'verb=reg_mx' is not understood");
  wrong("verbs: ^fail verb=open_device", "workloads do not call open_device: they call alloc_pd, create_cq, ");
  wrong("verbs: ^reject", "workloads are no processes and have no connection manager");
  wrong("verbs: ^kill verb=post_send", "workloads are no processes");
  wrong("verbs: ^drop 1%", "unknown action 'drop'");
  wrong("verbs: fail verb=reg_mr, node: ^s1", "it is a switch");
}
