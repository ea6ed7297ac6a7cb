#include "scenarios/virtual/run_virtual.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "emulator/fabric/nic_words.h"
#include "emulator/fabric/qos_words.h"
#include "emulator/sim/world.h"
#include "scenarios/outcome/lossless_note.h"
#include "scenarios/virtual/checker_feed.h"
#include "scenarios/virtual/fabric_checks.h"
#include "scenarios/virtual/fault_driver.h"
#include "scenarios/virtual/hit_recorder.h"
#include "scenarios/virtual/judge.h"
#include "scenarios/virtual/link_sampler.h"
#include "scenarios/virtual/out_directory.h"
#include "scenarios/virtual/round_trip_recorder.h"
#include "scenarios/workload/workload_set.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint32_t kStepsBetweenLooks = 256;  // at whether all is done: it takes time to look
constexpr std::uint32_t kLooksBetweenProgress = 16;

std::vector<nic::NicConfig> nic_configs(const Scenario& scenario, RoundTripRecorder& round_trips) {
  std::vector<nic::NicConfig> configs;
  const std::vector<std::uint64_t> port_rates = topology_at_nic_speeds(scenario).port_rates();
  for (std::uint32_t host = 0; host < scenario.nics.size(); ++host) {
    const NicSettings& settings = scenario.nics[host];
    nic::NicConfig config;
    config.window_bytes = settings.window();  // more than others have, as well
    config.seed = scenario.seed;
    fabric::apply(settings, config);
    fabric::use_wire(fabric::wire_of(settings), config);
    // What is infinitely fast is not slowed down by halves.
    if (port_rates[host] != 0) config.congestion.line_rate_bits_per_second = port_rates[host];
    config.round_trips = round_trips.listener(host);
    configs.push_back(config);
  }
  return configs;
}

class Run final : public sim::Observer {
 public:
  Run(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario),
        options_(options),
        out_(scenario, options.out_directory, options.capture_octets_max),
        round_trips_(scenario.topology.hosts),
        world_(scenario.topology, nic_configs(scenario, round_trips_),
               {.seed = scenario.seed,
                .payload = scenario.payload,
                .detection = scenario.detection,
                .checks_invariants = options.checkers}),
        begin_(world_.now()),
        checkers_(options.checkers ? std::make_unique<CheckerFeed>(scenario, nic_configs(scenario, round_trips_))
                                   : nullptr),
        fabric_checks_(options.checkers && scenario.topology.qos
                           ? std::make_unique<FabricChecks>(scenario, world_.network(), begin_)
                           : nullptr),
        workloads_(world_, scenario, out_, checkers_.get()),
        faults_(world_, scenario, workloads_, out_),
        judge_(world_, scenario, workloads_, round_trips_),
        sampler_(scenario, begin_, judge_, out_) {}
  ~Run() override { world_.observe(nullptr); }

  Outcome run();
  void observe(const sim::ObservedFrame& frame) override;

 private:
  void set_up_nics();
  bool needs_observer() const;
  bool step(Time limit);
  Outcome::End loop();
  void drain();
  bool stopped() const { return options_.stop != nullptr && options_.stop->look(); }
  void tell_progress();
  void collect(Outcome& outcome);
  Duration last_event(const Outcome& outcome) const;

  const Scenario& scenario_;
  const RunOptions& options_;
  OutDirectory out_;
  RoundTripRecorder round_trips_;
  sim::World world_;
  Time begin_;
  std::unique_ptr<CheckerFeed> checkers_;
  std::unique_ptr<FabricChecks> fabric_checks_;
  WorkloadSet workloads_;
  FaultDriver faults_;
  Judge judge_;
  LinkSampler sampler_;
};

void Run::observe(const sim::ObservedFrame& frame) {
  faults_.observe(frame);
  if (judge_.counts_packets()) judge_.observe(frame);
  if (checkers_) checkers_->observe(frame);
  if (fabric_checks_) fabric_checks_->observe(frame);
  out_.observe(frame);
}

bool Run::needs_observer() const {
  return checkers_ || out_.open() || judge_.counts_packets() || faults_.counts_packets();
}

void Run::set_up_nics() {
  for (sim::HostId host = 0; host < scenario_.topology.hosts; ++host) {
    const NicSettings& settings = scenario_.nics[host];
    if (settings.nak_latency.ns != 0 || settings.acknowledge_latency.ns != 0)
      world_.set_latencies(host, {settings.nak_latency, settings.acknowledge_latency});
  }
  const fabric::Topology slowed = topology_at_nic_speeds(scenario_);
  for (std::uint32_t cable = 0; cable < slowed.cables.size(); ++cable) {
    const std::uint64_t rate = slowed.cables[cable].parameters.rate_bits_per_second;
    if (rate == scenario_.topology.cables[cable].parameters.rate_bits_per_second) continue;
    world_.change(fabric::link_rate({cable, false}, rate));
    world_.change(fabric::link_rate({cable, true}, rate));
  }
}

void Run::tell_progress() {
  if (!options_.progress) return;
  RunProgress progress;
  progress.elapsed = world_.now() - begin_;
  for (std::size_t i = 0; i < workloads_.size(); ++i) {
    const WorkloadOutcome& outcome = workloads_.ledger(i).outcome();
    progress.completions += outcome.statuses[0].number;
    progress.completions_wanted += scenario_.workloads[i].count * outcome.pairs;
    progress.octets += outcome.octets;
  }
  options_.progress(progress);
}

