#include "emulator/host/engine/subnet_port.h"

#include <algorithm>
#include <array>
#include <utility>

namespace verbena::host {

void SubnetPort::look(nic::Nic& nic, bool has_signal) {
  using enum nic::AsyncEventType;
  const std::uint32_t port = identity_.number.port;
  nic::PortManagement management(nic);
  const ManagedPort before = std::exchange(told_, infiniband_port(fabric_, identity_, has_signal));
  management.set_lids(port, wire::Lid(told_.base_lid), told_.lmc);
  if (told_.pkeys != before.pkeys) management.set_pkeys(port, told_.pkeys);
  if (told_.subnet_prefix != before.subnet_prefix || told_.alias_guids != before.alias_guids) set_gids(nic);
  if (told_.mtu != before.mtu) set_mtu(nic);
  if (told_.sm_changes != before.sm_changes) management.raise(port, sm_change);
  if (told_.pkey_changes != before.pkey_changes) management.raise(port, pkey_change);
  if (told_.gid_changes != before.gid_changes) management.raise(port, gid_change);
  nic.set_port_up(port, has_signal && told_.state == kPortStateActive);
  if (told_.reregisters != before.reregisters) management.raise(port, client_reregister);
}

void SubnetPort::set_gids(nic::Nic& nic) const {
  std::array<wire::Gid, ManagedPort::kGids> gids;
  for (std::size_t i = 0; i < gids.size(); ++i) gids[i] = infiniband_gid(identity_, told_, i);
  nic::PortManagement(nic).set_gids(identity_.number.port, gids);
}

void SubnetPort::set_mtu(nic::Nic& nic) const {
  if (identity_.number.port == 1)
    nic::PortManagement(nic).set_mtu(std::min(mtu_bytes_max_, wire::mtu_bytes(told_.mtu)));
}

}  // namespace verbena::host
