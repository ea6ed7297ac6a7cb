#include "scenarios/real/real_expectations.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "scenarios/outcome/report_words.h"
#include "scenarios/real/place_text.h"
#include "wire/counted.h"

namespace verbena::scenarios {
namespace {

using ExpectationKind = Expectation::Kind;

bool is_about_workloads(ExpectationKind kind) {
  switch (kind) {
    case ExpectationKind::counter:
    case ExpectationKind::silence:
    case ExpectationKind::program:
    case ExpectationKind::checker:
    case ExpectationKind::queue:
      return false;
    case ExpectationKind::completions:
    case ExpectationKind::throughput:
    case ExpectationKind::latency:
    case ExpectationKind::slowdown:
    case ExpectationKind::rtt:
    case ExpectationKind::pauses:
    case ExpectationKind::qp_state:
    case ExpectationKind::data_intact:
    case ExpectationKind::finished:
    case ExpectationKind::survivors:
      return true;
  }
  return true;
}

Duration begin_of(const Expectation& expectation) {
  return {static_cast<std::int64_t>(expectation.time_ns.least.value_or(0))};
}

/// `direction`: of the two for every cable, forward and backward, as they follow each other in the fabric's answer.
bool wants(const Expectation& expectation, std::size_t direction) {
  const bool backward = direction % 2 != 0;
  return std::any_of(expectation.links.begin(), expectation.links.end(), [&](const LinkChoice& choice) {
    return choice.cable == direction / 2 && (choice.way == Way::both || (choice.way == Way::backward) == backward);
  });
}

void judge_program(const Expectation& expectation, const ProgramEnd& program, ExpectationOutcome& outcome) {
  outcome.held = expectation.status ? program.outcome.status == *expectation.status : program.outcome.held;
  outcome.observed = program.outcome.text;
  if (expectation.output.empty()) return;
  std::smatch found;
  if (!std::regex_search(program.output, found, std::regex(expectation.output))) {
    outcome.held = false;
    outcome.observed += ", and its output does not fit";
  } else if (expectation.value.least || expectation.value.most) {
    const std::string number = found.size() > 1 ? found.str(1) : std::string();
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    const bool is_number = !number.empty() && *end == '\0';
    outcome.held = outcome.held && is_number && expectation.value.contains(value);
    outcome.observed += ", " + (is_number ? number : "'" + number + "' is no number");
  }
}

}  // namespace

std::optional<std::string> RealExpectations::refuse(const Scenario& scenario) {
  for (const Expectation& expectation : scenario.expectations) {
    if (is_about_workloads(expectation.kind))
      return place_text(expectation.place) + ": expectation '" + expectation.text +
             "' needs `clock: virtual`: what goes on inside a program is not seen";
    try {
      [[maybe_unused]] const std::regex compiled(expectation.output);
    } catch (const std::regex_error&) {
      return place_text(expectation.place) + ": '" + expectation.output + "' is no regular expression";
    }
  }
  return std::nullopt;
}

std::uint64_t RealExpectations::frames_on(const Expectation& expectation, const host::FabricSnapshot& seen) const {
  std::uint64_t frames = 0;
  for (std::size_t i = 0; i < seen.links.size(); ++i)
    if (expectation.links.empty() || wants(expectation, i)) frames += seen.links[i].seen.frames;
  return frames;
}

std::optional<Duration> RealExpectations::next_sample(Duration elapsed) const {
  std::optional<Duration> next;
  const auto take = [&](Duration when) {
    if (!next || when < *next) next = when;
  };
  for (std::size_t i = 0; i < scenario_.expectations.size(); ++i) {
    const Expectation& expectation = scenario_.expectations[i];
    if (expectation.kind == ExpectationKind::queue) take(queues_at_);
    if (expectation.kind != ExpectationKind::silence) continue;
    const auto found = samples_.find(i);
    if (found == samples_.end())
      take(std::max(begin_of(expectation), elapsed));
    else if (!found->second.last && expectation.time_ns.most)
      take({static_cast<std::int64_t>(*expectation.time_ns.most)});
  }
  return next;
}

void RealExpectations::sample_queues(Duration elapsed, const host::FabricSnapshot& seen) {
  queues_at_ = elapsed + scenario_.sample;
  for (std::size_t i = 0; i < scenario_.expectations.size(); ++i) {
    const Expectation& expectation = scenario_.expectations[i];
    if (expectation.kind != ExpectationKind::queue || !expectation.time_ns.contains(static_cast<double>(elapsed.ns)))
      continue;
    for (std::size_t link = 0; link < seen.links.size(); ++link)
      if (wants(expectation, link)) queues_[i].add(std::int64_t{seen.links[link].seen.queue_octets});
  }
}

void RealExpectations::sample(Duration elapsed, const host::FabricSnapshot& seen) {
  if (elapsed >= queues_at_) sample_queues(elapsed, seen);
  for (std::size_t i = 0; i < scenario_.expectations.size(); ++i) {
    const Expectation& expectation = scenario_.expectations[i];
    if (expectation.kind != ExpectationKind::silence || elapsed < begin_of(expectation)) continue;
    Sample& sample = samples_[i];
    const bool is_over = expectation.time_ns.most && static_cast<double>(elapsed.ns) >= *expectation.time_ns.most;
    if (!sample.first)
      sample.first = frames_on(expectation, seen);
    else if (!sample.last && is_over)
      sample.last = frames_on(expectation, seen);
  }
}

void RealExpectations::judge_queue(std::size_t index, ExpectationOutcome& outcome) const {
  const Expectation& expectation = scenario_.expectations[index];
  const auto found = queues_.find(index);
  if (found == queues_.end()) {
    outcome.observed = "no sample in this time";
    return;
  }
  const std::uint64_t octets = found->second.percentile(expectation.percentile);
  outcome.value = static_cast<double>(octets);
  outcome.held = expectation.value.contains(*outcome.value);
  outcome.observed = octets_text(octets);
}

ExpectationOutcome RealExpectations::judge_one(std::size_t index, const std::vector<ProgramEnd>& programs,
                                               const host::FabricSnapshot& seen, const CheckerReports& reports) const {
  const Expectation& expectation = scenario_.expectations[index];
  ExpectationOutcome outcome{index, expectation.text, expectation.place, false, {}, expectation.name};
  switch (expectation.kind) {
    case ExpectationKind::program:
      for (std::size_t i = 0; i < programs.size(); ++i) {
        if (programs[i].outcome.name != expectation.workload) continue;
        judge_program(expectation, programs[i], outcome);
      }
      break;
    case ExpectationKind::counter: {
      std::uint64_t sum = 0;
      for (std::uint32_t host = 0; host < seen.nodes.size(); ++host)
        if (expectation.hosts.empty() || std::ranges::find(expectation.hosts, host) != expectation.hosts.end())
          sum += seen.counter(host, expectation.counter);
      outcome.value = static_cast<double>(sum);
      outcome.held = expectation.value.contains(*outcome.value);
      outcome.observed = std::to_string(sum);
      break;
    }
    case ExpectationKind::silence: {
      const auto found = samples_.find(index);
      const std::uint64_t last =
          found != samples_.end() && found->second.last ? *found->second.last : frames_on(expectation, seen);
      const std::uint64_t frames = found == samples_.end() || !found->second.first ? 0 : last - *found->second.first;
      outcome.held = frames == 0;
      outcome.observed = wire::counted(frames, "packet");
      break;
    }
    case ExpectationKind::checker: {
      const CheckerVerdict verdict = checker_verdict(expectation, reports);
      outcome.held = verdict.held;
      outcome.observed = verdict.observed;
      break;
    }
    case ExpectationKind::queue:
      judge_queue(index, outcome);
      break;
    case ExpectationKind::completions:
    case ExpectationKind::throughput:
    case ExpectationKind::latency:
    case ExpectationKind::slowdown:
    case ExpectationKind::rtt:
    case ExpectationKind::pauses:
    case ExpectationKind::qp_state:
    case ExpectationKind::data_intact:
    case ExpectationKind::finished:
    case ExpectationKind::survivors:
      break;  // refuse() has said so
  }
  return outcome;
}

std::vector<ExpectationOutcome> RealExpectations::judge(const std::vector<ProgramEnd>& programs,
                                                        const host::FabricSnapshot& seen,
                                                        const CheckerReports& reports) const {
  std::vector<ExpectationOutcome> outcomes;
  std::vector<bool> is_judged(programs.size(), false);
  for (std::size_t i = 0; i < scenario_.expectations.size(); ++i) {
    outcomes.push_back(judge_one(i, programs, seen, reports));
    for (std::size_t program = 0; program < programs.size(); ++program)
      if (scenario_.expectations[i].kind == ExpectationKind::program &&
          scenario_.expectations[i].workload == programs[program].outcome.name)
        is_judged[program] = true;
  }
  // Every program is expected to end as it should, said or not.
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (is_judged[i]) continue;
    outcomes.push_back({scenario_.expectations.size() + i, "program " + programs[i].outcome.name + " ends as it should",
                        scenario_.programs[i].place, programs[i].outcome.held, programs[i].outcome.text});
  }
  for (ExpectationOutcome& unexpected : unexpected_reports(scenario_, reports, scenario_.expectations.size()))
    outcomes.push_back(std::move(unexpected));
  return outcomes;
}

}  // namespace verbena::scenarios
