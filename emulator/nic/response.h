// What the responder sends, and how the responder asks for it.
// Private to emulator/nic; implemented in response.cc.
#pragma once

#include "emulator/nic/nic_state.h"

namespace verbena::nic {

Sent send_response(NicState& nic, Qp& qp, TransmitPort& port);
/// The answers to a READ and to an atomic, in the order of PSNs. ATOMIC WRITE is answered by a READ response without
/// data. `replay`: to a duplicate.
void push_read(NicState& nic, Qp& qp, const wire::PacketView& packet, std::uint32_t msn, bool replay);
void push_atomic(NicState& nic, Qp& qp, const AtomicRecord& record, bool is_write, bool replay);

/// What a request with this PSN overwrites.
struct Overwritten {
  wire::Psn psn;
  std::uint64_t remote_address = 0;  // as in its RETH
  std::uint64_t address = 0;
  std::size_t bytes = 0;
};
/// For the READs before it that are owed, if one has octets of it (EarlierOctets).
[[gnu::cold]] void keep_for_reads(NicState& nic, Qp& qp, const Overwritten& overwritten);
inline void before_write(NicState& nic, Qp& qp, const Overwritten& overwritten) {
  if (qp.responder.jobs_head != qp.responder.jobs.size()) [[unlikely]]
    keep_for_reads(nic, qp, overwritten);
}

}  // namespace verbena::nic
