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
using nic::DctcpParameters;
using nic::HpccParameters;
using nic::SwiftParameters;
using nic::TimelyParameters;

constexpr Duration kTimeMax = seconds(10);
constexpr Duration kTimerMin = microseconds(1);
constexpr std::uint64_t kRateMax = 100'000'000'000'000;
constexpr std::uint64_t kByteCounterMin = 1024;
constexpr std::uint64_t kByteCounterMax = std::uint64_t{1} << 40;
constexpr std::uint64_t kRoundsMax = 1000;
constexpr std::uint64_t kPacketsMax = 1000;
constexpr std::uint64_t kWindowIncreaseMax = 1 << 20;
constexpr std::uint64_t kBillion = 1'000'000'000;

constexpr std::array<Named<CongestionPolicy>, 6> kPolicies{{{"none", CongestionPolicy::none},
                                                            {"dcqcn", CongestionPolicy::dcqcn},
                                                            {"timely", CongestionPolicy::timely},
                                                            {"swift", CongestionPolicy::swift},
                                                            {"dctcp", CongestionPolicy::dctcp},
                                                            {"hpcc", CongestionPolicy::hpcc}}};
constexpr std::array<Named<CnpScope>, 3> kScopes{
    {{"qp", CnpScope::qp}, {"destination", CnpScope::destination}, {"port", CnpScope::port}}};

/// A parameter of one policy: `&CongestionConfig::dcqcn, &DcqcnParameters::timer`.
template <auto policy, auto member>
auto& of_policy(auto& config) {
  return config.*policy.*member;
}

template <auto policy, auto member, std::int64_t least_ns>
bool take_time(std::string_view text, CongestionConfig& into) {
  const auto time = parse_duration(text, kTimeMax);
  if (!time || time->ns < least_ns) return false;
  of_policy<policy, member>(into) = *time;
  return true;
}
template <auto policy, auto member>
std::string time_text(const CongestionConfig& of) {
  return std::to_string(of_policy<policy, member>(of).ns) + "ns";
}

template <auto policy, auto member>
bool take_rate(std::string_view text, CongestionConfig& into) {
  const auto rate = parse_rate(text);
  if (!rate || *rate == 0 || *rate > kRateMax) return false;
  of_policy<policy, member>(into) = *rate;
  return true;
}
template <auto policy, auto member>
std::string rate_text(const CongestionConfig& of) {
  return std::to_string(of_policy<policy, member>(of)) + "bps";
}

