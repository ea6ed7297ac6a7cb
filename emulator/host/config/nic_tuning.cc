#include "emulator/host/config/nic_tuning.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "emulator/fabric/nearest_word.h"
#include "emulator/host/node/port_speed.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {

constexpr std::size_t kValuesMax = std::size_t{kDevicesMax} * kPortsMax;

/// One value, or several of a word that devices may differ in.
bool take_values(const fabric::NicWord& word, std::string_view text, NicTuning& into) {
  const std::size_t count = list_size(text);
  if (count == 1 || word.each == fabric::NicWord::Each::node) return fabric::take(word, text, into);
  NicTuning::Several several{&word, {}};
  for (std::size_t i = 0; i < count; ++i) {
    fabric::NicSettings one;
    if (i == kValuesMax || !fabric::take(word, list_item(text, i), one)) return false;
    several.values.push_back(word.get(one).value_or(0));
  }
  word.set(into, several.values.front());
  into.several.push_back(std::move(several));
  return true;
}

std::string right_of(const fabric::NicWord& word) {
  switch (word.each) {
    case fabric::NicWord::Each::node:
      break;
    case fabric::NicWord::Each::device:
      return std::string(word.right) + ", or by commas one of each device";
    case fabric::NicWord::Each::port:
      return std::string(word.right) + ", or by commas one of each device or port";
  }
  return std::string(word.right);
}

/// Nothing: there is no such setting. Else what its value should be, if it is none such; empty: it is taken.
std::optional<std::string> take(std::string_view name, std::optional<std::string_view> value,
                                std::span<const fabric::NicWord> words, NicTuning& into) {
  for (const fabric::NicWord& word : words)
    if (word.name == name) return value && take_values(word, *value, into) ? std::string() : right_of(word);
  if (const auto* const word = fabric::find_setting(look_words(), name))
    return value && word->take(*value, into.look) ? std::string() : fabric::right_of(*word, value.value_or(""));
  // No setting may be empty, so that one without a value is as wrong.
  return fabric::take_policy_word(name, value.value_or(""), into.congestion, into.loss_recovery);
}

std::string known_words(std::span<const fabric::NicWord> words) {
  std::string names;
  for (const std::string_view word : nic_tuning_words(words)) names += (names.empty() ? "" : ", ") + std::string(word);
  return names;
}

void add_delay(std::string_view opcode, Duration delay, std::vector<fabric::FaultRule>& rules) {
  if (delay.ns == 0) return;
  auto rule = fabric::parse_fault("delay by=" + std::to_string(delay.ns) + "ns opcode=" + std::string(opcode));
  VERBENA_ASSERT(rule.ok());
  rules.push_back(std::move(*rule));
}

}  // namespace

std::vector<std::string_view> nic_tuning_words(std::span<const fabric::NicWord> words) {
  std::vector<std::string_view> names;
  for (const fabric::NicWord& word : words) names.push_back(word.name);
  for (const LookWord& word : look_words()) names.push_back(word.name);
  for (const std::string_view name : fabric::policy_word_names()) names.push_back(name);
  return names;
}

Result<NicTuning, std::string> parse_nic_tuning(std::string_view text, std::span<const fabric::NicWord> words) {
  NicTuning tuning;
  std::vector<std::string_view> seen;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::string_view name = word.substr(0, word.find('='));
    const bool has_value = name.size() != word.size();
    const auto right =
        take(name, has_value ? std::optional(word.substr(name.size() + 1)) : std::nullopt, words, tuning);
    const std::string shown = "'" + std::string(word) + "': ";
    if (!right)
      return Failure{shown + "unknown setting, known are " + known_words(words) +
                     fabric::did_you_mean(name, nic_tuning_words(words))};
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return Failure{shown + std::string(name) + " is given twice"};
    seen.push_back(name);
    if (!right->empty()) return Failure{shown + *right};
  }
  if (const std::string_view wrong = fabric::contradiction(tuning.congestion, tuning.loss_recovery); !wrong.empty())
    return Failure{std::string(wrong)};
  return tuning;
}

void NicTuning::say(std::string_view name, std::vector<std::uint64_t> values) {
  const auto words = fabric::nic_words();
  const auto word = std::ranges::find(words, name, &fabric::NicWord::name);
  VERBENA_ASSERT(word != words.end() && word->each != fabric::NicWord::Each::node && !values.empty());
  std::erase_if(several, [&](const Several& one) { return one.word->name == name; });
  word->set(*this, values.front());
  if (std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end())
    several.push_back({&*word, std::move(values)});
}

void NicTuning::say_speeds(std::vector<std::uint64_t> bits_per_second) {
  if (std::ranges::all_of(bits_per_second, [](std::uint64_t one) { return one == 0; })) return;
  std::ranges::replace(bits_per_second, std::uint64_t{0}, kPortRateDefault);
  say("speed", std::move(bits_per_second));
}

std::string text_of(const NicTuning& tuning) {
  std::string text;
  for (const fabric::NicWord& word : fabric::nic_words()) {
    const auto said = word.get(tuning);
    if (!said) continue;
    std::string values = fabric::text_of(word, *said);
    for (const NicTuning::Several& several : tuning.several)
      if (several.word->name == word.name)
        for (std::size_t i = 1; i < several.values.size(); ++i)
          values += "," + fabric::text_of(word, several.values[i]);
    text += (text.empty() ? "" : " ") + std::string(word.name) + "=" + values;
  }
  for (const std::string& rest : {text_of(tuning.look), fabric::text_of(tuning, {})})
    if (!rest.empty()) text += (text.empty() ? "" : " ") + rest;
  return text;
}

std::string devices_misfit(const NicTuning& tuning, const OwnDevices& devices) {
  for (const NicTuning::Several& several : tuning.several) {
    const bool by_port = several.word->each == fabric::NicWord::Each::port;
    if (devices.value_at(0, several.values.size(), by_port)) continue;
    std::string text =
        std::string(several.word->name) + " has " + std::to_string(several.values.size()) + " values, and there ";
    text += devices.count == 1 ? "is 1 device" : "are " + std::to_string(devices.count) + " devices";
    if (by_port && devices.ports != 1) text += " with " + std::to_string(devices.ports) + " ports each";
    return text + ": give one for all, or one of each device" + (by_port && devices.ports != 1 ? " or port" : "");
  }
  return {};
}

void NicTuning::apply(nic::NicConfig& config) const {
  config.congestion.line_rate_bits_per_second = kPortRateDefault;
  if (look.message_bytes_max)
    config.limits.max_message_bytes = std::min(config.limits.max_message_bytes, *look.message_bytes_max);
  if (!look.pkeys.empty() && config.medium() == wire::Medium::ethernet)
    config.limits.pkeys = static_cast<std::uint16_t>(look.pkeys.size());
  fabric::apply(*this, config);
}

void NicTuning::apply(nic::QpAttributes& attributes) const {
  fabric::apply(*this, attributes);
}

std::vector<fabric::FaultRule> NicTuning::latencies() const {
  std::vector<fabric::FaultRule> rules;
  add_delay("ack", acknowledge_latency, rules);
  add_delay("nak", nak_latency, rules);  // RNR NAKs as well
  return rules;
}

}  // namespace verbena::host
