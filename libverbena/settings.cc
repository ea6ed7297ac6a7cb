// Settings: read by the tables that scenarios and `verbena exec` have, and applied when a world is made.
#include "libverbena/settings.h"

#include <algorithm>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "emulator/fabric/qos_words.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

enum class Taken : std::uint8_t { yes, unknown, wrong };
/// `right` becomes what the value may be.
template <class Config>
Taken take(std::span<const fabric::SettingWord<Config>> words, std::string_view name, std::string_view value,
           Config& into, std::string_view& right) {
  for (const fabric::SettingWord<Config>& word : words) {
    if (word.name != name) continue;
    right = word.right;
    return word.take(value, into) ? Taken::yes : Taken::wrong;
  }
  return Taken::unknown;
}

template <class Config>
void add_names(std::span<const fabric::SettingWord<Config>> words, std::string& into) {
  for (const fabric::SettingWord<Config>& word : words) into += (into.empty() ? "" : ", ") + std::string(word.name);
}

Result<void> answer(Taken taken, std::string_view name, std::string_view value, std::string_view right,
                    std::string known) {
  switch (taken) {
    case Taken::yes:
      return {};
    case Taken::unknown:
      return invalid("'" + std::string(name) + "' is none of " + known);
    case Taken::wrong:
      return invalid(std::string(name) + " '" + std::string(value) + "': " + std::string(right));
  }
  return {};
}

Result<void> take_of_nic(std::string_view name, std::string_view value, nic::NicConfig& into) {
  std::string_view right;
  Taken taken = take(fabric::congestion_words(), name, value, into.congestion, right);
  if (taken == Taken::unknown) taken = take(fabric::loss_recovery_words(), name, value, into.loss_recovery, right);
  std::string known;
  if (taken == Taken::unknown) {
    add_names(fabric::congestion_words(), known);
    add_names(fabric::loss_recovery_words(), known);
  }
  return answer(taken, name, value, right, std::move(known));
}

std::string_view wrong_with(const nic::NicConfig& config, const fabric::Topology& topology) {
  if (const std::string_view wrong = fabric::contradiction(config.congestion); !wrong.empty()) return wrong;
  if (const std::string_view wrong = fabric::contradiction(config.loss_recovery); !wrong.empty()) return wrong;
  const auto has_telemetry = [](const fabric::Cable& cable) { return cable.parameters.telemetry; };
  if (config.congestion.uses_telemetry() && std::none_of(topology.cables.begin(), topology.cables.end(), has_telemetry))
    return "congestion-control hpcc goes by what switches write into packets: set_cables(\"telemetry\", \"true\")";
  return {};
}

}  // namespace

// -- Settings ---------------------------------------------------------------------------------------------------------

Settings::Settings() : state_(std::make_unique<SettingsState>()) {}
Settings::~Settings() = default;
Settings::Settings(Settings&&) noexcept = default;
Settings& Settings::operator=(Settings&&) noexcept = default;

Result<void> Settings::set_nics(std::string_view name, std::string_view value) {
  return state_->set_nic({}, name, value);
}

Result<void> Settings::set_nic(std::string_view nic, std::string_view name, std::string_view value) {
  if (nic.empty()) return invalid("there is no NIC ''");
  return state_->set_nic(nic, name, value);
}

Result<void> Settings::set_qos(std::string_view name, std::string_view value) {
  fabric::Qos qos = state_->qos.value_or(fabric::Qos{});
  std::string_view right;
  const Taken taken = take(fabric::qos_words(), name, value, qos, right);
  if (taken == Taken::yes) state_->qos = qos;
  std::string known;
  if (taken == Taken::unknown) add_names(fabric::qos_words(), known);
  return answer(taken, name, value, right, std::move(known));
}

Result<void> Settings::set_cables(std::string_view name, std::string_view value) {
  if (name != "telemetry") return invalid("'" + std::string(name) + "' is not telemetry");
  const auto wanted = fabric::find_named(fabric::kTrueOrFalse, value);
  if (!wanted) return invalid("telemetry '" + std::string(value) + "': want true or false");
  state_->telemetry = *wanted;
  return {};
}

Result<void> SettingsState::set_nic(std::string_view nic, std::string_view name, std::string_view value) {
  nic::NicConfig scratch;
  if (auto taken = take_of_nic(name, value, scratch); !taken) return taken;
  nics.push_back({std::string(nic), std::string(name), std::string(value)});
  return {};
}

// -- What they come to ------------------------------------------------------------------------------------------------

Result<void> SettingsState::apply(fabric::Topology& topology) const {
  for (fabric::Cable& cable : topology.cables) cable.parameters.telemetry = telemetry;
  topology.qos = qos;
  if (!qos) return {};
  if (std::string wrong = fabric::contradiction(*qos); !wrong.empty()) return invalid(std::move(wrong));
  return {};
}

Result<std::vector<nic::NicConfig>> SettingsState::configs(const fabric::Topology& topology,
                                                           std::size_t nic_count) const {
  const auto is_nic = [&](const std::string& name) {
    return std::any_of(topology.vertices.begin(), topology.vertices.begin() + static_cast<std::ptrdiff_t>(nic_count),
                       [&](const fabric::Vertex& vertex) { return vertex.name == name; });
  };
  for (const Word& word : nics)
    if (!word.nic.empty() && !is_nic(word.nic)) return invalid("there is no NIC '" + word.nic + "'");
  std::vector<nic::NicConfig> configs(topology.hosts);
  const std::vector<std::uint64_t> port_rates = topology.port_rates();
  for (std::size_t host = 0; host < nic_count; ++host) {
    nic::NicConfig& config = configs[host];
    for (const bool of_all : {true, false})
      for (const Word& word : nics)
        if (of_all ? word.nic.empty() : word.nic == topology.vertices[host].name)
          take_of_nic(word.name, word.value, config).value();
    if (const std::string_view wrong = wrong_with(config, topology); !wrong.empty())
      return invalid("NIC " + topology.vertices[host].name + ": " + std::string(wrong));
    // What is infinitely fast is not slowed down by halves.
    if (port_rates[host] != 0) config.congestion.line_rate_bits_per_second = port_rates[host];
    if (config.congestion.uses_notifications()) config.cnp_interval = fabric::kCnpIntervalDefault;
  }
  return configs;
}

}  // namespace libverbena
