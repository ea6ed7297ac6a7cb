// FabricMessages: what other processes may ask of the one that serves a fabric, and what it answers, as values.
//
// Solely responsible for what can be said. How it travels is fabric_codec.h's and fabric_client.h's; what it does is
// fabric_process/fabric_commands.h's. Hosts, switches and links are those of the fabric's topology, by number: the
// fabric process refuses any other.
// Tested by: tests/host/fabric_client/fabric_codec_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "emulator/fabric/fault.h"
#include "emulator/fabric/fault_plan.h"
#include "emulator/host/fabric_client/fabric_snapshot.h"
#include "wire/result.h"

namespace verbena::host {

/// As on a command line.
using FabricWords = std::vector<std::string>;

// -- Requests ---------------------------------------------------------------------------------------------------------

struct AskHello {};
struct AskSnapshot {};
/// What a user says with `verbena fault`: the fabric process knows the words.
struct SayWords {
  FabricWords words;
};
struct ChangeElements {
  fabric::ElementChange change;
};
/// A rule that the fabric process was started with, for a runner that has rules as values.
struct AddPrepared {
  std::uint32_t prepared = 0;
  std::vector<fabric::LinkId> links;
  std::string where;  // what a list of faults calls these links
};
struct RemoveFault {
  std::uint32_t number = 0;
};
struct RemoveDevices {
  std::vector<std::uint32_t> hosts;
};
enum class NodePower : std::uint8_t { on, frozen, crashing };
/// Of the nodes' sockets only: whoever kills or stops the processes says so before.
struct SetNodePower {
  std::vector<std::uint32_t> hosts;
  NodePower power = NodePower::on;
};

using FabricRequest = std::variant<AskHello, AskSnapshot, SayWords, ChangeElements, AddPrepared, RemoveFault,
                                   RemoveDevices, SetNodePower>;

// -- Answers ----------------------------------------------------------------------------------------------------------

struct FabricDone {};
struct FaultAdded {
  std::uint32_t number = 0;
};
struct FaultRemoved {
  std::uint64_t hits = 0;
  fabric::HitUnit unit{};
};
/// What a program has to know to take its place.
struct FabricHello {
  std::uint32_t nodes = 0;
  std::uint32_t rails = 1;                // NIC ports of each node: its processes have as many devices
  std::vector<std::uint64_t> port_rates;  // of each node's rails, bits per second, when the fabric began; 0: no limit
  std::string stats_path;                 // of the counters that processes write; empty: none
  std::string wire;                       // that its nodes have (wire::kWireKinds); empty: the default one
};

using FabricReply = std::variant<FabricDone, FaultAdded, FaultRemoved, FabricHello, FabricSnapshot>;
/// What was asked for, or one line that says what is wrong with the request.
using FabricAnswer = Result<FabricReply, std::string>;

}  // namespace verbena::host
