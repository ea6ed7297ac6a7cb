// The environment that `verbena exec` sets for the programs it runs, read into an EngineConfig.
//
// Solely responsible for the syntax of the variables (their names: variables.h). Unset ones keep the defaults of
// EngineConfig.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/config/variables.h"
#include "wire/result.h"

namespace verbena::host {

/// The error names the variable and what would be right, in one line.
Result<EngineConfig, std::string> config_from_environment();
/// The devices of this process, at least one; the error as above.
Result<std::vector<EngineConfig>, std::string> devices_from_environment();

/// Nothing: there is none, or it is no number.
std::optional<std::uint64_t> seed_from_environment();

/// By which variables a process may be told its rank, in words, for messages that one is missing.
std::string rank_rule();
/// The links that there are, in words, for messages: "shm, fabric, udp or raw:INTERFACE", and which may be meant.
std::string link_rule(std::string_view given);
/// find_link_kind(), and interfaces that may exist.
bool is_link_name(std::string_view text);
/// The words of --wire, for messages, and which may be meant.
std::string wire_rule(std::string_view given);
/// Why frames of this wire cannot go over this link, and what would be right. Empty: they can.
std::string wire_error(const wire::WireKind& wire, std::string_view link);
/// On InfiniBand each port needs a LID of its own, which follows from its node's number. Empty: it has one.
std::string lids_error(const wire::WireKind& wire, const OwnDevices& devices);
/// When the NIC leaves an ICRC to be computed later (ICRC offload, wire/icrc.h): "offload" where the link takes such
/// frames, "always" never. Nothing: the text is neither.
std::optional<wire::IcrcState> parse_icrc(std::string_view text);
std::string icrc_rule(std::string_view given);
/// By what the user has given devices, as a message begins: "--devices 17", "--node 1,1", "--link raw:eth0",
/// "--ports 3".
struct DevicesGiven {
  std::string devices;
  std::string node;
  std::string link;
  std::string ports;
};
/// What is wrong with them, and what would be right, in one line.
std::string devices_error(const OwnDevices& wrong, const DevicesGiven& given);
/// 1 to 63 letters, digits, '.', '_' or '-', one kDeviceNumberSign at most, not "." or "..": it becomes the name of
/// directories that programs see.
bool is_device_name(std::string_view text);
/// The same in words, for messages, from the number on.
std::string device_name_rule();
/// Why a device name does not do for so many devices, where device_names_fit (identity.h) says so.
std::string device_names_error(std::uint32_t devices);

}  // namespace verbena::host
