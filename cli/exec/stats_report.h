// The counters that `verbena exec --stats` prints: the file that the program's processes write, and its text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/host/node/stats_file.h"
#include "wire/types.h"

namespace verbena::cli {

class StatsReport {
 public:
  StatsReport() = default;
  ~StatsReport();
  StatsReport(const StatsReport&) = delete;
  StatsReport& operator=(const StatsReport&) = delete;

  /// Makes the file (a memfd: nothing can stay behind). False: errno says why.
  bool open(const std::string& fabric);
  /// Counters that are not zero, summed over the processes, one a line. `nodes`: "node 1". Of a node with several
  /// devices, or several ports of a device, they follow for each of these, by its address.
  /// Then `faults`, each with how often it has hit.
  std::string text(std::string_view nodes, bool by_device = false, std::span<const std::string> faults = {}) const;
  /// All of them, for programs, in one line: {"processes": 1, "counters": {"tx_packets": 5, ...}, "devices":
  /// [{"address": "127.47.91.1", "counters": {...}, "ports": [{"port": 1, "address": "127.47.91.1", "counters": {...}},
  /// ...]}, ...], "faults": [{"fault": "drop 1%", "hits": 12}, ...]}, with the devices that a process has opened.
  std::string json(std::span<const std::string> faults = {}) const;
  using Sums = std::vector<std::pair<std::string_view, std::uint64_t>>;
  /// All of them, summed over the processes and over all ports.
  Sums sums() const;
  /// The file's name, for the programs; while this object lives.
  std::string path() const;
  /// Of the fault at this place, from 0, of those that the programs were given.
  std::uint64_t hits_of(std::size_t fault) const;

 private:
  std::span<const host::StatsFile::Block> blocks() const;
  std::size_t processes() const;
  struct Port {
    wire::Gid device;  // the address of its first port
    std::uint32_t number = 1;
    wire::Gid address;
  };
  std::vector<Port> ports() const;  // by device, in the order of addresses, then by number
  static Sums sum_of(std::span<const host::StatsFile::Block> blocks, std::span<const Port> ports);
  int descriptor_ = -1;
  void* mapping_ = nullptr;
};

}  // namespace verbena::cli
