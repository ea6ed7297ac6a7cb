// Scenarios under the real clock: programs on nodes, faults in their time, and nothing left whatever happens.
#include "scenarios/real/run_real.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "emulator/fabric/fault_plan.h"
#include "emulator/host/os/clock.h"
#include "scenarios/language/read_scenario.h"
#include "scenarios/outcome/report.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

/// Processes whose command line has this text.
int processes_with(const std::string& text) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (line.find(text) != line.npos) ++found;
  }
  return found;
}

Scenario scenario_of(std::uint32_t hosts) {
  Scenario scenario;
  scenario.name = "test";
  scenario.clock = Clock::real_time;
  scenario.topology = fabric::star(hosts, {});
  scenario.timeout = seconds(60);
  return scenario;
}

Program program_of(const std::string& name, std::uint32_t host, const std::string& shell_line) {
  Program program;
  program.name = name;
  program.node = host;
  program.arguments = {"sh", "-c", shell_line};
  return program;
}

Program pingpong(const std::string& name, std::uint32_t host, const std::string& port, const std::string& more) {
  return program_of(name, host, "exec ibv_rc_pingpong -g 0 -c -n 300 -p " + port + " " + more);
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/verbena-run-real-XXXXXX";
    BOOST_REQUIRE(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Expectation program_expectation(const std::string& name, const std::string& output) {
  Expectation expectation;
  expectation.kind = Expectation::Kind::program;
  expectation.workload = name;
  expectation.output = output;
  return expectation;
}

}  // namespace

BOOST_AUTO_TEST_CASE(programs_run_in_their_order_and_their_output_is_judged) {
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(program_of("server", 0, "echo ready; sleep 60"));
  scenario.programs.back().background = true;
  scenario.programs.push_back(program_of("client", 1, "echo $VERBENA_NODE on $VERBENA_LINK; exit 3"));
  scenario.programs.back().after = {"server"};
  scenario.programs.back().expected_status = 3;
  scenario.expectations.push_back(program_expectation("client", "^2 on fabric"));
  scenario.expectations.push_back(program_expectation("client", "never said"));
  const Folder folder;
  RunOptions options;
  options.out_directory = folder.path();
  const Outcome outcome = run_real(scenario, options);
  BOOST_TEST(outcome.error == "");
  BOOST_TEST((outcome.end == Outcome::End::finished));
  BOOST_TEST(outcome.programs.at(0).text == "ended with the others");
  BOOST_TEST(outcome.programs.at(1).text == "exit status 3");
  BOOST_TEST(outcome.expectations.at(0).held);
  BOOST_TEST(!outcome.expectations.at(1).held);
  BOOST_TEST(outcome.expectations.at(2).held);  // the server's end
  std::ifstream said(folder.path() + "/client.out");
  std::string line;
  BOOST_TEST((std::getline(said, line) && line == "2 on fabric"));
  BOOST_TEST(std::filesystem::exists(folder.path() + "/n1-s1.pcapng"));
}

BOOST_AUTO_TEST_CASE(launcher_ranks_have_nodes_and_a_nodes_crash_ends_its_rank) {
  Scenario scenario = scenario_of(2);
  // Ranks as an mpirun makes them: the launcher waits and tells how each has ended.
  const std::string rank = "'echo $0 on $(cut -c16- /sys/class/infiniband/verbena0/node_guid); exec sleep 20'";
  scenario.programs.push_back(program_of("ranks", 0,
                                         "PMI_RANK=0 sh -c " + rank + " first & one=$!; PMI_RANK=1 sh -c " + rank +
                                             " second & two=$!; wait $two; echo second $?; kill $one; wait $one; "
                                             "echo first $?; ls /sys/class/infiniband; exit 5"));
  scenario.programs.back().nodes = 2;
  scenario.programs.back().expected_status = 5;
  Fault crash;
  crash.text = "node-crash n2";
  crash.what = fabric::NodeChange{fabric::NodeChange::Kind::crash, {1}};
  crash.trigger.at = milliseconds(1500);
  scenario.faults.push_back(crash);
  for (const char* output : {"first on 5b01", "second on 5b02", "second 137", "first 143"})
    scenario.expectations.push_back(program_expectation("ranks", output));
  scenario.expectations.push_back(program_expectation("ranks", "verbena0"));  // what a launcher has not
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST(outcome.error == "");
  BOOST_TEST(outcome.programs.at(0).text == "exit status 5");
  for (std::size_t i = 0; i < 4; ++i)
    BOOST_TEST(outcome.expectations.at(i).held, outcome.expectations[i].text + ": " + outcome.expectations[i].observed);
  BOOST_TEST(!outcome.expectations.at(4).held);
}

BOOST_AUTO_TEST_CASE(programs_on_several_nodes_need_nics_of_one_kind) {
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(program_of("ranks", 0, "true"));
  scenario.programs.back().nodes = 2;
  BOOST_TEST(run_real(scenario, {}).error == "");
  scenario.nics.resize(2);
  scenario.nics[1].mtu_bytes = 1024;
  BOOST_TEST((run_real(scenario, {}).error.find("give n1 and n2 the same nic:") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(rails_of_a_node_may_differ_in_speed_and_numa_node_alone) {
  Scenario scenario = *read_scenario(
      "clock: real\ntopology: {shape: star, hosts: 2, rails: 2}\nnic: {speed: [100Gbps, 25Gbps], numa: [0, 1]}\n"
      "workloads: [{name: shows, node: n1, exec: cat /sys/class/net/verbena0/speed /sys/class/net/verbena1/speed "
      "/sys/class/infiniband/verbena0/device/numa_node /sys/class/infiniband/verbena1/device/numa_node}]\n",
      "rails.yaml");
  scenario.expectations.push_back(program_expectation("shows", "100000\n25000\n0\n1\n"));
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST(outcome.error == "");
  BOOST_TEST(outcome.expectations.at(0).held, outcome.expectations[0].observed);
  scenario.nics[1].numa_node.reset();
  BOOST_TEST(run_real(scenario, {})
                 .error.ends_with("give n1.1 and n1.2 the same nic:, but for their speed and, if both have one, numa"));
  scenario.nics[1].numa_node = 1;
  scenario.nics[1].mtu_bytes = 1024;
  BOOST_TEST(run_real(scenario, {}).error.find("give n1.1 and n1.2 the same nic:") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_starts_when_its_server_listens_by_rdma_cm) {
  // rping's server says nothing and opens no TCP port.
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(program_of("server", 0, "exec rping -s -a 127.47.91.1 -C 10"));
  scenario.programs.push_back(program_of("client", 1, "exec rping -c -a 127.47.91.1 -C 10 -v"));
  scenario.programs.back().after = {"server"};
  scenario.expectations.push_back(program_expectation("client", "rdma-ping-9"));
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST((outcome.end == Outcome::End::finished));
  for (const ExpectationOutcome& expectation : outcome.expectations)
    BOOST_TEST(expectation.held, expectation.text + ": " + expectation.observed);
}

BOOST_AUTO_TEST_CASE(captures_of_programs_are_cut_and_end_and_the_report_says_so) {
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(program_of("server", 0, "exec rping -s -a 127.47.91.1 -C 20 -S 4000"));
  scenario.programs.push_back(program_of("client", 1, "exec rping -c -a 127.47.91.1 -C 20 -S 4000"));
  scenario.programs.back().after = {"server"};
  scenario.capture.octets_max = 16'384;
  const Folder folder;
  RunOptions options;
  options.out_directory = folder.path();
  const Outcome outcome = run_real(scenario, options);
  BOOST_TEST((outcome.end == Outcome::End::finished));
  std::string notes;
  for (const std::string& note : outcome.notes) notes += note + "\n";
  BOOST_TEST(notes.find("of them are cut (capture: snap: 0 keeps all)") != std::string::npos, notes);
  BOOST_TEST(notes.find("missing (capture: limit: has more)") != std::string::npos, notes);
  BOOST_TEST(std::filesystem::file_size(folder.path() + "/n1-s1.pcapng") < 16'384u + 1024u);
}

BOOST_AUTO_TEST_CASE(hanging_program_is_ended_at_the_timeout_with_its_children) {
  Scenario scenario = scenario_of(1);
  scenario.timeout = milliseconds(300);
  scenario.programs.push_back(program_of("hung", 0, "trap '' TERM; sleep 4711.25 & sleep 4711.25"));
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST((outcome.end == Outcome::End::timed_out));
  BOOST_TEST(!outcome.held());
  BOOST_TEST(outcome.programs.at(0).text == "it hung and was ended");
  BOOST_TEST(processes_with("4711.25") == 0);
}

BOOST_AUTO_TEST_CASE(programs_processes_in_own_sessions_end_with_it) {
  Scenario scenario = scenario_of(1);
  scenario.programs.push_back(
      program_of("parent", 0, "setsid -f sleep 4713.25; setsid sh -c 'sleep 4713.25 & sleep 4713.25' & sleep 0.2"));
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST(outcome.held());
  BOOST_TEST(processes_with("4713.25") == 0);
}

BOOST_AUTO_TEST_CASE(frozen_node_stands_still_with_all_its_programs_processes) {
  const Folder folder;
  const std::string ticks = folder.path() + "/ticks";
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(
      program_of("parent", 0, "setsid sh -c 'while echo >> " + ticks + "; do sleep 0.01; done' & exec sleep 4714.25"));
  scenario.programs.back().background = true;
  // Frozen from 2 s on: what is counted later does not change. A busy machine needs a second for the first ticks.
  scenario.programs.push_back(program_of(
      "watcher", 1,
      "sleep 3; a=$(wc -l < " + ticks + "); sleep 0.5; test $a -gt 5 && test $a = $(wc -l < " + ticks + ")"));
  Fault freeze;
  freeze.text = "n1 freezes";
  freeze.trigger.at = milliseconds(2000);
  freeze.what = fabric::NodeChange{fabric::NodeChange::Kind::freeze, {0}};
  scenario.faults.push_back(freeze);
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST(outcome.held());
  BOOST_TEST(outcome.programs.at(1).text == "exit status 0");
  BOOST_TEST(processes_with(ticks) == 0);
  BOOST_TEST(processes_with("4714.25") == 0);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_leaves_nothing) {
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(program_of("one", 0, "exec sleep 4712.25"));
  scenario.programs.push_back(program_of("two", 1, "exec sleep 4712.25"));
  StopSign stop;
  RunOptions options;
  options.stop = &stop;
  int steps = 0;
  options.progress = [&](const RunProgress&) {
    if (++steps == 2) stop.raise();
  };
  const Outcome outcome = run_real(scenario, options);
  BOOST_TEST((outcome.end == Outcome::End::interrupted));
  BOOST_TEST(outcome.programs.at(0).text == "ended by the interruption");
  BOOST_TEST(processes_with("4712.25") == 0);
  std::ifstream sockets("/proc/net/unix");
  const std::string all((std::istreambuf_iterator<char>(sockets)), std::istreambuf_iterator<char>());
  BOOST_TEST(all.find("/run-" + std::to_string(getpid()) + "/") == all.npos);
}

BOOST_AUTO_TEST_CASE(stubborn_programs_do_not_hold_up_an_interrupted_run) {
  Scenario scenario = scenario_of(2);
  for (const char* name : {"one", "two", "three"})
    scenario.programs.push_back(program_of(name, 0, "trap '' TERM; sleep 4715.25 & echo trapped; wait; wait; wait"));
  StopSign stop;
  RunOptions options;
  options.stop = &stop;
  Time asked{};
  int steps = 0;
  options.progress = [&](const RunProgress&) {
    if (++steps != 3) return;
    stop.raise();
    asked = host::clock_now();
  };
  const Outcome outcome = run_real(scenario, options);
  BOOST_TEST((outcome.end == Outcome::End::interrupted));
  BOOST_TEST((host::clock_now() - asked).ns <
             seconds(4).ns);  // three times the patience of a run that ends by itself is 6 s
  BOOST_TEST(processes_with("4715.25") == 0);
}

BOOST_AUTO_TEST_CASE(what_a_failed_program_said_last_is_told) {
  Scenario scenario = scenario_of(1);
  scenario.programs.push_back(program_of("loud", 0, "seq 1 100 >&2; printf '\\033[31mno device\\n' >&2; exit 1"));
  scenario.programs.push_back(program_of("plain", 0, "echo only this; exit 1"));
  scenario.programs.push_back(program_of("good", 0, "echo fine >&2"));
  const Folder folder;
  RunOptions options;
  options.out_directory = folder.path();
  const Outcome outcome = run_real(scenario, options);
  const std::vector<std::string>& lines = outcome.programs.at(0).last_lines;
  BOOST_TEST_REQUIRE(lines.size() == 8u);
  BOOST_TEST(lines.front() == "94");
  BOOST_TEST(lines.back() == "\033[31mno device");  // as it is
  BOOST_TEST(outcome.programs.at(0).lines_from == "standard error (" + folder.path() + "/loud.err)");
  BOOST_TEST(outcome.programs.at(1).last_lines.at(0) == "only this");
  BOOST_TEST(outcome.programs.at(2).last_lines.empty());
  BOOST_TEST(report_text(scenario, outcome).find("| 100\n          | \\x1b[31mno device\n") != std::string::npos);
  BOOST_TEST(report_text(scenario, outcome).find("--out DIR") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(failed_programs_output_is_followed_by_where_all_of_it_is) {
  Scenario scenario = scenario_of(1);
  scenario.programs.push_back(program_of("loud", 0, "echo no device >&2; exit 1"));
  const std::string report = report_text(scenario, run_real(scenario, {}));
  BOOST_TEST(report.find("| no device\n          with --out DIR: ") != std::string::npos, report);
  scenario.programs.back() = program_of("good", 0, "echo fine >&2");
  BOOST_TEST(report_text(scenario, run_real(scenario, {})).find("--out") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_that_does_not_exist_is_reported) {
  Scenario scenario = scenario_of(1);
  scenario.programs.push_back(program_of("absent", 0, ""));
  scenario.programs.back().arguments = {"/nowhere/at-all"};
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST(outcome.programs.at(0).text == "exit status 127 instead of 0");
  BOOST_TEST(!outcome.held());
}

BOOST_AUTO_TEST_CASE(what_only_virtual_time_has_is_refused_in_one_line) {
  Scenario empty = scenario_of(1);
  BOOST_TEST(run_real(empty, {}).error == "1:1: `clock: real` runs programs: there is no `exec:`");
  Scenario scenario = scenario_of(1);
  scenario.programs.push_back(program_of("one", 0, "true"));
  scenario.workloads.push_back({.name = "w", .place = {7, 3}});
  BOOST_TEST(run_real(scenario, {}).error ==
             "7:3: workload 'w' needs `clock: virtual`; under the real clock write `exec:`");
  BOOST_TEST(run_real(scenario, {}).is_users_error);
  scenario.workloads.clear();
  Fault storm;
  storm.text = "rnr storm";
  storm.place = {9, 1};
  storm.what = fabric::SoftwareFault{.kind = fabric::SoftwareFault::Kind::rnr_storm};
  scenario.faults.push_back(storm);
  BOOST_TEST(run_real(scenario, {}).error ==
             "9:1: fault 'rnr storm' needs `clock: virtual`: programs run on their own");
}

BOOST_AUTO_TEST_CASE(a_number_in_the_output_is_held_against_its_bounds) {
  Scenario scenario = scenario_of(1);
  scenario.programs.push_back(program_of("one", 0, "echo BW 12.5 MB/s; exit 4"));
  const auto expect = [&](const std::string& output, double least, double most, std::uint8_t status) {
    Expectation expectation = program_expectation("one", output);
    expectation.value = {least, most};
    expectation.status = status;
    scenario.expectations.push_back(expectation);
  };
  expect("BW ([0-9.]+)", 12, 13, 4);
  expect("BW ([0-9.]+)", 13, 14, 4);
  expect("BW ([0-9.]+)", 12, 13, 0);
  expect("(BW)", 12, 13, 4);
  const Outcome outcome = run_real(scenario, {});
  const std::vector<bool> held{true, false, false, false};
  for (std::size_t i = 0; i < held.size(); ++i)
    BOOST_TEST(outcome.expectations.at(i).held == held[i], i << ": " << outcome.expectations.at(i).observed);
  BOOST_TEST(outcome.expectations.at(0).observed == "exit status 4 instead of 0, 12.5");
}

BOOST_AUTO_TEST_CASE(programs_see_the_nic_that_the_scenario_describes) {
  Scenario scenario = scenario_of(2);
  scenario.nics.resize(2);
  scenario.nics[0].mtu_bytes = 1024;
  scenario.nics[0].read_depth = 8;
  scenario.nics[0].speed_bits_per_second = 25'000'000'000;
  scenario.nics[1].timeout = 9;
  scenario.nics[1].acknowledge_latency = microseconds(3);
  scenario.programs.push_back(program_of("one", 0, "exec ibv_devinfo -v"));
  scenario.programs.push_back(program_of("two", 1, "echo $VERBENA_NIC; cat /sys/class/infiniband/*/ports/1/rate"));
  for (const char* const output :
       {"max_qp_rd_atom:[^0-9]+8\n", "max_qp_init_rd_atom:[^0-9]+8\n", "active_mtu:[^0-9]+1024 ",
        "active_width:[^0-9]+1X", "active_speed:[^0-9]+25.0 Gbps"})
    scenario.expectations.push_back(program_expectation("one", output));
  for (const char* const output : {"timeout=9 acknowledge-latency=3000ns\n", "100 Gb/sec \\(4X EDR\\)"})
    scenario.expectations.push_back(program_expectation("two", output));
  const Outcome outcome = run_real(scenario, {});
  for (const ExpectationOutcome& expectation : outcome.expectations)
    BOOST_TEST(expectation.held, scenario.expectations[expectation.index].output + ": " + expectation.observed);
}

BOOST_AUTO_TEST_CASE(a_pingpong_survives_loss_and_the_hits_are_counted) {
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(pingpong("server", 0, "28811", ""));
  scenario.programs.push_back(pingpong("client", 1, "28811", "127.47.91.1"));
  scenario.programs.back().after = {"server"};
  Fault loss;
  loss.text = "2 % loss";
  const auto rule = fabric::parse_fault("drop 2% opcode=send");
  BOOST_REQUIRE(rule.ok());
  loss.what = fabric::PacketRule{*rule, {{0, false}, {0, true}}};
  scenario.faults.push_back(loss);
  scenario.expectations.push_back(program_expectation("client", "300 iters in"));
  Expectation retransmitted;
  retransmitted.kind = Expectation::Kind::counter;
  retransmitted.counter = "tx_retransmitted_packets";
  retransmitted.value.least = 1;
  scenario.expectations.push_back(retransmitted);
  Expectation silent;
  silent.kind = Expectation::Kind::checker;
  scenario.expectations.push_back(silent);
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST((outcome.end == Outcome::End::finished));
  for (const ExpectationOutcome& expectation : outcome.expectations)
    BOOST_TEST(expectation.held, expectation.text + ": " + expectation.observed);
  BOOST_TEST(outcome.faults.at(0).time.has_value());
  BOOST_TEST(outcome.faults.at(0).hits > 0);
  BOOST_TEST(outcome.packets_lost == outcome.faults.at(0).hits);
}

// The same words as under virtual time; the fabric process tells the programs of the node.
BOOST_AUTO_TEST_CASE(verbs_of_a_nodes_programs_fail_for_a_time) {
  Scenario scenario = scenario_of(2);
  for (const std::uint32_t host : {0u, 1u}) {
    scenario.programs.push_back(program_of("on" + std::to_string(host), host,
                                           "timeout 2 ibv_rc_pingpong -g 0 -p 28813; echo status $?; sleep 1; "
                                           "timeout 2 ibv_rc_pingpong -g 0 -p 28813; echo then $?"));
    scenario.programs.back().expected_status = 0;
  }
  Fault verbs;
  verbs.text = "fail verb=reg_mr";
  verbs.what = fabric::HostVerbRule{*fabric::parse_verb_rule(verbs.text), {0}};
  verbs.trigger.until = milliseconds(800);
  scenario.faults.push_back(verbs);
  Fault short_form;
  short_form.text = "post-failure n1";
  short_form.what = fabric::SoftwareFault{.kind = fabric::SoftwareFault::Kind::post_failure, .hosts = {0}};
  scenario.faults.push_back(short_form);
  scenario.expectations.push_back(program_expectation("on0", "status 1\n"));
  scenario.expectations.push_back(program_expectation("on0", "then 124"));  // a server waits
  scenario.expectations.push_back(program_expectation("on1", "status 124"));
  const Outcome outcome = run_real(scenario, {});
  BOOST_TEST(outcome.error == "");
  for (const ExpectationOutcome& expectation : outcome.expectations)
    BOOST_TEST(expectation.held, expectation.text + ": " + expectation.observed);
  BOOST_TEST(outcome.faults.at(0).hits == 1u);
  BOOST_TEST(outcome.faults.at(1).time.has_value());
  BOOST_TEST(outcome.faults.at(1).hits == 0u);
}

BOOST_AUTO_TEST_CASE(node_crash_on_a_condition_fails_its_peer_and_mutes_the_wire) {
  Scenario scenario = scenario_of(2);
  scenario.programs.push_back(program_of("server", 0, "exec ib_write_bw -F -D 30 -u 12 -p 28812"));
  scenario.programs.push_back(program_of("client", 1, "exec ib_write_bw -F -D 30 -u 12 -p 28812 127.47.91.1"));
  scenario.programs.back().after = {"server"};
  scenario.programs.back().expected_status = 1;
  Fault crash;
  crash.text = "n1 crashes";
  crash.trigger.condition = Trigger::Condition{
      .kind = Trigger::Condition::Kind::packets, .subject = "n1-s1", .count = 1000, .after = milliseconds(50)};
  crash.what = fabric::NodeChange{fabric::NodeChange::Kind::crash, {0}};
  scenario.faults.push_back(crash);
  scenario.expectations.push_back(program_expectation("client", "Failed status 12"));
  const Outcome outcome = run_real(scenario, {});
  for (const ExpectationOutcome& expectation : outcome.expectations)
    BOOST_TEST(expectation.held, expectation.text + ": " + expectation.observed);
  BOOST_TEST(outcome.programs.at(0).text == "crashed with its node");
}
