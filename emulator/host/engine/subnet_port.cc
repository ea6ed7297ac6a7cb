#include "emulator/host/engine/subnet_port.h"

#include <utility>

namespace verbena::host {

void SubnetPort::look(nic::Nic& nic, bool has_signal) {
  using enum nic::AsyncEventType;
  const std::uint32_t port = identity_.number.port;
  const ManagedPort before = std::exchange(told_, infiniband_port(fabric_, identity_, has_signal));
  nic.set_port_lids(port, wire::Lid(told_.base_lid), told_.lmc);
  if (told_.pkeys != before.pkeys) nic.set_port_pkeys(port, told_.pkeys);
  if (told_.sm_changes != before.sm_changes) nic.raise_port_event(port, sm_change);
  if (told_.pkey_changes != before.pkey_changes) nic.raise_port_event(port, pkey_change);
  if (told_.gid_changes != before.gid_changes) nic.raise_port_event(port, gid_change);
  nic.set_port_up(port, has_signal && told_.state == kPortStateActive);
  if (told_.reregisters != before.reregisters) nic.raise_port_event(port, client_reregister);
}

}  // namespace verbena::host
