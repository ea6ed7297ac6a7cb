// Reading scenarios in tests: a text must be good, or must be wrong at a place for a reason.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "scenarios/language/read_scenario.h"
#include "tests/support/places.h"

namespace verbena::test {

inline scenarios::ReadOptions own_profiles() {
  return {.profile_folders = {source_file("scenarios/profiles")}};
}

inline scenarios::Scenario good(const std::string& text) {
  auto read = scenarios::read_scenario(text, "test.yaml", own_profiles());
  BOOST_REQUIRE_MESSAGE(read.ok(), (read.ok() ? "" : read.error().line()) << "\n" << text);
  return *read;
}

inline std::string error_of(const std::string& text) {
  const auto read = scenarios::read_scenario(text, "test.yaml", own_profiles());
  BOOST_REQUIRE_MESSAGE(!read.ok(), "this was accepted:\n" << text);
  BOOST_TEST(read.error().line().find('\n') == std::string::npos);
  return read.error().line();
}

/// A ^ in the text, which is taken out, marks the place of the error; the error has `words` in it.
inline void check_error(std::string text, std::string_view words) {
  const std::size_t mark = text.find('^');
  BOOST_REQUIRE_MESSAGE(mark != text.npos, "no place is marked in:\n" << text);
  text.erase(mark, 1);
  const auto line_at = text.rfind('\n', mark == 0 ? 0 : mark - 1);
  const std::size_t column = mark == 0 || line_at == text.npos ? mark + 1 : mark - line_at;
  const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(mark), '\n') + 1;
  const std::string said = error_of(text);
  BOOST_TEST_CONTEXT(text) {
    BOOST_TEST(said.substr(0, said.find(": ")) == "test.yaml:" + std::to_string(line) + ":" + std::to_string(column));
    BOOST_TEST(said.find(words) != std::string::npos, said << " does not say: " << words);
  }
}

/// A map of these keys; if no key or value is marked, the map is.
inline std::string in_braces(const std::string& keys) {
  return (keys.find('^') == std::string::npos ? "^{" : "{") + keys + "}";
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
