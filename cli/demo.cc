// `verbena demo`: two unmodified RDMA programs on two nodes, clean and under packet loss, with the counters that
// explain the difference; where such programs are missing, a scenario that needs none.
//
// Solely the order of the runs and their table; the parts are demo/'s.
// Tested by: tests/cli/init_test.cc
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "captures/read/capture.h"
#include "cli/command.h"
#include "cli/demo/pair.h"
#include "cli/demo/programs.h"
#include "cli/progress_line.h"
#include "cli/run/interrupt.h"
#include "cli/run/options.h"
#include "cli/scenario_file.h"
#include "cli/style.h"
#include "scenarios/outcome/buffered_file.h"
#include "scenarios/outcome/report.h"
#include "scenarios/virtual/run_virtual.h"
#include "wire/counted.h"

namespace verbena::cli {
namespace {

using demo::PairResult;
using demo::Program;

constexpr int kExitNotComplete = 1;
constexpr const char* kLoss = "drop 0.1%";
constexpr const char* kVirtualScenario = "topology-ring-link";
constexpr std::size_t kRuns = 5;

struct DemoOptions {
  std::string out;
  bool only_virtual = false;
  Reporting reporting;
};

struct CounterRow {
  const char* name;
  std::vector<std::string> parts;
};
const std::vector<CounterRow>& counter_rows() {
  static const std::vector<CounterRow> rows = {
      {"packets sent", {"tx_packets"}},
      {"packets sent again", {"tx_retransmitted_packets"}},
      {"arrived out of sequence", {"out_of_sequence"}},
      {"gaps reported to the sender", {"packet_seq_err", "implied_nak_seq_err"}},
      {"timeouts", {"local_ack_timeout_err"}},
  };
  return rows;
}

std::uint64_t sum_of(const CounterRow& row, const PairResult& of) {
  std::uint64_t sum = 0;
  for (const std::string& part : row.parts)
    if (const auto found = of.counters.find(part); found != of.counters.end()) sum += found->second;
  return sum;
}

void print_row(std::string_view name, const std::vector<std::string>& values, std::string_view unit) {
  std::string text = fmt::format("  {:<34}", name);
  for (const std::string& value : values) text += fmt::format("{:>14}{:<5}", value, unit);
  text.erase(text.find_last_not_of(' ') + 1);
  fmt::print("{}\n", text);
}

/// The runs one after the other, each under the line that says how far they are.
class Demo {
 public:
  Demo(const CommandLine& line, const DemoOptions& options)
      : line_(line), options_(options), progress_(options.reporting.quiet || options.reporting.json) {}

  int run() {
    const auto place = capture_folder();
    if (!place)
      return line_.fail(place.error().is_shortage ? kExitInternal : kExitUsage, "--out " + place.error().text);
    run::install_interrupt(run::Unseen::waits);
    if (!options_.reporting.quiet && !options_.reporting.json) print_introduction();
    for (const Program& program : {demo::write_bandwidth(), demo::send_latency()})
      if (const auto status = compare(program)) return *status;
    if (const auto status = validate(*place)) return *status;
    if (options_.reporting.json) fmt::print("{}\n", json_.dump());
    return 0;
  }

 private:
  static void print_introduction() {
    fmt::print(
        "Two nodes, 127.47.91.1 and 127.47.91.2, over shared memory; programs of the distribution, unmodified.\n"
        "Left: clean. Right: --fault '{}' --seed {} on both nodes. Counters are of both nodes together.\n",
        kLoss, demo::kSeed);
    fmt::print("\n  {:<34}{:>14}{:5}{:>14}\n", "", "clean", "", "0.1 % lost");
    std::fflush(stdout);
  }

  int fail(const std::string& text) {
    progress_.clear();
    if (run::interrupted()) return run::kExitInterrupted;
    return line_.fail(kExitNotComplete, "a run did not complete: " + text);
  }

  Result<PairResult, std::string> run_one(const Program& program, bool is_clean, const std::string& captures = {}) {
    demo::PairOptions pair;
    pair.program = program.words;
    if (!is_clean) pair.faults = {kLoss};
    if (!captures.empty()) {
      pair.capture_of_server = captures + "/pingpong-server.pcapng";
      pair.capture_of_client = captures + "/pingpong-client.pcapng";
    }
    pair.waiting = [&] {
      if (!progress_.is_due()) return;
      const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      progress_.show(fmt::format("run {} of {}: {}{}, {}", done_ + 1, kRuns, program.words.front(),
                                 is_clean ? "" : " under loss", time_left_.text(done_, elapsed)));
    };
    auto result = demo::run_pair(pair);
    progress_.clear();
    ++done_;
    return result;
  }

  std::optional<int> compare(const Program& program) {
    std::vector<PairResult> results;
    std::vector<std::vector<std::string>> rows;
    for (const bool is_clean : {true, false}) {
      auto result = run_one(program, is_clean);
      if (!result) return fail(result.error());
      auto row = demo::result_row(result->output);
      if (!row) return fail(row.error() + ":\n" + result->output);
      rows.push_back(std::move(*row));
      results.push_back(std::move(*result));
    }
    if (options_.reporting.json) add_json(program, results, rows);
    if (options_.reporting.quiet || options_.reporting.json) return std::nullopt;
    fmt::print("\n{}\n", Style(stdout).strong(program.title));
    for (const demo::Figure& figure : program.figures)
      print_row(figure.name, {rows[0].at(figure.column), rows[1].at(figure.column)}, figure.unit);
    for (const CounterRow& row : counter_rows())
      print_row(row.name, {std::to_string(sum_of(row, results[0])), std::to_string(sum_of(row, results[1]))}, "");
    std::fflush(stdout);
    return std::nullopt;
  }

