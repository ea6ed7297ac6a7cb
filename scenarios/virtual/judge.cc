#include "scenarios/virtual/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/outcome/report_words.h"
#include "wire/counted.h"

namespace verbena::scenarios {
namespace {

bool is_within(const Bounds& bounds, Duration time) {
  return bounds.contains(static_cast<double>(time.ns));
}
bool is_bounded(const Bounds& bounds) {
  return bounds.least.has_value() || bounds.most.has_value();
}
double statistic(const Expectation& expectation, const LatencyHistogram& values) {
  return expectation.is_mean ? values.mean() : static_cast<double>(values.percentile(expectation.percentile));
}

}  // namespace

Judge::Judge(const sim::World& world, const Scenario& scenario, WorkloadSet& workloads,
             const RoundTripRecorder& round_trips)
    : scenario_(scenario),
      workloads_(workloads),
      round_trips_(round_trips),
      begin_(world.now()),
      counts_(scenario.expectations.size(), 0),
      completions_expected_(workloads.size()),
      sizes_expected_(workloads.size()) {
  for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
    const Expectation& expectation = scenario.expectations[i];
    if (expectation.kind == Expectation::Kind::silence) silences_.push_back(i);
    if (expectation.kind == Expectation::Kind::queue) queues_[i].links = links_of(expectation.links);
    const bool is_of_sizes = is_bounded(expectation.sizes);
    if (is_of_sizes) of_sizes_[i] = {};
    if (expectation.kind != Expectation::Kind::completions && !is_of_sizes) continue;
    for (std::size_t workload = 0; workload < workloads.size(); ++workload)
      if (expectation.workload.empty() || expectation.workload == scenario.workloads[workload].name)
        (is_of_sizes ? sizes_expected_ : completions_expected_)[workload].push_back(i);
  }
  for (std::size_t workload = 0; workload < workloads.size(); ++workload)
    if (!completions_expected_[workload].empty() || !sizes_expected_[workload].empty())
      workloads.ledger(workload).listen(*this);
}

void Judge::completed(std::size_t workload, const CompletionRecord& record) {
  for (const std::size_t i : completions_expected_[workload]) {
    const Expectation& expectation = scenario_.expectations[i];
    if (record.is_receive == expectation.target_side &&
        static_cast<std::uint8_t>(record.status) == expectation.status.value_or(0) &&
        is_within(expectation.time_ns, record.time - begin_))
      ++counts_[i];
  }
  if (record.is_receive || record.status != nic::CompletionStatus::success) return;
  for (const std::size_t i : sizes_expected_[workload]) {
    const Expectation& expectation = scenario_.expectations[i];
    if (!expectation.sizes.contains(static_cast<double>(record.octets))) continue;
    if (expectation.kind == Expectation::Kind::latency)
      of_sizes_[i].add(record.latency.ns);
    else if (record.alone.ns != 0)
      of_sizes_[i].add(record.slowdown_parts());
  }
}

void Judge::observe(const sim::ObservedFrame& frame) {
  if (frame.event != sim::FrameEvent::sent && frame.event != sim::FrameEvent::lost) return;
  for (const std::size_t i : silences_) {
    const Expectation& expectation = scenario_.expectations[i];
    if (!is_within(expectation.time_ns, frame.time - begin_)) continue;
    const bool named = expectation.links.empty() ||
                       std::any_of(expectation.links.begin(), expectation.links.end(), [&](const LinkChoice& choice) {
                         const auto links = links_of(choice);
                         return std::find(links.begin(), links.end(), frame.link) != links.end();
                       });
    if (named) ++counts_[i];
  }
}

void Judge::sampled(sim::LinkId link, Time time, std::uint32_t queue_octets) {
  for (auto& [index, samples] : queues_)
    if (is_within(scenario_.expectations[index].time_ns, time - begin_) &&
        std::find(samples.links.begin(), samples.links.end(), link) != samples.links.end())
      samples.octets.add(queue_octets);
}

void Judge::judge(Outcome& outcome, sim::World& world, const CheckerReports& reports) const {
  for (std::size_t i = 0; i < scenario_.expectations.size(); ++i) {
    const Expectation& expectation = scenario_.expectations[i];
    const Judgement verdict = this->verdict(i, outcome, world, reports);
    outcome.expectations.push_back(
        {i, expectation.text, expectation.place, verdict.held, verdict.observed, expectation.name, verdict.value});
  }
  judge_implied(outcome, reports);
}

