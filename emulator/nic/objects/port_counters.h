// PortCounters: which counters belong to which port of a NIC.
//
// Plain pointers; the storage belongs to the host (counters.h). What happens to a QP counts at the port that the QP is
// bound to, a frame that arrives at the port by which it came, and what no port has a part in (pages of memory, events
// of a CQ or an SRQ) at the first port.
// Tested by: tests/nic/two_ports_test.cc
#pragma once

#include <array>
#include <cstdint>

#include "emulator/nic/objects/counters.h"
#include "emulator/nic/objects/nic_config.h"

namespace verbena::nic {

class PortCounters {
 public:
  /// All ports count together.
  PortCounters(Counters& all) { of_.fill(&all); }  // NOLINT(google-explicit-constructor)
  explicit PortCounters(const std::array<Counters*, kPortsMax>& of) : of_(of) {}

  /// From 1.
  Counters& of(std::uint32_t port) const { return *of_[port - 1]; }

 private:
  std::array<Counters*, kPortsMax> of_;
};

}  // namespace verbena::nic
