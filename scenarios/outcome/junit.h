// JUnit's XML: what held and what did not, for what shows the results of tests (Jenkins, GitLab, GitHub's actions).
//
// Solely the form; which cases there are is the caller's.
// Tested by: tests/cli/run_test.cc
#pragma once

#include <string>
#include <vector>

#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

struct JunitCase {
  std::string name;
  bool held = true;
  std::string message;  // of one that did not hold, one line
  std::string text;     // the same at length; may be empty
};
struct JunitSuite {
  std::string name;
  double seconds = 0;
  std::vector<JunitCase> cases;
};

/// One case for each expectation of a run.
JunitSuite junit_suite(const Scenario& scenario, const Outcome& outcome);
/// Ends with a line feed.
std::string junit_xml(const std::vector<JunitSuite>& suites);

}  // namespace verbena::scenarios
