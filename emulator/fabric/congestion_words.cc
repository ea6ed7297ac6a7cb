#include "emulator/fabric/congestion_words.h"

#include <array>
#include <optional>

#include "emulator/fabric/quantity.h"

namespace verbena::fabric {
namespace {

using nic::CnpScope;
using nic::CongestionConfig;
using nic::CongestionPolicy;
using nic::DcqcnParameters;

constexpr Duration kTimeMax = seconds(60);
constexpr Duration kTimerMin = microseconds(1);
constexpr std::uint64_t kRateMax = 100'000'000'000'000;
constexpr std::uint64_t kByteCounterMin = 1024;
constexpr std::uint64_t kByteCounterMax = std::uint64_t{1} << 40;
constexpr std::uint64_t kRoundsMax = 1000;
constexpr std::uint64_t kBillion = 1'000'000'000;

constexpr std::array<Named<CongestionPolicy>, 2> kPolicies{
    {{"none", CongestionPolicy::none}, {"dcqcn", CongestionPolicy::dcqcn}}};
constexpr std::array<Named<CnpScope>, 3> kScopes{
    {{"qp", CnpScope::qp}, {"destination", CnpScope::destination}, {"port", CnpScope::port}}};
constexpr std::array<Named<bool>, 2> kAnswers{{{"true", true}, {"false", false}}};

template <auto member>
auto& dcqcn(auto& config) {
  return config.dcqcn.*member;
}

template <const auto& table, auto member>
bool take_named(std::string_view text, CongestionConfig& into) {
  const auto value = find_named(table, text);
  if (value) into.*member = *value;
  return value.has_value();
}
template <const auto& table, auto member>
std::string named_text(const CongestionConfig& of) {
  for (const auto& row : table)
    if (row.value == of.*member) return std::string(row.name);
  return {};
}

template <auto member, std::int64_t least_ns>
bool take_time(std::string_view text, CongestionConfig& into) {
  const auto time = parse_duration(text, kTimeMax);
  if (!time || time->ns < least_ns) return false;
  dcqcn<member>(into) = *time;
  return true;
}
template <auto member>
std::string time_text(const CongestionConfig& of) {
  return std::to_string(dcqcn<member>(of).ns) + "ns";
}

template <auto member>
bool take_rate(std::string_view text, CongestionConfig& into) {
  const auto rate = parse_rate(text);
  if (!rate || *rate == 0 || *rate > kRateMax) return false;
  dcqcn<member>(into) = *rate;
  return true;
}
template <auto member>
std::string rate_text(const CongestionConfig& of) {
  return std::to_string(dcqcn<member>(of)) + "bps";
}

/// As "1/256", or as a probability is written; more than 0 and at most 1.
bool take_g(std::string_view text, CongestionConfig& into) {
  const std::size_t slash = text.find('/');
  std::uint64_t numerator = 0;
  std::uint64_t denominator = kBillion;
  if (slash != text.npos) {
    numerator = parse_number(text.substr(0, slash)).value_or(0);
    denominator = parse_number(text.substr(slash + 1)).value_or(0);
  } else {
    numerator = parse_probability(text).value_or(0);
  }
  if (numerator == 0 || numerator > denominator || denominator > kBillion * 2) return false;
  into.dcqcn.g = static_cast<nic::Share>(numerator * nic::kWhole / denominator);
  return into.dcqcn.g != 0;
}
std::string g_text(const CongestionConfig& of) {
  return std::to_string(of.dcqcn.g) + "/" + std::to_string(nic::kWhole);
}

bool take_byte_counter(std::string_view text, CongestionConfig& into) {
  const auto octets = parse_octets(text);
  if (!octets || *octets < kByteCounterMin || *octets > kByteCounterMax) return false;
  into.dcqcn.byte_counter = *octets;
  return true;
}
std::string byte_counter_text(const CongestionConfig& of) {
  return std::to_string(of.dcqcn.byte_counter);
}

bool take_fast_recovery(std::string_view text, CongestionConfig& into) {
  const auto rounds = parse_number(text);
  if (!rounds || *rounds > kRoundsMax) return false;
  into.dcqcn.fast_recovery = static_cast<std::uint32_t>(*rounds);
  return true;
}
std::string fast_recovery_text(const CongestionConfig& of) {
  return std::to_string(of.dcqcn.fast_recovery);
}

bool take_clamp(std::string_view text, CongestionConfig& into) {
  const auto answer = find_named(kAnswers, text);
  if (answer) into.dcqcn.clamp_target_rate = *answer;
  return answer.has_value();
}
std::string clamp_text(const CongestionConfig& of) {
  return of.dcqcn.clamp_target_rate ? "true" : "false";
}

constexpr std::string_view kTimerIsRight = "want a time from 1us to 60s, as in 55us";
constexpr std::string_view kRateIsRight = "want a rate up to 100Tbps, as in 40Mbps";

template <auto member>
constexpr CongestionWord timer_word(std::string_view name) {
  return {name, kTimerIsRight, take_time<member, kTimerMin.ns>, time_text<member>};
}
template <auto member>
constexpr CongestionWord rate_word(std::string_view name) {
  return {name, kRateIsRight, take_rate<member>, rate_text<member>};
}

constexpr std::array kWords{
    CongestionWord{"congestion-control", "want none or dcqcn", take_named<kPolicies, &CongestionConfig::policy>,
                   named_text<kPolicies, &CongestionConfig::policy>},
    CongestionWord{"cnp-scope", "want qp, destination or port", take_named<kScopes, &CongestionConfig::cnp_scope>,
                   named_text<kScopes, &CongestionConfig::cnp_scope>},
    CongestionWord{"dcqcn-g", "want a share above 0, as in 1/256 or 0.4%", take_g, g_text},
    timer_word<&DcqcnParameters::alpha_timer>("dcqcn-alpha-timer"),
    timer_word<&DcqcnParameters::timer>("dcqcn-timer"),
    CongestionWord{"dcqcn-byte-counter", "want octets from 1KiB to 1TiB, as in 10MB", take_byte_counter,
                   byte_counter_text},
    CongestionWord{"dcqcn-fast-recovery", "want a number of rounds up to 1000, as in 5", take_fast_recovery,
                   fast_recovery_text},
    rate_word<&DcqcnParameters::additive_increase_bits_per_second>("dcqcn-additive-increase"),
    rate_word<&DcqcnParameters::hyper_increase_bits_per_second>("dcqcn-hyper-increase"),
    rate_word<&DcqcnParameters::min_rate_bits_per_second>("dcqcn-min-rate"),
    CongestionWord{"dcqcn-decrease-interval", "want a time up to 60s, as in 4us",
                   take_time<&DcqcnParameters::decrease_interval, 0>, time_text<&DcqcnParameters::decrease_interval>},
    CongestionWord{"dcqcn-clamp-target-rate", "want true or false", take_clamp, clamp_text},
};

}  // namespace

std::span<const CongestionWord> congestion_words() {
  return kWords;
}

std::string text_of(const CongestionConfig& config) {
  std::string text;
  const CongestionConfig unsaid;
  for (const CongestionWord& word : kWords)
    if (const std::string value = word.text(config); value != word.text(unsaid))
      text += (text.empty() ? "" : " ") + std::string(word.name) + "=" + value;
  return text;
}

}  // namespace verbena::fabric
