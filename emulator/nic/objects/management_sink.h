// ManagementSink: who takes the datagrams for QP1 (general services).
// Tested by: tests/host/engine/connection_service_test.cc
#pragma once

#include <cstdint>

#include "wire/packet_view.h"
#include "wire/time.h"

namespace verbena::nic {

/// Takes the datagrams for QP1 of each port, which belong to the node and not to the NIC's applications.
class ManagementSink {
 public:
  virtual ~ManagementSink() = default;
  /// `port`: by which it arrived, from 1.
  virtual void management_datagram(Time now, std::uint32_t port, const wire::PacketView& packet) = 0;
};

}  // namespace verbena::nic
