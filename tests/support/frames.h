// Frames for tests: one packet as a plain value, made into bytes, and the nodes it travels between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "wire/aeth.h"
#include "wire/packet_builder.h"
#include "wire/packet_view.h"

namespace verbena::test {

using wire::OperationCode;
using wire::Transport;

inline wire::Gid node_gid(unsigned node) {
  return wire::Gid::from_ipv4(0x7f2f5b00u + node);
}
inline wire::MacAddress node_mac(unsigned node) {
  return {{0x02, 0x56, 0x7f, 0x2f, 0x5b, static_cast<std::uint8_t>(node)}};
}
constexpr wire::Opcode rc(OperationCode code) {
  return wire::make_opcode(Transport::rc, code);
}
constexpr wire::Opcode uc(OperationCode code) {
  return wire::make_opcode(Transport::uc, code);
}
constexpr wire::Opcode ud(OperationCode code) {
  return wire::make_opcode(Transport::ud, code);
}

struct PacketSpec {
  wire::Opcode opcode = rc(OperationCode::send_only);
  std::uint32_t psn = 0;
  wire::Qpn dest_qp{0x11};
  bool ack_request = false;
  bool solicited = false;
  bool becn = false;
  std::uint16_t pkey = 0xffff;
  wire::Reth reth{};
  wire::Aeth aeth{};
  wire::AtomicEth atomic_eth{};
  wire::AtomicAckEth atomic_ack_eth{};
  wire::Deth deth{};
  wire::ImmDt immediate{};
  wire::Ieth ieth{};
  std::vector<std::byte> payload{};
  std::uint8_t reserved7 = 0;  // selective repeat, telemetry
  std::optional<wire::PlacementEth> placement{};
  std::optional<wire::SackEth> sack{};
};

inline std::vector<std::byte> make_frame(const wire::FrameTemplate& flow, const PacketSpec& spec) {
  const wire::OpcodeInfo& info = wire::opcode_info(spec.opcode);
  wire::Bth bth;
  bth.opcode = spec.opcode;
  bth.solicited = spec.solicited;
  bth.migrated = true;
  bth.pkey = spec.pkey;
  bth.dest_qp = spec.dest_qp;
  bth.ack_request = spec.ack_request;
  bth.becn = spec.becn;
  bth.reserved7 = spec.reserved7;
  bth.psn = wire::Psn(spec.psn);
  if (spec.placement || spec.sack) bth.reserved7 |= wire::kTakesSelectiveRepeat | wire::kHasRecoveryHeader;
  const std::size_t added_bytes = wire::recovery_header_bytes(info, bth) + wire::telemetry_bytes(bth);
  std::vector<std::byte> frame(wire::frame_bytes(flow, spec.opcode, spec.payload.size(), added_bytes));
  wire::PacketBuilder builder(frame, flow, bth, spec.payload.size(), wire::IcrcState::present, added_bytes);
  if (info.has_deth) builder.append(spec.deth);
  if (info.has_reth) builder.append(spec.reth);
  if (info.has_atomic_eth) builder.append(spec.atomic_eth);
  if (info.has_aeth) builder.append(spec.aeth);
  if (info.has_atomic_ack_eth) builder.append(spec.atomic_ack_eth);
  if (info.has_immediate) builder.append(spec.immediate);
  if (info.has_invalidate) builder.append(spec.ieth);
  if (spec.placement) builder.append(*spec.placement);
  if (spec.sack) builder.append(*spec.sack);
  if (wire::telemetry_bytes(bth) != 0) builder.append_telemetry();
  builder.append_payload(spec.payload);
  frame.resize(builder.finish());
  return frame;
}

inline wire::FrameTemplate flow_between(unsigned from, unsigned to) {
  wire::FramePath path;
  path.from = node_mac(from);
  path.to = node_mac(to);
  path.source = node_gid(from);
  path.destination = node_gid(to);
  return wire::FrameTemplate(path);
}

inline std::vector<std::byte> make_frame(unsigned from, unsigned to, const PacketSpec& spec) {
  return make_frame(flow_between(from, to), spec);
}

}  // namespace verbena::test
