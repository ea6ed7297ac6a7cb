#include "scenarios/real/run_real.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "emulator/fabric/element_rows.h"
#include "emulator/host/config/launch_environment.h"
#include "emulator/host/config/own_files.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_client/render/fabric_json.h"
#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "scenarios/outcome/report_words.h"
#include "scenarios/real/fabric_child.h"
#include "scenarios/real/fault_schedule.h"
#include "scenarios/real/place_text.h"
#include "scenarios/real/program_child.h"
#include "scenarios/real/real_checkers.h"
#include "scenarios/real/real_expectations.h"
#include "scenarios/real/real_nics.h"
#include "wire/counted.h"

namespace verbena::scenarios {
namespace {

constexpr Duration kStepMax = milliseconds(10);  // between two looks at the programs
constexpr Duration kStepMin = microseconds(100);
constexpr Duration kNotRunTold = milliseconds(40);
constexpr const char* kTimeoutCounter = "local_ack_timeout_err";
constexpr Duration kInterruptPatience = milliseconds(500);
constexpr Duration kProgressInterval = milliseconds(200);

Outcome failed(std::string text, bool is_users_error) {
  Outcome outcome;
  outcome.end = Outcome::End::failed;
  outcome.error = std::move(text);
  outcome.is_users_error = is_users_error;
  return outcome;
}

/// Hits of the fault with this number; nothing: there is none.
std::optional<std::uint64_t> hits_in(const host::FabricSnapshot& seen, std::uint32_t number) {
  const auto found = std::ranges::find(seen.faults, number, &host::FabricSnapshot::Fault::number);
  return found == seen.faults.end() ? std::nullopt : std::optional(found->hits);
}

/// What the captures of the run do not hold, and by which key.
void note_what_captures_lack(const host::FabricSnapshot& seen, std::vector<std::string>& notes) {
  if (!seen.capture) return;
  if (const std::uint64_t cut = seen.capture->frames_cut; cut != 0)
    notes.push_back("the captures hold the beginning of packets only, " + std::to_string(cut) +
                    " of them are cut (capture: snap: 0 keeps all)");
  if (const std::uint64_t missing = seen.capture->frames_missing; missing != 0)
    notes.push_back("the captures end at " + time_text(seen.capture->missing_from.value_or(Duration{0})) +
                    ": they have reached "
                    "their greatest size, " +
                    wire::counted(missing, "packet is", "packets are") + " missing (capture: limit: has more)");
}

/// The nodes that were not run while frames waited for them, where ACK timers ran out: a machine with too much to do
/// looks like a network that loses packets. Not those that a fault has frozen.
void note_nodes_not_run(const Scenario& scenario, const host::FabricSnapshot& seen, std::vector<std::string>& notes) {
  std::uint64_t timeouts = 0;
  for (std::size_t node = 0; node < seen.nodes.size(); ++node) timeouts += seen.counter(node, kTimeoutCounter);
  if (timeouts == 0) return;
  std::set<std::uint32_t> frozen;
  for (const Fault& fault : scenario.faults)
    if (const auto* nodes = std::get_if<fabric::NodeChange>(&fault.what))
      frozen.insert(nodes->hosts.begin(), nodes->hosts.end());
  for (std::uint32_t host = 0; host < seen.nodes.size(); ++host) {
    const host::FabricSnapshot::Node& node = seen.nodes[host];
    if (node.not_run < kNotRunTold || frozen.contains(host)) continue;
    notes.push_back("node " + seen.names[host] + " was not run for " + time_text(node.not_run) +
                    " while packets waited for it, from " + time_text(node.not_run_from) + " on; " +
                    wire::counted(timeouts, "ACK timer") + " ran out in this run");
  }
}

/// fabric.json, its keys in the order of the alphabet.
std::string text_of_file(const host::FabricSnapshot& seen) {
  nlohmann::json all = {{"links", nlohmann::json::array()}, {"nodes", nlohmann::json::array()}};
  if (!seen.fabric.empty()) all = host::json_of(seen);  // else the fabric did not answer
  return all.dump(2);
}

/// What a note calls a request.
std::string_view name_of(const host::FabricRequest& request) {
  struct Names {
    std::string_view operator()(const host::AskHello&) const { return "hello"; }
    std::string_view operator()(const host::AskSnapshot&) const { return "stat"; }
    std::string_view operator()(const host::SayWords& said) const { return said.words.front(); }
    std::string_view operator()(const host::ChangeElements& changed) const {
      return fabric::element_row(changed.change.kind).word;
    }
    std::string_view operator()(const host::AddPrepared&) const { return "prepared"; }
    std::string_view operator()(const host::RemoveFault&) const { return "remove"; }
    std::string_view operator()(const host::RemoveDevices&) const {
      return fabric::element_row(fabric::SoftwareFault::Kind::device_removal).word;
    }
    std::string_view operator()(const host::SetNodePower&) const { return "node-power"; }
  };
  return std::visit(Names(), request);
}

class RealRun final : private FaultTarget {
 public:
  RealRun(const Scenario& scenario, const RunOptions& options, std::string libraries)
      : scenario_(scenario),
        options_(options),
        libraries_(std::move(libraries)),
        schedule_(scenario),
        expectations_(scenario),
        programs_(scenario.programs.size()) {}

