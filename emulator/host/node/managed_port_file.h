// ManagedPortFile: the file of managed_port.h, as the fabric process writes it.
//
// Solely responsible for making and removing it, and for a port being read as a whole: who reads while it is written
// sees that, and reads again.
// Tested by: tests/host/node/managed_port_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "emulator/host/node/managed_port.h"
#include "emulator/host/os/descriptor.h"
#include "wire/result.h"

namespace verbena::host {

class ManagedPortFile {
 public:
  /// In place of what a process of this fabric has left that was killed. The error is one line.
  static Result<std::unique_ptr<ManagedPortFile>, std::string> make(const std::string& fabric, std::uint32_t ports,
                                                                    std::uint32_t rails);
  /// What processes have left that were killed, of all fabrics of this user.
  static void remove_left();
  ~ManagedPortFile();
  ManagedPortFile(const ManagedPortFile&) = delete;
  ManagedPortFile& operator=(const ManagedPortFile&) = delete;

  /// As the port begins: nothing has changed.
  void begin(std::uint32_t place, const ManagedPort& port) { ports_[place] = port; }
  /// Its own count of what has changed and its sequence are kept here: those of `wanted` say nothing. Of
  /// `reregisters`, whether it is the one asked for now. Returns whether anything is another now.
  bool write(std::uint32_t place, const ManagedPort& wanted, bool reregisters);
  const ManagedPort& operator[](std::uint32_t place) const { return ports_[place]; }

 private:
  ManagedPortFile(std::string path, Descriptor file, void* mapping, std::size_t bytes);

  std::string path_;
  Descriptor file_;  // locked
  void* mapping_;
  std::size_t bytes_;
  ManagedPort* ports_;
};

}  // namespace verbena::host
