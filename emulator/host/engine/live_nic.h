// LiveNic: a NIC with all that it runs on in a process: its link, memory, counters and connections.
//
// Solely responsible for making these from a configuration and an open link, and for their order of life. Calls are
// under the engine's lock unless they say otherwise.
// Tested by: tests/host/engine/engine_test.cc
#pragma once

#include <memory>
#include <string>

#include "emulator/host/config/engine_config.h"
#include "emulator/host/engine/app_memory.h"
#include "emulator/host/engine/connection_services.h"
#include "emulator/host/engine/subnet_port.h"
#include "emulator/host/link/decorators.h"
#include "emulator/host/link/link.h"
#include "emulator/host/node/stats_file.h"
#include "emulator/nic/nic.h"

namespace verbena::host {

class LiveNic {
 public:
  /// Once, before all else. Returns an error, or nothing.
  std::string open(OpenedLink opened, const EngineConfig& config);
  bool is_open() const { return nic_ != nullptr; }

  nic::Nic& nic() const { return *nic_; }
  ConnectionServices& connections() const { return *connections_; }
  nic::Counters& counters(std::uint32_t port = 1) const { return stats_->counters(port); }
  /// Of all ports together.
  std::uint64_t sum_of(nic::Counter counter) const {
    std::uint64_t sum = counters().get(counter);
    for (std::uint32_t port = 2; port <= nic_->config().port_count; ++port) sum += counters(port).get(counter);
    return sum;
  }
  Link& link() const { return *link_; }
  const LinkParts& parts() const { return parts_; }
  /// What the NIC talks to: the link, or what stands in front of it.
  FramePort& port() const { return *port_; }
  /// The same for frames of one port only, from 1.
  FramePort& frames_of(std::uint32_t port) const {
    return nic_->config().port_count == 1 ? *port_ : link_->frames_of(port);
  }
  /// Captures and delays stand there. They want the time of every pass.
  bool is_decorated() const { return is_decorated_; }
  /// Frames come out of the kernel, by Link::fetch().
  bool frames_need_kernel() const { return kernel_frames_; }

  /// The cable at the port has a signal, or none. On InfiniBand a subnet manager decides what comes of it, and has set
  /// other things as well, perhaps.
  void set_port_up(std::uint32_t port, bool has_signal);

  /// Something is left to be sent.
  bool owes() const { return nic_->has_work() || connections_->owes() || port_->next_deadline().has_value(); }
  /// Asks the link to be woken by frames. False: frames wait, do not sleep. Those that a decorator has kept have left
  /// the link already.
  bool arm();
  /// The same for an application that rests over a poll (CoreRest). A link without that part rests blindly.
  bool begin_rest(RestSet& by) const;
  /// Outside of the lock: the rest that has begun is over.
  void finish_rest() const {
    if (parts_.core_rest != nullptr) parts_.core_rest->finish_rest();
  }
  /// Outside of the lock: gives the kernel what was sent. Returns what Link::flush() does.
  bool flush();

  /// In the child after fork(): the link is gone, frames vanish, the connections are the parent's, the counters are
  /// private.
  void abandon();

 private:
  bool kernel_frames_ = true;
  bool is_decorated_ = false;
  std::vector<SubnetPort> subnet_ports_;  // of each port, where they are on InfiniBand
  AppMemory memory_;
  std::unique_ptr<StatsBlock> stats_;
  std::unique_ptr<ConnectionServices> connections_;  // outlives nic_
  std::unique_ptr<nic::Nic> nic_;
  std::unique_ptr<Link> link_;
  LinkParts parts_;            // of link_
  Decorators decorators_;      // around the link's port
  FramePort* port_ = nullptr;  // the outermost of them, or the link
};

}  // namespace verbena::host
