// What the responder sends, and how the responder asks for it.
// Private to emulator/nic; implemented in response.cc.
// Tested by: tests/nic/responder_test.cc
#pragma once

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

Sent send_response(NicState& nic, Qp& qp, TransmitPort& port);
/// The answers to a READ and to an atomic, in the order of PSNs. ATOMIC WRITE is answered by a READ response without
/// data. `replay`: to a duplicate.
void push_read(NicState& nic, Qp& qp, const wire::PacketView& packet, std::uint32_t msn, bool replay);
void push_atomic(NicState& nic, Qp& qp, const AtomicRecord& record, bool is_write, bool replay);

/// Before a WRITE's packet or an atomic is executed at `address`, where jobs are owed: keeps what it overwrites for the
/// READs among them that have octets of it (EarlierOctets).
[[gnu::cold]] void keep_for_reads(NicState& nic, Qp& qp, const wire::PacketView& packet, const Translation& to);
/// The same of `bytes` octets that the peer calls `remote`, for the request with this PSN.
[[gnu::cold]] void keep_for_reads(NicState& nic, Qp& qp, wire::Psn psn, std::uint64_t remote, std::size_t bytes,
                                  const Translation& to);

}  // namespace verbena::nic
