// Packets of the public interface: read from frames, and described.
// Tested by: tests/libverbena/world_test.cc
#include "libverbena/state.h"
#include "wire/icrc.h"
#include "wire/packet_text.h"

namespace libverbena {

void end_with(const Error& error) noexcept {
  std::fprintf(stderr, "libverbena: %s\n", error.text.c_str());
  std::abort();
}

std::string to_string(Opcode opcode) {
  const wire::OpcodeInfo& info = wire::opcode_info(static_cast<wire::Opcode>(opcode));
  if (!info.defined) return {};
  std::string name(info.name);
  if (name.starts_with("RC ")) name.erase(0, 3);
  for (char& c : name) c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // As a SEND is called, so is a WRITE: without the RDMA that the specification puts before it.
  if (const auto rdma = name.find("rdma-"); rdma != std::string::npos) name.erase(rdma, 5);
  return name;
}

Packet packet_of(const wire::PacketView& view) {
  const wire::OpcodeInfo& info = view.opcode();
  const wire::Bth bth = view.bth();
  Packet packet{.opcode = static_cast<Opcode>(bth.opcode),
                .psn = bth.psn.value(),
                .dest_qp = bth.dest_qp.value(),
                .solicited = bth.solicited,
                .ack_request = bth.ack_request,
                .fecn = bth.fecn,
                .becn = bth.becn,
                .pkey = bth.pkey};
  if (info.has_aeth) packet.aeth = Aeth{view.aeth().syndrome, view.aeth().msn};
  if (info.has_reth) {
    const wire::Reth reth = view.reth();
    packet.reth = Reth{reth.address, reth.rkey.value, reth.length};
  }
  if (info.has_atomic_eth) {
    const wire::AtomicEth atomic = view.atomic_eth();
    packet.atomic = AtomicEth{atomic.address, atomic.rkey.value, atomic.swap_or_add, atomic.compare};
  }
  if (info.has_atomic_ack_eth) packet.atomic_original = view.atomic_ack_eth().original;
  if (info.has_immediate) packet.immediate = view.immediate().data;
  if (info.has_invalidate) packet.invalidated_rkey = view.ieth().rkey.value;
  if (info.has_deth) {
    packet.qkey = view.deth().qkey;
    packet.source_qp = view.deth().source_qp.value();
  }
  packet.payload.assign(view.payload().begin(), view.payload().end());
  packet.source = wire::to_text(view.source());
  packet.destination = wire::to_text(view.destination());
  packet.icrc_is_right = view.icrc_is_valid();
  return packet;
}

Result<Packet> read_packet(std::span<const std::byte> frame) {
  const auto view = wire::parse_frame(frame);
  if (!view) return invalid("no RoCE v2 packet: " + std::string(wire::to_string(view.error())));
  return packet_of(*view);
}

Result<std::string> describe(std::span<const std::byte> frame) {
  const auto view = wire::parse_frame(frame);
  if (!view) return invalid("no RoCE v2 packet: " + std::string(wire::to_string(view.error())));
  return wire::to_text(*view);
}

void repair_icrc(std::span<std::byte> frame) {
  wire::complete_icrc(frame);
}

}  // namespace libverbena