  std::optional<std::string> open();
  Outcome run();

 private:
  struct Running {
    std::optional<ProgramChild> child;
    bool has_started = false;
    bool is_crashed = false;  // by a fault
    std::string error;        // it could not be started
  };

  // FaultTarget
  std::optional<host::FabricReply> tell_fabric(const host::FabricRequest& request) override;
  std::uint64_t carried(const std::string& cable) override;
  std::uint64_t hits(std::uint32_t number) override;
  void change_node(std::uint32_t node, fabric::NodeChange::Kind change) override;
  static void change_ranks(const ProgramChild& launcher, std::uint32_t node, fabric::NodeChange::Kind change);
  void set_power(std::uint32_t node, host::NodePower power);

  void start_programs(Duration elapsed);
  void start(std::size_t program);
  bool may_start(const Program& program, Duration elapsed) const;
  bool all_ended();
  void pause(Duration elapsed) const;
  void report_progress(Duration elapsed);
  host::FabricSnapshot look();
  /// `had_ended`: by itself.
  ProgramEnd end_of(std::size_t program, Outcome::End end, bool had_ended);
  void end_at_once();
  void keep_last_lines(const ProgramChild& child, ProgramOutcome& outcome) const;
  Outcome conclude(Outcome::End end, Duration elapsed);
  void add_fabric_checks(const host::FabricSnapshot& seen, Outcome& outcome, CheckerReports& reports) const;
  Duration elapsed() const { return host::clock_now() - started_; }

