#include "emulator/fabric/loss_recovery_words.h"

#include <array>

#include "emulator/fabric/quantity.h"

namespace verbena::fabric {
namespace {

using nic::LossRecoveryConfig;
using nic::RecoveryPolicy;

constexpr Duration kTimeMax = seconds(10);
constexpr Duration kTimeMin = microseconds(1);
constexpr std::uint64_t kPacketsMax = 1 << 20;
constexpr std::uint64_t kOctetsMax = std::uint64_t{1} << 30;

constexpr std::array<Named<RecoveryPolicy>, 2> kPolicies{
    {{"go-back-n", RecoveryPolicy::go_back_n}, {"selective-repeat", RecoveryPolicy::selective_repeat}}};

template <auto member>
bool take_time(std::string_view text, LossRecoveryConfig& into) {
  const auto time = parse_duration(text, kTimeMax);
  if (!time || *time < kTimeMin) return false;
  into.*member = *time;
  return true;
}
template <auto member>
std::string time_text(const LossRecoveryConfig& of) {
  return (of.*member).ns == 0 ? std::string() : std::to_string((of.*member).ns) + "ns";
}

bool take_few(std::string_view text, LossRecoveryConfig& into) {
  const auto packets = parse_number(text);
  if (!packets || *packets > kPacketsMax) return false;
  into.rto_low_packets = static_cast<std::uint32_t>(*packets);
  return true;
}
std::string few_text(const LossRecoveryConfig& of) {
  return std::to_string(of.rto_low_packets);
}

/// A plain number are packets, one with a unit octets.
bool take_window(std::string_view text, LossRecoveryConfig& into) {
  into.bdp_packets = 0;
  into.bdp_bytes = 0;
  if (const auto packets = parse_number(text)) {
    into.bdp_packets = static_cast<std::uint32_t>(*packets);
    return *packets != 0 && *packets <= kPacketsMax;
  }
  const auto octets = parse_octets(text);
  into.bdp_bytes = octets.value_or(0);
  return octets && *octets != 0 && *octets <= kOctetsMax;
}
std::string window_text(const LossRecoveryConfig& of) {
  if (of.bdp_packets != 0) return std::to_string(of.bdp_packets);
  return of.bdp_bytes != 0 ? std::to_string(of.bdp_bytes) + "B" : std::string();
}

constexpr std::string_view kTimeIsRight = "want a time from 1us to 10s, as in 100us";

constexpr std::array kWords{
    LossRecoveryWord{"loss-recovery", "want go-back-n or selective-repeat",
                     take_named<kPolicies, &LossRecoveryConfig::policy>,
                     named_text<kPolicies, &LossRecoveryConfig::policy>, kNamesIn<kPolicies>},
    LossRecoveryWord{"rto-low", kTimeIsRight, take_time<&LossRecoveryConfig::rto_low>,
                     time_text<&LossRecoveryConfig::rto_low>},
    LossRecoveryWord{"rto-high", kTimeIsRight, take_time<&LossRecoveryConfig::rto_high>,
                     time_text<&LossRecoveryConfig::rto_high>},
    LossRecoveryWord{"rto-low-packets", "want a number of packets up to 1048576, as in 3", take_few, few_text},
    LossRecoveryWord{"bdp-window", "want packets, as in 110, or octets up to 1GiB, as in 120KB", take_window,
                     window_text},
    LossRecoveryWord{"bdp-rtt", kTimeIsRight, take_time<&LossRecoveryConfig::bdp_round_trip>,
                     time_text<&LossRecoveryConfig::bdp_round_trip>},
    LossRecoveryWord{"recovery-negotiation", "want true or false",
                     take_named<kTrueOrFalse, &LossRecoveryConfig::negotiates>,
                     named_text<kTrueOrFalse, &LossRecoveryConfig::negotiates>, kNamesIn<kTrueOrFalse>},
};

}  // namespace

std::span<const LossRecoveryWord> loss_recovery_words() {
  return kWords;
}

std::string_view contradiction(const LossRecoveryConfig& config) {
  if (config.rto_low > config.rto_high) return "rto-low is above rto-high";
  return {};
}

std::string text_of(const nic::LossRecoveryConfig& config) {
  return text_of_settings(loss_recovery_words(), config);
}

}  // namespace verbena::fabric
