// The words of loss recovery: one table for the `nic:` of a scenario and for `verbena exec --nic`.
//
// Solely how its settings are spelled and what they may be; what they do is
// emulator/nic/objects/loss_recovery_config.h's.
// Tested by: tests/host/config/nic_tuning_test.cc, tests/scenarios/language/read_scenario_test.cc
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "emulator/fabric/setting_words.h"
#include "emulator/nic/objects/loss_recovery_config.h"

namespace verbena::fabric {

using LossRecoveryWord = SettingWord<nic::LossRecoveryConfig>;

std::span<const LossRecoveryWord> loss_recovery_words();

/// What is wrong with the settings together, though each may be by itself; empty: nothing.
std::string_view contradiction(const nic::LossRecoveryConfig& config);

/// "loss-recovery=selective-repeat rto-low=..": of each setting that is not as by default.
std::string text_of(const nic::LossRecoveryConfig& config);

}  // namespace verbena::fabric