  const Scenario& scenario_;
  const RunOptions& options_;
  const std::string libraries_;
  FaultSchedule schedule_;
  RealExpectations expectations_;
  std::vector<Running> programs_;
  std::unique_ptr<FabricChild> fabric_;
  std::string stats_path_;
  std::vector<std::string> notes_;
  Time started_{};
  Duration progress_at_{0};
};

std::optional<std::string> RealRun::open() {
  host::FabricOptions fabric;
  fabric.fabric = "run-" + std::to_string(getpid());
  fabric.topology = topology_at_nic_speeds(scenario_);
  fabric.seed = scenario_.seed;
  if (fabric.topology.medium == wire::Medium::infiniband) fabric.wire = fabric::wire_of(scenario_.nics.front()).name;
  fabric.detection = scenario_.detection;
  fabric.sockets = {.is_on = scenario_.cuts_sockets, .timeout = scenario_.socket_timeout};
  fabric.prepared = FaultSchedule::rules_of(scenario_);
  if (!options_.out_directory.empty()) {
    fabric.capture_directory = options_.out_directory;
    fabric.capture_octets_max = scenario_.capture.octets_max.value_or(kRealCaptureOctetsMax);
    fabric.capture_snap_bytes = scenario_.capture.snap_bytes.value_or(kRealSnapBytes);
  }
  auto child = FabricChild::start(fabric, options_.checkers);
  if (!child) return child.error();
  fabric_ = std::move(*child);
  const auto hello = host::greet_fabric(fabric_->name());
  if (!hello) return hello.error().text;
  stats_path_ = hello->stats_path;
  started_ = host::clock_now();
  return std::nullopt;
}

// -- What faults want -------------------------------------------------------------------------------------------------

std::optional<host::FabricReply> RealRun::tell_fabric(const host::FabricRequest& request) {
  auto answer = fabric_->ask(request);
  if (answer) return std::move(*answer);
  notes_.push_back("the fabric refused '" + std::string(name_of(request)) + "': " + answer.error());
  return std::nullopt;
}

std::uint64_t RealRun::carried(const std::string& cable) {
  const host::FabricSnapshot seen = look();
  std::uint64_t frames = 0;
  for (std::uint32_t i = 0; i < seen.cables.size(); ++i)
    if (scenario_.topology.cable_name(i) == cable)
      for (const std::size_t link : {2 * i, 2 * i + 1}) frames += seen.links[link].seen.frames;
  return frames;
}

std::uint64_t RealRun::hits(std::uint32_t number) {
  return hits_in(look(), number).value_or(0);
}

/// Whether the sockets of the node's programs send and hear (emulator/host/fabric_process/fabric_sockets.h).
void RealRun::set_power(std::uint32_t node, host::NodePower power) {
  const std::uint32_t rails = scenario_.topology.rails;
  host::SetNodePower request{{}, power};
  for (std::uint32_t rail = 0; rail < rails; ++rail) request.hosts.push_back(node * rails + rail);
  tell_fabric(request);
}

/// The launcher stands on no node, and lives on; it is its to say what that does to the program. Nobody starts a rank
/// again.
void RealRun::change_ranks(const ProgramChild& launcher, std::uint32_t node, fabric::NodeChange::Kind change) {
  using enum fabric::NodeChange::Kind;
  const wire::Gid address = host::node_address(node + 1);
  switch (change) {
    case crash:
    case restart:
      return launcher.send_signal_on(address, SIGKILL);
    case freeze:
      return launcher.send_signal_on(address, SIGSTOP);
    case thaw:
      return launcher.send_signal_on(address, SIGCONT);
  }
}

void RealRun::change_node(std::uint32_t node, fabric::NodeChange::Kind change) {
  using enum fabric::NodeChange::Kind;
  // First: what the kernel would say in the name of programs that are killed, a machine without power does not say.
  if (change == crash || change == restart) set_power(node, host::NodePower::crashing);
  if (change == freeze) set_power(node, host::NodePower::frozen);
  std::vector<std::size_t> to_start;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    Running& running = programs_[i];
    const Program& program = scenario_.programs[i];
    if (!running.child) continue;
    if (program.nodes != 0) {
      if (node < program.nodes) change_ranks(*running.child, node, change);
      continue;
    }
    if (program.node != node) continue;
    switch (change) {
      case crash:
        running.is_crashed = !running.child->ended();
        running.child->send_signal(SIGKILL);
        break;
      case freeze:
        running.child->send_signal(SIGSTOP);
        break;
      case thaw:
        running.child->send_signal(SIGCONT);
        break;
      case restart:
        running.child->send_signal(SIGKILL);
        running.child->end();
        running.is_crashed = false;
        to_start.push_back(i);
        break;
    }
  }
  if (change == thaw || change == restart) set_power(node, host::NodePower::on);
  for (const std::size_t i : to_start) start(i);
}

// -- Programs ---------------------------------------------------------------------------------------------------------

bool RealRun::may_start(const Program& program, Duration elapsed) const {
  if (elapsed < program.start) return false;
  return std::all_of(program.after.begin(), program.after.end(), [&](const std::string& name) {
    for (std::size_t i = 0; i < programs_.size(); ++i)
      if (scenario_.programs[i].name == name)
        return programs_[i].child && programs_[i].child->is_ready(host::clock_now());
    return true;
  });
}

void RealRun::start_programs(Duration elapsed) {
  for (std::size_t i = 0; i < programs_.size(); ++i)
    if (!programs_[i].has_started && may_start(scenario_.programs[i], elapsed)) start(i);
}

void RealRun::start(std::size_t index) {
  const Program& program = scenario_.programs[index];
  Running& running = programs_[index];
  running.has_started = true;
  ProgramChild::Options options;
  options.arguments = program.arguments;
  options.library_directory = libraries_;
  options.environment.fabric = fabric_->name();
  options.environment.node = program.nodes != 0 ? std::string(host::kAutoNode) + ":" + std::to_string(program.nodes)
                                                : std::to_string(program.node + 1);
  if (scenario_.topology.rails != 1) options.environment.devices = std::to_string(scenario_.topology.rails);
  options.environment.link = "fabric";
  options.environment.seed = std::to_string(scenario_.seed + index);
  options.environment.stats_path = stats_path_;
  options.environment.nic = host::text_of(*real_tuning(scenario_, program.node));  // refuse() has seen it
  if (!options_.out_directory.empty()) options.output_path = options_.out_directory + "/" + program.name;
  auto child = ProgramChild::start(options, host::clock_now());
  if (child)
    running.child.emplace(std::move(*child));
  else
    running.error = child.error();
}

/// Of those that end by themselves.
bool RealRun::all_ended() {
  bool all = true;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    Running& running = programs_[i];
    const bool ended = running.has_started && (!running.child || running.child->ended());
    all = all && (ended || scenario_.programs[i].background);
  }
  return all;
}

