// SubnetPort: what a subnet manager has set on a port of the process's NIC, handed on to the NIC as events.
//
// Solely the comparison of what is set now with what the NIC was told last. Where it lies is managed_port.h's, when to
// look the engine's: after a Notice.
// Tested by: tests/host/engine/subnet_port_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "emulator/host/node/infiniband_port.h"
#include "emulator/nic/port_management.h"

namespace verbena::host {

class SubnetPort {
 public:
  /// A port on InfiniBand. Of what it has now the NIC was made with the LIDs; it is given the P_Keys and GIDs.
  SubnetPort(const std::string& fabric, const DeviceIdentity& of, nic::Nic& nic)
      : fabric_(fabric),
        identity_(of),
        told_(infiniband_port(fabric, of, true)),
        mtu_bytes_max_(nic.config().port_mtu_bytes) {
    nic::PortManagement(nic).set_pkeys(of.number.port, told_.pkeys);
    set_gids(nic);
    set_mtu(nic);
  }

  /// Under the engine's lock. `has_signal`: whether the cable at the port has one. An event for each thing that has
  /// changed, and port_active or port_error last.
  void look(nic::Nic& nic, bool has_signal);
  std::span<const std::uint16_t> pkeys() const { return told_.pkeys; }

 private:
  const std::string fabric_;
  const DeviceIdentity identity_;
  ManagedPort told_;
  const std::uint32_t mtu_bytes_max_;  // of the NIC, whatever the manager says

  void set_gids(nic::Nic& nic) const;
  /// The active MTU; of a NIC with several ports it is that of the first.
  void set_mtu(nic::Nic& nic) const;
};

}  // namespace verbena::host
