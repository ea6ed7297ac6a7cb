// Reading a scenario: YAML text in, a Scenario with every default filled in and every name resolved out, or one error.
//
// Solely responsible for the text form and for what is wrong with it: unknown keys, wrong types, names that do not
// exist, impossible topologies, contradictory times. The keys are in keys.h, their meaning for editors and readers in
// docs/scenario.schema.json. It starts nothing and keeps nothing. It reads profile files, and looks for programs on
// PATH where the clock is real; otherwise the text alone decides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/language/scenario.h"
#include "wire/result.h"

namespace verbena::scenarios {

inline constexpr std::size_t kScenarioBytesMax = 4 << 20;
inline constexpr Duration kScenarioTimeMax = seconds(86'400);
inline constexpr std::uint64_t kRateMax = 100'000'000'000'000;
inline constexpr std::uint32_t kMessageBytesMax = 1u << 30;
inline constexpr std::uint32_t kEntriesMax = 10'000;  // of each list

struct ReadError {
  std::string file_name;
  Place place;
  std::string text;
  bool is_missing = false;  // there is no such file

  /// "FILE:LINE:COLUMN: text", in one line.
  std::string line() const;
};

struct ReadOptions {
  /// Where profiles are looked for after the folder of the scenario and its `profiles`.
  std::vector<std::string> profile_folders;
};

/// `file_name` is used in messages and to find profiles beside the file.
Result<Scenario, ReadError> read_scenario(std::string_view text, std::string_view file_name,
                                          const ReadOptions& options = {});
/// The same for a file.
Result<Scenario, ReadError> read_scenario_file(const std::string& file_name, const ReadOptions& options = {});

}  // namespace verbena::scenarios
