// `verbena run` as a user has it: exit statuses, outputs, Ctrl-C, wrong command lines.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "tests/cli/run_command.h"

using namespace verbena::test;
namespace files = std::filesystem;

namespace {

const std::string kGood =
    "name: good\n"
    "topology: {shape: star, hosts: 2}\n"
    "workloads:\n"
    "  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 50}\n"
    "faults:\n"
    "  - {packet: \"drop 2%\", link: \"n1->s1\"}\n"
    "expect:\n"
    "  - data-intact\n";

class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/verbena-run.XXXXXX";
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    files::permissions(path_, files::perms::owner_all);
    files::remove_all(path_);
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  files::path path_;
};

Finished verbena_run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {VERBENA_COMMAND, "run"});
  return run_command(arguments);
}

std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  BOOST_REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_exit_status_says_whether_all_expectations_held) {
  const Folder folder;
  const Finished good = verbena_run({folder.file("good.yaml", kGood)});
  BOOST_TEST(good.status == 0);
  BOOST_TEST(good.err == "");
  for (const char* part :
       {"workload", "throughput", "p99", "50 SUCCESS", "held      data-intact", "fault     drop 2%", "trace "})
    BOOST_TEST(good.out.find(part) != std::string::npos, part);
  BOOST_TEST(good.out.find('\r') == std::string::npos);  // no live line where there is no terminal

  const Finished bad = verbena_run({folder.file("bad.yaml", kGood + "  - {completions: w, is: 49}\n"), "--quiet"});
  BOOST_TEST(bad.status == 1);
  BOOST_TEST(bad.out.find("NOT HELD  completions w") != std::string::npos, bad.out);
  BOOST_TEST(verbena_run({folder.path("good.yaml"), "--quiet"}).out == "");
}

BOOST_AUTO_TEST_CASE(a_wrong_scenario_or_command_line_is_one_line_and_status_2) {
  const Folder folder;
  std::string wrong = kGood;
  replace(wrong, "verb: write", "verb: scribble");
  const std::string file = folder.file("wrong.yaml", wrong);
  const Finished scenario = verbena_run({file});
  BOOST_TEST(scenario.status == 2);
  BOOST_TEST(scenario.out == "");
  BOOST_TEST(is_one_line(scenario.err));
  BOOST_TEST(scenario.err.find(file + ":4:") != std::string::npos, scenario.err);

  const std::string good = folder.file("good.yaml", kGood);
  const std::vector<std::vector<std::string>> all{{},
                                                  {folder.path("missing.yaml")},
                                                  {good, "--seed", "x"},
                                                  {good, "--seeds", "5..1"},
                                                  {good, "--seeds", "1..3", "--seed", "1"},
                                                  {good, "--jobs", "2"},
                                                  {good, "--seeds", "1..3", "--jobs", "0"},
                                                  {good, "--out", good},
                                                  {good, "--json", folder.path("no/such/file")},
                                                  {good, "--nonsense"},
                                                  {folder.path("")},
                                                  {"/dev/null"},
                                                  {good, "--out", ""},
                                                  {good, "--json="},
                                                  {"--random"},
                                                  {"--random", "--seed", "1", good},
                                                  {"--random", "--seeds", "1..2", "--for", "0"},
                                                  {"--random", "--seed", "1", "--for", "5"},
                                                  {"--random", "--seeds", "1..2", "--shrink"},
                                                  {good, "--for", "5"},
                                                  {good, "--list"},
                                                  {"--list", "--check"},
                                                  {good, "--check", "--seeds", "1..3"},
                                                  {good, "--shrink", "--json", "-"},
                                                  {good, "--junit", folder.path("no/such/file")}};
  for (const auto& arguments : all) {
    const Finished finished = verbena_run(arguments);
    BOOST_TEST_CONTEXT(finished.err) {
      BOOST_TEST(finished.status == 2);
      BOOST_TEST(is_one_line(finished.err));
    }
  }
}

