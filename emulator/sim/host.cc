#include "emulator/sim/host.h"

#include "wire/aeth.h"
#include "wire/packet_view.h"

namespace verbena::sim {

std::span<std::byte> Port::reserve(const nic::Destination& destination, std::size_t bytes) {
  if (asks) {
    const fabric::Network::Intent intent{
        destination.address, destination.headers != nullptr ? destination.headers->traffic_class() : std::uint8_t{0}};
    const Time room_at = network_.has_room_at(now_, id_, &intent);
    if (room_at > now_) {
      room_at_ = std::min(room_at_, room_at);
      return {};
    }
  }
  room_ = network_.reserve(bytes);
  return room_;
}

void Port::commit(std::size_t bytes, wire::IcrcState icrc) {
  if (host_.may_keep && keep(room_.first(bytes)))
    network_.cancel();
  else
    network_.commit(now_, id_, bytes, icrc);
}

bool Port::keep(std::span<const std::byte> frame) {
  const auto packet = wire::parse_on(network_.topology().medium, frame);
  if (!packet || packet->opcode().operation != wire::Operation::acknowledge) return false;
  const bool is_nak = wire::Syndrome::decode(packet->aeth().syndrome).kind != wire::Syndrome::Kind::ack;
  KeptFrame kept{now_ + (is_nak ? host_.latencies.nak : host_.latencies.acknowledge),
                 packet->destination(),
                 packet->bth().dest_qp,
                 wire::IcrcState::present,
                 {frame.begin(), frame.end()}};
  // What goes to one QP stays in order.
  for (const KeptFrame& other : host_.leaving)
    if (other.qpn == kept.qpn && other.destination == kept.destination) kept.due = std::max(kept.due, other.due);
  if (kept.due == now_) return false;
  const auto place = std::upper_bound(host_.leaving.begin(), host_.leaving.end(), kept,
                                      [](const KeptFrame& a, const KeptFrame& b) { return a.due < b.due; });
  host_.leaving.insert(place, std::move(kept));
  return true;
}

}  // namespace verbena::sim