void RealRun::keep_last_lines(const ProgramChild& child, ProgramOutcome& outcome) const {
  using Stream = ProgramChild::Stream;
  outcome.last_lines = child.last_lines(Stream::err);
  const bool is_error = !outcome.last_lines.empty();
  if (!is_error) outcome.last_lines = child.last_lines(Stream::out);
  outcome.lines_from = is_error ? "standard error" : "standard output";
  if (!options_.out_directory.empty())
    outcome.lines_from += " (" + options_.out_directory + "/" + outcome.name + (is_error ? ".err)" : ".out)");
}

ProgramEnd RealRun::end_of(std::size_t index, Outcome::End run_end, bool had_ended) {
  const Program& program = scenario_.programs[index];
  Running& running = programs_[index];
  ProgramEnd end;
  ProgramOutcome& outcome = end.outcome;
  outcome.name = program.name;
  if (!running.child) {
    outcome.text = running.error.empty() ? "it was never started" : running.error;
    return end;
  }
  running.child->end();
  end.output = running.child->output();
  if (running.is_crashed) {
    outcome.held = true;
    outcome.text = "crashed with its node";
  } else if (had_ended) {
    outcome.status = running.child->status();
    outcome.held = *outcome.status == program.expected_status;
    outcome.text = "exit status " + std::to_string(*outcome.status) +
                   (outcome.held ? "" : " instead of " + std::to_string(program.expected_status));
  } else {
    outcome.held = program.background;
    const bool interrupted = run_end == Outcome::End::interrupted;
    outcome.text = program.background ? "ended with the others"
                   : interrupted      ? "ended by the interruption"
                                      : "it hung and was ended";
  }
  if (!outcome.held) keep_last_lines(*running.child, outcome);
  return end;
}

// -- The run ----------------------------------------------------------------------------------------------------------

/// Empty if the fabric does not answer.
host::FabricSnapshot RealRun::look() {
  auto answer = fabric_->ask(host::AskSnapshot{});
  auto* const seen = answer ? std::get_if<host::FabricSnapshot>(&*answer) : nullptr;
  return seen != nullptr ? std::move(*seen) : host::FabricSnapshot{};
}

void RealRun::pause(Duration now) const {
  Duration until = now + kStepMax;
  if (const auto due = schedule_.next(now)) until = std::min(until, *due);
  if (const auto due = expectations_.next_sample(now)) until = std::min(until, *due);
  const Duration length = std::max(until - now, kStepMin);
  const timespec step{0, static_cast<long>(length.ns)};
  nanosleep(&step, nullptr);
}

void RealRun::report_progress(Duration now) {
  if (!options_.progress || now < progress_at_) return;
  progress_at_ = now + kProgressInterval;
  RunProgress progress;
  progress.elapsed = now;
  const host::FabricSnapshot seen = look();
  for (const host::FabricSnapshot::Node& node : seen.nodes) progress.octets += node.octets_out;
  options_.progress(progress);
}

Outcome RealRun::run() {
  const Duration timeout = std::min(scenario_.timeout, scenario_.real_timeout);
  Outcome::End end = Outcome::End::finished;
  for (;;) {
    const Duration now = elapsed();
    start_programs(now);
    schedule_.run(now, *this);
    if (const auto due = expectations_.next_sample(now); due && *due <= now) expectations_.sample(now, look());
    if (all_ended()) break;
    if (options_.stop != nullptr && options_.stop->look()) {
      end = Outcome::End::interrupted;
      break;
    }
    if (now >= timeout) {
      end = Outcome::End::timed_out;
      break;
    }
    report_progress(now);
    pause(now);
  }
  return conclude(end, elapsed());
}

/// All at one time, with little patience: whoever interrupts a run waits for it.
void RealRun::end_at_once() {
  const Time until = host::clock_now() + kInterruptPatience;
  for (Running& running : programs_)
    if (running.child && !running.child->ended()) running.child->ask_to_end();
  const timespec step{0, static_cast<long>(kStepMax.ns)};
  const auto runs = [](Running& running) { return running.child && !running.child->ended(); };
  while (std::any_of(programs_.begin(), programs_.end(), runs) && host::clock_now() < until) nanosleep(&step, nullptr);
}