BOOST_AUTO_TEST_CASE(buffers_that_no_machine_has_are_told_with_their_place) {
  const Folder folder;
  std::string large = kGood;
  replace(large, "size: 4KiB", "size: 1GiB, depth: 1000");
  const Finished finished = verbena_run({folder.file("large.yaml", large)});
  BOOST_TEST(finished.status == 2);
  BOOST_TEST(is_one_line(finished.err));
  BOOST_TEST(finished.err.find("large.yaml:4:") != std::string::npos, finished.err);
}

BOOST_AUTO_TEST_CASE(out_has_captures_counters_events_and_the_summary) {
  const Folder folder;
  const std::string out = folder.path("a/b");
  const Finished finished =
      verbena_run({folder.file("good.yaml", kGood), "--out", out, "--json", folder.path("s.json")});
  BOOST_TEST(finished.status == 0);
  const auto summary = nlohmann::json::parse(content(folder.path("s.json")));
  BOOST_TEST(summary["held"].get<bool>());
  BOOST_TEST(summary["workloads"][0]["completions"]["SUCCESS"]["number"].get<int>() == 50);
  BOOST_TEST(summary["trace_hash"].get<std::string>().size() == 16u);
  BOOST_TEST(content(out + "/summary.json") == content(folder.path("s.json")));
  BOOST_TEST(content(out + "/counters.csv").find("n2,rx_write_requests,") != std::string::npos);
  const std::string events = content(out + "/events.txt");
  BOOST_TEST(events.find("FAULT drop 2%") != std::string::npos);
  BOOST_TEST(events.find("RC RDMA WRITE Only") != std::string::npos);
  BOOST_TEST(events.find("SUCCESS after") != std::string::npos);
  std::istringstream lines(events);
  double before = 0;
  for (std::string line; std::getline(lines, line);) {
    const double time = std::stod(line);
    BOOST_TEST(time >= before, line);
    before = time;
  }
  for (const char* link : {"n1-s1", "n2-s1"}) {
    const Finished told = run_command({VERBENA_COMMAND, "explain", "--summary", out + "/" + link + ".pcapng"});
    BOOST_TEST(told.status == 0, told.err);
  }
  // Dropped packets are marked as such in the capture of the link that lost them, and in no other.
  BOOST_TEST(content(out + "/n1-s1.pcapng").find("verbena: dropped by fault 'drop 2%'") != std::string::npos);
  BOOST_TEST(content(out + "/n2-s1.pcapng").find("dropped") == std::string::npos);
  BOOST_TEST(run_command({VERBENA_COMMAND, "check", out + "/n2-s1.pcapng"}).status == 0);
}

