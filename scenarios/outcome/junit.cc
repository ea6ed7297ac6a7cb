#include "scenarios/outcome/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/outcome/report.h"

namespace verbena::scenarios {
namespace {

/// As the content of an element or an attribute. XML 1.0 has no control characters, escaped or not (2.2).
std::string escaped(std::string_view text) {
  std::string made;
  for (const char one : text) {
    switch (one) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      case '\n':
        made += "&#10;";
        break;
      default:
        made += static_cast<unsigned char>(one) < ' ' || one == 0x7f ? '?' : one;
    }
  }
  return made;
}

std::size_t failures_of(const JunitSuite& suite) {
  return static_cast<std::size_t>(std::ranges::count(suite.cases, false, &JunitCase::held));
}

}  // namespace

JunitSuite junit_suite(const Scenario& scenario, const Outcome& outcome) {
  JunitSuite suite{
      fmt::format("{} seed {}", scenario.name, outcome.seed), static_cast<double>(outcome.elapsed.ns) / 1e9, {}};
  const std::string report = outcome.held() ? "" : report_text(scenario, outcome);
  for (const ExpectationOutcome& expectation : outcome.expectations)
    suite.cases.push_back({expectation.text, expectation.held, expectation.observed, expectation.held ? "" : report});
  if (suite.cases.empty() || (!outcome.held() && failures_of(suite) == 0))
    suite.cases.push_back({"the run ends by itself", outcome.held(), outcome.error, report});
  return suite;
}

std::string junit_xml(const std::vector<JunitSuite>& suites) {
  std::size_t tests = 0;
  std::size_t failures = 0;
  for (const JunitSuite& suite : suites) {
    tests += suite.cases.size();
    failures += failures_of(suite);
  }
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{}\" failures=\"{}\">\n", tests, failures);
  for (const JunitSuite& suite : suites) {
    const std::string name = escaped(suite.name);
    xml += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" time=\"{:.6f}\">\n", name,
                       suite.cases.size(), failures_of(suite), suite.seconds);
    for (const JunitCase& one : suite.cases) {
      xml += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", name, escaped(one.name));
      xml += one.held ? std::string("/>\n")
                      : fmt::format(">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                                    escaped(one.message), escaped(one.text));
    }
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace verbena::scenarios
