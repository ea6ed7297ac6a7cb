#include "emulator/host/config/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/config/port_facts.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::host {
namespace {
constexpr std::size_t kInterfaceNameBytesMax = 15;  // IFNAMSIZ without the zero

std::optional<std::string_view> setting(const char* name) {
  const char* const value = variable(name);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

template <class Number>
bool parse_number(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string given(const char* name) {
  return std::string(name) + "='" + variable(name, "") + "'";
}

std::string complaint(const char* name, std::string_view value, std::string_view right) {
  return std::string(name) + "='" + std::string(value) + "': " + std::string(right);
}

/// "OMPI_COMM_WORLD_RANK=3, PMI_RANK=1": those that are set.
std::string ranks_text() {
  std::string text;
  const auto add = [&](const char* name) {
    if (const auto value = setting(name))
      text += (text.empty() ? "" : ", ") + std::string(name) + "=" + std::string(*value);
  };
  for (const char* name : kRankVariables) add(name);
  add(kTaskVariable);
  return text;
}

Result<wire::Gid, std::string> node_from_environment() {
  const OwnNode node = own_node();
  const std::string_view value = setting(kNodeVariable).value_or("");
  switch (node.kind) {
    case OwnNode::Kind::known:
      return node.address;
    case OwnNode::Kind::wrong_value:
      return Failure{
          complaint(kNodeVariable, value, "want a node number from 1 to 254, an IP address, auto or auto:NODES")};
    case OwnNode::Kind::no_rank:
      return Failure{
          complaint(kNodeVariable, value, "the process has no rank, by which its node is found: " + rank_rule())};
    case OwnNode::Kind::wrong_rank:
      return Failure{complaint(kNodeVariable, value, "the rank is not a number: " + ranks_text())};
    case OwnNode::Kind::ranks_differ:
      return Failure{complaint(kNodeVariable, value, "launchers differ in the process's rank: " + ranks_text())};
  }
  return wire::Gid{};
}

std::string text_of(const PortLink& link) {
  return std::string(link.kind) + (link.interface.empty() ? "" : ":" + std::string(link.interface));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}
}  // namespace

std::string rank_rule() {
  std::string text = "its launcher (mpirun, srun) sets none of ";
  for (const char* name : kRankVariables) text += name + std::string(", ");
  return text + kTaskVariable;
}

std::string link_rule(std::string_view given) {
  std::vector<std::string> forms;
  for (const LinkKind& kind : kLinkKinds)
    forms.push_back(std::string(kind.name) + (kind.has_interface ? ":INTERFACE" : ""));
  std::string text = forms.front();
  for (auto form = forms.begin() + 1; form != forms.end(); ++form)
    text += (form + 1 == forms.end() ? " or " : ", ") + *form;
  return text + fabric::did_you_mean(given, std::vector<std::string_view>(forms.begin(), forms.end()));
}

bool is_link_name(std::string_view text) {
  const std::string_view interfaces = interface_of(text);
  if (find_link_kind(text) == nullptr || interfaces.find_first_of("/ \t\n") != text.npos) return false;
  for (std::size_t i = 0; i < list_size(interfaces); ++i)
    if (list_item(interfaces, i).size() > kInterfaceNameBytesMax) return false;
  return true;
}

std::string devices_error(const OwnDevices& wrong, const DevicesGiven& given) {
  const DeviceNumber number = wrong.number(wrong.of);
  const bool has_ports = wrong.ports != 1;
  const std::string device = (has_ports ? ": port " + std::to_string(number.port) + " of device " : ": device ") +
                             std::to_string(number.device);
  const std::string surplus = (has_ports ? " than ports: " : " than devices: ") + std::to_string(wrong.port_count());
  const std::string each = has_ports ? "each port" : "each device";
  switch (wrong.kind) {
    case OwnDevices::Kind::wrong_count:
      return given.devices + ": want a number of devices from 1 to " + std::to_string(kDevicesMax);
    case OwnDevices::Kind::wrong_ports:
      return given.ports + ": want a number of ports of each device, 1 or " + std::to_string(kPortsMax);
    case OwnDevices::Kind::wrong_address:
      if (wrong.of == wrong.port_count()) return given.node + ": more addresses" + surplus;
      return given.node + device + " has no address: give one of " + each + ", by commas";
    case OwnDevices::Kind::same_address:
      return given.node + device + " has the address of another " + (has_ports ? "one" : "device");
    case OwnDevices::Kind::wrong_interface:
      if (wrong.of == wrong.port_count()) return given.link + ": more interfaces" + surplus;
      return given.link + device + " has no interface of its own: give one of " + each + ", by commas";
    case OwnDevices::Kind::known:
    case OwnDevices::Kind::no_node:
      break;
  }
  return given.node + ": no node";
}

std::string wire_rule(std::string_view given) {
  std::vector<std::string_view> names;
  for (const wire::WireKind& kind : wire::kWireKinds) names.push_back(kind.name);
  return std::string(wire::kWireRule) + fabric::did_you_mean(given, names);
}

std::string wire_error(const wire::WireKind& wire, std::string_view link) {
  const LinkKind* const kind = find_link_kind(link);
  if (wire.is_infiniband && kind != nullptr && !kind->has_link_local)
    return "InfiniBand is emulated over shared memory alone: use --link shm or fabric";
  if (!wire.has_v1 || kind == nullptr || kind->carries_ethernet) return "";
  return "a UDP socket cannot carry RoCE v1: use --link shm, fabric or raw:INTERFACE, or the wire roce-v2";
}

std::string lids_error(const wire::WireKind& wire, const OwnDevices& devices) {
  if (!wire.is_infiniband) return "";
  for (std::uint32_t i = 0; i < devices.port_count(); ++i)
    if (static_lid(devices.addresses[i]) == wire::kLidNone)
      return "the LID follows from the number of the node: say --node K, 1 to " + std::to_string(kNodesMax);
  return "";
}

std::string icrc_rule(std::string_view given) {
  return "offload or always" + fabric::did_you_mean(given, {"offload", "always"});
}

bool is_device_name(std::string_view text) {
  if (text.find(',') != text.npos) {
    for (std::size_t i = 0; i < list_size(text); ++i)
      if (!is_device_name(list_item(text, i)) || list_item(text, i).find(kDeviceNumberSign) != text.npos) return false;
    return true;
  }
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  std::string name(text);
  if (const auto sign = name.find(kDeviceNumberSign); sign != name.npos)
    name.replace(sign, kDeviceNumberSign.size(), "0");
  return !name.empty() && text.size() <= kDeviceNameBytesMax && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), fits);
}

