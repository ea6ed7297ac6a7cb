// The environment that `verbena exec` sets for the programs it runs, read into an EngineConfig.
//
// Solely responsible for the names and the syntax of the variables. Unset ones keep the defaults of EngineConfig.
//   VERBENA_FABRIC       name                          VERBENA_SEED         number, seeds faults, QPNs, keys and PSNs
//   VERBENA_NODE         K or an address               VERBENA_DEVICE_NAME  what ibv_devices shows
//   VERBENA_LINK         shm | fabric | udp | raw:IFACE  VERBENA_PCAP         file for the capture
//   VERBENA_FAULTS       one fault per line            VERBENA_PCAP_SNAP    octets kept per frame
//   VERBENA_STATS        file of counters (stats_file.h)
//   VERBENA_NIC          what is wanted of the NIC (nic_tuning.h)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/config/engine_config.h"
#include "wire/result.h"

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
/// Set to anything: no remarks on stderr about peers that cannot be reached (reach_hint.h). The user's, not the
/// launcher's.
inline constexpr const char* kQuietVariable = "VERBENA_QUIET";

/// The error names the variable and what would be right, in one line.
Result<EngineConfig, std::string> config_from_environment();

/// Nothing: there is none, or it is no number.
std::optional<std::uint64_t> seed_from_environment();

/// "shm", "fabric", "udp" or "raw:" and the name of an interface.
bool is_link_name(std::string_view text);
/// 1 to 63 letters, digits, '.', '_' or '-', not "." or "..": it becomes the name of a directory that programs see.
bool is_device_name(std::string_view text);

}  // namespace verbena::host
