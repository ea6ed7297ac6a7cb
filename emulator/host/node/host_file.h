// HostFile: a file in shared memory with a record for each host of a fabric, which its fabric process writes and every
// process of a node may read.
//
// Solely responsible for its name, for making it whole and locked, and for removing it: its maker does when it ends,
// and the next fabric does of makers that were killed. What is in a record is said elsewhere (managed_port.h,
// port_rate.h).
// Tested by: tests/host/node/managed_port_test.cc, tests/host/node/port_rate_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "emulator/host/node/host_file_read.h"
#include "emulator/host/os/descriptor.h"
#include "wire/result.h"

namespace verbena::host {

class HostFile {
 public:
  /// In place of what a process of this fabric has left that was killed. `begin` writes `hosts` records of `kind`. The
  /// error is one line.
  static Result<std::unique_ptr<HostFile>, std::string> make(const HostFilePath& path, HostFileKind kind,
                                                             std::uint32_t hosts, std::uint32_t rails,
                                                             void (*begin)(void* record));
  /// What processes have left that were killed, of all fabrics of this user.
  static void remove_left();
  ~HostFile();
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;

  /// Of the first host; the others follow.
  void* records() const { return static_cast<std::byte*>(mapping_) + sizeof(HostFileHeader); }

 private:
  HostFile(std::string path, Descriptor file, void* mapping, std::size_t bytes);

  std::string path_;
  Descriptor file_;  // locked
  void* mapping_;
  std::size_t bytes_;
};

}  // namespace verbena::host
