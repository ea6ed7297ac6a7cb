// ManagementSink: who takes the datagrams for QP1 (general services).
// Tested by: tests/host/engine/connection_service_test.cc
#pragma once

#include "wire/packet_view.h"
#include "wire/time.h"

namespace verbena::nic {

/// Takes the datagrams for QP1, which belongs to the node and not to the NIC's applications.
class ManagementSink {
 public:
  virtual ~ManagementSink() = default;
  virtual void management_datagram(Time now, const wire::PacketView& packet) = 0;
};

}  // namespace verbena::nic
