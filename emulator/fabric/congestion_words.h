// The words of congestion control: one table for the `nic:` of a scenario and for `verbena exec --nic`.
//
// Solely how its settings are spelled and what they may be; what they do is emulator/nic/congestion_control.h's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "emulator/nic/congestion_control.h"

namespace verbena::fabric {

struct CongestionWord {
  std::string_view name;   // dcqcn-timer
  std::string_view right;  // what its value may be: "want a time from 1us to 10s, as in 55us"
  /// False: the text is no such value.
  bool (*take)(std::string_view text, nic::CongestionConfig& into);
  /// What `take` reads back.
  std::string (*text)(const nic::CongestionConfig& of);
};

std::span<const CongestionWord> congestion_words();

/// What is wrong with the settings together, though each may be by itself; empty: nothing.
std::string_view contradiction(const nic::CongestionConfig& config);

/// "dcqcn-timer=300us dcqcn-g=..": of each setting that is not as by default. Without the port's rate.
std::string text_of(const nic::CongestionConfig& config);

/// What a notification point waits between two CNPs where congestion control is on and nothing else was said (Zhu et
/// al. 2015, section 3.1: N = 50 us).
inline constexpr Duration kCnpIntervalDefault = microseconds(50);

}  // namespace verbena::fabric
