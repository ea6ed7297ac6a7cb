// ManagementSink: who takes the datagrams for QP1 (general services), and hears what the port's agent is to hear.
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
  /// On InfiniBand a packet came whose P_Key or, of a datagram, whose Q_Key was wrong. It may not allocate.
  virtual void key_refused(std::uint32_t /*port*/, const wire::PacketView& /*packet*/, bool /*is_qkey*/) {}
};

}  // namespace verbena::nic
