// HostVerbs: the verbs as the software of a simulated host calls them: what they are, or what a fault makes of them.
//
// Solely responsible for asking the host's faults (host_faults.h) before each call, for the numbers by which they name
// QPs, and for a NIC that is new to have them as its judge. A call that is late keeps the host's software busy: it does
// nothing else until then (HostAgent).
// Tested by: tests/scenarios/virtual/verb_faults_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "emulator/sim/world.h"
#include "scenarios/workload/host_faults.h"

namespace verbena::scenarios {

class HostVerbs {
 public:
  /// `seed`: of faults by chance.
  HostVerbs(sim::World& world, sim::HostId host, std::uint64_t seed)
      : world_(world), host_(host), faults_(seed, world.network().topology().rail_of(host)) {}

  HostFaults& faults() { return faults_; }
  /// There are others: the NIC is to ask from now on, if any speaks of completions or events.
  void faults_changed();
  /// Another life of the host: a new NIC, and nothing has been made.
  void restarted();
  Time busy_until() const { return busy_until_; }
  /// The latest call failed by a fault.
  bool was_refused() const { return was_refused_; }

  /// Why the call fails, by a fault; nothing: it is to be done.
  std::optional<nic::VerbsError> refused(fabric::Verb verb, std::optional<nic::QpHandle> qp = {});
  nic::VerbsResult<nic::QpHandle> create_qp(nic::QpInit init);
  nic::VerbsResult<void> destroy_qp(nic::QpHandle qp);
  nic::VerbsResult<void> modify_qp(nic::QpHandle qp, const nic::QpAttributes& attributes, std::uint32_t mask, Time now);
  nic::VerbsResult<nic::AhHandle> create_ah(nic::PdHandle pd, const nic::AddressVector& path);
  nic::VerbsResult<void> post_send(nic::QpHandle qp, const nic::SendRequest& request, Time now);
  nic::VerbsResult<void> post_receive(nic::QpHandle qp, const nic::ReceiveRequest& request);

 private:
  nic::Nic& nic() { return world_.nic(host_); }

  sim::World& world_;
  const sim::HostId host_;
  HostFaults faults_;
  std::unordered_map<std::uint32_t, std::uint32_t> qp_numbers_;  // by handle, in the order in which they were made
  std::uint32_t qps_made_ = 0;                                   // in this life
  Time busy_until_{};
  bool was_refused_ = false;
};

}  // namespace verbena::scenarios
