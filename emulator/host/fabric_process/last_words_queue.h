// LastWordsQueue: what the kernels of a fabric's nodes say for processes that were killed, until it is in the network.
//
// Solely responsible for when each last word (emulator/host/link/last_words.h) goes there: behind all that the process
// had sent, and not at all if its kernel went with it. What NICs report to the agents of their ports comes by the same
// way (key_report.h), and is kept until the agents take it.
// Tested by: tests/host/fabric_process/last_words_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <utility>
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

  /// What the NIC of that host has told the agent of its port.
  struct KeyReportOf {
    std::uint32_t host = 0;
    KeyReport report;
  };
  bool has_key_reports() const { return !key_reports_.empty(); }
  /// How many processes of the host have not heard of that list of faults, or a later one (node/verb_fault_list.h).
  std::uint32_t unheard(std::uint32_t host, std::uint32_t sequence) {
    return shm_.control().unheard(nodes_[host].address, sequence);
  }
  std::vector<KeyReportOf> take_key_reports() { return std::exchange(key_reports_, {}); }

 private:
  bool pass_on(Time now, const ShmControl::Carried& carried);

  ShmPorts& shm_;
  fabric::Network& network_;
  const FabricNodes& nodes_;
  std::vector<ShmControl::Carried> waiting_;
  std::vector<KeyReportOf> key_reports_;
  std::vector<std::map<std::uint8_t, std::uint32_t>> crashed_;  // by host and slot: which of its processes, counted
};

}  // namespace verbena::host
