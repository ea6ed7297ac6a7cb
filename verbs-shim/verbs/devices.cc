#include "verbs-shim/verbs/devices.h"

#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/host/config/environment.h"
#include "verbs-shim/verbs/call_faults.h"
#include "verbs-shim/verbs/connection_device.h"
#include "verbs-shim/verbs/outside_faults.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {
namespace {

// What no provider's device has at its operations pointer.
constexpr std::byte kNoProvider[512] = {};

void print_into(char* into, std::size_t size, std::string_view directory, std::string_view name) {
  const std::string text = std::string(directory) + std::string(name);
  std::snprintf(into, size, "%s", text.c_str());
}

Device* make_device(const host::EngineConfig& config) {
  auto* const made = new (std::nothrow) Device();
  if (made == nullptr) return nullptr;
  made->config = config;
  made->outside_faults = std::make_unique<DeviceFaults>(made->config);
  made->config.outside_faults = made->outside_faults.get();
  for (std::uint32_t port = 1; port <= 1 + config.further_ports.size(); ++port)
    made->ports.push_back(host::identity_of(config, port));
  made->identity = made->ports.front();
  const std::string_view name = made->identity.name.view();
  const std::string_view file_name = made->identity.file_name.view();
  made->provider_operations = kNoProvider;
  made->device.node_type = IBV_NODE_CA;
  made->device.transport_type = IBV_TRANSPORT_IB;
  print_into(made->device.name, sizeof made->device.name, "", name);
  print_into(made->device.dev_name, sizeof made->device.dev_name, "", file_name);
  print_into(made->device.dev_path, sizeof made->device.dev_path, "/sys/class/infiniband_verbs/", file_name);
  print_into(made->device.ibdev_path, sizeof made->device.ibdev_path, "/sys/class/infiniband/", name);
  return made;
}

std::vector<Device*> make_devices() {
  std::vector<Device*> devices;
  const auto configs = host::devices_from_environment();
  if (!configs) {
    std::fprintf(stderr, "%s\n", configs.error().c_str());
    return devices;
  }
  if (!configs->empty())
    CallFaults::install(configs->front().verb_faults, configs->front().seed.value_or(host::EngineConfig::kFaultSeed),
                        host::FaultHits::in(configs->front().stats_path));
  for (const host::EngineConfig& config : *configs)
    if (Device* const made = make_device(config); made != nullptr) devices.push_back(made);
  for (Device* const device : devices) {
    device->outside_faults->look();
    device->config.completion_judge = device->outside_faults->judge();
  }
  if (!devices.empty()) offer_connection_device();
  return devices;
}

}  // namespace

__be64 node_guid(const Device& device) {
  return guid_to(device.identity.node_guid);
}

std::span<Device* const> all_devices() {
  static const auto* const devices = new std::vector<Device*>(make_devices());
  return *devices;
}

}  // namespace verbena::shim
