// The words of congestion control: one table for the `nic:` of a scenario and for `verbena exec --nic`.
//
// Solely how its settings are spelled and what they may be; what they do is
// emulator/nic/congestion/congestion_config.h's.
// Tested by: tests/host/config/nic_tuning_test.cc, tests/scenarios/language/read_scenario_test.cc
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "emulator/fabric/setting_words.h"
#include "emulator/nic/congestion/congestion_config.h"

namespace verbena::fabric {

using CongestionWord = SettingWord<nic::CongestionConfig>;

std::span<const CongestionWord> congestion_words();

/// What is wrong with the settings together, though each may be by itself; empty: nothing.
std::string_view contradiction(const nic::CongestionConfig& config);

/// "dcqcn-timer=300us dcqcn-g=..": of each setting that is not as by default. Without the port's rate.
std::string text_of(const nic::CongestionConfig& config);

/// What a notification point waits between two CNPs where congestion control is on and nothing else was said (Zhu et
/// al. 2015, section 3.1: N = 50 us).
inline constexpr Duration kCnpIntervalDefault = microseconds(50);

}  // namespace verbena::fabric
