// CheckerFeed: lets the checkers watch a run: every packet where it leaves its host and where it arrives at one.
//
// Solely the translation between the world's words and theirs.
// Tested by: tests/scenarios/virtual/fabric_checks_test.cc
#pragma once

#include <span>

#include "captures/checkers/checker.h"
#include "emulator/sim/world.h"
#include "scenarios/language/scenario.h"
#include "scenarios/outcome/checker_verdicts.h"
#include "scenarios/outcome/outcome.h"
#include "scenarios/workload/set_up_listener.h"

namespace verbena::scenarios {

class CheckerFeed final : public SetUpListener {
 public:
  /// `nics`: what each host's NIC is like.
  CheckerFeed(const Scenario& scenario, std::span<const nic::NicConfig> nics);

  void observe(const sim::ObservedFrame& frame);
  void connected(const ConnectedEnd& initiator, const ConnectedEnd& target, std::uint32_t mtu_bytes) override;
  void registered(sim::HostId host, const nic::MemoryRegionInit& init, const nic::MemoryRegion& region) override;
  void deregistered(sim::HostId host, const nic::MemoryRegion& region) override;
  void restarted(sim::HostId host) override;

  /// At the end of the run.
  CheckerReports finish(Outcome& outcome);

 private:
  /// As its packets name the host.
  wire::Gid address_of(sim::HostId host) const { return sim::host_address(host, scenario_.topology.medium); }

  const Scenario& scenario_;
  checkers::Checkers checkers_;
  std::uint64_t frames_ = 0;
};

}  // namespace verbena::scenarios
