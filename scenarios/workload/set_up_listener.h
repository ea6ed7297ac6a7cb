// SetUpListener: hears what applications agree upon beside the wire: connections and memory regions.
// Tested by: tests/scenarios/virtual/faults_test.cc
#pragma once

#include "emulator/nic/objects/attributes.h"
#include "emulator/sim/world.h"

namespace verbena::scenarios {

struct ConnectedEnd {
  sim::HostId host = 0;
  wire::Qpn qpn;
  wire::Psn first_psn;  // of its own requests
  Duration ack_timeout{0};
};

class SetUpListener {
 public:
  virtual ~SetUpListener() = default;
  virtual void connected(const ConnectedEnd& initiator, const ConnectedEnd& target, std::uint32_t mtu_bytes) = 0;
  virtual void registered(sim::HostId host, const nic::MemoryRegionInit& init, const nic::MemoryRegion& region) = 0;
  virtual void deregistered(sim::HostId host, const nic::MemoryRegion& region) = 0;
  virtual void restarted(sim::HostId host) = 0;
};

}  // namespace verbena::scenarios
