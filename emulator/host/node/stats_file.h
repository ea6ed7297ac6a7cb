// StatsFile: the counters of all processes of one `verbena exec`, in one file that it reads at the end.
//
// Solely responsible for the layout and for who writes where. The file is made by the reader (usually a memfd, passed
// as VERBENA_STATS=/proc/PID/fd/N); each process claims a block for each port of a device that it opens and keeps it,
// so that counters outlive the process. A process that is given none makes one for itself. The memfd's name says whose
// it is (kStatsMemoryPrefix), so that whoever shows the node's counters finds it below /proc
// (verbs-shim/sysfs/counters.h). A file that is full or not ours yields private counters: statistics never keep a
// program from running.
// Tested by: tests/host/config/environment_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "emulator/nic/objects/counters.h"
#include "emulator/nic/objects/port_counters.h"
#include "wire/lid.h"
#include "wire/types.h"

namespace verbena::host {

struct StatsFile {
  static constexpr std::uint64_t kMagic = 0x3373'7461'7473'6276;  // "vbstats3" in memory: of the layout
  static constexpr std::size_t kBlocks = 1024;                    // unused ones have no memory

  struct Block {
    std::atomic<std::uint32_t> process_id{0};  // 0: free
    std::atomic<std::uint32_t> slot{0};
    std::array<std::atomic<std::uint8_t>, 16> address{};  // the port's
    std::array<std::atomic<std::uint8_t>, 16> device{};   // that of the device's first port
    std::atomic<std::uint32_t> port{0};                   // from 1
    std::atomic<std::uint32_t> lid{0};                    // that follows from the address; 0: not on InfiniBand
    nic::Counters counters;
  };

  std::atomic<std::uint64_t> magic{0};
  std::atomic<std::uint32_t> counters{0};      // nic::kCounters of the writer
  std::atomic<std::uint32_t> claimed{0};       // blocks given out, may exceed kBlocks
  static constexpr std::size_t kFaults = 256;  // of those that the processes were given, in their order
  std::array<std::atomic<std::uint64_t>, kFaults> fault_hits{};
  std::array<Block, kBlocks> blocks;

  /// For the reader: blocks that hold something.
  std::size_t used() const;
};
inline constexpr const char* kStatsMemoryPrefix = "verbena-stats-";  // and the fabric's name
inline constexpr std::size_t kStatsFileBytes = sizeof(StatsFile);

inline wire::Gid address_in(const std::array<std::atomic<std::uint8_t>, 16>& octets) {
  wire::Gid address;
  for (std::size_t i = 0; i < octets.size(); ++i) address.octets[i] = octets[i].load(std::memory_order_relaxed);
  return address;
}

/// What has been counted up to one more process of the same port. Each of them sees the port go down, but it goes once.
inline std::uint64_t add_count(nic::Counter counter, std::uint64_t sum, const nic::Counters& of_process) {
  const std::uint64_t count = of_process.get(counter);
  if (counter == nic::Counter::link_downed) return sum > count ? sum : count;
  return sum + count;
}

/// Makes an empty file in `descriptor` (its size and header). False: errno says why.
bool make_stats_file(int descriptor);
/// A new memfd with an empty file, for the processes of one fabric; close it to be rid of it. -1: errno says why.
int make_stats_memory(const std::string& fabric);

/// How often each fault has hit, in all processes of the file together.
class FaultHits {
 public:
  /// Of the file at `path`; it stays mapped as long as the process lives. Null: there is no such file, nobody counts.
  static const FaultHits* in(const std::string& path);

  explicit FaultHits(StatsFile& file) : file_(file) {}
  /// `fault`: its place among those that the processes were given, from 1 (FaultRule::id). 0: of nobody's wish.
  void add(std::uint32_t fault) const {
    if (fault != 0 && fault <= StatsFile::kFaults) file_.fault_hits[fault - 1].fetch_add(1, std::memory_order_relaxed);
  }
  void add(std::span<const std::uint32_t> faults) const {
    for (const std::uint32_t fault : faults) add(fault);
  }

 private:
  StatsFile& file_;
};

/// The counters of one device of this process, by port.
class StatsBlock {
 public:
  /// An empty path makes a file of the process's own. One that cannot be used, or has no room for all ports, gives
  /// private counters. `address` is that of the device's first port.
  static std::unique_ptr<StatsBlock> open(const std::string& path, const std::string& fabric, const wire::Gid& address,
                                          std::uint8_t slot, std::span<const wire::Gid> further_ports = {});
  ~StatsBlock();
  StatsBlock(const StatsBlock&) = delete;
  StatsBlock& operator=(const StatsBlock&) = delete;

  /// Of a port, from 1. Ports that the device does not have count with the first one.
  nic::Counters& counters(std::uint32_t port = 1) const { return ports_.of(port); }
  const nic::PortCounters& ports() const { return ports_; }
  bool shared() const { return file_ != nullptr; }
  /// For those who look at the node; of a port, from 1.
  void tell_lid(std::uint32_t port, wire::Lid lid);
  /// In the child of fork(): goes on at the same address with private copies.
  void make_private();

 private:
  StatsBlock() = default;
  StatsFile* file_ = nullptr;
  std::uint32_t first_ = 0;  // of its blocks
  int own_memory_ = -1;      // open while the process lives: that is how it is found
  std::array<nic::Counters, nic::kPortsMax> private_;
  nic::PortCounters ports_{private_.front()};
};

}  // namespace verbena::host
