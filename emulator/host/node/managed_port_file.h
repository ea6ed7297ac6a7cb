// ManagedPortFile: the file of managed_port.h, as the fabric process writes it.
//
// Solely responsible for a port being read as a whole: who reads while it is written sees that, and reads again. Making
// and removing the file is host_file.h's.
// Tested by: tests/host/node/managed_port_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "emulator/host/node/host_file.h"
#include "emulator/host/node/managed_port.h"
#include "wire/result.h"

namespace verbena::host {

class ManagedPortFile {
 public:
  /// The error is one line.
  static Result<std::unique_ptr<ManagedPortFile>, std::string> make(const std::string& fabric, std::uint32_t ports,
                                                                    std::uint32_t rails);

  /// As the port begins: nothing has changed.
  void begin(std::uint32_t place, const ManagedPort& port) { ports_[place] = port; }
  /// Its own count of what has changed and its sequence are kept here: those of `wanted` say nothing. Of
  /// `reregisters`, whether it is the one asked for now. Returns whether anything is another now.
  bool write(std::uint32_t place, const ManagedPort& wanted, bool reregisters);
  const ManagedPort& operator[](std::uint32_t place) const { return ports_[place]; }

 private:
  explicit ManagedPortFile(std::unique_ptr<HostFile> file)
      : file_(std::move(file)), ports_(static_cast<ManagedPort*>(file_->records())) {}

  std::unique_ptr<HostFile> file_;
  ManagedPort* ports_;
};

}  // namespace verbena::host
