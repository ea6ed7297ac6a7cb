#include "emulator/host/config/launch_environment.h"

#include <cstdlib>
#include <utility>

#include "emulator/host/config/environment.h"
#include "emulator/host/config/own_devices.h"

namespace verbena::host {
namespace {

constexpr const char* kVerbsLibrary = "/libibverbs.so.1";
constexpr const char* kPathLibrary = "/libverbena-path.so";

void set_or_unset(const char* name, const std::string& value) {
  if (value.empty())
    unsetenv(name);
  else
    setenv(name, value.c_str(), 1);
}

/// Puts `entry` in front of a list in the environment, once: a nested `verbena exec` must not pile them up.
void prepend(const char* name, const std::string& entry, char separator) {
  const char* old = std::getenv(name);
  const std::string rest = old != nullptr ? old : "";
  if (rest == entry || rest.starts_with(entry + separator)) return;
  setenv(name, (rest.empty() ? entry : entry + separator + rest).c_str(), 1);
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

// Two nodes stand for two machines. UCX would find out that they are one, and go through its memory.
constexpr const char* kUcxDevicesVariable = "UCX_NET_DEVICES";
constexpr const char* kUcxTransportsVariable = "UCX_TLS";
constexpr const char* kUcxTransports = "^shm";

/// All ports of all devices, as UCX wants them.
std::string ports_of(std::string_view device_name, const DevicesSaid& said) {
  const OwnDevices own = devices_of(said);
  const DeviceSettings settings{.name = device_name.empty() ? kDeviceNameDefault : device_name};
  std::string text;
  for (std::uint32_t i = 0; i < own.port_count(); ++i) {
    const DeviceNumber number = own.number(i);
    text += (i == 0 ? "" : ",") + std::string(device_of(node_address(1), number, settings).name.view()) + ":" +
            std::to_string(number.port);
  }
  return text;
}

/// What an outer `verbena exec` has set is not the user's.
bool is_users(const char* name, const std::string& ours) {
  const char* const value = std::getenv(name);
  return value != nullptr && (value != ours || variable(kFabricVariable) == nullptr);
}

/// Before the devices are set anew.
void tell_ucx(const LaunchEnvironment& plan) {
  const std::string outer = ports_of(variable(kDeviceNameVariable, ""), {.devices = variable(kDevicesVariable, ""),
                                                                         .node = variable(kNodeVariable, ""),
                                                                         .link = variable(kLinkVariable, ""),
                                                                         .ports = variable(kPortsVariable, "")});
  if (is_users(kUcxDevicesVariable, outer) || is_users(kUcxTransportsVariable, kUcxTransports)) return;
  const std::string ports =
      ports_of(plan.device_name, {.devices = plan.devices, .node = plan.node, .link = plan.link, .ports = plan.ports});
  setenv(kUcxDevicesVariable, ports.c_str(), 1);
  setenv(kUcxTransportsVariable, kUcxTransports, 1);
}

}  // namespace

void set_environment(const LaunchEnvironment& plan, const std::string& library_directory) {
  tell_ucx(plan);
  set_or_unset(kFabricVariable, plan.fabric);
  set_or_unset(kNodeVariable, plan.node);
  set_or_unset(kDevicesVariable, plan.devices);
  set_or_unset(kPortsVariable, plan.ports);
  set_or_unset(kLinkVariable, plan.link);
  set_or_unset(kPcapVariable, plan.capture_path);
  set_or_unset(kPcapSnapVariable, plan.capture_snap_bytes);
  set_or_unset(kFaultsVariable, join_lines(plan.faults));
  set_or_unset(kSeedVariable, plan.seed);
  set_or_unset(kDeviceNameVariable, plan.device_name);
  set_or_unset(kStatsVariable, plan.stats_path);
  set_or_unset(kNicVariable, plan.nic);
  set_or_unset(kIcrcVariable, plan.icrc);
  for (const auto& [name, value] : {std::pair{kWildcardVariable, &plan.wildcard},
                                    {kLeaksVariable, &plan.leaks_path},
                                    {kCrashesVariable, &plan.crashes_path}})
    if (!value->empty()) set_or_unset(name, *value);
  prepend("LD_PRELOAD", library_directory + kPathLibrary + ":" + library_directory + kVerbsLibrary, ':');
  prepend("LD_LIBRARY_PATH", library_directory, ':');
}

}  // namespace verbena::host
