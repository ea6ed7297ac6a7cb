#include "cli/run/library.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "cli/run/output.h"
#include "cli/scenario_file.h"
#include "scenarios/outcome/plan_text.h"
#include "scenarios/outcome/report_words.h"

namespace verbena::cli::run {
namespace {

using Json = nlohmann::ordered_json;
using scenarios::Scenario;

std::string_view clock_of(const Scenario& scenario) {
  return scenario.clock == scenarios::Clock::real_time ? "real" : "virtual";
}

std::string first_sentence(const std::string& text) {
  std::string first = text.substr(0, std::min(text.find(". "), text.find('\n')));
  if (first.ends_with('.')) first.pop_back();
  return first;
}

Json json_of(const std::string& file, const Scenario& scenario) {
  Json json{{"file", file},
            {"scenario", scenario.name},
            {"description", scenario.description},
            {"clock", clock_of(scenario)},
            {"nodes", scenario.topology.nodes()},
            {"workloads", Json::array()},
            {"programs", Json::array()},
            {"faults", Json::array()},
            {"expectations", Json::array()}};
  for (const auto& one : scenario.workloads) json["workloads"].push_back(one.name);
  for (const auto& one : scenario.programs) json["programs"].push_back(one.name);
  for (const auto& one : scenario.faults) json["faults"].push_back(one.text);
  for (const auto& one : scenario.expectations) json["expectations"].push_back(one.text);
  return json;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int list_library(const CommandLine& line, const Options& options) {
  std::vector<scenarios::TableRow> rows;
  Json all = Json::array();
  for (const LibraryScenario& one : library_scenarios()) {
    const auto read = read_named_scenario(one.name);
    rows.push_back({one.name, read ? std::string(clock_of(*read)) : "",
                    read ? first_sentence(read->description) : read.error().text});
    if (read) {
      all.push_back({{"name", one.name}});
      all.back().update(json_of(one.file, *read));
    } else {
      all.push_back({{"name", one.name}, {"file", one.file}, {"error", read.error().text}});
    }
  }
  if (!options.json.empty())
    if (const auto status = write_output(line, "--json", options.json, dumped(all))) return *status;
  if (!options.is_silent()) fmt::print("{}", scenarios::table_text(rows));
  return 0;
}

int check_files(const CommandLine& line, const Options& options) {
  Json all = Json::array();
  int status = 0;
  bool has_printed = false;
  for (const std::string& file : options.files) {
    auto read = read_named_scenario(file);
    if (!read) {
      status = line.fail(kExitUsage, read.error().line());
      all.push_back({{"file", file}, {"error", read.error().line()}});
      continue;
    }
    if (const auto seed = parse_number(options.seed, 0, UINT64_MAX)) read->seed = *seed;
    all.push_back(json_of(file, *read));
    if (!options.is_silent())
      fmt::print("{}{}", std::exchange(has_printed, true) ? "\n" : "", scenarios::plan_text(*read));
  }
  if (!options.json.empty())
    if (const auto failed = write_output(line, "--json", options.json, dumped(all))) return *failed;
  return status;
}

}  // namespace verbena::cli::run