/// The next instant at which something happens or links are to be looked at. False: nothing does, up to `limit`.
bool Run::step(Time limit) {
  if (!sampler_.is_on()) return world_.step(limit);
  if (world_.step(std::min(limit, sampler_.next()))) return true;
  if (workloads_.all_settled() || sampler_.next() > limit) {
    sampler_.end();
    return world_.step(limit);
  }
  sampler_.take(world_);
  return true;
}

Outcome::End Run::loop() {
  const Time limit = begin_ + scenario_.timeout;
  std::uint32_t looks = 0;
  while (true) {
    bool busy = true;
    for (std::uint32_t i = 0; busy && i < kStepsBetweenLooks; ++i) {
      busy = step(limit);
      out_.sample(world_.now(), world_);
      if (stopped()) return out_.error().empty() ? Outcome::End::interrupted : Outcome::End::failed;
    }
    if (!out_.error().empty()) return Outcome::End::failed;
    if (workloads_.all_settled() && !faults_.pending()) return Outcome::End::finished;
    if (!busy) return Outcome::End::timed_out;  // nothing more happens before the timeout
    if (++looks % kLooksBetweenProgress == 0) tell_progress();
  }
}

/// What is still on its way arrives.
void Run::drain() {
  const Time limit = begin_ + scenario_.timeout;
  std::uint32_t steps = 0;
  while (world_.step(limit)) {
    out_.sample(world_.now(), world_);
    if (stopped() || (++steps % kStepsBetweenLooks == 0 && !out_.error().empty())) return;
  }
}

/// When the last thing happened that somebody wanted: the clock may stand at a timer that nobody waits for.
Duration Run::last_event(const Outcome& outcome) const {
  Duration last{0};
  for (const WorkloadOutcome& workload : outcome.workloads) last = std::max(last, workload.last_completion);
  for (const AppliedFault& fault : outcome.faults)
    if (fault.time) last = std::max(last, *fault.time);
  return std::min(last, outcome.elapsed);
}

void Run::collect(Outcome& outcome) {
  workloads_.check_end(world_.now());
  for (std::size_t i = 0; i < workloads_.size(); ++i) {
    outcome.workloads.push_back(workloads_.ledger(i).outcome());
    outcome.workloads.back().by_pair = workloads_.pairs(i);
  }
  outcome.out_directory = options_.out_directory;
  outcome.faults = faults_.applied();
  if (outcome.end == Outcome::End::finished) outcome.elapsed = last_event(outcome);
  outcome.round_trips = round_trips_.of_all();
  outcome.trace_hash = world_.network().trace_hash();
  const fabric::NetworkStatistics& statistics = world_.statistics();
  outcome.packet_arrivals = statistics.arrivals;
  outcome.packets_lost = statistics.lost;
  outcome.packets_overflowed = statistics.overflowed;
  outcome.packets_vanished = statistics.vanished;
  outcome.pause_frames = statistics.pause_frames;
  outcome.pause_storms = statistics.pause_storms;
}

Outcome Run::run() {
  Outcome outcome;
  outcome.seed = scenario_.seed;
  const auto fail = [&outcome](const std::string& error, bool is_users) {
    outcome.end = Outcome::End::failed;
    outcome.error = error;
    outcome.is_users_error = is_users;
    return outcome;
  };
  if (const auto begun = out_.begin(); !begun) return fail(begun.error(), true);
  if (needs_observer()) world_.observe(this);
  if (options_.recorder != nullptr) options_.recorder->attach(world_);
  set_up_nics();
  workloads_.schedule();
  faults_.schedule();
  outcome.end = loop();
  outcome.elapsed = world_.now() - begin_;
  if (outcome.end == Outcome::End::finished) drain();
  collect(outcome);
  const auto written = out_.finish(world_.now(), world_);
  outcome.notes = out_.notes();
  for (std::string& warning : fabric::qos_warnings(scenario_.topology)) outcome.notes.push_back(std::move(warning));
  if (auto note = lossless_note(scenario_)) outcome.notes.push_back(std::move(*note));
  if (!written) return fail(written.error(), false);
  CheckerReports reports = checkers_ ? checkers_->finish(outcome) : CheckerReports{};
  if (fabric_checks_) fabric_checks_->finish(world_.now(), outcome, reports);
  judge_.judge(outcome, world_, reports);
  return outcome;
}

std::optional<std::string> find_error(const Scenario& scenario) {
  if (const auto checked = fabric::check(scenario.topology); !checked) return "topology: " + checked.error();
  if (scenario.nics.size() != scenario.topology.hosts) return "there must be as many NICs as hosts";
  if (!scenario.programs.empty()) return "programs (exec) need clock: real";
  return WorkloadSet::find_error(scenario);
}

}  // namespace

Outcome run_virtual(const Scenario& scenario, const RunOptions& options) {
  if (const auto error = find_error(scenario)) {
    Outcome outcome;
    outcome.end = Outcome::End::failed;
    outcome.error = *error;
    outcome.is_users_error = true;
    outcome.seed = scenario.seed;
    return outcome;
  }
  return Run(scenario, options).run();
}

}  // namespace verbena::scenarios
