// EngineConfig: where a process stands: fabric, node, link, faults. A plain value.
// Tested by: tests/host/config/environment_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/nic_tuning.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/sleeper.h"
#include "wire/types.h"

namespace verbena::host {

/// The faults of a device's verbs that come from outside while it runs (node/verb_fault_list.h). Outlives the engine,
/// which asks for none under its lock.
class OutsideFaults {
 public:
  virtual ~OutsideFaults() = default;
  /// They may be others now. Returns the sequence of the list that holds from here on; 0: there is none.
  virtual std::uint32_t look() = 0;
  /// What the NIC is to ask about completions; null: no fault speaks of any.
  virtual nic::CompletionJudge* judge() = 0;
};

/// One of the further ports of a device.
struct PortPlace {
  wire::Gid address;
  std::string link;                                    // link_kind.h; of the first one's kind
  std::optional<std::uint64_t> speed_bits_per_second;  // none: nobody says it
};

/// Filled from the environment that `verbena exec` sets (environment.h), or by tests.
struct EngineConfig {
  std::string fabric = kFabricDefault;
  wire::Gid address = node_address(kNodeDefault);
  std::string link = std::string(kLinkKindDefault.name);  // link_kind.h
  std::vector<fabric::FaultRule> faults;
  std::vector<fabric::VerbRule> verb_faults;         // of the process's calls, whichever the device
  nic::CompletionJudge* completion_judge = nullptr;  // of the device; it outlives the engine
  OutsideFaults* outside_faults = nullptr;           // the same
  std::optional<std::uint64_t> seed;                 // of faults and numbers; none: drawn_numbers.h
  NicTuning nic;
  std::string capture_path;                      // pcapng, empty: none
  std::uint32_t capture_snap_bytes = 0;          // 0: whole frames
  std::string stats_path;                        // file of counters shared with `verbena exec --stats`, empty: private
  std::string device_name = kDeviceNameDefault;  // of the first device (identity.h); the engine does not look at it
  wire::IcrcState icrc = wire::IcrcState::deferred;  // of frames in shared memory; present: always computed
  bool progress_thread = true;                       // tests may drive progress() themselves
  const Clock* clock = &real_clock();  // of the engine: it has to go on while one closes; links keep to the machine's
  Sleeper* sleeper = &real_sleeper();  // of its threads
  static constexpr std::uint64_t kFaultSeed = 1;  // where none is given, so that faults are the same ones again
  std::optional<Duration> prompt_answer;          // as ping_pong_detector.h has it; tests run on slower machines
  SlotRange slots;                                // of the node's, one of which the process takes
  DeviceNumber number;                            // which of the process's devices it is; `address` is its own
  std::vector<PortPlace> further_ports;           // from the second on; `address` and `link` are the first one's
};

/// The same of one port alone, from 1.
inline EngineConfig config_of_port(const EngineConfig& config, std::uint32_t port) {
  EngineConfig made = config;
  made.further_ports.clear();
  if (port == 1) return made;
  made.number.port = port;
  made.address = config.further_ports[port - 2].address;
  made.link = config.further_ports[port - 2].link;
  made.nic.speed_bits_per_second = config.further_ports[port - 2].speed_bits_per_second;
  return made;
}

/// What others see of the device and of one of its ports, from 1.
inline DeviceIdentity identity_of(const EngineConfig& config, std::uint32_t port = 1) {
  const EngineConfig own = config_of_port(config, port);
  const LinkKind* const kind = find_link_kind(own.link);
  const auto ports = static_cast<std::uint32_t>(1 + config.further_ports.size());
  std::optional<std::uint32_t> rail;
  if (kind != nullptr && kind->has_fabric_process) rail = config.number.device * ports + port - 1;
  return device_at(own.address, own.number,
                   {.name = own.device_name,
                    .interface = interface_of(own.link),
                    .has_link_local = kind != nullptr && kind->has_link_local,
                    .wire = fabric::wire_of(own.nic),
                    .bits_per_second = own.nic.speed_bits_per_second.value_or(kPortRateDefault),
                    .numa_node = own.nic.numa_node,
                    .first_port = config.address,
                    .rail = rail,
                    .gids = own.nic.look.gids});
}

}  // namespace verbena::host
