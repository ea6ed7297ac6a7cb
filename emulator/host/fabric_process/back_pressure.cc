#include "emulator/host/fabric_process/back_pressure.h"

#include "emulator/fabric/flow_dissector.h"

namespace verbena::host {

BackPressure::BackPressure(ShmPorts& shm, fabric::Network& network, FabricNodes& nodes)
    : shm_(shm), network_(network), nodes_(nodes), senders_(nodes.size()) {}

void BackPressure::pause_sender(Time now, const FabricSeat& behind, std::span<const std::byte> frame) {
  const auto source = fabric::look_at_source(frame, network_.topology().medium);
  const std::uint32_t host = source ? nodes_.host_of_packet(*source) : FabricNodes::kNoHost;
  if (host == FabricNodes::kNoHost || senders_[host].pause) return;
  senders_[host].pause = {behind, now + kPauseMax};
  ++nodes_[host].statistics.pauses;
}

bool BackPressure::is_still_paused(Time now, std::optional<Pause>& pause) {
  const auto [host, slot] = pause->behind;
  FabricNode& behind = nodes_[host];
  if (now < pause->until && shm_.is_behind({behind.address, qpn_base_of(slot), behind.route_hints[slot]}, kGoOnRoom))
    return true;
  pause.reset();
  return false;
}

void BackPressure::hold(std::uint32_t host, fabric::ClassMask classes) {
  Sender& sender = senders_[host];
  nodes_held_ += static_cast<std::uint32_t>(classes != 0) - static_cast<std::uint32_t>(sender.held != 0);
  sender.held = classes;
  shm_.hold(nodes_[host].address, network_.topology().qos->dscps_of(classes));
}

void BackPressure::look_at_held(Time now) {
  for (std::uint32_t host = 0; host < senders_.size(); ++host) {
    const fabric::ClassMask held = senders_[host].held;
    if (held == 0) continue;
    if (const fabric::Room room = network_.room_on_every_way(now, host, held); room.held != held) hold(host, room.held);
  }
}

}  // namespace verbena::host
