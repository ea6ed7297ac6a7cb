// The words of traffic classes and switch memory: one table for the `qos:` of a topology and for `verbena fabric
// --qos`.
//
// Solely how the settings are spelled and what they may be; what they do is qos.h's. A list is written with + between
// its members, a map as KEY:VALUE.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "emulator/fabric/qos.h"
#include "emulator/fabric/setting_words.h"
#include "emulator/fabric/topology.h"
#include "wire/result.h"

namespace verbena::fabric {

using QosWord = SettingWord<Qos>;

std::span<const QosWord> qos_words();

/// What is wrong with the settings together, though each may be by itself; empty: nothing.
std::string contradiction(const Qos& qos);

/// "lossless=3,buffer=12MB". The error is one line.
Result<Qos, std::string> parse_qos(std::string_view text);

/// What is likely not meant, a line each: headroom that does not hold what comes after a pause.
std::vector<std::string> qos_warnings(const Topology& topology);

}  // namespace verbena::fabric