Judge::Judgement Judge::verdict(std::size_t index, const Outcome& outcome, sim::World& world,
                                const CheckerReports& reports) const {
  const Expectation& expectation = scenario_.expectations[index];
  const auto workload = workloads_.find(expectation.workload);
  const WorkloadOutcome* result = workload ? &outcome.workloads[*workload] : nullptr;
  switch (expectation.kind) {
    case Expectation::Kind::completions:
      return completions(index);
    case Expectation::Kind::throughput: {
      if (result == nullptr) return {false, "there is no such workload"};
      const double rate = result->bits_per_second();
      return {expectation.value.contains(rate), rate_text(rate), rate};
    }
    case Expectation::Kind::latency:
      return latency(index, result);
    case Expectation::Kind::slowdown:
      return slowdown(index, result);
    case Expectation::Kind::rtt:
      return rtt(expectation);
    case Expectation::Kind::queue:
      return queue(index);
    case Expectation::Kind::pauses:
      return pauses(expectation, world);
    case Expectation::Kind::counter:
      return counter(expectation, world);
    case Expectation::Kind::qp_state:
      return qp_state(expectation);
    case Expectation::Kind::data_intact:
      return data_intact(expectation, outcome);
    case Expectation::Kind::silence:
      return {counts_[index] == 0, wire::counted(counts_[index], "packet")};
    case Expectation::Kind::finished:
      return finished(expectation, outcome);
    case Expectation::Kind::program:
      return {false, "there are no programs under virtual time"};
    case Expectation::Kind::checker: {
      const CheckerVerdict said = checker_verdict(expectation, reports);
      return {said.held, said.observed};
    }
    case Expectation::Kind::survivors: {
      if (result == nullptr) return {false, "there is no such workload"};
      const auto number = static_cast<double>(result->pairs_finished);
      return {expectation.value.contains(number), fmt::format("{} of {}", result->pairs_finished, result->pairs)};
    }
  }
  return {};
}

const LatencyHistogram* Judge::of_sizes(std::size_t index, const LatencyHistogram* of_all) const {
  const auto found = of_sizes_.find(index);
  return found != of_sizes_.end() ? &found->second : of_all;
}

Judge::Judgement Judge::latency(std::size_t index, const WorkloadOutcome* result) const {
  const Expectation& expectation = scenario_.expectations[index];
  const LatencyHistogram* const all = of_sizes(index, result != nullptr ? &result->latency : nullptr);
  if (all == nullptr || all->count() == 0) return {false, "nothing completed"};
  const double value = statistic(expectation, *all);
  return {expectation.value.contains(value), time_text(value), value};
}

Judge::Judgement Judge::slowdown(std::size_t index, const WorkloadOutcome* result) const {
  const Expectation& expectation = scenario_.expectations[index];
  const LatencyHistogram* const all = of_sizes(index, result != nullptr ? &result->slowdown : nullptr);
  if (all == nullptr || all->count() == 0) return {false, "no flow completed"};
  const double value = statistic(expectation, *all) / kSlowdownUnit;
  return {expectation.value.contains(value), fmt::format("{:.3g}", value), value};
}

Judge::Judgement Judge::queue(std::size_t index) const {
  const Expectation& expectation = scenario_.expectations[index];
  const LatencyHistogram& octets = queues_.at(index).octets;
  if (octets.count() == 0) return {false, "no sample in this time"};
  const std::uint64_t value = octets.percentile(expectation.percentile);
  return {expectation.value.contains(static_cast<double>(value)), octets_text(value), static_cast<double>(value)};
}

Judge::Judgement Judge::pauses(const Expectation& expectation, const sim::World& world) {
  std::uint64_t frames = 0;
  for (const sim::LinkId& link : links_of(expectation.links))
    frames += world.network().pause_statistics(world.now(), link).frames_received;
  return {expectation.value.contains(static_cast<double>(frames)), wire::counted(frames, "pause frame"),
          static_cast<double>(frames)};
}

Judge::Judgement Judge::rtt(const Expectation& expectation) const {
  const LatencyHistogram all = round_trips_.of(expectation.hosts);
  if (all.count() == 0) return {false, "none was measured"};
  const double value = statistic(expectation, all);
  return {expectation.value.contains(value), time_text(value), value};
}

Judge::Judgement Judge::completions(std::size_t index) const {
  const Bounds& bounds = scenario_.expectations[index].value;
  const bool held = is_bounded(bounds) ? bounds.contains(static_cast<double>(counts_[index])) : counts_[index] > 0;
  return {held, fmt::format("{}", counts_[index]), static_cast<double>(counts_[index])};
}