  void add_json(const Program& program, const std::vector<PairResult>& results,
                const std::vector<std::vector<std::string>>& rows) {
    nlohmann::ordered_json& into = json_[program.words.front()];
    for (std::size_t i = 0; i < results.size(); ++i) {
      nlohmann::ordered_json& one = into[i == 0 ? "clean" : "lossy"];
      for (const demo::Figure& figure : program.figures)
        one["figures"][fmt::format("{},{}", figure.name, figure.unit)] = std::stod(rows[i].at(figure.column));
      one["counters"] = results[i].counters;
    }
  }

  std::optional<int> validate(const std::string& place) {
    const auto result = run_one(demo::pingpong(), false, place);
    if (!result) return fail(result.error());
    if (demo::has_damage(result->output)) return fail("the data were damaged:\n" + result->output);
    const std::uint64_t again = sum_of(counter_rows()[1], *result);
    json_["ibv_rc_pingpong"] = {{"data_intact", true}, {"counters", result->counters}};
    if (options_.reporting.quiet || options_.reporting.json) return std::nullopt;
    fmt::print("\nibv_rc_pingpong -c, 300 x 64 KiB both ways under the same loss: {}, {} sent again.\n",
               Style(stdout).good("data intact"), wire::counted(again, "packet"));
    if (!place.empty()) tell_capture();
    return std::nullopt;
  }

  /// Absolute, for the programs; empty: none is wanted.
  Result<std::string, host::FileError> capture_folder() const {
    if (options_.out.empty()) return std::string();
    if (auto prepared = scenarios::prepare_directory(options_.out); !prepared) return Failure{prepared.error()};
    for (const char* const end : {"server", "client"})
      std::filesystem::remove(fmt::format("{}/pingpong-{}.pcapng", options_.out, end));
    return std::filesystem::absolute(options_.out).string();
  }

  void tell_capture() const {
    const std::string shown = options_.out + "/pingpong-client.pcapng";
    const auto capture = captures::Capture::open(shown);
    if (!capture) return;
    std::size_t hit = 0;
    for (const captures::Packet& packet : capture->packets())
      if (!packet.captured.comment.empty()) ++hit;
    fmt::print("Capture: {} ({}, {} of them with the fault that hit them)\n", shown,
               wire::counted(capture->packets().size(), "packet"), hit);
    fmt::print("  open it in Wireshark, or:  {} explain --only-problems {}\n", program_invocation_name, shown);
  }

  const CommandLine& line_;
  const DemoOptions& options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  TimeLeft time_left_{kRuns, std::nullopt};
  ProgressLine progress_;
  std::size_t done_ = 0;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

/// What needs no RDMA program at all.
int run_virtually(const CommandLine& line, const DemoOptions& options) {
  const auto scenario = read_named_scenario(kVirtualScenario);
  if (!scenario) return line.fail(kExitInternal, scenario.error().line());
  const scenarios::Outcome outcome = scenarios::run_virtual(*scenario, {});
  if (outcome.end == scenarios::Outcome::End::failed) return line.fail(kExitInternal, outcome.error);
  if (options.reporting.json)
    fmt::print("{}", scenarios::report_json(*scenario, outcome));
  else if (!options.reporting.quiet)
    fmt::print("Under virtual time, no program needed: verbena run {}\n\n{}", kVirtualScenario,
               Style(stdout).report(scenarios::report_text(*scenario, outcome)));
  return outcome.held() ? 0 : kExitNotComplete;
}

}  // namespace

int run_demo(const Arguments& arguments) {
  CommandLine line("verbena demo", "verbena demo [OPTIONS]",
                   "Shows what Verbena does: ib_write_bw, ib_send_lat and ibv_rc_pingpong on two nodes, clean and with "
                   "0.1 % of the packets lost. Without these programs: a scenario under virtual time.\n");
  DemoOptions options;
  line.option("--out", options.out, "DIR", "write captures of the pingpong under loss to DIR");
  line.flag("--virtual", options.only_virtual, "the scenario under virtual time, whatever programs are there");
  line.reporting(options.reporting, "print nothing: the exit status says whether all was well",
                 "figures and all counters as JSON");
  line.exit_status("0", "every run completed, and the data were intact");
  line.exit_status("1", "one did not");
  line.exit_status("130", "Ctrl-C");
  line.example("verbena demo --out demo", "some seconds; then `verbena explain demo/pingpong-client.pcapng`");
  if (const auto status = line.parse(arguments)) return *status;
  if (options.only_virtual && !options.out.empty())
    return line.fail(kExitUsage, "--out is of programs: leave it or --virtual out");
  if (options.only_virtual) return run_virtually(line, options);
  const std::string missing = demo::missing_programs();
  if (missing.empty()) return Demo(line, options).run();
  fmt::print(stderr, "{}: not here: {}; install what is named, and see two programs talk\n", line.name(), missing);
  return run_virtually(line, options);
}

}  // namespace verbena::cli
