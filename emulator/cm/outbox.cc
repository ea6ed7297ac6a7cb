#include "emulator/cm/outbox.h"

#include <span>

namespace verbena::cm {

void Outbox::push(const Path& path, const Mad& mad) {
  if (waiting_.size() < kDatagramsMax) waiting_.push_back({path, mad});
}

std::size_t Outbox::transmit(nic::TransmitPort& port, std::size_t budget) {
  std::size_t sent = 0;
  for (; sent < budget && !waiting_.empty(); ++sent) {
    const Datagram& next = waiting_.front();
    wire::FramePath path = origin_;
    path.destination_mac = next.path.mac;
    path.destination = next.path.address;
    path.traffic_class = next.path.traffic_class;
    path.hop_limit = next.path.hop_limit;
    path.flow_label = next.path.flow_label;
    const wire::FrameTemplate frame_template(path);
    std::uint32_t no_hint = 0;
    constexpr unsigned kQpnSlotShift = 16;
    const wire::Qpn process{std::uint32_t{next.path.slot.value_or(0)} << kQpnSlotShift | wire::kGsiQpn.value()};
    const auto opcode = wire::make_opcode(wire::Transport::ud, wire::OperationCode::send_only);
    const std::span<std::byte> room =
        port.reserve({next.path.address, process, no_hint}, wire::frame_bytes(frame_template, opcode, wire::kMadBytes));
    if (room.empty()) break;
    wire::Bth bth;
    bth.opcode = opcode;
    bth.dest_qp = wire::kGsiQpn;
    bth.psn = wire::Psn(next_psn_++);
    wire::PacketBuilder builder(room, frame_template, bth, wire::kMadBytes, port.icrc_wanted());
    builder.append(wire::Deth{wire::kGsiQkey, 0, wire::kGsiQpn});
    builder.append_payload(next.mad);
    port.commit(builder.finish(), port.icrc_wanted());
    waiting_.pop_front();
  }
  return sent;
}

}  // namespace verbena::cm
