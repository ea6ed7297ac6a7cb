#include "emulator/host/config/nic_tuning.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "emulator/fabric/nearest_word.h"
#include "emulator/host/node/port_speed.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {

/// Nothing: there is no such setting. Else what its value should be, if it is none such; empty: it is taken.
std::optional<std::string> take(std::string_view name, std::optional<std::string_view> value,
                                std::span<const fabric::NicWord> words, NicTuning& into) {
  for (const fabric::NicWord& word : words)
    if (word.name == name) return value && fabric::take(word, *value, into) ? std::string() : std::string(word.right);
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

void NicTuning::apply(nic::NicConfig& config) const {
  config.congestion.line_rate_bits_per_second = kPortRateDefault;
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