Outcome RealRun::conclude(Outcome::End end, Duration now) {
  Outcome outcome;
  outcome.end = end;
  outcome.seed = scenario_.seed;
  outcome.elapsed = now;
  std::vector<bool> had_ended;
  for (Running& running : programs_) had_ended.push_back(running.child && running.child->ended());
  if (end == Outcome::End::interrupted) end_at_once();
  std::vector<ProgramEnd> ends;
  for (std::size_t i = 0; i < programs_.size(); ++i) ends.push_back(end_of(i, end, had_ended[i]));
  for (const ProgramEnd& program : ends) outcome.programs.push_back(program.outcome);
  const host::FabricSnapshot seen = look();
  outcome.faults = schedule_.applied();
  for (AppliedFault& fault : outcome.faults) {
    const auto number = schedule_.number(fault.index);
    if (number) fault.hits = hits_in(seen, *number).value_or(fault.hits);
  }
  outcome.packet_arrivals = seen.network.arrivals;
  outcome.packets_lost = seen.network.lost;
  outcome.packets_overflowed = seen.network.overflowed;
  outcome.packets_vanished = seen.network.vanished;
  outcome.out_directory = options_.out_directory;
  outcome.notes = notes_;
  note_what_captures_lack(seen, outcome.notes);
  CheckerReports reports = RealCheckers::read(fabric_->end(), outcome);
  if (options_.checkers) add_fabric_checks(seen, outcome, reports);
  if (options_.checkers && !reports.ran) outcome.notes.push_back("the fabric ended before its checkers could report");
  outcome.expectations = expectations_.judge(ends, seen, reports);
  if (!outcome.held()) note_nodes_not_run(scenario_, seen, outcome.notes);
  if (!options_.out_directory.empty()) {
    std::ofstream file(options_.out_directory + "/fabric.json");
    file << text_of_file(seen) << '\n';
    if (!file) outcome.notes.push_back("fabric.json could not be written");
  }
  return outcome;
}

/// What the fabric says of pauses: see virtual/fabric_checks.h, whose rule "pause" wants a clock that is not real.
void RealRun::add_fabric_checks(const host::FabricSnapshot& seen, Outcome& outcome, CheckerReports& reports) const {
  if (!scenario_.topology.qos) return;
  outcome.pause_frames = seen.network.pause_frames;
  outcome.pause_storms = seen.network.pause_storms;
  const std::string_view clause = scenario_.topology.medium == wire::Medium::infiniband ? "IBTA 7.9" : "802.1Q 36";
  const auto add = [&](std::string_view rule, std::uint64_t number, const std::string& text) {
    reports.rows.push_back({std::string(rule), number});
    if (number == 0) return;
    outcome.violations_total += number;
    outcome.violations.push_back({outcome.elapsed, std::string(rule), std::string(clause), text});
    reports.first = text;
  };
  const bool has_faults = std::any_of(outcome.faults.begin(), outcome.faults.end(),
                                      [](const AppliedFault& fault) { return fault.time.has_value(); });
  const std::uint64_t lost = has_faults ? 0 : seen.network.lossless_lost;
  add("lossless", lost,
      wire::counted(lost, "packet of a lossless class was", "packets of lossless classes were") + " lost");
  add("pause-deadlock", seen.deadlock ? 1 : 0, seen.deadlock ? host::deadlock_text(seen) : std::string());
}

std::optional<std::string> refuse(const Scenario& scenario) {
  if (scenario.programs.empty()) return "1:1: `clock: real` runs programs: there is no `exec:`";
  if (!scenario.workloads.empty())
    return place_text(scenario.workloads.front().place) + ": workload '" + scenario.workloads.front().name +
           "' needs `clock: virtual`; under the real clock write `exec:`";
  if (scenario.topology.nodes() > host::kNodesMax)
    return "1:1: `clock: real` has at most " + std::to_string(host::kNodesMax) + " nodes, not " +
           std::to_string(scenario.topology.nodes());
  for (const Program& program : scenario.programs) {
    const auto tuning = real_tuning(scenario, program.node);
    if (!tuning) return place_text(program.place) + ": " + tuning.error();
    for (std::uint32_t other = 1; other < program.nodes; ++other)
      if (const auto of_other = real_tuning(scenario, other); !of_other || *of_other != *tuning)
        return place_text(program.place) + ": nodes: one program has one environment: give n1 and n" +
               std::to_string(other + 1) + " the same nic:";
  }
  if (auto reason = FaultSchedule::refuse(scenario)) return reason;
  return RealExpectations::refuse(scenario);
}

}  // namespace

Outcome run_real(const Scenario& scenario, const RunOptions& options) {
  if (const auto reason = refuse(scenario)) return failed(*reason, true);
  const auto libraries = host::find_library_directory();
  if (!libraries) return failed(libraries.error(), false);
  RealRun run(scenario, options, *libraries);
  if (const auto error = run.open()) return failed(*error, false);
  return run.run();
}

}  // namespace verbena::scenarios
