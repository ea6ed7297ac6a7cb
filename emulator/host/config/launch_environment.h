// LaunchEnvironment: what a program is given so that it runs on a node of a fabric: variables and libraries.
//
// Solely responsible for writing the environment (environment.h names and reads it). Where the libraries lie is
// own_files.h's. It starts nothing: `verbena exec` and the runner of scenarios do.
// Tested by: tests/cli/command_line_test.cc
#pragma once

#include <string>
#include <vector>

namespace verbena::host {

/// Already validated. An empty text or vector is a variable that is not set, unless it says otherwise.
struct LaunchEnvironment {
  std::string fabric;
  std::string node;     // own_node.h
  std::string devices;  // how many; empty: as many as `node` and `link` name, else 1 (own_devices.h)
  std::string ports;    // of each device; empty: 1
  std::string link;
  std::string capture_path;  // absolute
  std::string capture_snap_bytes;
  std::vector<std::string> faults;
  std::string seed;
  std::string device_name;
  std::string stats_path;
  std::string nic;   // nic_tuning.h
  std::string icrc;  // parse_icrc()
  // Of these an empty one stays as the environment has it already.
  std::string wildcard;
  std::string leaks_path;
  std::string crashes_path;
};

/// Sets what the libraries read, in this process, for exec() to pass on; and what UCX needs in order to use the device,
/// unless the user has told UCX anything of that kind (UCX_NET_DEVICES, UCX_TLS).
void set_environment(const LaunchEnvironment& plan, const std::string& library_directory);

}  // namespace verbena::host