BOOST_AUTO_TEST_CASE(captures_without_payload_are_cut_behind_the_headers) {
  const Folder folder;
  const std::string out = folder.path("out");
  std::string text = kGood.substr(0, kGood.find("expect:"));
  const Finished finished = verbena_run({folder.file("cut.yaml", "payload: false\n" + text), "--out", out});
  BOOST_TEST(finished.status == 0, finished.out + finished.err);
  BOOST_TEST(files::file_size(out + "/n1-s1.pcapng") < 50u * 4096u / 4u);
  BOOST_TEST(run_command({VERBENA_COMMAND, "explain", "--summary", out + "/n1-s1.pcapng"}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_directory_that_takes_no_files_is_told_before_the_run) {
  const Folder folder;
  if (geteuid() == 0) return;  // root may write everywhere
  const std::string closed = folder.path("closed");
  files::create_directory(closed);
  files::permissions(closed, files::perms::owner_read | files::perms::owner_exec);
  const Finished finished = verbena_run({folder.file("good.yaml", kGood), "--out", closed});
  BOOST_TEST(finished.status == 2);
  BOOST_TEST(is_one_line(finished.err));
}

BOOST_AUTO_TEST_CASE(a_full_disk_ends_the_run_with_one_line_and_status_125) {
  const Folder folder;
  const std::string file = folder.file("good.yaml", kGood);
  // A limit on the size of files stands for the disk. SIGXFSZ is ignored, as by a shell that says `trap "" XFSZ`.
  const Finished finished = run_command({"/bin/sh", "-c",
                                         std::string("trap '' XFSZ; ulimit -f 4; exec ") + VERBENA_COMMAND + " run " +
                                             file + " --out " + folder.path("out")});
  BOOST_TEST(finished.status == 125, finished.out + finished.err);
  BOOST_TEST(is_one_line(finished.err));
  BOOST_TEST(finished.err.find(folder.path("out")) != std::string::npos, finished.err);
}

/// `command` with the folder `disk` full: a tmpfs of its own, where the machine lets the user have one.
Finished on_a_full_disk(const std::string& command, const std::string& disk) {
  return run_command(
      {"unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c",
       "mount -t tmpfs -o size=4k none " + disk + " && cat /dev/zero > " + disk + "/full 2> /dev/null; " + command});
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_full_from_the_start_is_status_125_as_well) {
  const Folder folder;
  const std::string file = folder.file("good.yaml", kGood);
  const std::string disk = folder.path("disk");
  files::create_directory(disk);
  const auto refused = [](const Finished& finished, const char* option) {
    BOOST_TEST(finished.status == 125, finished.out + finished.err);
    BOOST_TEST(is_one_line(finished.err), finished.err);
    BOOST_TEST(finished.err.find(option) != std::string::npos, finished.err);
    BOOST_TEST(finished.err.find("No space left on device") != std::string::npos, finished.err);
  };
  const std::string verbena = VERBENA_COMMAND;
  refused(verbena_run({file, "--quiet", "--json", "/dev/full"}), "--json");
  refused(run_command({verbena, "exec", "--pcap", "/dev/full", "true"}), "--pcap");
  refused(run_command({"/bin/sh", "-c", verbena + " run " + file + " > /dev/full"}), "verbena: the output");
  refused(run_command({"/bin/sh", "-c", verbena + " help fault > /dev/full"}), "verbena: cannot write");
  if (run_command({"unshare", "--user", "--map-root-user", "--mount", "true"}).status != 0) return;
  refused(on_a_full_disk(verbena + " run " + file + " --out " + disk, disk), "--out");
  refused(on_a_full_disk(verbena + " run " + file + " --out " + disk + "/a/b", disk), "--out");
  refused(on_a_full_disk(verbena + " exec --pcap " + disk + "/a.pcapng true", disk), "--pcap");
  refused(on_a_full_disk(verbena + " fabric --topology star --fabric full --pcap " + disk, disk), "--pcap");
}

// AddressSanitizer reserves more than that, and itself reads /proc.
#if !defined(VERBENA_ADDRESS_SANITIZER)
BOOST_AUTO_TEST_CASE(want_of_memory_is_named_and_says_nothing_of_the_scenario) {
  const Folder folder;
  std::string large = kGood;
  replace(large, "size: 4KiB", "size: 64MiB, depth: 4");
  const std::string file = folder.file("large.yaml", large);
  for (const char* seeds : {"", " --seeds 1..4 --jobs 2"}) {
    const Finished finished = run_command(
        {"/bin/sh", "-c", std::string("ulimit -v 200000; exec ") + VERBENA_COMMAND + " run " + file + seeds});
    BOOST_TEST(finished.status == 125, finished.out + finished.err);
    BOOST_TEST(finished.out == "");
    BOOST_TEST(finished.err == "verbena run: no memory is left (`ulimit -v` allows this process 195 MiB)\n");
  }
}

BOOST_AUTO_TEST_CASE(without_proc_the_message_says_that_it_is_missing) {
  const std::vector<std::string> inside{"unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c"};
  std::vector<std::string> probe = inside;
  probe.push_back("mount -t tmpfs none /proc");
  if (run_command(probe).status != 0) return;
  std::vector<std::string> command = inside;
  command.push_back(std::string("mount -t tmpfs none /proc; exec ") + VERBENA_COMMAND + " exec true");
  const Finished finished = run_command(command);
  BOOST_TEST(finished.status == 125);
  BOOST_TEST(is_one_line(finished.err));
  BOOST_TEST(finished.err.find("Verbena needs /proc") != std::string::npos, finished.err);
}
#endif

BOOST_AUTO_TEST_CASE(captures_end_at_the_scenarios_limit_and_are_cut_as_it_says) {
  const Folder folder;
  const std::string out = folder.path("out");
  const Finished finished =
      verbena_run({folder.file("limit.yaml", "capture: {snap: 128, limit: 8KiB}\n" + kGood), "--out", out});
  BOOST_TEST(finished.status == 0, finished.out + finished.err);
  BOOST_TEST(finished.out.find("note      the captures end at ") != std::string::npos, finished.out);
  BOOST_TEST(finished.out.find("(capture: limit: has more)") != std::string::npos, finished.out);
  std::uintmax_t octets = 0;
  for (const char* link : {"n1-s1", "n2-s1"}) {
    const std::string path = out + "/" + link + ".pcapng";
    octets += files::file_size(path);
    BOOST_TEST(content(path).find("verbena: the capture ends here") != std::string::npos);
    BOOST_TEST(run_command({VERBENA_COMMAND, "explain", "--summary", path}).status == 0);
  }
  BOOST_TEST(octets < (8u << 10) + 2048u);
}

BOOST_AUTO_TEST_CASE(ctrl_c_writes_what_there_is) {
  const Folder folder;
  std::string text = kGood;
  replace(text, "count: 50", "duration: 50s");
  const std::string file = folder.file("long.yaml", "timeout: 60s\n" + text);
  const std::string out = folder.path("out");
  const std::string command =
      std::string(VERBENA_COMMAND) + " run " + file + " --out " + out + " & pid=$!; sleep 1; kill -INT $pid; wait $pid";
  const Finished finished = run_command({"/bin/bash", "-c", "set -m; " + command});
  BOOST_TEST(finished.status == 130, finished.out + finished.err);
  BOOST_TEST(finished.out.find("interrupted") != std::string::npos);
  const auto summary = nlohmann::json::parse(content(out + "/summary.json"));
  BOOST_TEST(summary["end"].get<std::string>() == "interrupted");
  BOOST_TEST(summary["workloads"][0]["completions"]["SUCCESS"]["number"].get<int>() > 0);
  BOOST_TEST(run_command({VERBENA_COMMAND, "explain", "--summary", out + "/n1-s1.pcapng"}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_a_run_within_a_second_while_it_is_set_up) {
  const Folder folder;
  const std::string file = folder.file("large.yaml",
                                       "topology: {shape: fat-tree, k: 48}\npayload: false\n"
                                       "workloads: [{verb: write, pattern: permutation, size: 4KiB, count: 1000}]\n");
  for (const char* signal : {"INT", "TERM"}) {
    const auto begin = std::chrono::steady_clock::now();
    const Finished finished = run_command({"/bin/bash", "-c",
                                           std::string("set -m; ") + VERBENA_COMMAND + " run " + file +
                                               " & pid=$!; sleep 0.3; kill -" + signal + " $pid; wait $pid"});
    BOOST_TEST((finished.status == 130 || finished.status == 128 + (signal[0] == 'I' ? SIGINT : SIGTERM)));
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)));  // set-up alone takes longer
  }
}

BOOST_AUTO_TEST_CASE(sweep_names_each_failing_seed_and_its_replay_command) {
  const Folder folder;
  const std::string file = folder.file("fragile.yaml", kGood + "  - {counter: tx_retransmitted_packets, is: 0}\n");
  const Finished finished = verbena_run({file, "--seeds", "1..20", "--jobs", "2", "--shrink"});
  BOOST_TEST(finished.status == 1);
  const std::string replay = "verbena run " + file + " --seed ";
  const std::size_t at = finished.out.find(replay);
  BOOST_TEST_REQUIRE(at != std::string::npos, finished.out);
  const std::string seed = finished.out.substr(at + replay.size(), finished.out.find('\n', at) - at - replay.size());
  BOOST_TEST(verbena_run({file, "--seed", seed, "--quiet"}).status == 1);
  BOOST_TEST(finished.out.find("faults:\n  - {packet: \"drop qp=0 psn=") != std::string::npos, finished.out);
  BOOST_TEST(verbena_run({folder.file("good.yaml", kGood), "--seeds", "1..10"}).status == 0);
}

BOOST_AUTO_TEST_CASE(a_sweep_is_told_to_programs_by_seed_and_by_cause) {
  const Folder folder;
  const std::string file = folder.file("it's fragile.yaml", kGood + "  - {counter: tx_retransmitted_packets, is: 0}\n");
  const std::string xml = folder.path("seeds.xml");
  const Finished finished = verbena_run({file, "--seeds", "1..20", "--jobs", "2", "--json", "-", "--junit", xml});
  BOOST_TEST(finished.status == 1);
  const auto json = nlohmann::json::parse(finished.out);
  BOOST_TEST(json["seeds_done"].get<int>() == 20);
  BOOST_TEST_REQUIRE(json["causes"].size() == 1u);
  BOOST_TEST(json["causes"][0]["cause"].get<std::string>() == "counter tx_retransmitted_packets, is 0");
  BOOST_TEST(json["causes"][0]["number"].get<std::size_t>() == json["failed"].size());
  const std::string replay = json["failed"][0]["replay"];
  BOOST_TEST(replay.find("it'\\''s fragile.yaml' --seed ") != std::string::npos, replay);
  const std::string command =
      std::string(VERBENA_COMMAND).substr(0, std::string(VERBENA_COMMAND).rfind('/')) + "/" + replay;
  BOOST_TEST(run_command({"/bin/sh", "-c", command}).status == 1);
  const std::string junit = content(xml);
  BOOST_TEST(junit.find("tests=\"20\" failures=\"" + std::to_string(json["failed"].size()) + "\"") != std::string::npos,
             junit);
}

BOOST_AUTO_TEST_CASE(a_run_may_be_told_in_json_alone_and_in_junits_xml) {
  const Folder folder;
  const std::string xml = folder.path("run.xml");
  const Finished finished =
      verbena_run({folder.file("bad.yaml", kGood + "  - {completions: w, is: 1}\n"), "--json", "-", "--junit", xml});
  BOOST_TEST(finished.status == 1);
  BOOST_TEST(!nlohmann::json::parse(finished.out)["held"].get<bool>());
  const std::string junit = content(xml);
  BOOST_TEST(junit.find("<testcase classname=\"good seed 1\" name=\"data-intact\"/>") != std::string::npos, junit);
  BOOST_TEST(junit.find("<failure message=\"50\">") != std::string::npos, junit);
}

BOOST_AUTO_TEST_CASE(plan_and_list_of_scenarios_can_be_asked_without_a_run) {
  const Folder folder;
  const std::string good = folder.file("good.yaml", kGood);
  const Finished plan = verbena_run({good, "--check"});
  BOOST_TEST(plan.status == 0);
  BOOST_TEST(plan.out.find("good: 2 nodes, 1 switch, 2 cables; virtual time") != std::string::npos, plan.out);
  BOOST_TEST(
      plan.out.find("workload  w: write of 4.10 kB by RC, pair: n1 to n2, 50 messages a QP") != std::string::npos,
      plan.out);
  BOOST_TEST(plan.out.find("fault     drop 2% on n1->s1: from the start") != std::string::npos, plan.out);
  BOOST_TEST(plan.out.find("trace") == std::string::npos);
  const Finished both = verbena_run({folder.file("wrong.yaml", "topology: {}\n"), good, "--check"});
  BOOST_TEST(both.status == 2);
  BOOST_TEST(is_one_line(both.err));
  BOOST_TEST(both.out == plan.out);
  const Finished library = verbena_run({"--list"});
  BOOST_TEST(library.status == 0);
  BOOST_TEST(library.out.find("\ntopology-ring-link") != std::string::npos, library.out);
  BOOST_TEST(nlohmann::json::parse(verbena_run({"--list", "--json", "-"}).out).size() > 10u);
  BOOST_TEST(verbena_run({"topology-ring-lnik"}).err.find("did you mean 'topology-ring-link'?") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unfinished_connection_is_named_with_its_explain_command) {
  const Folder folder;
  std::string text = kGood;
  replace(text, "drop 2%", "drop opcode=write psn=20-60 iter=all");
  replace(text, "workloads:", "nic: {timeout: 8, retry-count: 2}\nworkloads:");
  const std::string out = folder.path("out");
  const Finished finished = verbena_run({folder.file("dead.yaml", text + "  - finished\n"), "--out", out});
  BOOST_TEST(finished.status == 1);
  const std::size_t pair = finished.out.find("pair      w: n1 -> n2, QP 0x");
  BOOST_TEST_REQUIRE(pair != std::string::npos, finished.out);
  BOOST_TEST(finished.out.find(": RETRY_EXC_ERR at ", pair) != std::string::npos, finished.out);
  BOOST_TEST(finished.out.find("20 messages done of 50", pair) != std::string::npos, finished.out);
  const auto summary = nlohmann::json::parse(content(out + "/summary.json"));
  const auto& told = summary["workloads"][0]["by_pair"][0];
  BOOST_TEST(told["succeeded"].get<int>() == 20);
  BOOST_TEST(told["failure"]["status"].get<std::string>() == "RETRY_EXC_ERR");
  std::string command = told["explain"];
  BOOST_TEST(finished.out.find(command) != std::string::npos);
  command = VERBENA_COMMAND + command.substr(std::string("verbena").size());
  const Finished explained = run_command({"/bin/sh", "-c", command + " --summary"});
  BOOST_TEST(explained.status == 0, explained.err);
  BOOST_TEST(explained.out.find("of these timeouts") != std::string::npos, explained.out);
}

BOOST_AUTO_TEST_CASE(a_lossless_class_that_nothing_is_sent_in_is_told) {
  const Folder folder;
  std::string text = kGood;
  replace(text, "hosts: 2}", "hosts: 2, qos: {lossless: 3}}");
  const Finished unused = verbena_run({folder.file("unused.yaml", text)});
  BOOST_TEST(
      unused.out.find("note      class 3 is lossless, and nothing is sent in it: dscp: 24 ") != std::string::npos,
      unused.out);
  replace(text, "count: 50}", "count: 50, dscp: 26}");
  BOOST_TEST(verbena_run({folder.file("used.yaml", text)}).out.find("note") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(random_scenarios_run_to_the_last_seed_or_the_time_limit) {
  const Finished all = verbena_run({"--random", "--seeds", "1..20", "--jobs", "2"});
  BOOST_TEST(all.status == 0, all.out);
  BOOST_TEST(all.out.starts_with("random: 20 scenarios from seed 1 on, 0 failed"), all.out);
  const Finished timed = verbena_run({"--random", "--seeds", "1..1000000", "--for", "1"});
  BOOST_TEST(timed.status == 0, timed.out);
  const Finished one = verbena_run({"--random", "--seed", "7"});
  BOOST_TEST(one.status == 0);
  BOOST_TEST(one.out == verbena_run({"--random", "--seed", "7"}).out);
  BOOST_TEST(one.out.find("trace") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(several_files_end_in_one_table) {
  const Folder folder;
  const Finished finished =
      verbena_run({folder.file("a.yaml", kGood), folder.file("b.yaml", kGood + "  - {completions: w, is: 1}\n")});
  BOOST_TEST(finished.status == 1);
  const std::size_t table = finished.out.find("scenario  workload");
  BOOST_TEST_REQUIRE(table != std::string::npos, finished.out);
  BOOST_TEST(finished.out.find("NOT HELD", table) != std::string::npos);
}