/// As "1/256", or as a probability is written; more than 0 and at most 1.
template <auto policy, auto member>
bool take_share(std::string_view text, CongestionConfig& into) {
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
  const auto share = static_cast<nic::Share>(numerator * nic::kWhole / denominator);
  if (share != 0) of_policy<policy, member>(into) = share;
  return share != 0;
}
template <auto policy, auto member>
std::string share_text(const CongestionConfig& of) {
  return std::to_string(of_policy<policy, member>(of)) + "/" + std::to_string(nic::kWhole);
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

template <auto policy, auto member>
bool take_rounds(std::string_view text, CongestionConfig& into) {
  const auto rounds = parse_number(text);
  if (!rounds || *rounds > kRoundsMax) return false;
  of_policy<policy, member>(into) = static_cast<std::uint32_t>(*rounds);
  return true;
}
template <auto policy, auto member>
std::string rounds_text(const CongestionConfig& of) {
  return std::to_string(of_policy<policy, member>(of));
}

template <auto policy, auto member>
bool take_packets(std::string_view text, CongestionConfig& into) {
  const auto packets = parse_number(text);
  if (!packets || *packets == 0 || *packets > kPacketsMax) return false;
  of_policy<policy, member>(into) = static_cast<std::uint32_t>(*packets);
  return true;
}

bool take_window_increase(std::string_view text, CongestionConfig& into) {
  const auto octets = parse_octets(text);
  if (!octets || *octets == 0 || *octets > kWindowIncreaseMax) return false;
  into.hpcc.additive_increase = *octets;
  return true;
}
std::string window_increase_text(const CongestionConfig& of) {
  return std::to_string(of.hpcc.additive_increase);
}

template <auto policy, auto member>
constexpr CongestionWord timer_word(std::string_view name) {
  return {name, "want a time from 1us to 10s, as in 55us", take_time<policy, member, kTimerMin.ns>,
          time_text<policy, member>};
}
template <auto policy, auto member>
constexpr CongestionWord rate_word(std::string_view name) {
  return {name, "want a rate up to 100Tbps, as in 40Mbps", take_rate<policy, member>, rate_text<policy, member>};
}
template <auto policy, auto member>
constexpr CongestionWord share_word(std::string_view name) {
  return {name, "want a share above 0, as in 1/256 or 0.4%", take_share<policy, member>, share_text<policy, member>};
}
template <auto policy, auto member>
constexpr CongestionWord rounds_word(std::string_view name) {
  return {name, "want a number of rounds up to 1000, as in 5", take_rounds<policy, member>,
          rounds_text<policy, member>};
}
template <auto policy, auto member>
constexpr CongestionWord packets_word(std::string_view name) {
  return {name, "want packets from 1 to 1000, as in 1", take_packets<policy, member>, rounds_text<policy, member>};
}
template <auto policy, auto member>
constexpr CongestionWord time_word(std::string_view name) {
  return {name, "want a time up to 10s, as in 4us", take_time<policy, member, 0>, time_text<policy, member>};
}
constexpr auto kDcqcn = &CongestionConfig::dcqcn;
constexpr auto kTimely = &CongestionConfig::timely;
constexpr auto kSwift = &CongestionConfig::swift;
constexpr auto kDctcp = &CongestionConfig::dctcp;
constexpr auto kHpcc = &CongestionConfig::hpcc;

constexpr std::array kWords{
    CongestionWord{"congestion-control", "want none, dcqcn, timely, swift, dctcp or hpcc",
                   take_named<kPolicies, &CongestionConfig::policy>, named_text<kPolicies, &CongestionConfig::policy>,
                   kNamesIn<kPolicies>},
    CongestionWord{"cnp-scope", "want qp, destination or port", take_named<kScopes, &CongestionConfig::cnp_scope>,
                   named_text<kScopes, &CongestionConfig::cnp_scope>, kNamesIn<kScopes>},
    CongestionWord{"cnp-on-nak", "want true or false", take_named<kTrueOrFalse, &CongestionConfig::cnp_on_nak>,
                   named_text<kTrueOrFalse, &CongestionConfig::cnp_on_nak>, kNamesIn<kTrueOrFalse>},
    share_word<kDcqcn, &DcqcnParameters::g>("dcqcn-g"),
    timer_word<kDcqcn, &DcqcnParameters::alpha_timer>("dcqcn-alpha-timer"),
    timer_word<kDcqcn, &DcqcnParameters::timer>("dcqcn-timer"),
    CongestionWord{"dcqcn-byte-counter", "want octets from 1KiB to 1TiB, as in 10MB", take_byte_counter,
                   byte_counter_text},
    rounds_word<kDcqcn, &DcqcnParameters::fast_recovery>("dcqcn-fast-recovery"),
    rate_word<kDcqcn, &DcqcnParameters::additive_increase_bits_per_second>("dcqcn-additive-increase"),
    rate_word<kDcqcn, &DcqcnParameters::hyper_increase_bits_per_second>("dcqcn-hyper-increase"),
    rate_word<kDcqcn, &DcqcnParameters::min_rate_bits_per_second>("dcqcn-min-rate"),
    time_word<kDcqcn, &DcqcnParameters::decrease_interval>("dcqcn-decrease-interval"),
    CongestionWord{"dcqcn-clamp-target-rate", "want true or false",
                   [](std::string_view text, CongestionConfig& into) {
                     return take_named<kTrueOrFalse, &DcqcnParameters::clamp_target_rate>(text, into.dcqcn);
                   },
                   [](const CongestionConfig& of) {
                     return named_text<kTrueOrFalse, &DcqcnParameters::clamp_target_rate>(of.dcqcn);
                   },
                   kNamesIn<kTrueOrFalse>},
    share_word<kTimely, &TimelyParameters::alpha>("timely-alpha"),
    share_word<kTimely, &TimelyParameters::beta>("timely-beta"),
    timer_word<kTimely, &TimelyParameters::t_low>("timely-t-low"),
    timer_word<kTimely, &TimelyParameters::t_high>("timely-t-high"),
    timer_word<kTimely, &TimelyParameters::min_rtt>("timely-min-rtt"),
    rate_word<kTimely, &TimelyParameters::additive_increase_bits_per_second>("timely-additive-increase"),
    rounds_word<kTimely, &TimelyParameters::hyper_increase>("timely-hyper-increase"),
    rate_word<kTimely, &TimelyParameters::min_rate_bits_per_second>("timely-min-rate"),
    timer_word<kSwift, &SwiftParameters::base_target>("swift-base-target"),
    time_word<kSwift, &SwiftParameters::hop_scale>("swift-hop-scale"),
    CongestionWord{"swift-hops", "want switches on the way up to 1000, as in 3",
                   take_rounds<kSwift, &SwiftParameters::hops>, rounds_text<kSwift, &SwiftParameters::hops>},
    time_word<kSwift, &SwiftParameters::fs_range>("swift-fs-range"),
    share_word<kSwift, &SwiftParameters::fs_min_window>("swift-fs-min-window"),
    packets_word<kSwift, &SwiftParameters::fs_max_window>("swift-fs-max-window"),
    packets_word<kSwift, &SwiftParameters::additive_increase>("swift-additive-increase"),
    share_word<kSwift, &SwiftParameters::beta>("swift-beta"),
    share_word<kSwift, &SwiftParameters::max_mdf>("swift-max-mdf"),
    share_word<kSwift, &SwiftParameters::min_window>("swift-min-window"),
    CongestionWord{"swift-retransmit-reset", "want a number of timeouts from 1 to 1000, as in 5",
                   take_packets<kSwift, &SwiftParameters::retransmit_reset>,
                   rounds_text<kSwift, &SwiftParameters::retransmit_reset>},
    share_word<kDctcp, &DctcpParameters::g>("dctcp-g"),
    packets_word<kDctcp, &DctcpParameters::additive_increase>("dctcp-additive-increase"),
    timer_word<kHpcc, &HpccParameters::base_rtt>("hpcc-base-rtt"),
    share_word<kHpcc, &HpccParameters::eta>("hpcc-eta"),
    rounds_word<kHpcc, &HpccParameters::max_stage>("hpcc-max-stage"),
    CongestionWord{"hpcc-additive-increase", "want octets from 1 to 1MiB, as in 80", take_window_increase,
                   window_increase_text},
};

}  // namespace

std::span<const CongestionWord> congestion_words() {
  return kWords;
}

std::string_view contradiction(const CongestionConfig& config) {
  if (config.timely.t_low > config.timely.t_high) return "timely-t-low is above timely-t-high";
  return {};
}

std::string text_of(const nic::CongestionConfig& config) {
  return text_of_settings(congestion_words(), config);
}

}  // namespace verbena::fabric
