#include "scenarios/papers/experiment_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/outcome/report_words.h"

namespace verbena::scenarios {
namespace {

using Json = nlohmann::ordered_json;
using Row = TableRow;

std::string number_text(double value, Unit unit) {
  switch (unit) {
    case Unit::rate:
      return rate_text(value);
    case Unit::octets:
      return octets_text(static_cast<std::uint64_t>(std::llround(value)));
    case Unit::time:
      return time_text(value);
    case Unit::times:
      return fmt::format("{:.3g}", value);
    case Unit::number:
      return fmt::format("{:.6g}", value);
  }
  return {};
}

std::string_view unit_word(Unit unit) {
  switch (unit) {
    case Unit::rate:
      return "bits_per_second";
    case Unit::octets:
      return "octets";
    case Unit::time:
      return "nanoseconds";
    case Unit::times:
      return "ratio";
    case Unit::number:
      return "number";
  }
  return {};
}

std::string published_text(const ExperimentRow& row) {
  if (!row.published) return "-";
  const auto [least, most] = *row.published;
  std::string text = least == most      ? number_text(least, row.unit)
                     : std::isinf(most) ? number_text(least, row.unit) + " or more"
                     : least == 0       ? number_text(most, row.unit) + " or less"
                                        : number_text(least, row.unit) + " to " + number_text(most, row.unit);
  return row.is_verified ? text : text + " (not verified)";
}

std::string_view verdict_word(RowVerdict verdict) {
  switch (verdict) {
    case RowVerdict::within:
      return "within";
    case RowVerdict::explained:
      return "explained";
    case RowVerdict::outside:
      return "OUTSIDE";
    case RowVerdict::not_judged:
      return "not judged";
  }
  return {};
}

Json row_json(const RowResult& result) {
  const ExperimentRow& row = *result.row;
  Json json{{"what", row.what}, {"unit", unit_word(row.unit)}};
  if (row.published)
    json["published"] = {{"least", row.published->least},
                         {"most", std::isinf(row.published->most) ? Json(nullptr) : Json(row.published->most)}};
  else
    json["published"] = nullptr;
  json["verified"] = row.is_verified;
  json["source"] = row.source;
  json["ours"] = result.ours;
  json["ratio"] = result.ratio ? Json(*result.ratio) : Json(nullptr);
  json["verdict"] = result.verdict == RowVerdict::outside ? "outside" : verdict_word(result.verdict);
  json["explanation"] = row.explanation;
  return json;
}

Json header_json(const Experiment& experiment) {
  return {{"name", experiment.name},
          {"paper", experiment.paper},
          {"what", experiment.what},
          {"parameters", experiment.parameters}};
}

}  // namespace

std::string experiments_text(std::span<const Experiment* const> experiments) {
  std::size_t width = 0;
  for (const Experiment* experiment : experiments) width = std::max(width, experiment->name.size());
  std::string text;
  for (const Experiment* experiment : experiments)
    text += fmt::format("{:{}}  {:>5}  {}\n{:{}}         {}\n", experiment->name, width,
                        fmt::format("{} s", experiment->seconds), experiment->what, "", width, experiment->paper);
  return text;
}

std::string experiments_json(std::span<const Experiment* const> experiments) {
  Json all = Json::array();
  for (const Experiment* experiment : experiments) {
    Json json = header_json(*experiment);
    json["seconds"] = experiment->seconds;
    json["scenarios"] = Json::array();
    for (const ExperimentRun& run : experiment->runs)
      json["scenarios"].push_back(fmt::format("papers/{}", run.scenario));
    all.push_back(std::move(json));
  }
  return all.dump(2) + "\n";
}

std::string experiment_text(const ExperimentResult& result) {
  const Experiment& experiment = *result.experiment;
  std::string text = fmt::format("{}: {}\n  {}\n  parameters: {}\n\n", experiment.name, experiment.what,
                                 experiment.paper, experiment.parameters);
  std::vector<Row> rows{{"", "published", "ours", "ratio", ""}};
  std::vector<std::string_view> notes;
  const auto note = [&notes](std::string_view words) {
    const auto found = std::find(notes.begin(), notes.end(), words);
    if (found != notes.end()) return found - notes.begin() + 1;
    notes.push_back(words);
    return static_cast<std::ptrdiff_t>(notes.size());
  };
  for (const RowResult& row : result.rows) {
    std::string last = fmt::format("{} [{}]", verdict_word(row.verdict), note(row.row->source));
    if (!row.row->explanation.empty()) last += fmt::format(" [{}]", note(row.row->explanation));
    rows.push_back({std::string(row.row->what), published_text(*row.row), number_text(row.ours, row.row->unit),
                    row.ratio ? fmt::format("{:.2f}", *row.ratio) : "-", std::move(last)});
  }
  text += table_text(rows, "  ") + "\n";
  for (std::size_t i = 0; i < notes.size(); ++i) text += fmt::format("  [{}] {}\n", i + 1, notes[i]);
  for (const RunResult& run : result.runs)
    text += fmt::format("  run {}: {} of virtual time in {:.1f} s, trace {:016x}\n", run.name, time_text(run.elapsed),
                        run.seconds, run.trace_hash);
  return text;
}

std::string results_json(std::span<const ExperimentResult> results) {
  Json all = Json::array();
  for (const ExperimentResult& result : results) {
    Json json = header_json(*result.experiment);
    json["held"] = result.held();
    json["rows"] = Json::array();
    for (const RowResult& row : result.rows) json["rows"].push_back(row_json(row));
    json["runs"] = Json::array();
    for (const RunResult& run : result.runs)
      json["runs"].push_back({{"name", run.name},
                              {"seconds", run.seconds},
                              {"elapsed_ns", run.elapsed.ns},
                              {"trace_hash", fmt::format("{:016x}", run.trace_hash)}});
    all.push_back(std::move(json));
  }
  return all.dump(2) + "\n";
}

}  // namespace verbena::scenarios
