// The options of `verbena exec`: what may be said, and what is wrong with what was said.
//
// Solely the words and their judgement, as far as no fabric has to be asked. Running is exec.cc's.
// Tested by: tests/cli/command_line_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::cli {

inline constexpr std::string_view kLeaksReport = "report";
inline constexpr std::string_view kLeaksFail = "fail";

struct ExecOptions {
  std::string fabric = host::kFabricDefault;
  std::string node;          // empty: 1, or by rank if there are several
  std::string nodes;         // empty: not said
  std::string devices;       // empty: not said
  std::string ports;         // empty: not said
  std::string link;          // empty: whatever the fabric has
  std::string wire;          // empty: whatever the fabric has, else RoCE v2
  std::string awaited_node;  // empty: none
  std::string pcap;
  std::string pcap_snap = "0";
  std::vector<std::string> faults;
  std::string fault_plan;
  std::string seed;  // empty: none
  std::string device_name = host::kDeviceNameDefault;
  std::string nic;
  std::string numa;  // empty: not said
  std::string icrc;  // empty: offload
  std::string wildcard;
  bool stats = false;
  std::string stats_json;
  std::string leaks;  // empty: not looked for
  bool quiet = false;

  bool counts() const { return stats || !stats_json.empty(); }
};

void declare(CommandLine& line, ExecOptions& options);

/// Whether each process of an mpirun or srun has the node of its rank.
bool is_by_rank(const ExecOptions& options);
/// The settings of the NICs, --numa among them.
std::string nic_words_of(const ExecOptions& options);

// -- What is wrong, as one line; nothing: it is right.
/// The first thing that is wrong with the options.
std::optional<std::string> find_error(const ExecOptions& options);
/// Takes the faults of --fault-plan, behind those of --fault.
std::optional<std::string> take_fault_plan(ExecOptions& options);
/// A node that is this machine, in words, becomes its address.
std::optional<std::string> find_machine(std::string& node);
std::optional<std::string> wrong_devices(const ExecOptions& options);
/// A value too few or too many for the devices, once it is known how many these are.
std::optional<std::string> wrong_values(const ExecOptions& options, const std::string& nic,
                                        const host::OwnDevices& own);

}  // namespace verbena::cli
