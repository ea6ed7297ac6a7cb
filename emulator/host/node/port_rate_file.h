// PortRateFile: the file of port_rate.h, as the fabric process writes it.
//
// Solely responsible for a rate being read as a whole. Making and removing the file is host_file.h's.
// Tested by: tests/host/node/port_rate_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "emulator/host/node/host_file.h"
#include "emulator/host/node/port_rate.h"

namespace verbena::host {

class PortRateFile {
 public:
  /// All ports have the rates that they began with. The error is one line.
  static Result<PortRateFile, std::string> make(const std::string& fabric, std::uint32_t hosts, std::uint32_t rails);

  void set(std::uint32_t host, std::uint64_t bits_per_second);

 private:
  explicit PortRateFile(std::unique_ptr<HostFile> file) : file_(std::move(file)) {}

  std::unique_ptr<HostFile> file_;
};

}  // namespace verbena::host
