#include "emulator/cm/outbox.h"

#include "wire/pkey_table.h"

namespace verbena::cm {
namespace {
constexpr wire::Opcode kOpcode = wire::make_opcode(wire::Transport::ud, wire::OperationCode::send_only);
}

std::size_t frame_bytes_of(const wire::FramePath& path) {
  return wire::frame_bytes(wire::FrameTemplate(path), kOpcode, wire::kMadBytes);
}

std::size_t write_frame(const wire::FramePath& path, const FrameNumbers& numbers, const Mad& mad,
                        std::span<std::byte> room, wire::IcrcState icrc) {
  const wire::FrameTemplate frame_template(path);
  wire::Bth bth;
  bth.opcode = kOpcode;
  bth.dest_qp = wire::kGsiQpn;
  bth.psn = numbers.psn;
  bth.pkey = numbers.pkey;
  wire::PacketBuilder builder(room, frame_template, bth, wire::kMadBytes, icrc);
  builder.append(wire::Deth{wire::kGsiQkey, 0, wire::kGsiQpn});
  builder.append_payload(mad);
  return builder.finish();
}

void Outbox::push(const Path& path, const Mad& mad) {
  if (waiting_.size() < kDatagramsMax) waiting_.push_back({path, mad});
}

std::uint16_t Outbox::own_pkey(std::uint16_t of_path) const {
  return pkeys_[wire::find_pkey(pkeys_, of_path).value_or(0)];
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
    const FrameNumbers numbers{wire::Psn(next_psn_++), own_pkey(next.path.pkey)};
    port.commit(write_frame(path, numbers, next.mad, room, port.icrc_wanted()), port.icrc_wanted());
    waiting_.pop_front();
  }
  return sent;
}

}  // namespace verbena::cm
