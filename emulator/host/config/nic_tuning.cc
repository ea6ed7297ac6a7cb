#include "emulator/host/config/nic_tuning.h"

#include <algorithm>
#include <array>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "emulator/fabric/quantity.h"
#include "emulator/host/node/port_speed.h"
#include "wire/assert.h"

namespace verbena::host {
namespace {

constexpr std::int64_t kTimeoutUnitNs = 4096;  // IBTA 9.7.6.1.3: 4.096 us x 2^code
constexpr std::uint8_t kTimeoutCodeMax = 31;
constexpr std::uint64_t kRateMax = 100'000'000'000'000;
constexpr std::uint64_t kWindowMin = 4096;
constexpr std::uint64_t kWindowMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kAcknowledgeEveryMax = 1 << 20;
constexpr std::uint64_t kDscpMax = 63;

/// Each returns whether the value was right.
template <class Number, class Kept>
bool take_number(std::string_view value, std::uint64_t least, std::uint64_t most, Kept& into) {
  const auto number = fabric::parse_number(value);
  if (!number || *number < least || *number > most) return false;
  into = static_cast<Number>(*number);
  return true;
}

bool take_duration(std::string_view value, Duration& into) {
  const auto duration = fabric::parse_duration(value, fabric::kFaultTimeMax);
  if (duration) into = *duration;
  return duration.has_value();
}

using Taker = bool (*)(std::string_view value, NicTuning& into);

struct Word {
  std::string_view name;
  Taker take;
  std::string_view right;
};

template <auto member, std::uint64_t least, std::uint64_t most>
bool take_code(std::string_view value, NicTuning& into) {
  return take_number<std::uint8_t>(value, least, most, into.*member);
}

template <auto member>
bool take_time(std::string_view value, NicTuning& into) {
  return take_duration(value, into.*member);
}

bool take_mtu(std::string_view value, NicTuning& into) {
  constexpr std::array<fabric::Named<std::uint32_t>, 5> kMtus{
      {{"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}};
  into.mtu_bytes = fabric::find_named(kMtus, value);
  return into.mtu_bytes.has_value();
}

bool take_speed(std::string_view value, NicTuning& into) {
  const auto rate = fabric::parse_rate(value);
  if (!rate || *rate == 0 || *rate > kRateMax) return false;
  into.speed_bits_per_second = rate;
  return true;
}

bool take_window(std::string_view value, NicTuning& into) {
  const auto octets = fabric::parse_octets(value);
  if (!octets || *octets < kWindowMin || *octets > kWindowMax) return false;
  into.window_bytes = static_cast<std::uint32_t>(*octets);
  return true;
}

bool take_removed_after(std::string_view value, NicTuning& into) {
  into.removed_after.emplace();
  return take_duration(value, *into.removed_after);
}

bool take_acknowledge_every(std::string_view value, NicTuning& into) {
  return take_number<std::uint32_t>(value, 0, kAcknowledgeEveryMax, into.acknowledge_every);
}

constexpr std::string_view kTimeIsRight = "want a time up to 60s, as in 10us";
constexpr Word kWords[] = {
    {"mtu", take_mtu, "want 256, 512, 1024, 2048 or 4096"},
    {"read-depth", take_code<&NicTuning::read_depth, 1, 128>, "want 1 to 128"},
    {"speed", take_speed, "want a rate up to 100Tbps, as in 25Gbps"},
    {"window", take_window, "want 4096 to 1GiB octets, as in 1MiB"},
    {"timeout", take_code<&NicTuning::timeout, 0, kTimeoutCodeMax>, "want a code from 0 to 31: 4.096us x 2^code"},
    {"retry-count", take_code<&NicTuning::retry_count, 0, 7>, "want 0 to 7"},
    {"rnr-retry", take_code<&NicTuning::rnr_retry, 0, 7>, "want 0 to 7; 7 is for ever"},
    {"min-rnr-timer", take_code<&NicTuning::min_rnr_timer, 0, 31>, "want a code from 0 to 31"},
    {"timeout-min", take_time<&NicTuning::timeout_min>, kTimeIsRight},
    {"acknowledge-every", take_acknowledge_every, "want a number of packets, 0 for the NIC's own choice"},
    {"dscp", take_code<&NicTuning::dscp, 0, kDscpMax>, "want a number from 0 to 63, 0 for the program's choice"},
    {"cnp-dscp", take_code<&NicTuning::cnp_dscp, 0, kDscpMax>, "want a number from 0 to 63, 0 for the packet's own"},
    {"cnp-interval", take_time<&NicTuning::cnp_interval>, kTimeIsRight},
    {"page-fault-delay", take_time<&NicTuning::page_fault_delay>, kTimeIsRight},
    {"nak-latency", take_time<&NicTuning::nak_latency>, kTimeIsRight},
    {"acknowledge-latency", take_time<&NicTuning::acknowledge_latency>, kTimeIsRight},
    {"nak-reaction-latency", take_time<&NicTuning::nak_reaction_latency>, kTimeIsRight},
    {"implied-nak-latency", take_time<&NicTuning::implied_nak_latency>, kTimeIsRight},
    {"removed-after", take_removed_after, kTimeIsRight},
};

/// Nothing: there is no such setting. Else what its value should be, if it is none such; empty: it is taken.
std::optional<std::string> take(std::string_view name, std::optional<std::string_view> value, NicTuning& into) {
  for (const Word& word : kWords)
    if (word.name == name) return value && word.take(*value, into) ? std::string() : std::string(word.right);
  if (const auto* const word = fabric::find_setting(fabric::congestion_words(), name))
    return value && word->take(*value, into.congestion) ? std::string() : fabric::right_of(*word, value.value_or(""));
  if (const auto* const word = fabric::find_setting(fabric::loss_recovery_words(), name))
    return value && word->take(*value, into.loss_recovery) ? std::string()
                                                           : fabric::right_of(*word, value.value_or(""));
  return std::nullopt;
}

std::string known_words() {
  std::string names;
  for (const std::string_view word : nic_tuning_words()) names += (names.empty() ? "" : ", ") + std::string(word);
  return names;
}

void add_delay(std::string_view opcode, Duration delay, std::vector<fabric::FaultRule>& rules) {
  if (delay.ns == 0) return;
  auto rule = fabric::parse_fault("delay by=" + std::to_string(delay.ns) + "ns opcode=" + std::string(opcode));
  VERBENA_ASSERT(rule.ok());
  rules.push_back(std::move(*rule));
}

}  // namespace

std::vector<std::string_view> nic_tuning_words() {
  std::vector<std::string_view> names;
  for (const Word& word : kWords) names.push_back(word.name);
  for (const fabric::CongestionWord& word : fabric::congestion_words()) names.push_back(word.name);
  for (const fabric::LossRecoveryWord& word : fabric::loss_recovery_words()) names.push_back(word.name);
  return names;
}

Result<NicTuning, std::string> parse_nic_tuning(std::string_view text) {
  NicTuning tuning;
  std::vector<std::string_view> seen;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::string_view name = word.substr(0, word.find('='));
    const bool has_value = name.size() != word.size();
    const auto right = take(name, has_value ? std::optional(word.substr(name.size() + 1)) : std::nullopt, tuning);
    const std::string shown = "'" + std::string(word) + "': ";
    if (!right)
      return Failure{shown + "unknown setting, known are " + known_words() +
                     fabric::did_you_mean(name, nic_tuning_words())};
    if (std::find(seen.begin(), seen.end(), name) != seen.end())
      return Failure{shown + std::string(name) + " is given twice"};
    seen.push_back(name);
    if (!right->empty()) return Failure{shown + *right};
  }
  if (const std::string_view wrong = fabric::contradiction(tuning.congestion); !wrong.empty())
    return Failure{std::string(wrong)};
  if (const std::string_view wrong = fabric::contradiction(tuning.loss_recovery); !wrong.empty())
    return Failure{std::string(wrong)};
  return tuning;
}

std::string text_of(const NicTuning& tuning) {
  std::string text;
  const auto add = [&text](std::string_view name, std::uint64_t value, std::string_view unit = "") {
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value) + std::string(unit);
  };
  const auto add_time = [&add](std::string_view name, Duration time) {
    if (time.ns != 0) add(name, static_cast<std::uint64_t>(time.ns), "ns");
  };
  if (tuning.mtu_bytes) add("mtu", *tuning.mtu_bytes);
  if (tuning.read_depth) add("read-depth", *tuning.read_depth);
  if (tuning.speed_bits_per_second) add("speed", *tuning.speed_bits_per_second, "bps");
  if (tuning.window_bytes) add("window", *tuning.window_bytes);
  if (tuning.timeout) add("timeout", *tuning.timeout);
  if (tuning.retry_count) add("retry-count", *tuning.retry_count);
  if (tuning.rnr_retry) add("rnr-retry", *tuning.rnr_retry);
  if (tuning.min_rnr_timer) add("min-rnr-timer", *tuning.min_rnr_timer);
  add_time("timeout-min", tuning.timeout_min);
  if (tuning.acknowledge_every != 0) add("acknowledge-every", tuning.acknowledge_every);
  if (tuning.dscp != 0) add("dscp", tuning.dscp);
  if (tuning.cnp_dscp != 0) add("cnp-dscp", tuning.cnp_dscp);
  add_time("cnp-interval", tuning.cnp_interval);
  add_time("page-fault-delay", tuning.page_fault_delay);
  add_time("nak-latency", tuning.nak_latency);
  add_time("acknowledge-latency", tuning.acknowledge_latency);
  add_time("nak-reaction-latency", tuning.nak_reaction_latency);
  add_time("implied-nak-latency", tuning.implied_nak_latency);
  if (tuning.removed_after) add("removed-after", static_cast<std::uint64_t>(tuning.removed_after->ns), "ns");
  for (const std::string& policy : {fabric::text_of(tuning.congestion), fabric::text_of(tuning.loss_recovery)})
    if (!policy.empty()) text += (text.empty() ? "" : " ") + policy;
  return text;
}

void NicTuning::apply(nic::NicConfig& config) const {
  if (mtu_bytes) config.port_mtu_bytes = std::min(config.port_mtu_bytes, *mtu_bytes);
  if (read_depth) config.limits.max_read_atomic = *read_depth;
  if (window_bytes) config.window_bytes = std::min(config.window_bytes, *window_bytes);
  config.acknowledge_every = acknowledge_every;
  config.dscp = dscp;
  config.cnp_dscp = cnp_dscp;
  config.cnp_interval = cnp_interval;
  config.congestion = congestion;
  config.congestion.line_rate_bits_per_second = speed_bits_per_second.value_or(kPortRateDefault);
  if (congestion.wants().notifications && cnp_interval.ns == 0) config.cnp_interval = fabric::kCnpIntervalDefault;
  config.loss_recovery = loss_recovery;
  config.page_fault_delay = page_fault_delay;
  config.nak_reaction_latency = nak_reaction_latency;
  config.implied_nak_latency = implied_nak_latency;
}

void NicTuning::apply(nic::QpAttributes& attributes) const {
  attributes.timeout = timeout.value_or(attributes.timeout);
  attributes.retry_count = retry_count.value_or(attributes.retry_count);
  attributes.rnr_retry = rnr_retry.value_or(attributes.rnr_retry);
  attributes.min_rnr_timer = min_rnr_timer.value_or(attributes.min_rnr_timer);
  // 0 is no timeout at all, which no NIC rounds up. What is above the range is modify_qp's to refuse.
  if (attributes.timeout != 0)
    while (attributes.timeout < kTimeoutCodeMax && (kTimeoutUnitNs << attributes.timeout) < timeout_min.ns)
      ++attributes.timeout;
}

std::vector<fabric::FaultRule> NicTuning::latencies() const {
  std::vector<fabric::FaultRule> rules;
  add_delay("ack", acknowledge_latency, rules);
  add_delay("nak", nak_latency, rules);  // RNR NAKs as well
  return rules;
}

}  // namespace verbena::host