Judge::Judgement Judge::data_intact(const Expectation& expectation, const Outcome& outcome) const {
  std::uint64_t damaged = 0;
  std::uint64_t verified = 0;
  std::string first;
  for (const WorkloadOutcome& result : outcome.workloads) {
    if (!expectation.workload.empty() && expectation.workload != result.name) continue;
    damaged += result.damaged;
    verified += result.verified_messages;
    if (first.empty() && !result.damage.empty()) first = result.damage.front();
  }
  if (is_bounded(expectation.value))
    return {expectation.value.contains(static_cast<double>(damaged)), fmt::format("{} damaged", damaged)};
  if (damaged != 0) return {false, fmt::format("{} damaged; {}", damaged, first)};
  return {verified != 0, verified == 0 ? "nothing was verified" : wire::counted(verified, "message") + " verified"};
}

Judge::Judgement Judge::qp_state(const Expectation& expectation) const {
  const auto workload = workloads_.find(expectation.workload);
  if (!workload) return {false, "there is no such workload"};
  const auto wanted = static_cast<nic::QpState>(expectation.qp_state);
  std::uint64_t fitting = 0;
  std::string other;
  const auto& all = workloads_.traffic(*workload);
  for (const auto& traffic : all) {
    const auto state = traffic->state(expectation.target_side);
    if (state == wanted)
      ++fitting;
    else if (other.empty())
      other = state ? std::string(name_of(*state)) : "none, the host is down";
  }
  const bool held = fitting == all.size() && !all.empty();
  return {held, held ? std::string(name_of(wanted)) : fmt::format("{} of {}; {}", fitting, all.size(), other)};
}

Judge::Judgement Judge::counter(const Expectation& expectation, sim::World& world) const {
  for (std::size_t i = 0; i < nic::kCounters; ++i) {
    const auto counter = static_cast<nic::Counter>(i);
    if (nic::to_string(counter) != expectation.counter) continue;
    std::uint64_t sum = 0;
    for (sim::HostId host = 0; host < scenario_.topology.hosts; ++host)
      if (expectation.hosts.empty() ||
          std::find(expectation.hosts.begin(), expectation.hosts.end(), host) != expectation.hosts.end())
        sum += world.counters(host).get(counter);
    return {expectation.value.contains(static_cast<double>(sum)), fmt::format("{}", sum), static_cast<double>(sum)};
  }
  return {false, "there is no such counter"};
}

Judge::Judgement Judge::finished(const Expectation& expectation, const Outcome& outcome) const {
  Judgement verdict{true, ""};
  Duration last{0};
  for (const WorkloadOutcome& result : outcome.workloads) {
    if (!expectation.workload.empty() && expectation.workload != result.name) continue;
    if (!result.finished)
      return {false, fmt::format("{} of {} of '{}' finished", result.pairs_finished,
                                 wire::counted(result.pairs, "pair"), result.name)};
    last = std::max(last, *result.finished);
  }
  verdict.held = is_within(expectation.time_ns, last);
  verdict.observed = "after " + time_text(last);
  verdict.value = static_cast<double>(last.ns);
  return verdict;
}

bool Judge::is_expected(Expectation::Kind kind, const std::string& workload) const {
  return std::any_of(scenario_.expectations.begin(), scenario_.expectations.end(), [&](const Expectation& expectation) {
    return expectation.kind == kind && (expectation.workload.empty() || expectation.workload == workload);
  });
}

/// What nobody has to write: workloads finish of which nothing else is expected, data are what they were, checkers are
/// silent, the run ends by itself.
void Judge::judge_implied(Outcome& outcome, const CheckerReports& reports) const {
  const std::size_t implied = scenario_.expectations.size();
  for (const WorkloadOutcome& result : outcome.workloads) {
    const bool named = std::any_of(scenario_.expectations.begin(), scenario_.expectations.end(),
                                   [&](const Expectation& expectation) { return expectation.workload == result.name; });
    if (!named && !is_expected(Expectation::Kind::finished, result.name) &&
        !is_expected(Expectation::Kind::completions, result.name))
      outcome.expectations.push_back(
          {implied,
           fmt::format("'{}' finishes", result.name),
           {},
           result.finished.has_value(),
           fmt::format("{} of {}", result.pairs_finished, wire::counted(result.pairs, "pair"))});
    if (result.damaged != 0 && !is_expected(Expectation::Kind::data_intact, result.name))
      outcome.expectations.push_back({implied,
                                      fmt::format("data of '{}' intact", result.name),
                                      {},
                                      false,
                                      fmt::format("{} damaged; {}", result.damaged, result.damage.front())});
  }
  if (outcome.end == Outcome::End::timed_out)
    outcome.expectations.push_back(
        {implied, "the run ends by itself", {}, false, "ended by its timeout of " + time_text(scenario_.timeout)});
  for (ExpectationOutcome& unexpected : unexpected_reports(scenario_, reports, implied))
    outcome.expectations.push_back(std::move(unexpected));
}

}  // namespace verbena::scenarios
