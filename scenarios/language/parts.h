// The parts of a scenario file: one reader each. Each complains (yaml_value.h) about what is wrong in its part.
//
// Solely the seams between the readers: what each is given and what it gives back.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/element_rows.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "emulator/fabric/nic_words.h"
#include "emulator/fabric/qos_words.h"
#include "scenarios/language/element_names.h"
#include "scenarios/language/read_scenario.h"
#include "scenarios/language/scenario.h"
#include "scenarios/language/yaml_value.h"

namespace verbena::scenarios {

/// The most that can be asked for or expected of anything that is counted.
inline constexpr std::uint64_t kCountMax = 1'000'000'000'000;

inline constexpr std::uint64_t kDscpMax = 63;

/// A value as the words of setting_words.h are written: lists with +, maps as KEY:VALUE.
std::string setting_text(const Value& value);
/// Those of a section's keys that are settings of `into`.
template <class Config>
void read_settings(const Section& section, std::span<const fabric::SettingWord<Config>> words, Config& into) {
  for (const fabric::SettingWord<Config>& word : words)
    if (const auto value = section.find(word.name); value && !word.take(setting_text(*value), into))
      value->wrong(fabric::right_of(word, setting_text(*value)));
  if (const std::string wrong(fabric::contradiction(into)); !wrong.empty()) complain(section.place(), wrong);
}

/// What the scenario's `wire:` says of the medium; which RoCE it is, is said of NICs.
wire::Medium read_medium(const Section& scenario);
fabric::Topology read_topology(const Value& topology, wire::Medium medium = wire::Medium::ethernet);
fabric::Qos read_qos(const Value& qos, wire::Medium medium);

/// Which rail of its node a NIC is, from 0, and of how many.
struct RailPlace {
  std::uint32_t rail = 0;
  std::uint32_t rails = 1;
};
/// Those of a section's keys that are settings of a NIC, or of a profile: a NIC's own word goes before its profile's.
/// Where devices may differ, a list has a value of each rail.
void read_nic_words(const Section& section, std::span<const fabric::NicWord> words, bool is_profile,
                    fabric::NicSettings& into, RailPlace place = {});
/// One for each host.
std::vector<NicSettings> read_nics(const Section& scenario, const ElementNames& names, const std::string& file_name,
                                   const ReadOptions& options);

/// Fills in workloads and programs.
void read_workloads(const Value& list, const ElementNames& names, Scenario& scenario);
/// Whether a program can be started: a path to an executable file, or one found on PATH.
bool can_execute(const std::string& program);

/// The workloads are known by then.
void read_faults(const Value& list, const ElementNames& names, Scenario& scenario,
                 std::span<const fabric::ElementRow> rows = fabric::element_rows());
void read_expectations(const Value& list, const ElementNames& names, Scenario& scenario);

// Shared by faults and expectations.

/// The name of one of the scenario's workloads.
std::string read_workload_name(const Value& name, const Scenario& scenario);
/// One that is written above; `refusal` is what is said if none has this name.
std::string read_program_name(const Value& name, const Scenario& scenario, const std::string& refusal);
/// A completion status by its name, such as retry_exceeded.
std::uint8_t read_status(const Value& name);
/// Faults to links, switches and nodes, by the row whose word is the key that says what happens; one fault in the text
/// can be two here: what happens and what ends it.
void read_element_fault(const Value& map, const fabric::ElementRow& row, const ElementNames& names, Scenario& scenario);
/// When a fault begins and ends. `start` is the key of its time.
Trigger read_trigger(const Section& fault, std::string_view start, const ElementNames& names, const Scenario& scenario);

}  // namespace verbena::scenarios
