// FabricCommands: what another process may ask of a running fabric, and what it is answered.
//
// Solely responsible for who does what is said, and for the list of faults. Faults of elements are rows of
// fabric/element_rows.h, read by element_words.h, and have their meaning in fabric/element_faults.h; what can be seen
// is snapshot.h's. It moves no frames (fabric_ports.h), knows no sockets (fabric_control.h) and makes no text of what
// it answers (fabric_client/render). The other words are in one table (fabric_commands.cc) with what they mean;
// docs/faults.md is made from both.
// Tested by: tests/host/fabric_process/fabric_process_test.cc
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/fabric/element_faults.h"
#include "emulator/fabric/element_rows.h"
#include "emulator/host/fabric_client/fabric_messages.h"
#include "emulator/host/fabric_process/fabric_capture.h"
#include "emulator/host/fabric_process/fabric_ports.h"
#include "emulator/host/fabric_process/fabric_sockets.h"
#include "emulator/host/fabric_process/link_rates.h"
#include "emulator/host/fabric_process/node_faults.h"
#include "emulator/host/fabric_process/subnet_service.h"
#include "emulator/host/node/stats_file.h"

namespace verbena::host {

class FabricCommands {
 public:
  struct Setup {
    std::string fabric;
    /// Rules that AddPrepared names: for a runner that has them as values.
    std::vector<fabric::FaultRule> prepared;
    FabricSockets* sockets = nullptr;        // told of what it should know; outlives this object
    std::string stats_path;                  // for AskHello; empty: none
    std::string wire;                        // for AskHello
    const StatsFile* counters = nullptr;     // outlives this object
    const FabricCapture* capture = nullptr;  // the same
    SubnetService* managed = nullptr;        // the same; nothing: no manager is to manage the fabric
  };
  FabricCommands(FabricPorts& ports, Setup setup, Time started);

  FabricAnswer answer(Time now, const FabricRequest& request);
  const fabric::ElementFaults& elements() const { return elements_; }
  /// Of what was said of verbs.
  const NodeFaults& node_faults() const { return node_faults_; }

  /// What users may say, for whoever explains it.
  struct Explained {
    std::string name;
    std::string usage;
    std::string text;
    std::string example;
    std::string undo;  // the word that ends it, with the same names or, for a fault that has one, its number
    std::vector<fabric::LinkValue> restores{};  // or: it ends when the links have again what they had
  };
  /// Those for packets, then those for elements, in the order of their kinds.
  static std::vector<Explained> explained(std::span<const fabric::ElementRow> elements = fabric::element_rows());

 private:
  struct Fault {
    std::uint32_t number = 0;
    std::string where;
    std::string text;
    fabric::HitUnit unit = fabric::HitUnit::packet;
  };
  struct Command;
  static const std::vector<Command>& table();
  static std::string faults_offered();

  // What users say.
  FabricAnswer add(Time now, const FabricWords& words);
  FabricAnswer add_at(Time now, const FabricWords& words);
  FabricAnswer remove(Time now, const FabricWords& words);
  FabricAnswer list(Time now, const FabricWords& words);
  FabricAnswer clear(Time now, const FabricWords& words);

  FabricAnswer serve(Time now, const AskHello& request);
  FabricAnswer serve(Time now, const AskSnapshot& request);
  FabricAnswer serve(Time now, const SayWords& request);
  FabricAnswer serve(Time now, const ChangeElements& request);
  FabricAnswer serve(Time now, const AddPrepared& request);
  FabricAnswer serve(Time now, const RemoveFault& request);
  FabricAnswer serve(Time now, const RemoveDevices& request);
  FabricAnswer serve(Time now, const SetNodePower& request);

  FabricAnswer add_verbs(Time now, const std::string& names, const std::string& text);
  bool is_place(const FabricWords& words) const;
  std::uint64_t hits_of(const Fault& fault) const;
  void end(Time now, const Fault& fault);
  FabricAnswer add_rule(std::string where, std::vector<fabric::LinkId> links, fabric::FaultRule rule);
  FabricAnswer begin(Time now, const std::vector<fabric::Fault>& faults);
  FabricAnswer begin(Time now, const fabric::SoftwareFault& fault);
  FabricAnswer change(Time now, const std::vector<fabric::ElementChange>& changes);
  bool has_hosts(const std::vector<std::uint32_t>& hosts) const;
  /// The last thing that a command does that changes who can reach whom.
  FabricAnswer tell_sockets(Time now);

  FabricPorts& ports_;
  const fabric::Topology& topology_;
  Setup setup_;
  const Time started_;
  std::vector<Fault> faults_;
  std::uint32_t next_number_ = 1;
  fabric::ElementFaults elements_;
  LinkRates rates_;
  NodeFaults node_faults_;
};

}  // namespace verbena::host
