#include "emulator/cm/outbox.h"

namespace verbena::cm {
namespace {
constexpr wire::Opcode kOpcode = wire::make_opcode(wire::Transport::ud, wire::OperationCode::send_only);
}

std::size_t frame_bytes_of(const wire::FramePath& path) {
  return wire::frame_bytes(wire::FrameTemplate(path), kOpcode, wire::kMadBytes);
}

std::size_t write_frame(const wire::FramePath& path, wire::Psn psn, const Mad& mad, std::span<std::byte> room,
                        wire::IcrcState icrc) {
  const wire::FrameTemplate frame_template(path);
  wire::Bth bth;
  bth.opcode = kOpcode;
  bth.dest_qp = wire::kGsiQpn;
  bth.psn = psn;
  wire::PacketBuilder builder(room, frame_template, bth, wire::kMadBytes, icrc);
  builder.append(wire::Deth{wire::kGsiQkey, 0, wire::kGsiQpn});
  builder.append_payload(mad);
  return builder.finish();
}

void Outbox::push(const Path& path, const Mad& mad) {
  if (waiting_.size() < kDatagramsMax) waiting_.push_back({path, mad});
}

std::size_t Outbox::transmit(nic::TransmitPort& port, std::size_t budget) {
  std::size_t sent = 0;
  for (; sent < budget && !waiting_.empty(); ++sent) {
    const Datagram& next = waiting_.front();
    wire::FramePath path = origin_;
    path.encapsulation = next.path.encapsulation;
    path.to = next.path.next_hop;
    path.destination = next.path.address;
    if (next.path.source != wire::Gid{}) path.source = next.path.source;
    path.traffic_class = next.path.traffic_class;
    path.hop_limit = next.path.hop_limit;
    path.flow_label = next.path.flow_label;
    std::uint32_t no_hint = 0;
    constexpr unsigned kQpnSlotShift = 16;
    const wire::Qpn process{std::uint32_t{next.path.slot.value_or(0)} << kQpnSlotShift | wire::kGsiQpn.value()};
    const std::span<std::byte> room = port.reserve({next.path.address, process, no_hint}, frame_bytes_of(path));
    if (room.empty()) break;
    port.commit(write_frame(path, wire::Psn(next_psn_++), next.mad, room, port.icrc_wanted()), port.icrc_wanted());
    waiting_.pop_front();
  }
  return sent;
}

}  // namespace verbena::cm
