// FabricCommands: what another shell may ask of a running fabric, and what it is answered.
//
// Solely responsible for the words: their meaning for the network, their errors, the list of faults and the counters as
// JSON. It moves no frames (fabric_ports.h) and knows no sockets (fabric_control.h). LINK is the name of a cable,
// n1-s1, for both directions, n1->s1 for one, or `all`; NODES and SWITCHES are names with commas. The words are in one
// table (fabric_commands.cc) with what they mean; docs/faults.md is made from it. Besides those for users there are
//   node-power NODES on|frozen|crashing  of their sockets only: whoever kills or stops the processes says so before
//   stat                      JSON: links, nodes, faults
//   hello                     JSON: nodes, and the file of counters that processes write (stats_file.h)
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
    std::vector<fabric::LinkId> links;
    fabric::FaultRule rule;
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
  FabricAnswer link_down(Time now, const FabricWords& words);
  FabricAnswer link_up(Time now, const FabricWords& words);
  FabricAnswer link_rate(Time now, const FabricWords& words);
  FabricAnswer link_delay(Time now, const FabricWords& words);
  FabricAnswer switch_crash(Time now, const FabricWords& words);
  FabricAnswer switch_restart(Time now, const FabricWords& words);
  FabricAnswer partition(Time now, const FabricWords& words);
  FabricAnswer heal(Time now, const FabricWords& words);
  FabricAnswer port_error(Time now, const FabricWords& words);
  FabricAnswer port_active(Time now, const FabricWords& words);
  FabricAnswer device_removal(Time now, const FabricWords& words);
  FabricAnswer node_power(Time now, const FabricWords& words);
  FabricAnswer stat(Time now, const FabricWords& words);
  FabricAnswer hello(Time now, const FabricWords& words);

  /// The last thing that a command does that changes who can reach whom.
  FabricAnswer tell_sockets(Time now);
  void set_link(Time now, fabric::LinkId link, bool up);
  FabricAnswer set_links(Time now, const std::string& word, bool up);
  FabricAnswer set_ports(Time now, const std::string& word, bool up);
  FabricAnswer set_switches(Time now, const std::string& word, bool up);
  void set_plan(fabric::LinkId link);
  static bool has_link(const Fault& fault, fabric::LinkId link);
  std::uint64_t hits(const Fault& fault) const;
  std::string link_name(fabric::LinkId link) const;
  std::optional<std::vector<fabric::LinkId>> find_links(const std::string& word) const;
  std::optional<std::vector<std::uint32_t>> find_vertices(const std::string& word, bool hosts) const;

  FabricPorts& ports_;
  const fabric::Topology& topology_;
  Setup setup_;
  const Time started_;
  std::vector<Fault> faults_;
  std::uint32_t next_number_ = 1;
  std::map<fabric::LinkId, bool> down_;
  std::map<std::uint32_t, bool> switch_down_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cut_;
};

/// As of fabric/quantity.h, and "0": frames take no time; nothing: not understood.
std::optional<std::uint64_t> parse_rate(std::string_view text);
/// As of fabric/quantity.h up to 60s, and "0".
std::optional<Duration> parse_time_span(std::string_view text);

}  // namespace verbena::host
