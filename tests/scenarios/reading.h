// Reading scenarios in tests: a text must be good, or must be wrong at a place for a reason.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "scenarios/language/read_scenario.h"

namespace verbena::test {

inline scenarios::Scenario good(const std::string& text) {
  auto read = scenarios::read_scenario(text, "test.yaml");
  BOOST_REQUIRE_MESSAGE(read.ok(), (read.ok() ? "" : read.error().line()) << "\n" << text);
  return *read;
}

inline std::string error_of(const std::string& text) {
  const auto read = scenarios::read_scenario(text, "test.yaml");
  BOOST_REQUIRE_MESSAGE(!read.ok(), "this was accepted:\n" << text);
  BOOST_TEST(read.error().line().find('\n') == std::string::npos);
  return read.error().line();
}

/// The error begins with "test.yaml:LINE:COLUMN: " and has `words` in it.
inline void check_error(const std::string& text, const std::string& place, std::string_view words) {
  const std::string line = error_of(text);
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(line.substr(0, line.find(": ") + 2) == "test.yaml:" + place + ": ");
    BOOST_TEST(line.find(words) != std::string::npos, line << " does not say: " << words);
  }
}

/// Three hosts on a star and one workload; what is added begins in line 6.
inline std::string with(const std::string& rest) {
  return "name: t\n"
         "topology: {shape: star, hosts: 3}\n"
         "nic: {mtu: 1024}\n"
         "workloads:\n"
         "  - {name: w, verb: write, from: n1, to: n2, size: 4KiB, count: 10}\n" +
         rest;
}

}  // namespace verbena::test
