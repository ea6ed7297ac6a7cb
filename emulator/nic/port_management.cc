#include "emulator/nic/port_management.h"

#include "emulator/nic/nic_private.h"
#include "wire/infiniband.h"

namespace verbena::nic {

void PortManagement::set_lids(std::uint32_t port, wire::Lid base, std::uint8_t lmc) {
  PortConfig& own = nic_.state_->config.ports[port - 1];
  if (own.lid == base && own.lmc == lmc) return;
  own.lid = base;
  own.lmc = lmc;
  raise(port, AsyncEventType::lid_change);
}

void PortManagement::set_pkeys(std::uint32_t port, std::span<const std::uint16_t> pkeys) {
  NicState& nic = *nic_.state_;
  nic.pkeys[port - 1].assign(pkeys.begin(), pkeys.end());
  nic.qps.for_each([&](Qp& qp) { nic.settle_at_port(qp); });
}

void PortManagement::set_gids(std::uint32_t port, std::span<const wire::Gid> gids) {
  NicConfig& config = nic_.state_->config;
  const NicConfig before = config;
  std::uint8_t count = 0;
  for (std::uint32_t of = 1; of <= config.port_count; ++of) {
    config.ports[of - 1].gids_begin = count;
    if (of == port)
      for (const wire::Gid& gid : gids) config.gids[count++] = {gid, wire::kInfiniBand};
    else
      for (const GidEntry& entry : before.gids_of(of)) config.gids[count++] = entry;
  }
  config.gid_count = count;
}

void PortManagement::set_mtu(std::uint32_t bytes) {
  nic_.state_->config.port_mtu_bytes = bytes;
}

void PortManagement::raise(std::uint32_t port, AsyncEventType type) {
  NicState& nic = *nic_.state_;
  if (!nic.is_removed) nic.raise(type, port, 0, nic.counters.of(port));
}

}  // namespace verbena::nic
