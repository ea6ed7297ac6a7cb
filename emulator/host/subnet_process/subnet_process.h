// SubnetProcess: a subnet (emulator/subnet) under the real clock, with programs of this machine on its adapters.
//
// Solely responsible for the files that sysfs has, and for the loop: one thread, in serve(), waits for programs and for
// its end. The files lie in a folder of its own, which is removed at the end. What the kernel's umad module does is
// umad_server.h's.
// Tested by: tests/programs/subnet.py
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/host/subnet_process/umad_server.h"
#include "emulator/subnet/subnet.h"

namespace verbena::host {

class SubnetProcess final : public subnet::Receiver {
 public:
  /// An error is one line.
  static Result<std::unique_ptr<SubnetProcess>, std::string> start(const subnet::Topology& topology);
  ~SubnetProcess() override;
  SubnetProcess(const SubnetProcess&) = delete;
  SubnetProcess& operator=(const SubnetProcess&) = delete;

  /// What kSubnetVariable has to be for programs on this node.
  std::string folder_of(std::size_t node) const;
  /// Until the descriptor is readable, or its other end is closed.
  void serve(int end);

  bool receive(subnet::PortEnd at, const subnet::Datagram& datagram) override;
  void changed(subnet::PortEnd port) override;

 private:
  explicit SubnetProcess(const subnet::Topology& topology) : subnet_(topology, *this) {}
  std::string open();
  void write_host(std::size_t node);
  void write_port(subnet::PortEnd port);
  void write_text(const std::string& path, const std::string& text);
  int milliseconds_to_wait() const;

  subnet::Subnet subnet_;
  std::unique_ptr<UmadServer> umad_;
  std::string file_error_;  // the first file that could not be written
  std::string folder_;
  std::vector<subnet::PortEnd> changed_;
  std::unordered_map<std::string, std::string> texts_;  // of all files
};

}  // namespace verbena::host
