// The names of the environment variables that `verbena exec` sets for the programs it runs.
//
// Solely the names, what an unset one means, and how one is read; what is in them is understood by environment.h and,
// as far as files below /sys show it, by the path shim. libc only: that one includes it. The remark before each name is
// its row in docs/reference/environment.md.
// Tested by: tests/host/config/environment_test.cc
#pragma once

#include <cstdlib>

namespace verbena::host {

/// --fabric: the name of the fabric
inline constexpr const char* kFabricVariable = "VERBENA_FABRIC";
/// --node, --nodes: a number K, an address, or auto:N (own_node.h); by commas, the address of each device or port
inline constexpr const char* kNodeVariable = "VERBENA_NODE";
/// --devices: how many the node has (own_devices.h)
inline constexpr const char* kDevicesVariable = "VERBENA_DEVICES";
/// --ports: how many each device has (own_devices.h)
inline constexpr const char* kPortsVariable = "VERBENA_PORTS";
/// --link: shm, fabric, udp or raw:INTERFACE; by commas, the interface of each device or port
inline constexpr const char* kLinkVariable = "VERBENA_LINK";
/// --pcap: the file of the capture
inline constexpr const char* kPcapVariable = "VERBENA_PCAP";
/// --pcap-snap: octets kept of each packet
inline constexpr const char* kPcapSnapVariable = "VERBENA_PCAP_SNAP";
/// --fault: one fault a line
inline constexpr const char* kFaultsVariable = "VERBENA_FAULTS";
/// --seed: a number, for faults, QPNs, keys and starting PSNs
inline constexpr const char* kSeedVariable = "VERBENA_SEED";
/// --device-name: what ibv_devices shows
inline constexpr const char* kDeviceNameVariable = "VERBENA_DEVICE_NAME";
/// --stats, --stats-json: a file of counters (stats_file.h)
inline constexpr const char* kStatsVariable = "VERBENA_STATS";
/// --leaks: the file that each process appends its report to: a line "verbena-leaks PID LEFT MADE", with how many
/// objects it has left and made, and the text for the user
inline constexpr const char* kLeaksVariable = "VERBENA_LEAKS";
inline constexpr const char* kLeaksRecord = "verbena-leaks";
/// of `verbena exhaust`: the file that a process which crashes appends its signal and its callers to
inline constexpr const char* kCrashesVariable = "VERBENA_CRASHES";
/// --nic: what the NIC is like (nic_tuning.h)
inline constexpr const char* kNicVariable = "VERBENA_NIC";
/// --icrc: offload or always (icrc_rule in environment.h)
inline constexpr const char* kIcrcVariable = "VERBENA_ICRC";
/// --wildcard: node (a port on all addresses is one on the node's) or machine (the kernel's own meaning)
inline constexpr const char* kWildcardVariable = "VERBENA_WILDCARD";
/// --quiet: set to anything, no remarks on stderr about peers that cannot be reached (reach_hint.h); a user's own
inline constexpr const char* kQuietVariable = "VERBENA_QUIET";

inline constexpr const char* kWildcardNode = "node";
inline constexpr const char* kWildcardMachine = "machine";
inline constexpr const char* kFabricDefault = "default";
inline constexpr const char* kDeviceNameDefault = "verbena0";

/// Null: it is not set. An empty value counts as unset.
inline const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}
inline const char* variable(const char* name, const char* otherwise) {
  const char* const value = variable(name);
  return value == nullptr ? otherwise : value;
}

}  // namespace verbena::host
