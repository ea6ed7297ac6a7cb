// LastWordsQueue: what the kernels of a fabric's nodes say for processes that were killed, until it is in the network.
//
// Solely responsible for when each last word (emulator/host/link/last_words.h) goes there: behind all that the process
// had sent, and not at all if its kernel went with it.
// Tested by: tests/host/fabric_process/last_words_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "emulator/fabric/network.h"
#include "emulator/host/fabric_process/fabric_nodes.h"
#include "emulator/host/fabric_process/shm_ports.h"

namespace verbena::host {

class LastWordsQueue {
 public:
  LastWordsQueue(ShmPorts& shm, fabric::Network& network, const FabricNodes& nodes)
      : shm_(shm), network_(network), nodes_(nodes), crashed_(nodes.size()) {}

  bool empty() const { return waiting_.empty(); }
  /// Those that have come since, and those whose time has come.
  void pass_on(Time now);
  /// The processes that stand there now are about to be killed with their kernel, which says nothing for them.
  void crash(std::uint32_t host);

 private:
  bool pass_on(Time now, const ShmControl::Carried& carried);

  ShmPorts& shm_;
  fabric::Network& network_;
  const FabricNodes& nodes_;
  std::vector<ShmControl::Carried> waiting_;
  std::vector<std::map<std::uint8_t, std::uint32_t>> crashed_;  // by host and slot: which of its processes, counted
};

}  // namespace verbena::host
