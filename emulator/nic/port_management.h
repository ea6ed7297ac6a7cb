// PortManagement: what a subnet manager sets on the ports of a NIC on InfiniBand.
//
// Solely responsible for handing it to the NIC. Whence it comes is the owner's (host/engine/subnet_port.h). It owns
// nothing; the NIC outlives it.
// Tested by: tests/nic/pkey_test.cc, tests/host/engine/subnet_port_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "emulator/nic/nic.h"

namespace verbena::nic {

/// Ports are counted from 1.
class PortManagement {
 public:
  explicit PortManagement(Nic& nic) : nic_(nic) {}

  /// The port has 2^lmc LIDs from `base` on (Nic::config()); kLidNone: none. lid_change is raised if these are others
  /// than before. Paths that QPs and address handles have keep the LID they were made with.
  void set_lids(std::uint32_t port, wire::Lid base, std::uint8_t lmc);
  /// The port's P_Key table, at most NicLimits::pkeys entries; 0: no key. QPs send with that of their index, and take
  /// what matches it (IBA volume 1, 10.9.3). Before the first call each port has the default one alone.
  void set_pkeys(std::uint32_t port, std::span<const std::uint16_t> pkeys);
  /// The GID table of a port on InfiniBand, at most eight and no fewer than before; zero: the entry is empty. Paths
  /// that QPs and address handles have keep the GID they were made with.
  void set_gids(std::uint32_t port, std::span<const wire::Gid> gids);
  /// Of the NIC's ports: QPs may have no longer path MTU from now on, and datagrams no more payload (modify_qp says
  /// EINVAL). Those that have one keep it.
  void set_mtu(std::uint32_t bytes);
  /// Something of the port has changed of which programs are to hear: sm_change, pkey_change, gid_change,
  /// client_reregister.
  void raise(std::uint32_t port, AsyncEventType type);

 private:
  Nic& nic_;
};

}  // namespace verbena::nic
