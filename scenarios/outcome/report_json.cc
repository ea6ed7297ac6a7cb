// report_json: the summary of a run for programs. Times are nanoseconds from the start of the run.
// Tested by: tests/scenarios/virtual/faults_test.cc
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/outcome/failure_details.h"
#include "scenarios/outcome/report.h"
#include "scenarios/outcome/report_words.h"

namespace verbena::scenarios {
namespace {

bool is_of_packets(const Scenario& scenario, const AppliedFault& fault) {
  return std::holds_alternative<fabric::PacketRule>(scenario.faults[fault.index].what);
}

using Json = nlohmann::ordered_json;

Json statuses(const std::array<StatusCount, kStatuses>& counts) {
  Json all = Json::object();
  for (std::size_t i = 0; i < kStatuses; ++i)
    if (counts[i].number != 0)
      all[std::string(name_of(static_cast<nic::CompletionStatus>(i)))] = {
          {"number", counts[i].number}, {"first_ns", counts[i].first.ns}, {"last_ns", counts[i].last.ns}};
  return all;
}

/// Of flows: latency by the time that each takes alone.
Json slowdown_json(const LatencyHistogram& slowdown) {
  const auto shown = [](auto parts) { return static_cast<double>(parts) / kSlowdownUnit; };
  return {{"count", slowdown.count()},
          {"mean", shown(slowdown.mean())},
          {"p50", shown(slowdown.percentile(50))},
          {"p95", shown(slowdown.percentile(95))},
          {"p99", shown(slowdown.percentile(99))},
          {"most", shown(slowdown.most())}};
}

Json pair_json(const PairOutcome& pair, const Scenario& scenario, const Outcome& outcome) {
  const auto& vertices = scenario.topology.vertices;
  Json json{{"from", vertices[pair.from].name},
            {"to", vertices[pair.to].name},
            {"from_qpn", pair.from_qpn},
            {"to_qpn", pair.to_qpn},
            {"succeeded", pair.succeeded},
            {"finished", pair.finished},
            {"failure", nullptr}};
  if (pair.failure)
    json["failure"] = {{"status", name_of(static_cast<nic::CompletionStatus>(pair.failure->status))},
                       {"time_ns", pair.failure->time.ns}};
  if (!pair.finished && !outcome.out_directory.empty()) json["explain"] = explain_command(scenario, outcome, pair);
  return json;
}

Json workload_json(const WorkloadOutcome& workload, const Scenario& scenario, const Outcome& outcome) {
  Json json{{"name", workload.name},
            {"pairs", workload.pairs},
            {"pairs_finished", workload.pairs_finished},
            {"messages_posted", workload.messages_posted},
            {"octets", workload.octets},
            {"bits_per_second", workload.bits_per_second()},
            {"start_ns", workload.start.ns},
            {"last_completion_ns", workload.last_completion.ns},
            {"finished_ns", workload.finished ? Json(workload.finished->ns) : Json(nullptr)}};
  json["latency_ns"] = {{"count", workload.latency.count()},      {"least", workload.latency.least()},
                        {"mean", workload.latency.mean()},        {"p50", workload.latency.percentile(50)},
                        {"p90", workload.latency.percentile(90)}, {"p95", workload.latency.percentile(95)},
                        {"p99", workload.latency.percentile(99)}, {"p99.9", workload.latency.percentile(99.9)},
                        {"most", workload.latency.most()}};
  if (workload.slowdown.count() != 0) json["slowdown"] = slowdown_json(workload.slowdown);
  for (const SizeBin& bin : workload.by_size)
    json["by_size"].push_back({{"octets_most", bin.octets_most}, {"slowdown", slowdown_json(bin.slowdown)}});
  json["completions"] = statuses(workload.statuses);
  json["receives"] = statuses(workload.receive_statuses);
  json["verified"] = {{"messages", workload.verified_messages}, {"octets", workload.verified_octets}};
  json["by_pair"] = Json::array();
  for (const PairOutcome& pair : workload.by_pair) json["by_pair"].push_back(pair_json(pair, scenario, outcome));
  json["damaged"] = {{"messages", workload.damaged}, {"first", workload.damage}};
  return json;
}

std::string_view json_word(Outcome::End end) {
  switch (end) {
    case Outcome::End::finished:
      return "finished";
    case Outcome::End::timed_out:
      return "timed_out";
    case Outcome::End::interrupted:
      return "interrupted";
    case Outcome::End::failed:
      return "failed";
  }
  return "";
}

}  // namespace

std::string report_json(const Scenario& scenario, const Outcome& outcome) {
  Json json{{"scenario", scenario.name},
            {"seed", outcome.seed},
            {"held", outcome.held()},
            {"end", json_word(outcome.end)},
            {"error", outcome.error},
            {"elapsed_ns", outcome.elapsed.ns},
            {"trace_hash", fmt::format("{:016x}", outcome.trace_hash)}};
  json["workloads"] = Json::array();
  for (const WorkloadOutcome& workload : outcome.workloads)
    json["workloads"].push_back(workload_json(workload, scenario, outcome));
  if (const LatencyHistogram& all = outcome.round_trips; all.count() != 0)
    json["round_trips_ns"] = {{"count", all.count()},          {"least", all.least()},      {"mean", all.mean()},
                              {"p50", all.percentile(50)},     {"p95", all.percentile(95)}, {"p99", all.percentile(99)},
                              {"p99.9", all.percentile(99.9)}, {"most", all.most()}};
  json["programs"] = Json::array();
  for (const ProgramOutcome& program : outcome.programs)
    json["programs"].push_back({{"name", program.name},
                                {"status", program.status ? Json(*program.status) : Json(nullptr)},
                                {"held", program.held},
                                {"text", program.text},
                                {"last_lines", program.last_lines}});
  json["expectations"] = Json::array();
  for (const ExpectationOutcome& expectation : outcome.expectations)
    json["expectations"].push_back({{"text", expectation.text},
                                    {"line", expectation.place.line},
                                    {"held", expectation.held},
                                    {"observed", expectation.observed},
                                    {"name", expectation.name},
                                    {"value", expectation.value ? Json(*expectation.value) : Json(nullptr)}});
  json["faults"] = Json::array();
  for (const AppliedFault& fault : outcome.faults)
    json["faults"].push_back({{"text", scenario.faults[fault.index].text},
                              {"time_ns", fault.time ? Json(fault.time->ns) : Json(nullptr)},
                              {"packets_hit", is_of_packets(scenario, fault) ? fault.hits : 0},
                              {"hits", fault.hits}});
  json["checkers"] = {{"reports", outcome.violations_total}, {"first", Json::array()}};
  for (const ReportedViolation& violation : outcome.violations)
    json["checkers"]["first"].push_back({{"time_ns", violation.time.ns},
                                         {"checker", violation.checker},
                                         {"clause", violation.clause},
                                         {"text", violation.text}});
  json["packets"] = {{"arrivals", outcome.packet_arrivals},
                     {"lost", outcome.packets_lost},
                     {"overflowed", outcome.packets_overflowed},
                     {"vanished", outcome.packets_vanished}};
  json["pauses"] = {{"frames", outcome.pause_frames}, {"storms", outcome.pause_storms}};
  json["notes"] = outcome.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verbena::scenarios
