#include "emulator/fabric/nic_words.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "wire/roce_v1.h"

namespace verbena::fabric {
namespace {

using Of = NicWord::Of;

constexpr std::int64_t kTimeoutUnitNs = 4096;  // IBTA 9.7.6.1.3: 4.096 us x 2^code
constexpr std::uint8_t kTimeoutCodeMax = 31;
constexpr std::uint64_t kRateMax = 100'000'000'000'000;
constexpr std::uint64_t kWindowMin = 4096;
constexpr std::uint64_t kWindowMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kAcknowledgeEveryMax = 1 << 20;
constexpr std::uint64_t kDscpMax = 63;
constexpr std::uint64_t kNumaNodeMax = 1023;  // MAX_NUMNODES of Linux on x86-64, less one
constexpr std::array<Named<std::uint64_t>, 5> kMtus{
    {{"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}};

static_assert(std::size(wire::kWireKinds) == 4, "the row of `wire` names each");
constexpr std::array<Named<std::uint64_t>, 4> kWires{{{wire::kWireKinds[0].name, 0},
                                                      {wire::kWireKinds[1].name, 1},
                                                      {wire::kWireKinds[2].name, 2},
                                                      {wire::kWireKinds[3].name, 3}}};

// -- How a member keeps a value

template <class Kept>
struct Keeping {
  static Kept made(std::uint64_t value) { return static_cast<Kept>(value); }
  static std::optional<std::uint64_t> number(Kept kept) {
    return kept == 0 ? std::nullopt : std::optional<std::uint64_t>(kept);
  }
};
template <>
struct Keeping<Duration> {
  static Duration made(std::uint64_t value) { return nanoseconds(static_cast<std::int64_t>(value)); }
  static std::optional<std::uint64_t> number(Duration kept) {
    return Keeping<std::uint64_t>::number(static_cast<std::uint64_t>(kept.ns));
  }
};
template <class Kept>
struct Keeping<std::optional<Kept>> {
  static std::optional<Kept> made(std::uint64_t value) { return Keeping<Kept>::made(value); }
  static std::optional<std::uint64_t> number(const std::optional<Kept>& kept) {
    return kept ? Keeping<Kept>::number(*kept).value_or(0) : std::optional<std::uint64_t>();
  }
};

template <auto member>
void set(NicSettings& into, std::uint64_t value) {
  auto& kept = into.*member;
  kept = Keeping<std::remove_reference_t<decltype(kept)>>::made(value);
}
template <auto member>
std::optional<std::uint64_t> get(const NicSettings& of) {
  return Keeping<std::remove_cvref_t<decltype(of.*member)>>::number(of.*member);
}

/// The NIC's configuration keeps it under the same meaning.
template <auto member, auto of_config>
void copy(const NicSettings& of, nic::NicConfig& into) {
  into.*of_config = of.*member;
}
template <auto member, auto of_config>
void lower(const NicSettings& of, nic::NicConfig& into) {
  if (of.*member) into.*of_config = std::min(into.*of_config, *(of.*member));
}
template <auto member, auto of_qp>
void replace(const NicSettings& of, nic::QpAttributes& into) {
  into.*of_qp = (of.*member).value_or(into.*of_qp);
}

void limit_reads(const NicSettings& of, nic::NicConfig& into) {
  if (of.read_depth) into.limits.max_read_atomic = *of.read_depth;
}
void set_line_rate(const NicSettings& of, nic::NicConfig& into) {
  if (of.speed_bits_per_second) into.congestion.line_rate_bits_per_second = *of.speed_bits_per_second;
}
void space_cnps(const NicSettings& of, nic::NicConfig& into) {
  into.cnp_interval = cnp_interval_of(of.congestion, of.cnp_interval);
}
/// 0 is no timeout at all, which no NIC rounds up. What is above the range is modify_qp's to refuse.
void round_timeout_up(const NicSettings& of, nic::QpAttributes& into) {
  if (into.timeout != 0)
    while (into.timeout < kTimeoutCodeMax && (kTimeoutUnitNs << into.timeout) < of.timeout_min.ns) ++into.timeout;
}

template <auto member>
constexpr NicWord number_word(std::string_view name, std::string_view right, Of of, std::uint64_t least,
                              std::uint64_t most) {
  return {.name = name,
          .right = right,
          .of = of,
          .value = NicValue::number,
          .least = least,
          .most = most,
          .set = set<member>,
          .get = get<member>};
}
template <auto member>
constexpr NicWord time_word(std::string_view name, Of of = Of::behaviour) {
  return {.name = name,
          .right = "want a time up to 60s, as in 10us",
          .of = of,
          .value = NicValue::time,
          .set = set<member>,
          .get = get<member>};
}
constexpr NicWord applied(NicWord word, void (*apply)(const NicSettings&, nic::NicConfig&)) {
  word.apply = apply;
  return word;
}
constexpr NicWord applied(NicWord word, void (*apply)(const NicSettings&, nic::QpAttributes&)) {
  word.apply_to_qp = apply;
  return word;
}

// -- Limits, which can only be lowered

constexpr nic::NicLimits kOwnLimits;

template <auto limit>
void set_limit(NicSettings& into, std::uint64_t value) {
  auto& kept = into.limits.*limit;
  kept = static_cast<std::remove_reference_t<decltype(kept)>>(value);
}
template <auto limit>
std::optional<std::uint64_t> get_limit(const NicSettings& of) {
  const std::uint64_t kept = of.limits.*limit;
  return kept == kOwnLimits.*limit ? std::nullopt : std::optional(kept);
}
template <auto limit>
void lower_limit(const NicSettings& of, nic::NicConfig& into) {
  into.limits.*limit = std::min(into.limits.*limit, of.limits.*limit);
}
template <auto limit>
constexpr NicWord limit_word(std::string_view name, std::string_view right, std::uint64_t least = 1) {
  return {.name = name,
          .right = right,
          .of = Of::program,
          .least = least,
          .most = kOwnLimits.*limit,
          .set = set_limit<limit>,
          .get = get_limit<limit>,
          .apply = lower_limit<limit>};
}
constexpr NicWord in_octets(NicWord word) {
  word.value = NicValue::octets;
  return word;
}

using Said = NicSettings;
using Limits = nic::NicLimits;
using Config = nic::NicConfig;
using Qp = nic::QpAttributes;

constexpr NicWord kWords[] = {
    {.name = "mtu",
     .right = "want 256, 512, 1024, 2048 or 4096",
     .of = Of::nic,
     .value = NicValue::choice,
     .choices = kMtus,
     .set = set<&Said::mtu_bytes>,
     .get = get<&Said::mtu_bytes>,
     .apply = lower<&Said::mtu_bytes, &Config::port_mtu_bytes>},
    applied(number_word<&Said::read_depth>("read-depth", "want 1 to 128", Of::nic, 1, 128), limit_reads),
    {.name = "speed",
     .right = "want a rate up to 100Tbps, as in 25Gbps",
     .of = Of::nic,
     .each = NicWord::Each::port,
     .value = NicValue::rate,
     .least = 1,
     .most = kRateMax,
     .set = set<&Said::speed_bits_per_second>,
     .get = get<&Said::speed_bits_per_second>,
     .apply = set_line_rate},
    {.name = "numa",  // what programs read below /sys
     .right = "want a NUMA node, 0 to 1023",
     .of = Of::seen,
     .each = NicWord::Each::device,
     .most = kNumaNodeMax,
     .set = set<&Said::numa_node>,
     .get = get<&Said::numa_node>},
    {.name = "window",
     .right = "want 4096 to 1GiB octets, as in 1MiB",
     .of = Of::nic,
     .value = NicValue::octets,
     .least = kWindowMin,
     .most = kWindowMax,
     .set = set<&Said::window_bytes>,
     .get = get<&Said::window_bytes>,
     .apply = lower<&Said::window_bytes, &Config::window_bytes>},
    {.name = "wire",  // of the GID table: use_wire(), host/node/identity.h
     .right = "want roce-v2, roce-v1 or roce",
     .of = Of::nic,
     .value = NicValue::choice,
     .choices = kWires,
     .set = set<&Said::wire>,
     .get = get<&Said::wire>},
    applied(number_word<&Said::timeout>("timeout", "want a code from 0 to 31: 4.096us x 2^code", Of::nic, 0,
                                        kTimeoutCodeMax),
            replace<&Said::timeout, &Qp::timeout>),
    applied(number_word<&Said::retry_count>("retry-count", "want 0 to 7", Of::nic, 0, 7),
            replace<&Said::retry_count, &Qp::retry_count>),
    applied(number_word<&Said::rnr_retry>("rnr-retry", "want 0 to 7; 7 is for ever", Of::nic, 0, 7),
            replace<&Said::rnr_retry, &Qp::rnr_retry>),
    applied(number_word<&Said::min_rnr_timer>("min-rnr-timer", "want a code from 0 to 31", Of::nic, 0, 31),
            replace<&Said::min_rnr_timer, &Qp::min_rnr_timer>),
    applied(time_word<&Said::timeout_min>("timeout-min"), round_timeout_up),  // behind `timeout`, which it rounds
    applied(number_word<&Said::acknowledge_every>("acknowledge-every",
                                                  "want a number of packets, 0 for the NIC's own choice", Of::behaviour,
                                                  0, kAcknowledgeEveryMax),
            copy<&Said::acknowledge_every, &Config::acknowledge_every>),
    applied(number_word<&Said::dscp>("dscp", "want a number from 0 to 63, 0 for the program's choice", Of::behaviour, 0,
                                     kDscpMax),
            copy<&Said::dscp, &Config::dscp>),
    applied(number_word<&Said::cnp_dscp>("cnp-dscp", "want a number from 0 to 63, 0 for the packet's own",
                                         Of::behaviour, 0, kDscpMax),
            copy<&Said::cnp_dscp, &Config::cnp_dscp>),
    applied(time_word<&Said::cnp_interval>("cnp-interval"), space_cnps),
    applied(time_word<&Said::page_fault_delay>("page-fault-delay"),
            copy<&Said::page_fault_delay, &Config::page_fault_delay>),
    time_word<&Said::nak_latency>("nak-latency"),                  // of the link: World::set_latencies, NicTuning
    time_word<&Said::acknowledge_latency>("acknowledge-latency"),  // the same
    applied(time_word<&Said::nak_reaction_latency>("nak-reaction-latency"),
            copy<&Said::nak_reaction_latency, &Config::nak_reaction_latency>),
    applied(time_word<&Said::implied_nak_latency>("implied-nak-latency"),
            copy<&Said::implied_nak_latency, &Config::implied_nak_latency>),
    time_word<&Said::removed_after>("removed-after", Of::program),  // the engine's: Removal
    limit_word<&Limits::max_qp>("max-qp", "want 1 to 16384 QPs"),
    limit_word<&Limits::max_qp_wr>("max-qp-wr", "want 1 to 16384 work requests of a queue"),
    limit_word<&Limits::max_sge>("max-sge", "want 1 to 30 SGEs of a work request"),
    limit_word<&Limits::max_inline_bytes>("max-inline", "want 0 to 1024 octets", 0),
    limit_word<&Limits::max_cq>("max-cq", "want 1 to 16384 CQs"),
    limit_word<&Limits::max_cqe>("max-cqe", "want 1 to 1048576 entries of a CQ"),
    limit_word<&Limits::max_mr>("max-mr", "want 1 to 262144 memory regions"),
    limit_word<&Limits::max_mw>("max-mw", "want 1 to 131072 memory windows"),
    limit_word<&Limits::max_pd>("max-pd", "want 1 to 16384 PDs"),
    limit_word<&Limits::max_ah>("max-ah", "want 1 to 131072 address handles"),
    limit_word<&Limits::max_srq>("max-srq", "want 1 to 4096 SRQs"),
    limit_word<&Limits::max_srq_wr>("max-srq-wr", "want 1 to 16384 work requests of an SRQ"),
    in_octets(limit_word<&Limits::max_pinned_bytes>("memlock", "want octets, as in 64KiB", 0)),
};

std::string_view unit_of(NicValue value) {
  switch (value) {
    case NicValue::time:
      return "ns";
    case NicValue::rate:
      return "bps";
    case NicValue::octets:
    case NicValue::number:
    case NicValue::choice:
      break;
  }
  return "";
}

std::optional<std::uint64_t> read(const NicWord& word, std::string_view text) {
  switch (word.value) {
    case NicValue::time: {
      const auto time = parse_duration(text, kFaultTimeMax);
      return time ? std::optional(static_cast<std::uint64_t>(time->ns)) : std::nullopt;
    }
    case NicValue::rate:
      return parse_rate(text);
    case NicValue::octets:
      return parse_octets(text);
    case NicValue::number:
      return parse_number(text);
    case NicValue::choice:
      return find_named(word.choices, text);
  }
  return std::nullopt;
}

}  // namespace

std::span<const NicWord> nic_words() {
  return kWords;
}

std::string text_of(const NicWord& word, std::uint64_t value) {
  for (const Named<std::uint64_t>& choice : word.choices)
    if (choice.value == value) return std::string(choice.name);
  return std::to_string(value) + std::string(unit_of(word.value));
}

bool take(const NicWord& word, std::string_view text, NicSettings& into) {
  const auto value = read(word, text);
  const bool has_bounds = word.most != 0;
  if (!value || (has_bounds && (*value < word.least || *value > word.most))) return false;
  word.set(into, *value);
  return true;
}

std::string text_of(const NicSettings& settings, std::span<const NicWord> words) {
  std::string text;
  for (const NicWord& word : words)
    if (const auto value = word.get(settings))
      text += (text.empty() ? "" : " ") + std::string(word.name) + "=" + text_of(word, *value);
  for (const std::string& policy : {text_of(settings.congestion), text_of(settings.loss_recovery)})
    if (!policy.empty()) text += (text.empty() ? "" : " ") + policy;
  return text;
}

std::optional<std::string> take_policy_word(std::string_view name, std::string_view value,
                                            nic::CongestionConfig& congestion, nic::LossRecoveryConfig& loss_recovery) {
  if (const auto* const word = find_setting(congestion_words(), name))
    return word->take(value, congestion) ? std::string() : right_of(*word, value);
  if (const auto* const word = find_setting(loss_recovery_words(), name))
    return word->take(value, loss_recovery) ? std::string() : right_of(*word, value);
  return std::nullopt;
}

std::vector<std::string_view> policy_word_names() {
  std::vector<std::string_view> names;
  for (const CongestionWord& word : congestion_words()) names.push_back(word.name);
  for (const LossRecoveryWord& word : loss_recovery_words()) names.push_back(word.name);
  return names;
}

std::string_view contradiction(const nic::CongestionConfig& congestion, const nic::LossRecoveryConfig& loss_recovery) {
  const std::string_view wrong = contradiction(congestion);
  return wrong.empty() ? contradiction(loss_recovery) : wrong;
}

Duration cnp_interval_of(const nic::CongestionConfig& congestion, Duration said) {
  return congestion.wants().notifications && said.ns == 0 ? kCnpIntervalDefault : said;
}

void apply(const NicSettings& settings, nic::NicConfig& config, std::span<const NicWord> words) {
  const std::uint64_t line_rate = config.congestion.line_rate_bits_per_second;
  config.congestion = settings.congestion;
  config.congestion.line_rate_bits_per_second = line_rate;
  config.loss_recovery = settings.loss_recovery;
  for (const NicWord& word : words)
    if (word.apply != nullptr) word.apply(settings, config);
}

void apply(const NicSettings& settings, nic::QpAttributes& attributes, std::span<const NicWord> words) {
  for (const NicWord& word : words)
    if (word.apply_to_qp != nullptr) word.apply_to_qp(settings, attributes);
}

void use_wire(const wire::WireKind& wire, nic::NicConfig& config) {
  const wire::Gid address = config.gids[0].gid;
  config.gid_count = 0;
  if (wire.is_infiniband) config.gids[config.gid_count++] = {address, wire::kInfiniBand};
  for (const wire::RoceVersion version : {wire::RoceVersion::v1, wire::RoceVersion::v2})
    if (wire.has(version)) config.gids[config.gid_count++] = {address, wire::encapsulation_of(version)};
}

wire::RoceVersion version_between(const wire::WireKind& own, const wire::WireKind& peer) {
  using enum wire::RoceVersion;
  if (own.has_v2 && peer.has_v2) return v2;
  if (own.has_v1 && peer.has_v1) return v1;
  return own.has_v2 ? v2 : v1;
}

std::uint8_t gid_index_of(const wire::WireKind& own, wire::RoceVersion version) {
  return own.has_v1 && version == wire::RoceVersion::v2 ? 1 : 0;
}

}  // namespace verbena::fabric
