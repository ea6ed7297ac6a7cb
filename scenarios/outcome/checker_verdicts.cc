#include "scenarios/outcome/checker_verdicts.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/counted.h"

namespace verbena::scenarios {
namespace {
constexpr std::size_t kReported = 20;
}  // namespace

CheckerReports reports_of(checkers::Checkers& checkers, Time begin, Outcome& outcome) {
  checkers.finish();
  CheckerReports reports;
  reports.ran = true;
  for (const checkers::CheckerTotals& totals : checkers.totals())
    reports.rows.push_back({std::string(totals.row.name), totals.violations});
  outcome.violations_total = checkers.violation_count();
  for (const checkers::Violation& violation : checkers.violations()) {
    if (outcome.violations.size() == kReported) break;
    outcome.violations.push_back(
        {violation.time - begin, std::string(violation.checker), std::string(violation.clause), violation.text});
  }
  if (!outcome.violations.empty()) reports.first = outcome.violations.front().text;
  return reports;
}

CheckerVerdict checker_verdict(const Expectation& expectation, const CheckerReports& reports) {
  if (!reports.ran) return {false, "no checker ran"};
  std::uint64_t number = 0;
  for (const CheckerReports::Row& row : reports.rows)
    if (expectation.checker.empty() || row.name == expectation.checker) number += row.reports;
  Bounds bounds = expectation.value;
  if (!bounds.least && !bounds.most) bounds.most = 0;
  return {bounds.contains(static_cast<double>(number)), wire::counted(number, "report")};
}

std::vector<ExpectationOutcome> unexpected_reports(const Scenario& scenario, const CheckerReports& reports,
                                                   std::size_t index) {
  std::vector<ExpectationOutcome> outcomes;
  for (const CheckerReports::Row& row : reports.rows) {
    const bool expected =
        std::any_of(scenario.expectations.begin(), scenario.expectations.end(), [&](const Expectation& expectation) {
          return expectation.kind == Expectation::Kind::checker &&
                 (expectation.checker.empty() || expectation.checker == row.name);
        });
    if (row.reports != 0 && !expected)
      outcomes.push_back({index,
                          fmt::format("checker {} is silent", row.name),
                          {},
                          false,
                          fmt::format("{}; {}", wire::counted(row.reports, "report"), reports.first)});
  }
  return outcomes;
}

}  // namespace verbena::scenarios
