// Payloads: between the memory of applications and packets, with the checks of lkeys.
// Private to emulator/nic; what is rare is implemented in requester.cc.
// Tested by: tests/nic/error_test.cc, tests/nic/transfer_test.cc
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

/// The next octets of a packet's payload. False: the memory faults.
[[gnu::always_inline]] inline bool read_payload(NicState& nic, const Translation& from, std::uint32_t bytes,
                                                wire::PacketBuilder& builder) {
  if (nic.memory_has_octets) return from.memory->read(from.address, builder.payload(bytes));
  builder.leave_out_payload(bytes);
  return true;
}
/// A local buffer of the QP: checked and copied. False: a local protection error.
[[gnu::cold]] bool read_null_region(NicState& nic, const Qp& qp, const Sge& from, wire::PacketBuilder& builder);
[[gnu::always_inline]] inline bool read_local(NicState& nic, const Qp& qp, const Sge& from,
                                              wire::PacketBuilder& builder) {
  if (const Translation found =
          nic.regions.translate(from.lkey, qp.pd, qp.handle, from.address, from.length, kLocalRead))
    return read_payload(nic, found, from.length, builder);
  return read_null_region(nic, qp, from, builder);
}
/// The same for what arrives: octets to [address, address + payload.size()). `pd`: of the queue that names the buffer.
inline bool write_local(NicState& nic, const Qp& qp, PdHandle pd, std::uint32_t lkey, std::uint64_t address,
                        std::span<const std::byte> payload) {
  if (const Translation to = nic.regions.translate(lkey, pd, qp.handle, address, payload.size(), kLocalWrite))
    return to.memory->write(to.address, payload);
  return nic.regions.is_null(lkey, pd);
}
/// The same as gather_payload, for any number of SGEs.
bool gather_pieces(NicState& nic, Qp& qp, std::uint32_t position, std::uint32_t offset, std::uint32_t bytes,
                   wire::PacketBuilder& builder);
/// Copies octets [offset, offset + bytes) of the message. False: a local protection error.
[[gnu::always_inline]] inline bool gather_payload(NicState& nic, Qp& qp, std::uint32_t position, std::uint32_t offset,
                                                  std::uint32_t bytes, wire::PacketBuilder& builder) {
  SendQueue& queue = qp.send_queue;
  const SendWork& work = queue.at(position);
  if (work.inline_data) {
    builder.append_payload(queue.inline_data(position).subspan(offset, bytes));
    return true;
  }
  if (work.sge_count != 1) return gather_pieces(nic, qp, position, offset, bytes, builder);
  const Sge& sge = queue.sges(position).front();
  return read_local(nic, qp, {sge.address + offset, bytes, sge.lkey}, builder);
}

}  // namespace verbena::nic
