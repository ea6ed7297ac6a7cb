// SettingWord: one setting of a configuration, as scenarios and options spell it; tables of them are the words of
// congestion control, of loss recovery and of traffic classes.
//
// Solely the row and what reads and writes values that are named, the same for all tables. Which settings there are and
// what they may be is each table's.
// Tested by: tests/host/config/nic_tuning_test.cc
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"

namespace verbena::fabric {

template <class Config>
struct SettingWord {
  std::string_view name;   // dcqcn-timer
  std::string_view right;  // what its value may be: "want a time from 1us to 10s, as in 55us"
  /// False: the text is no such value.
  bool (*take)(std::string_view text, Config& into);
  /// What `take` reads back; empty: nothing is said. Null: nobody writes it.
  std::string (*text)(const Config& of) = nullptr;
  std::span<const std::string_view> choices{};  // all that it may be; empty: more than a few words
};

/// Null: there is none of this name.
template <class Config>
const SettingWord<Config>* find_setting(std::span<const SettingWord<Config>> words, std::string_view name) {
  for (const SettingWord<Config>& word : words)
    if (word.name == name) return &word;
  return nullptr;
}
/// ", " between them.
template <class Config>
void add_setting_names(std::span<const SettingWord<Config>> words, std::string& into) {
  for (const SettingWord<Config>& word : words) into += (into.empty() ? "" : ", ") + std::string(word.name);
}
/// What its value may be, for who has written another one.
template <class Config>
std::string right_of(const SettingWord<Config>& word, std::string_view given) {
  return std::string(word.right) + did_you_mean(given, word.choices);
}

inline constexpr std::array<Named<bool>, 2> kTrueOrFalse{{{"true", true}, {"false", false}}};

/// The names in a table of Named.
template <const auto& table>
inline constexpr auto kNamesIn = [] {
  std::array<std::string_view, std::size(table)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = table[i].name;
  return names;
}();

template <const auto& table, auto member, class Config>
bool take_named(std::string_view text, Config& into) {
  const auto value = find_named(table, text);
  if (value) into.*member = *value;
  return value.has_value();
}
template <const auto& table, auto member, class Config>
std::string named_text(const Config& of) {
  for (const auto& row : table)
    if (row.value == of.*member) return std::string(row.name);
  return {};
}

/// "dcqcn-timer=300us dcqcn-g=..": of each setting that is not as by default.
template <class Config>
std::string text_of_settings(std::span<const SettingWord<Config>> words, const Config& config) {
  std::string text;
  const Config unsaid;
  for (const SettingWord<Config>& word : words)
    if (const std::string value = word.text(config); !value.empty() && value != word.text(unsaid))
      text += (text.empty() ? "" : " ") + std::string(word.name) + "=" + value;
  return text;
}

}  // namespace verbena::fabric
