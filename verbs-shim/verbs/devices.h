// The devices of a process, as a list. Each owns its engine.
//
// Solely responsible for which devices there are, and for what is known of one before it is opened. When its engine is
// opened and closed is Process's affair.
// Tested by: tests/shim/verbs/device_test.cc
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "emulator/host/engine/engine.h"

namespace verbena::shim {

/// What programs see: struct ibv_device, and behind it the pointer by which the providers' libraries
/// (mlx5dv_is_supported and the like) recognise their own devices. Here it points at nothing they know.
struct VisibleDevice {
  ibv_device device;
  const void* provider_operations;
  std::byte provider_rest[256];
};

struct Device : VisibleDevice {
  host::EngineConfig config;
  std::unique_ptr<host::OutsideFaults> outside_faults;
  host::DeviceIdentity identity;            // of its first port
  std::vector<host::DeviceIdentity> ports;  // of each, the first one included

  bool has_port(std::uint32_t port) const { return port >= 1 && port <= ports.size(); }

  /// What there is while a context has the device open. Guarded by Process.
  struct Opened {
    std::unique_ptr<host::EventSink> events;
    std::unique_ptr<host::Engine> engine;
    std::uint32_t contexts = 0;
    std::uint32_t times = 0;  // that it has been opened, ever
  };
  Opened opened;

  // By these numbers a plan of faults names objects, however often the device is opened. Guarded by the engine.
  std::uint32_t qps_made = 0;
  std::uint32_t cqs_made = 0;
};

/// As the verbs have a GUID: in network order.
__be64 node_guid(const Device& device);

/// As the environment describes them; none when it is wrong, which is said once. They live as long as the process.
std::span<Device* const> all_devices();

}  // namespace verbena::shim