std::string device_name_rule() {
  return "1 to " + std::to_string(kDeviceNameBytesMax) +
         " letters, digits, '.', '_' or '-', and at most one %d, for the device's number; or by commas one of each "
         "device";
}

std::string device_names_error(std::uint32_t devices) {
  return "the name of device " + std::to_string(devices - 1) + " would be longer than " +
         std::to_string(kDeviceNameBytesMax) +
         " letters, or there is none: give a shorter one, or %d for the device's number, or by commas one of each";
}

std::optional<wire::IcrcState> parse_icrc(std::string_view text) {
  if (text == "offload") return wire::IcrcState::deferred;
  return text == "always" ? std::optional(wire::IcrcState::present) : std::nullopt;
}

std::optional<std::uint64_t> seed_from_environment() {
  std::uint64_t seed = 0;
  const auto value = setting(kSeedVariable);
  return value && parse_number(*value, seed) ? std::optional(seed) : std::nullopt;
}

Result<EngineConfig, std::string> config_from_environment() {
  EngineConfig config;
  if (const auto value = setting(kFabricVariable)) {
    if (!is_fabric_name(*value)) return Failure{complaint(kFabricVariable, *value, "want " + fabric_name_rule())};
    config.fabric = *value;
  }
  const auto node = node_from_environment();
  if (!node) return Failure{node.error()};
  config.address = *node;
  if (const auto value = setting(kLinkVariable)) {
    if (!is_link_name(*value)) return Failure{complaint(kLinkVariable, *value, "want " + link_rule(*value))};
    config.link = *value;
  }
  if (const auto value = setting(kDeviceNameVariable)) {
    if (!is_device_name(*value)) return Failure{complaint(kDeviceNameVariable, *value, "want " + device_name_rule())};
    config.device_name = *value;
  }
  if (const auto value = setting(kSeedVariable)) {
    config.seed = seed_from_environment();
    if (!config.seed) return Failure{complaint(kSeedVariable, *value, "want a number from 0 to 2^64 - 1")};
  }
  if (const auto value = setting(kPcapSnapVariable); value && !parse_number(*value, config.capture_snap_bytes))
    return Failure{complaint(kPcapSnapVariable, *value, "want a number of octets, 0 for whole frames")};
  if (const auto value = setting(kFaultsVariable)) {
    std::uint32_t place = 0;
    for (const std::string& fault : lines_of(*value)) {
      ++place;
      if (fabric::is_verb_rule(fault)) {
        auto rule = fabric::parse_verb_rule(fault);
        if (!rule) return Failure{complaint(kFaultsVariable, fault, rule.error())};
        rule->id = place;
        config.verb_faults.push_back(std::move(*rule));
        continue;
      }
      auto rule = fabric::parse_fault(fault);
      if (!rule) return Failure{complaint(kFaultsVariable, fault, rule.error())};
      rule->id = place;
      config.faults.push_back(std::move(*rule));
    }
  }
  if (const auto value = setting(kNicVariable)) {
    const auto tuning = parse_nic_tuning(words_of_device(*value, 0));
    if (!tuning) return Failure{std::string(kNicVariable) + ": " + tuning.error()};
    if (const std::string error = wire_error(fabric::wire_of(*tuning), config.link); !error.empty())
      return Failure{complaint(kNicVariable, *value, error)};
    config.nic = *tuning;
  }
  if (const auto value = setting(kIcrcVariable)) {
    const auto icrc = parse_icrc(*value);
    if (!icrc) return Failure{complaint(kIcrcVariable, *value, "want " + icrc_rule(*value))};
    config.icrc = *icrc;
  }
  if (const auto value = setting(kPcapVariable)) config.capture_path = *value;
  if (const auto value = setting(kStatsVariable)) config.stats_path = *value;
  return config;
}

