// The names of the environment variables that `verbena exec` sets for the programs it runs.
//
// Solely the names, what an unset one means, and how one is read; what is in them is understood by environment.h and,
// as far as files below /sys show it, by the path shim. libc only: that one includes it.
//   VERBENA_FABRIC       name                          VERBENA_SEED         number, seeds faults, QPNs, keys and PSNs
//   VERBENA_NODE         K, an address or auto:N (own_node.h)
//   VERBENA_DEVICE_NAME  what ibv_devices shows
//   VERBENA_LINK         shm | fabric | udp | raw:IFACE  VERBENA_PCAP         file for the capture
//   VERBENA_FAULTS       one fault per line            VERBENA_PCAP_SNAP    octets kept per frame
//   VERBENA_STATS        file of counters (stats_file.h)
//   VERBENA_NIC          what is wanted of the NIC (nic_tuning.h)
//   VERBENA_ICRC         offload | always             (icrc_rule in environment.h)
#pragma once

#include <cstdlib>

namespace verbena::host {

inline constexpr const char* kFabricVariable = "VERBENA_FABRIC";
inline constexpr const char* kNodeVariable = "VERBENA_NODE";
inline constexpr const char* kLinkVariable = "VERBENA_LINK";
inline constexpr const char* kPcapVariable = "VERBENA_PCAP";
inline constexpr const char* kPcapSnapVariable = "VERBENA_PCAP_SNAP";
inline constexpr const char* kFaultsVariable = "VERBENA_FAULTS";
inline constexpr const char* kSeedVariable = "VERBENA_SEED";
inline constexpr const char* kDeviceNameVariable = "VERBENA_DEVICE_NAME";
inline constexpr const char* kStatsVariable = "VERBENA_STATS";
inline constexpr const char* kNicVariable = "VERBENA_NIC";
inline constexpr const char* kIcrcVariable = "VERBENA_ICRC";
/// Set to anything: no remarks on stderr about peers that cannot be reached (reach_hint.h). The user's, not the
/// launcher's.
inline constexpr const char* kQuietVariable = "VERBENA_QUIET";

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
