#include "scenarios/outcome/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "emulator/fabric/short_forms.h"
#include "scenarios/outcome/failure_details.h"
#include "scenarios/outcome/report_words.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::scenarios {
namespace {

constexpr std::size_t kFaultsShown = 20;

using Row = TableRow;

std::string statuses_text(const WorkloadOutcome& workload) {
  std::string text;
  for (std::size_t i = 0; i < kStatuses; ++i) {
    if (workload.statuses[i].number == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", workload.statuses[i].number, name_of(static_cast<nic::CompletionStatus>(i)));
  }
  return text.empty() ? "none" : text;
}

std::string latency_text(const WorkloadOutcome& workload, double percent) {
  return workload.latency.count() == 0 ? "-" : time_text(static_cast<double>(workload.latency.percentile(percent)));
}

std::string workloads_text(const Outcome& outcome) {
  std::vector<Row> rows{{"workload", "bytes", "throughput", "p50", "p99", "p99.9", "max", "pairs done", "completions"}};
  for (const WorkloadOutcome& workload : outcome.workloads)
    rows.push_back({workload.name, octets_text(workload.octets), rate_text(workload.bits_per_second()),
                    latency_text(workload, 50), latency_text(workload, 99), latency_text(workload, 99.9),
                    latency_text(workload, 100), fmt::format("{}/{}", workload.pairs_finished, workload.pairs),
                    statuses_text(workload)});
  return rows.size() == 1 ? "" : table_text(rows) + "\n";
}

std::string flows_text(const Outcome& outcome) {
  std::vector<Row> rows{{"flows", "number", "mean", "p50", "p95", "p99", "slowdown", "p50", "p95", "p99"}};
  for (const WorkloadOutcome& workload : outcome.workloads) {
    const LatencyHistogram& slowdown = workload.slowdown;
    if (slowdown.count() == 0) continue;
    const auto shown = [](double parts) { return fmt::format("{:.2f}", parts / kSlowdownUnit); };
    const auto percentile = [&](double percent) { return shown(static_cast<double>(slowdown.percentile(percent))); };
    rows.push_back({workload.name, fmt::format("{}", slowdown.count()), time_text(workload.latency.mean()),
                    latency_text(workload, 50), latency_text(workload, 95), latency_text(workload, 99),
                    shown(slowdown.mean()), percentile(50), percentile(95), percentile(99)});
  }
  return rows.size() == 1 ? "" : table_text(rows) + "\n";
}

/// Of workloads whose sizes are of a distribution.
std::string sizes_text(const Outcome& outcome) {
  std::vector<Row> rows{{"flows by size", "up to", "number", "slowdown p50", "p95", "p99"}};
  for (const WorkloadOutcome& workload : outcome.workloads) {
    for (const SizeBin& bin : workload.by_size) {
      const auto percentile = [&bin](double percent) {
        return bin.slowdown.count() == 0
                   ? "-"
                   : fmt::format("{:.2f}", static_cast<double>(bin.slowdown.percentile(percent)) / kSlowdownUnit);
      };
      rows.push_back({workload.name, octets_text(bin.octets_most), fmt::format("{}", bin.slowdown.count()),
                      percentile(50), percentile(95), percentile(99)});
    }
  }
  return rows.size() == 1 ? "" : table_text(rows) + "\n";
}

std::string round_trips_text(const Outcome& outcome) {
  const LatencyHistogram& all = outcome.round_trips;
  if (all.count() == 0) return "";
  const auto percentile = [&all](double percent) { return time_text(static_cast<double>(all.percentile(percent))); };
  return fmt::format("rtt       {} measured by congestion control: mean {}, p50 {}, p95 {}, p99 {}\n", all.count(),
                     time_text(all.mean()), percentile(50), percentile(95), percentile(99));
}

std::string programs_text(const Outcome& outcome) {
  std::string text;
  for (const ProgramOutcome& program : outcome.programs)
    text += fmt::format("{:8}  program {}: {}\n{}", program.held ? "held" : "NOT HELD", program.name,
                        wire::printable(program.text), last_lines_text(program));
  return text + out_hint(outcome);
}

std::string expectations_text(const Outcome& outcome) {
  std::string text;
  for (const ExpectationOutcome& expectation : outcome.expectations) {
    text += fmt::format("{:8}  {}: {}", expectation.held ? "held" : "NOT HELD", expectation.text,
                        wire::printable(expectation.observed));
    if (expectation.place.line != 0) text += fmt::format("  (line {})", expectation.place.line);
    text += "\n";
  }
  return text;
}

std::string faults_text(const Scenario& scenario, const Outcome& outcome) {
  std::string text;
  std::size_t shown = 0;
  for (const AppliedFault& applied : outcome.faults) {
    if (shown++ == kFaultsShown)
      return text + fmt::format("fault     ... and {} more\n", outcome.faults.size() - kFaultsShown);
    const Fault& fault = scenario.faults[applied.index];
    text += fmt::format("fault     {}: ", wire::printable(fault.text));
    if (!applied.time)
      text += "it never came to it\n";
    else if (const auto verbs = fabric::host_verb_rule_of(fault.what))
      text += fmt::format("from {} on, {} hit\n", time_text(*applied.time),
                          wire::counted(applied.hits, fabric::to_string(fabric::hit_by(verbs->rule.action))));
    else if (std::holds_alternative<fabric::PacketRule>(fault.what))
      text += fmt::format("from {} on, {} hit\n", time_text(*applied.time), wire::counted(applied.hits, "packet"));
    else
      text += fmt::format("at {}\n", time_text(*applied.time));
  }
  return text;
}

std::string_view text_of(Outcome::End end) {
  switch (end) {
    case Outcome::End::finished:
      return "finished";
    case Outcome::End::timed_out:
      return "ended by its timeout";
    case Outcome::End::interrupted:
      return "interrupted";
    case Outcome::End::failed:
      return "failed";
  }
  return "";
}

}  // namespace

std::string progress_text(const RunProgress& progress) {
  std::string text =
      fmt::format("{}  {}", time_text(progress.elapsed), wire::counted(progress.completions, "completion"));
  if (progress.completions_wanted != 0)
    text += fmt::format(
        " of {} ({:.0f} %)", progress.completions_wanted,
        100.0 * static_cast<double>(progress.completions) / static_cast<double>(progress.completions_wanted));
  return text + "  " + octets_text(progress.octets);
}

std::string report_text(const Scenario& scenario, const Outcome& outcome) {
  std::string text = fmt::format("{}: {} after {}, seed {}\n\n", scenario.name, text_of(outcome.end),
                                 time_text(outcome.elapsed), outcome.seed);
  text += workloads_text(outcome) + flows_text(outcome) + sizes_text(outcome);
  text += programs_text(outcome) + expectations_text(outcome);
  text += pairs_text(scenario, outcome) + faults_text(scenario, outcome) + round_trips_text(outcome);
  for (const ReportedViolation& violation : outcome.violations)
    text += fmt::format("checker   {} at {}: {} ({})\n", violation.checker, time_text(violation.time), violation.text,
                        violation.clause);
  if (outcome.violations_total > outcome.violations.size())
    text += fmt::format("checker   ... and {}\n",
                        wire::counted(outcome.violations_total - outcome.violations.size(), "more report"));
  for (const std::string& note : outcome.notes) text += "note      " + note + "\n";
  if (outcome.pause_frames != 0)
    text +=
        fmt::format("pauses    {}, {} given up by the watchdog\n", wire::counted(outcome.pause_frames, "pause frame"),
                    wire::counted(outcome.pause_storms, "port"));
  if (scenario.clock == Clock::virtual_time)
    text += fmt::format("packets   {}, {} lost by faults, {} by full queues, {} vanished\ntrace     {:016x}\n",
                        wire::counted(outcome.packet_arrivals, "arrival"), outcome.packets_lost,
                        outcome.packets_overflowed, outcome.packets_vanished, outcome.trace_hash);
  return text;
}

std::string comparison_text(std::span<const ComparedRun> runs) {
  std::vector<Row> rows{{"scenario", "workload", "pairs done", "bytes", "throughput", "p50", "max", "finished",
                         "verdict", "completions"}};
  for (const ComparedRun& run : runs) {
    if (run.outcome->workloads.empty())
      rows.push_back({run.scenario->name, "", "", "", "", "", "", "", run.outcome->held() ? "held" : "NOT HELD", ""});
    for (const WorkloadOutcome& workload : run.outcome->workloads)
      rows.push_back({run.scenario->name, workload.name, fmt::format("{}/{}", workload.pairs_finished, workload.pairs),
                      octets_text(workload.octets), rate_text(workload.bits_per_second()), latency_text(workload, 50),
                      latency_text(workload, 100), workload.finished ? time_text(*workload.finished) : "never",
                      run.outcome->held() ? "held" : "NOT HELD", statuses_text(workload)});
  }
  return table_text(rows);
}

}  // namespace verbena::scenarios
