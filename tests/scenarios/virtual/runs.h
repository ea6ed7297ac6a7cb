// Running scenarios in tests: text in, outcome out.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>

#include "scenarios/virtual/run_virtual.h"
#include "tests/scenarios/language/reading.h"

namespace verbena::test {

/// Two hosts on a star; `rest` has workloads, faults and expectations.
inline std::string star(unsigned hosts, const std::string& rest, const std::string& nic = "timeout: 8") {
  return "name: t\ntimeout: 5s\ntopology: {shape: star, hosts: " + std::to_string(hosts) + "}\nnic: {" + nic + "}\n" +
         rest;
}

inline scenarios::Outcome run(const std::string& text, std::uint64_t seed = 1,
                              const scenarios::RunOptions& options = {}) {
  scenarios::Scenario scenario = good(text);
  scenario.seed = seed;
  return scenarios::run_virtual(scenario, options);
}

/// For messages of failed tests.
inline std::string story(const scenarios::Outcome& outcome) {
  std::string text = outcome.error;
  for (const auto& expectation : outcome.expectations)
    text += (expectation.held ? "held " : "NOT HELD ") + expectation.text + ": " + expectation.observed + "\n";
  for (const auto& violation : outcome.violations) text += violation.checker + ": " + violation.text + "\n";
  for (const auto& workload : outcome.workloads)
    for (const std::string& line : workload.damage) text += line + "\n";
  return text;
}

inline bool held(const scenarios::Outcome& outcome, std::size_t expectation) {
  BOOST_REQUIRE(expectation < outcome.expectations.size());
  return outcome.expectations[expectation].held;
}

}  // namespace verbena::test
