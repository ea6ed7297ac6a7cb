// VerbFaultList: the faults of verbs that the nodes of a fabric have from outside, for the programs that run there.
//
// Solely where they lie and how they are read: a file in shared memory, /dev/shm/verbena-UID-faults-FABRIC, which the
// fabric process makes with the first of them (fabric_process/node_faults.h) and removes when it ends. A fabric without
// such faults has none. Programs look again after a Notice (link/link.h), and count there what each fault has hit.
// Tested by: tests/host/node/verb_fault_list_test.cc
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/host/node/host_file_read.h"

namespace verbena::host {

struct VerbFaultList {
  static constexpr std::size_t kEntries = 256;
  static constexpr std::size_t kTextMax = 479;

  /// One fault on one node.
  struct Entry {
    std::atomic<std::uint32_t> number{0};  // by which the fabric calls it; 0: none is here
    std::uint32_t node = 0;
    std::atomic<std::uint64_t> hits{0};
    std::array<char, kTextMax + 1> text{};
  };

  std::atomic<std::uint32_t> sequence{0};  // odd: it is being written. Grows with each change
  std::uint32_t reserved = 0;
  std::array<Entry, kEntries> entries{};
};

inline constexpr HostFileKind kVerbFaultLists{0x56424654, sizeof(VerbFaultList)};

inline HostFilePath verb_fault_list_path(std::string_view fabric) {
  return host_file_path(HostFileOf::faults, fabric);
}

/// What one node's programs see of it. For one thread at a time, but for add_hit().
class VerbFaultReader {
 public:
  VerbFaultReader(std::string fabric, std::uint32_t node) : fabric_(std::move(fabric)), node_(node) {}

  struct Fault {
    std::uint32_t number = 0;
    std::size_t place = 0;  // for add_hit()
    std::string text;
  };
  struct Seen {
    std::uint32_t sequence = 0;  // of the list; 0: there is none, or it cannot be read
    std::vector<Fault> faults;
    ino_t file = 0;  // another fabric process has another one
  };
  /// Leaves errno alone.
  Seen look();
  /// Of a fault that look() has found. Any thread.
  void add_hit(std::uint32_t number, std::size_t place) const;

 private:
  Seen read() const;

  std::string fabric_;
  std::uint32_t node_;
  std::atomic<VerbFaultList*> list_{nullptr};  // stays mapped: another thread may be counting
  ino_t inode_ = 0;
};

}  // namespace verbena::host
