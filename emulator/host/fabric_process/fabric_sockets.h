// FabricSockets: the fabric process's side of socket_paths.h: tells the processes of every node which nodes their own
// TCP and UDP sockets cannot reach.
//
// Solely responsible for the processes that want to know, for turning the network's reachability (fabric::Network) into
// what each node is told, and for knowing whether all of them have done it: `verbena fault link-down` answers when the
// sockets are cut, so that what a script does next meets a dead cable. A node may be off as well, as a machine without
// power (set_node_on): its sockets neither send nor hear. Nodes with rails hear each other while a rail of the one
// reaches one of the other. It touches no socket of a program; the programs' own
// processes do (verbs-shim/sockets). Nothing outlives this process: a program that loses it has whole sockets again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_client/fabric_messages.h"
#include "emulator/host/node/socket_paths.h"
#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/reception.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::host {

struct SocketCutting {
  bool is_on = true;
  Duration timeout{};  // of TCP over a dead cable; 0: the kernel's own
};

class FabricSockets {
 public:
  /// The error is one line.
  static Result<std::unique_ptr<FabricSockets>, std::string> open(const std::string& fabric,
                                                                  const fabric::Network& network,
                                                                  const SocketCutting& cutting);
  ~FabricSockets();
  /// Readable when service() has something to do.
  int wait_descriptor() const { return epoll_.get(); }
  /// Meets new processes and hears what the others have done. Never blocks.
  void service();

  using Power = NodePower;
  /// Takes effect with tell().
  void set_power(std::uint32_t node, Power power) { powers_[node] = power; }
  /// Looks at the network, and tells the processes whatever is new to them.
  void tell(Time now);
  /// Every process has done what tell() said, or has had its time.
  bool is_done(Time now) const { return waiting_ == 0 || now >= done_by_; }
  /// When is_done() becomes true by itself; in the past if a process has still not answered.
  std::optional<Time> next_deadline() const { return waiting_ == 0 ? std::nullopt : std::optional(done_by_); }

 private:
  static constexpr std::size_t kProcessesMax = 512;  // within the descriptors that a process has
  static constexpr Duration kDoneWithin = seconds(1);

  struct Process {
    Descriptor socket;
    std::uint32_t node = 0;  // 0: it has not said
    std::uint32_t told = 0;
    std::uint32_t done = 0;
  };

  FabricSockets(const fabric::Network& network, const SocketCutting& cutting)
      : network_(network), cutting_(cutting), powers_(network.topology().nodes(), Power::on) {}
  void accept_all();
  /// False: the process is gone, or talks nonsense.
  bool hear(Process& process);
  bool say(Process& process);
  void drop(int descriptor);
  /// What every node is to be told, without the generation.
  std::vector<SocketNews> find_news() const;
  void count_waiting();

  const fabric::Network& network_;
  const SocketCutting cutting_;
  std::vector<Power> powers_;  // by node
  Descriptor listener_;
  Reception reception_;
  Descriptor epoll_;
  std::unordered_map<int, Process> processes_;
  std::vector<SocketNews> news_;  // by node; empty: to be found
  std::uint32_t generation_ = 1;
  std::size_t waiting_ = 0;  // for so many processes
  Time done_by_{};
};

}  // namespace verbena::host
