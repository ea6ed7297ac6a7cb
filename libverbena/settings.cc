// Settings: read by the tables that scenarios and `verbena exec` have, and applied when a world is made.
#include "libverbena/settings.h"

#include <algorithm>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "emulator/fabric/qos_words.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

template <class Config>
Result<void> take(const fabric::SettingWord<Config>& word, std::string_view value, Config& into) {
  if (word.take(value, into)) return {};
  return invalid(std::string(word.name) + " '" + std::string(value) + "': " + fabric::right_of(word, value));
}

template <class... Words>
Result<void> unknown(std::string_view name, Words... tables) {
  std::string known;
  std::vector<std::string_view> names;
  const auto add = [&](auto words) {
    fabric::add_setting_names(words, known);
    for (const auto& word : words) names.push_back(word.name);
  };
  (add(tables), ...);
  return invalid("'" + std::string(name) + "' is none of " + known + fabric::did_you_mean(name, names));
}

Result<void> take_of_nic(std::string_view name, std::string_view value, nic::NicConfig& into) {
  if (const auto* const word = fabric::find_setting(fabric::congestion_words(), name))
    return take(*word, value, into.congestion);
  if (const auto* const word = fabric::find_setting(fabric::loss_recovery_words(), name))
    return take(*word, value, into.loss_recovery);
  return unknown(name, fabric::congestion_words(), fabric::loss_recovery_words());
}

std::string_view wrong_with(const nic::NicConfig& config, const fabric::Topology& topology) {
  if (const std::string_view wrong = fabric::contradiction(config.congestion); !wrong.empty()) return wrong;
  if (const std::string_view wrong = fabric::contradiction(config.loss_recovery); !wrong.empty()) return wrong;
  const auto has_telemetry = [](const fabric::Cable& cable) { return cable.parameters.telemetry; };
  if (config.congestion.wants().telemetry &&
      std::none_of(topology.cables.begin(), topology.cables.end(), has_telemetry))
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
  const auto* const word = fabric::find_setting(fabric::qos_words(), name);
  if (word == nullptr) return unknown(name, fabric::qos_words());
  fabric::Qos qos = state_->qos.value_or(fabric::Qos{});
  auto taken = take(*word, value, qos);
  if (taken) state_->qos = qos;
  return taken;
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
    if (config.congestion.wants().notifications) config.cnp_interval = fabric::kCnpIntervalDefault;
  }
  return configs;
}

}  // namespace libverbena
