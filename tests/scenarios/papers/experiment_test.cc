// Experiments: their values come from where the table says, and are judged by how far they are from the published ones.
#include "scenarios/papers/experiment.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/language/read_scenario.h"
#include "scenarios/papers/experiment_report.h"
#include "scenarios/papers/run_experiment.h"
#include "tests/support/places.h"

using namespace verbena;
using namespace verbena::scenarios;

namespace {

/// A library with one paper's scenario in it: 10 messages of 100 KB at 10 Gb/s.
struct Library {
  explicit Library(const std::string& expectations) {
    BOOST_REQUIRE(mkdtemp(name.data()) != nullptr);
    std::filesystem::create_directory(name + "/papers");
    std::ofstream(name + "/papers/one.yaml")
        << "topology: {shape: star, hosts: 2, link: {rate: 10Gbps}}\n"
           "workloads:\n  - {name: w, verb: write, from: n1, to: n2, size: 100KB, count: 10}\n"
           "expect:\n"
        << expectations;
  }
  ~Library() { std::filesystem::remove_all(name); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  std::string name = (std::filesystem::temp_directory_path() / "verbena-papers-XXXXXX").string();
};

constexpr ExperimentRun kRuns[] = {{"a", "one"}, {"b", "one"}};

ExperimentRow count_row(const Published& published, bool is_verified, std::string_view explanation = {}) {
  return {"messages", Unit::number, published, is_verified, "nowhere", {"a", "count", {}, {}}, explanation};
}

RowVerdict verdict_of(const ExperimentRow& row) {
  const Library library("  - {completions: w, min: 1, name: count}\n");
  const ExperimentRow rows[] = {row};
  const Experiment experiment{"t", "nobody", "counts", "none", kRuns, rows, 1};
  const auto result = run_experiment(experiment, {.library = library.name, .run = {}, .begins = {}, .runner = {}});
  BOOST_REQUIRE(result.ok());
  BOOST_TEST(result->rows.at(0).ours == 10);
  BOOST_TEST(result->runs.size() == 2u);
  BOOST_TEST(result->held() == (result->rows.at(0).verdict != RowVerdict::outside));
  return result->rows.at(0).verdict;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_ratio_is_to_the_nearer_end_of_what_was_published) {
  BOOST_TEST(ratio_of(Published::value(4), 5) == 1.25);
  BOOST_TEST(ratio_of(Published::at_least(40), 50) == 1);
  BOOST_TEST(ratio_of(Published::at_least(40), 30) == 0.75);
  BOOST_TEST(ratio_of(Published::at_most(40), 50) == 1.25);
  BOOST_TEST(ratio_of(Published::between(1, 2), 1.5) == 1);
  BOOST_TEST(ratio_of(Published::between(1, 2), 3) == 1.5);
  BOOST_TEST(ratio_of(Published::between(1, 2), 0.5) == 0.5);
  BOOST_TEST(is_within(0.85));
  BOOST_TEST(is_within(1.15));
  BOOST_TEST(!is_within(0.84));
  BOOST_TEST(!is_within(1.16));
}

BOOST_AUTO_TEST_CASE(a_value_is_within_explained_outside_or_not_judged) {
  BOOST_CHECK(verdict_of(count_row(Published::value(11), true)) == RowVerdict::within);
  BOOST_CHECK(verdict_of(count_row(Published::value(20), true)) == RowVerdict::outside);
  BOOST_CHECK(verdict_of(count_row(Published::value(20), true, "because")) == RowVerdict::explained);
  BOOST_CHECK(verdict_of(count_row(Published::value(20), false)) == RowVerdict::not_judged);
  ExperimentRow unknown = count_row({}, false);
  unknown.published.reset();
  BOOST_CHECK(verdict_of(unknown) == RowVerdict::not_judged);
}

BOOST_AUTO_TEST_CASE(a_value_may_be_that_of_one_run_by_that_of_another) {
  const Library library("  - {completions: w, min: 1, name: count}\n  - {latency: w, min: 1ns, name: p50}\n");
  const ExperimentRow rows[] = {
      {"ratio", Unit::times, Published::value(1), true, "nowhere", {"a", "p50", "b", "p50"}, {}}};
  const Experiment experiment{"t", "nobody", "ratios", "none", kRuns, rows, 1};
  const auto result = run_experiment(experiment, {.library = library.name, .run = {}, .begins = {}, .runner = {}});
  BOOST_REQUIRE(result.ok());
  BOOST_TEST(result->rows.at(0).ours == 1);
}

BOOST_AUTO_TEST_CASE(a_value_may_be_that_of_a_run_by_what_arithmetic_says) {
  const Library library("  - {completions: w, min: 1, name: count}\n");
  const ExperimentRow rows[] = {
      {"ratio",
       Unit::times,
       Published::value(2),
       true,
       "nowhere",
       {.run = "a", .name = "count", .over_run = {}, .over_name = {}, .computed = [] { return 5.0; }},
       {}}};
  const Experiment experiment{"t", "nobody", "ratios", "none", kRuns, rows, 1};
  const auto result = run_experiment(experiment, {.library = library.name, .run = {}, .begins = {}, .runner = {}});
  BOOST_REQUIRE(result.ok());
  BOOST_TEST(result->rows.at(0).ours == 2);
}

BOOST_AUTO_TEST_CASE(an_expectation_without_a_name_must_hold) {
  const auto error_of = [](const std::string& expectations, std::string_view scenario) {
    const Library library(expectations);
    const ExperimentRun runs[] = {{"a", scenario}};
    const ExperimentRow rows[] = {count_row(Published::value(10), true)};
    const Experiment experiment{"t", "nobody", "counts", "none", runs, rows, 1};
    const auto result = run_experiment(experiment, {.library = library.name, .run = {}, .begins = {}, .runner = {}});
    BOOST_REQUIRE(!result.ok());
    BOOST_TEST(result.error().text.find('\n') == std::string::npos);
    return result.error().kind;
  };
  const std::string count = "  - {completions: w, min: 1, name: count}\n";
  BOOST_CHECK(error_of(count + "  - {completions: w, is: 3}\n", "one") == ExperimentError::Kind::not_held);
  BOOST_CHECK(error_of("  - {completions: w, min: 1}\n", "one") == ExperimentError::Kind::not_held);
  BOOST_CHECK(error_of(count, "two") == ExperimentError::Kind::scenario);
}

BOOST_AUTO_TEST_CASE(experiment_cites_its_numbers_and_its_scenarios_have_them) {
  std::set<std::string_view> names;
  std::set<std::string> files_used;
  for (const Experiment* experiment : all_experiments()) {
    BOOST_TEST_CONTEXT(experiment->name) {
      BOOST_TEST(names.insert(experiment->name).second);
      BOOST_TEST(!experiment->rows.empty());
      BOOST_TEST(!experiment->parameters.empty());
      std::set<std::pair<std::string, std::string>> values;
      for (const ExperimentRun& run : experiment->runs) {
        const std::string file = test::source_file("scenarios/papers/" + std::string(run.scenario) + ".yaml");
        files_used.insert(file);
        const auto scenario = read_scenario_file(file, {.profile_folders = {test::source_file("scenarios/profiles")}});
        BOOST_REQUIRE_MESSAGE(scenario.ok(), (scenario.ok() ? "" : scenario.error().line()));
        for (const Expectation& expectation : scenario->expectations)
          if (!expectation.name.empty()) values.emplace(run.name, expectation.name);
      }
      for (const ExperimentRow& row : experiment->rows) {
        BOOST_TEST(!row.source.empty(), row.what);
        BOOST_TEST((row.published.has_value() || !row.is_verified), row.what);
        if (row.ours.run.empty() && row.ours.computed != nullptr) continue;
        BOOST_TEST((row.ours.over_run.empty() || row.ours.computed == nullptr), row.what);
        BOOST_TEST(values.contains({std::string(row.ours.run), std::string(row.ours.name)}), row.what);
        if (!row.ours.over_run.empty())
          BOOST_TEST(values.contains({std::string(row.ours.over_run), std::string(row.ours.over_name)}), row.what);
      }
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(test::source_file("scenarios/papers")))
    if (entry.path().extension() == ".yaml")
      BOOST_TEST(files_used.contains(entry.path().string()), entry.path() << " belongs to no experiment");
}

BOOST_AUTO_TEST_CASE(experiments_of_a_second_are_within_their_margins) {
  for (const Experiment* experiment : all_experiments()) {
    if (experiment->seconds > 1) continue;
    BOOST_TEST_CONTEXT(experiment->name) {
      const auto result = run_experiment(
          *experiment, {.library = test::source_file("scenarios"), .run = {}, .begins = {}, .runner = {}});
      BOOST_REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().text));
      BOOST_TEST(result->held(), experiment_text(*result));
      BOOST_TEST(nlohmann::json::accept(results_json({&*result, 1})));
    }
  }
}
