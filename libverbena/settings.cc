// Settings: read by the tables that scenarios and `verbena exec` have, and applied when a world is made.
#include "libverbena/settings.h"

#include <algorithm>
#include <span>
#include <vector>

#include "emulator/fabric/nic_words.h"
#include "emulator/fabric/qos_words.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

Result<void> wrong_value(std::string_view name, std::string_view value, const std::string& right) {
  return invalid(std::string(name) + " '" + std::string(value) + "': " + right);
}

Result<void> unknown(std::string_view name, std::span<const std::string_view> names) {
  std::string known;
  for (const std::string_view one : names) known += (known.empty() ? "" : ", ") + std::string(one);
  return invalid("'" + std::string(name) + "' is none of " + known + fabric::did_you_mean(name, names));
}

/// The others are about programs.
bool is_of_worlds(const fabric::NicWord& word) {
  return word.of == fabric::NicWord::Of::behaviour || word.of == fabric::NicWord::Of::nic;
}

Result<void> take_of_nic(std::string_view name, std::string_view value, fabric::NicSettings& into) {
  if (const auto right = fabric::take_policy_word(name, value, into.congestion, into.loss_recovery)) {
    if (!right->empty()) return wrong_value(name, value, *right);
    return {};
  }
  std::vector<std::string_view> names = fabric::policy_word_names();
  for (const fabric::NicWord& word : fabric::nic_words()) {
    if (!is_of_worlds(word)) continue;
    names.push_back(word.name);
    if (word.name != name) continue;
    if (!take(word, value, into)) return wrong_value(name, value, std::string(word.right));
    return {};
  }
  return unknown(name, names);
}

std::string_view wrong_with(const fabric::NicSettings& nic, const fabric::Topology& topology) {
  if (fabric::wire_of(nic).is_infiniband)
    return "this network is an Ethernet: scenarios and `verbena fabric` have InfiniBand (wire: infiniband)";
  if (const std::string_view wrong = fabric::contradiction(nic.congestion, nic.loss_recovery); !wrong.empty())
    return wrong;
  const auto has_telemetry = [](const fabric::Cable& cable) { return cable.parameters.telemetry; };
  if (nic.congestion.wants().telemetry && std::none_of(topology.cables.begin(), topology.cables.end(), has_telemetry))
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
  if (word == nullptr) {
    std::vector<std::string_view> names;
    for (const fabric::QosWord& known : fabric::qos_words()) names.push_back(known.name);
    return unknown(name, names);
  }
  fabric::Qos qos = state_->qos.value_or(fabric::Qos{});
  if (!word->take(value, qos)) return wrong_value(name, value, fabric::right_of(*word, value));
  state_->qos = qos;
  return {};
}

Result<void> Settings::set_nodes(std::string_view name, std::string_view value) {
  if (name == "rails") {
    const auto rails = fabric::parse_number(value);
    if (!rails || *rails < 1 || *rails > fabric::kRailsMax)
      return invalid("rails '" + std::string(value) + "': want a number from 1 to " +
                     std::to_string(fabric::kRailsMax));
    state_->rails.rails = static_cast<std::uint32_t>(*rails);
    return {};
  }
  if (name != "planes") return invalid("'" + std::string(name) + "' is neither rails nor planes");
  const auto planes = fabric::find_named(fabric::kPlanes, value);
  if (!planes) return invalid("planes '" + std::string(value) + "': want separate or shared");
  state_->rails.planes = *planes;
  state_->says_planes = true;
  return {};
}

Result<void> Settings::set_cables(std::string_view name, std::string_view value) {
  if (name != "telemetry") return invalid("'" + std::string(name) + "' is not telemetry");
  const auto wanted = fabric::find_named(fabric::kTrueOrFalse, value);
  if (!wanted) return invalid("telemetry '" + std::string(value) + "': want true or false");
  state_->telemetry = *wanted;
  return {};
}

Result<void> SettingsState::set_nic(std::string_view nic, std::string_view name, std::string_view value) {
  fabric::NicSettings scratch;
  if (auto taken = take_of_nic(name, value, scratch); !taken) return taken;
  nics.push_back({std::string(nic), std::string(name), std::string(value)});
  return {};
}

// -- What they come to ------------------------------------------------------------------------------------------------

Result<void> SettingsState::apply_rails(fabric::Topology& topology) const {
  if (rails.rails == 1) {
    if (says_planes) return invalid("planes are for several rails: set_nodes(\"rails\", \"2\")");
    return {};
  }
  topology.rails = rails.rails;
  topology.planes = rails.planes;
  return {};
}

Result<void> SettingsState::apply(fabric::Topology& topology) const {
  for (fabric::Cable& cable : topology.cables) cable.parameters.telemetry = telemetry;
  topology.qos = qos;
  if (!qos) return {};
  if (std::string wrong = fabric::contradiction(*qos); !wrong.empty()) return invalid(std::move(wrong));
  return {};
}

Result<std::vector<fabric::NicSettings>> SettingsState::of_hosts(const fabric::Topology& topology,
                                                                 std::size_t nic_count) const {
  const auto is_named = [&](const std::string& name, std::size_t host) {
    const std::vector<std::uint32_t> named = fabric::vertices_named(topology, name);
    return std::find(named.begin(), named.end(), host) != named.end();
  };
  for (const Word& word : nics) {
    if (word.nic.empty()) continue;
    const std::vector<std::uint32_t> named = fabric::vertices_named(topology, word.nic);
    if (named.empty() || named.front() >= nic_count)
      return invalid("there is no NIC '" + word.nic + "'" + fabric::rails_meant(topology, word.nic));
  }
  std::vector<fabric::NicSettings> all(topology.hosts);
  for (std::size_t host = 0; host < nic_count; ++host) {
    for (const bool of_all : {true, false})
      for (const Word& word : nics)
        if (of_all ? word.nic.empty() : is_named(word.nic, host)) take_of_nic(word.name, word.value, all[host]).value();
    if (const std::string_view wrong = wrong_with(all[host], topology); !wrong.empty())
      return invalid("NIC " + topology.vertices[host].name + ": " + std::string(wrong));
  }
  return all;
}

std::vector<nic::NicConfig> configs_of(const fabric::Topology& topology,
                                       const std::vector<fabric::NicSettings>& of_hosts) {
  std::vector<nic::NicConfig> configs(topology.hosts);
  const std::vector<std::uint64_t> port_rates = topology.port_rates();
  for (std::size_t host = 0; host < of_hosts.size(); ++host) {
    configs[host].window_bytes = of_hosts[host].window_bytes.value_or(configs[host].window_bytes);  // may be more
    fabric::apply(of_hosts[host], configs[host]);
    fabric::use_wire(fabric::wire_of(of_hosts[host]), configs[host]);
    // What is infinitely fast is not slowed down by halves.
    if (port_rates[host] != 0) configs[host].congestion.line_rate_bits_per_second = port_rates[host];
  }
  return configs;
}

}  // namespace libverbena
