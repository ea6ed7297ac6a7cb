#include "cli/exec/personalities.h"

#include <fmt/format.h>

#include <map>

#include "emulator/host/config/device_words.h"
#include "emulator/host/config/environment.h"
#include "emulator/host/config/own_files.h"

namespace verbena::cli {
namespace {

/// "mlx5_0", "mlx5_1", "mana_0": numbers count among those of one kind.
std::string names_of(const Personalities& personalities) {
  if (personalities.size() == 1) return personalities.front().device_name;
  std::map<std::string, std::uint32_t> counts;
  std::string names;
  for (const host::Personality& one : personalities) {
    std::string name = one.device_name.empty() ? "verbena%d" : one.device_name;
    const std::uint32_t number = counts[name]++;
    if (const auto sign = name.find(host::kDeviceNumberSign); sign != name.npos)
      name.replace(sign, host::kDeviceNumberSign.size(), std::to_string(number));
    names += (names.empty() ? "" : ",") + name;
  }
  return names;
}

}  // namespace

Result<Personalities, std::string> take_personalities(ExecOptions& options) {
  Personalities taken;
  const std::string said = host::take_personality_word(options.nic);
  if (said.empty()) return taken;
  if (options.nic.find(host::kDeviceWordsSign) != options.nic.npos)
    return Failure{std::string("--nic: '|' is no setting")};
  const auto library = host::find_scenario_directory();
  if (!library) return Failure{library.error()};
  for (std::size_t i = 0; i < host::list_size(said); ++i) {
    auto one = host::read_personality(std::string(host::list_item(said, i)), *library);
    if (!one) return Failure{fmt::format("--nic personality={}: {}", said, one.error())};
    taken.push_back(std::move(*one));
  }
  if (taken.size() > host::kDevicesMax)
    return Failure{fmt::format("--nic personality={}: a node has at most {} devices", said, host::kDevicesMax)};
  if (taken.size() > 1 && options.devices.empty()) options.devices = std::to_string(taken.size());
  return taken;
}

std::optional<std::string> put_on(const Personalities& personalities, const ExecOptions& options,
                                  host::LaunchEnvironment& plan) {
  if (personalities.empty()) return std::nullopt;
  const std::uint32_t devices = host::devices_of({plan.devices, plan.node, plan.link, plan.ports}).count;
  if (personalities.size() != 1 && personalities.size() != devices)
    return fmt::format("--nic: personality has {} names, and there {} {}: give one for all, or one of each device",
                       personalities.size(), devices == 1 ? "is" : "are",
                       devices == 1 ? "1 device" : fmt::format("{} devices", devices));
  std::string words;
  for (const host::Personality& one : personalities) {
    const std::string whole = host::with_own_words(one, plan.nic);
    const auto tuning = host::parse_nic_tuning(whole);
    const std::string name = one.name.empty() ? "personality" : "personality " + one.name;
    if (!tuning) return fmt::format("--nic: {}: {}", name, tuning.error());
    if (const std::string error = host::wire_error(fabric::wire_of(*tuning), plan.link); !error.empty())
      return fmt::format("--nic: {} has both versions of RoCE: {}", name, error);
    if (!words.empty() || &one != &personalities.front()) words += host::kDeviceWordsSign;
    words += whole;
  }
  plan.nic = words;
  const std::string names = names_of(personalities);
  if (options.device_name == host::kDeviceNameDefault && !names.empty()) plan.device_name = names;
  return std::nullopt;
}

}  // namespace verbena::cli
