// FaultSchedule: which faults of a scenario begin and end when, under the real clock.
//
// Solely responsible for times and conditions; what a fault does to the network is outcome/element_step.h's. What
// concerns programs (a node that crashes, freezes or comes back) is handed to the runner. It reads no clock: elapsed
// time is an argument.
// Tested by: tests/scenarios/real/both_clocks_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emulator/host/fabric_client/fabric_messages.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/element_step.h"
#include "scenarios/outcome/outcome.h"

namespace verbena::scenarios {

/// What the schedule needs of the run.
class FaultTarget {
 public:
  virtual ~FaultTarget() = default;
  /// The reply, or nothing if it was refused.
  virtual std::optional<host::FabricReply> tell_fabric(const host::FabricRequest& request) = 0;
  /// Frames that the cable has carried, both ways.
  virtual std::uint64_t carried(const std::string& cable) = 0;
  /// Packets that the fault with this number in the fabric has hit.
  virtual std::uint64_t hits(std::uint32_t number) = 0;
  virtual void change_node(std::uint32_t node, fabric::NodeChange::Kind change) = 0;
};

class FaultSchedule {
 public:
  explicit FaultSchedule(const Scenario& scenario);

  /// Why a scenario's faults cannot be had under the real clock, in one line; nothing: they can.
  static std::optional<std::string> refuse(const Scenario& scenario);
  /// The rules that host::AddPrepared names: for host::FabricOptions. Faults of packets, by their index; others are
  /// empty rules.
  static std::vector<fabric::FaultRule> rules_of(const Scenario& scenario);

  /// Does all that is due.
  void run(Duration elapsed, FaultTarget& target);
  /// When something is due; conditions are looked at every kConditionInterval.
  std::optional<Duration> next(Duration elapsed) const;

  const std::vector<AppliedFault>& applied() const { return applied_; }
  /// The fault's number in the fabric while it has one, for its hits.
  std::optional<std::uint32_t> number(std::size_t fault) const { return numbers_[fault]; }

  static constexpr Duration kConditionInterval = milliseconds(5);

 private:
  struct Step {
    Duration at;
    std::function<void(FaultTarget& target)> take;
  };
  struct Waiting {
    std::size_t fault = 0;
    Trigger::Condition condition;
  };
  bool is_met(const Trigger::Condition& condition, FaultTarget& target) const;
  void begin(std::size_t fault, Duration at);
  void begin_packets(std::size_t fault, const fabric::PacketRule& packets, Duration at);
  void begin_verbs(std::size_t fault, const fabric::HostVerbRule& verbs, Duration at);
  void begin_rule(std::size_t fault, host::FabricRequest request, Duration at);
  void begin_element(const Fault& fault, Duration at);
  void begin_software(const fabric::SoftwareFault& fault, Duration at);
  void at(Duration when, std::function<void(FaultTarget& target)> take);
  void tell(Duration when, host::FabricRequest request);

  const Scenario& scenario_;
  std::vector<Step> steps_;  // in no order
  std::vector<Waiting> waiting_;
  std::vector<AppliedFault> applied_;
  std::vector<std::optional<std::uint32_t>> numbers_;
};

}  // namespace verbena::scenarios
