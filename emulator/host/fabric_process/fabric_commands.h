// FabricCommands: what another shell may ask of a running fabric, and what it is answered.
//
// Solely responsible for who does what is said, for the list of faults and the counters as JSON. Links, switches, ports
// and pairs have their words in element_words.h and their meaning in fabric/element_faults.h. It moves no frames
// (fabric_ports.h) and knows no sockets (fabric_control.h). The other words are in one table (fabric_commands.cc) with
// what they mean; docs/faults.md is made from both. Besides those for users there are
//   node-power NODES on|frozen|crashing  of their sockets only: whoever kills or stops the processes says so before
//   stat                      JSON: links, nodes, faults
//   hello                     FabricHello: nodes, and the file of counters that processes write (stats_file.h)
// Tested by: tests/host/fabric_process/fabric_process_test.cc
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/fabric/element_faults.h"
#include "emulator/host/fabric_process/element_words.h"
#include "emulator/host/fabric_process/fabric_capture.h"
#include "emulator/host/fabric_process/fabric_control.h"
#include "emulator/host/fabric_process/fabric_ports.h"
#include "emulator/host/fabric_process/fabric_sockets.h"
#include "emulator/host/node/stats_file.h"

namespace verbena::host {

class FabricCommands {
 public:
  struct Setup {
    std::string fabric;
    /// Rules that `prepared NUMBER LINK...` names: for a runner that has them as values.
    std::vector<fabric::FaultRule> prepared;
    FabricSockets* sockets = nullptr;        // told of what it should know; outlives this object
    std::string stats_path;                  // for `hello`; empty: none
    const StatsFile* counters = nullptr;     // outlives this object
    const FabricCapture* capture = nullptr;  // the same
  };
  FabricCommands(FabricPorts& ports, Setup setup, Time started);

  FabricAnswer answer(Time now, const FabricWords& words);

  /// What users may say, for whoever explains it.
  struct Explained {
    std::string name;
    std::string usage;
    std::string text;
    std::string example;
  };
  static std::vector<Explained> explained();

 private:
  struct Fault {
    std::uint32_t number = 0;
    std::string where;
    std::string text;
  };
  struct Command;
  static const std::vector<Command>& table();
  static std::string faults_offered();

  FabricAnswer add(Time now, const FabricWords& words);
  FabricAnswer add_prepared(Time now, const FabricWords& words);
  FabricAnswer add_rule(std::string where, std::vector<fabric::LinkId> links, fabric::FaultRule rule);
  FabricAnswer remove(Time now, const FabricWords& words);
  FabricAnswer clear(Time now, const FabricWords& words);
  FabricAnswer list(Time now, const FabricWords& words);
  FabricAnswer change(Time now, const ElementWord& word, const FabricWords& words);
  FabricAnswer device_removal(Time now, const FabricWords& words);
  FabricAnswer node_power(Time now, const FabricWords& words);
  FabricAnswer stat(Time now, const FabricWords& words);
  FabricAnswer hello(Time now, const FabricWords& words);

  /// The last thing that a command does that changes who can reach whom.
  FabricAnswer tell_sockets(Time now);
  FabricPorts& ports_;
  const fabric::Topology& topology_;
  Setup setup_;
  const Time started_;
  std::vector<Fault> faults_;
  std::uint32_t next_number_ = 1;
  fabric::ElementFaults elements_;
};

}  // namespace verbena::host