Result<std::vector<EngineConfig>, std::string> devices_from_environment() {
  const auto first = config_from_environment();
  if (!first) return Failure{first.error()};
  const OwnDevices own = own_devices();
  if (own.kind != OwnDevices::Kind::known)
    return Failure{devices_error(
        own, {given(kDevicesVariable), given(kNodeVariable), given(kLinkVariable), given(kPortsVariable)})};
  if (!device_names_fit(first->device_name, own.count))
    return Failure{complaint(kDeviceNameVariable, first->device_name, device_names_error(own.count))};
  if (const std::string wrong = lids_error(fabric::wire_of(first->nic), own); !wrong.empty())
    return Failure{std::string(kNicVariable) + ": " + wrong};
  if (const std::string wrong = devices_misfit(first->nic, own); !wrong.empty())
    return Failure{std::string(kNicVariable) + ": " + wrong};
  const auto facts_of = [&](std::uint32_t place) {
    return port_facts(own, place, variable(kNicVariable, ""), first->link);
  };
  std::vector<EngineConfig> configs(own.count, *first);
  for (std::uint32_t i = 0; i < own.count; ++i) {
    const auto tuning = parse_nic_tuning(words_of_device(variable(kNicVariable, ""), i));
    if (!tuning) return Failure{std::string(kNicVariable) + ": " + tuning.error()};
    configs[i].nic = *tuning;
    configs[i].number = {i, 1};
    const std::uint32_t place = own.place(configs[i].number);
    configs[i].address = own.addresses[place];
    configs[i].link = text_of(link_of_port(first->link, place));
    const PortFacts facts = facts_of(place);
    configs[i].nic.speed_bits_per_second = facts.bits_per_second;
    configs[i].nic.numa_node = facts.numa_node;
    for (std::uint32_t further = place + 1; further < place + own.ports; ++further)
      configs[i].further_ports.push_back(
          {own.addresses[further], text_of(link_of_port(first->link, further)), facts_of(further).bits_per_second});
    if (first->seed) configs[i].seed = *first->seed + i;  // each device draws numbers and faults of its own
  }
  return configs;
}

}  // namespace verbena::host
