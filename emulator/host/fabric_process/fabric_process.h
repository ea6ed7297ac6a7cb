// FabricProcess: the process that serves a fabric: the fabric port, its control socket, its captures, and when it looks
// or sleeps.
//
// Solely responsible for the loop: it spins while traffic flows and sleeps in the kernel otherwise, until a frame, a
// question, or the network's next deadline. One thread does everything, so that a command takes effect between two
// frames. Nothing of it outlives the process, however that ends; the nodes then see a dead network. (Of one
// that was killed two files may: host_file.h. They say nothing any more, and the next fabric removes them.)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/network.h"
#include "emulator/fabric/topology.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_process/core_lease.h"
#include "emulator/host/fabric_process/fabric_capture.h"
#include "emulator/host/fabric_process/fabric_commands.h"
#include "emulator/host/fabric_process/fabric_control.h"
#include "emulator/host/fabric_process/fabric_ports.h"
#include "emulator/host/fabric_process/fabric_sockets.h"
#include "emulator/host/fabric_process/subnet_service.h"

namespace verbena::host {

struct FabricOptions {
  std::string fabric = kFabricDefault;
  fabric::Topology topology;  // has passed check()
  std::uint64_t seed = 1;
  std::string wire;  // that its nodes have unless they say otherwise (wire::kWireKinds); empty: the default one
  Duration detection = milliseconds(10);
  std::vector<fabric::FaultRule> prepared;        // FabricCommands::Setup
  SwitchPlans switches;                           // of a managed fabric that a file describes
  std::string capture_directory;                  // one pcapng for every cable; empty: none
  std::uint64_t capture_octets_max = UINT64_MAX;  // of all of them
  std::uint32_t capture_snap_bytes = 0;           // kept of each frame; 0: all
  SocketCutting sockets;                          // whether the programs' own sockets are cut with the network
  fabric::Observer* observer = nullptr;           // sees all frames as well; outlives the process object
};

class FabricProcess {
 public:
  /// Takes the fabric's seat. The error is one line for the user.
  static Result<std::unique_ptr<FabricProcess>, std::string> open(const FabricOptions& options);
  ~FabricProcess();
  FabricProcess(const FabricProcess&) = delete;
  FabricProcess& operator=(const FabricProcess&) = delete;

  /// Serves until `stop_descriptor` is readable.
  void run(int stop_descriptor);
  /// Of the file of NIC counters; for whoever starts programs.
  const std::string& stats_path() const { return stats_path_; }
  /// Frames that did not go into the captures because of FabricOptions::capture_octets_max.
  std::uint64_t capture_missing() const { return capture_ == nullptr ? 0 : capture_->missing().frames; }

 private:
  FabricProcess() = default;
  std::string open_counters(const std::string& fabric);
  std::string open_subnet(const FabricOptions& options);
  void attach_observers(fabric::Observer* observer);
  void service(Time now);
  enum class Woken : std::uint8_t { by_frames, by_clock, by_more };
  Woken sleep(Time now, int stop_descriptor);
  bool stop_asked(int stop_descriptor) const;

  std::unique_ptr<FabricPorts> ports_;
  std::unique_ptr<FabricSockets> sockets_;
  std::unique_ptr<FabricControl> control_;
  std::unique_ptr<FabricCapture> capture_;
  std::unique_ptr<fabric::Observer> both_;  // where the capture and FabricOptions::observer watch
  Descriptor counters_file_;
  void* counters_ = nullptr;
  std::string stats_path_;
  std::unique_ptr<SubnetService> subnet_;  // of a managed fabric
  std::unique_ptr<FabricCommands> commands_;
  CoreLease core_lease_;
};

}  // namespace verbena::host
