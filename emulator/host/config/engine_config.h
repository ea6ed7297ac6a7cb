// EngineConfig: where a process stands: fabric, node, link, faults. A plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/config/nic_tuning.h"
#include "wire/types.h"

namespace verbena::host {

/// Filled from the environment that `verbena exec` sets (environment.h), or by tests.
struct EngineConfig {
  std::string fabric = "default";
  wire::Gid address = wire::Gid::from_ipv4(0x7f2f5b01);  // the node's; 127.47.91.K by default
  std::string link = "shm";                              // shm | fabric | udp | raw:IFACE
  std::vector<std::string> faults;                       // fabric::parse_fault
  std::optional<std::uint64_t> seed;                     // of faults and numbers; none: drawn_numbers.h
  NicTuning nic;
  std::string capture_path;                       // pcapng, empty: none
  std::uint32_t capture_snap_bytes = 0;           // 0: whole frames
  std::string stats_path;                         // file of counters shared with `verbena exec --stats`, empty: private
  std::string device_name = "verbena0";           // what applications see; the engine does not look at it
  bool progress_thread = true;                    // tests may drive progress() themselves
  static constexpr std::uint64_t kFaultSeed = 1;  // where none is given, so that faults are the same ones again
  std::optional<Duration> prompt_answer;          // as ping_pong_detector.h has it; tests run on slower machines
};

}  // namespace verbena::host
