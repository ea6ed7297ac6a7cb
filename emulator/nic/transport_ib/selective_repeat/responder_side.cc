// The responder's side of selective repeat: places what arrives ahead, executes and completes in order (IRN, section
// 5).
// Tested by: tests/nic/selective_repeat_test.cc
#include <algorithm>

#include "emulator/nic/transport_ib/receive_buffer.h"
#include "emulator/nic/transport_ib/responder.h"
#include "emulator/nic/transport_ib/response.h"
#include "emulator/nic/transport_ib/selective_repeat/selective_repeat.h"
#include "wire/aeth.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::distance;
using wire::Operation;
using wire::PacketView;
using wire::Position;
using wire::Psn;

constexpr std::uint8_t kSequenceError = wire::nak_syndrome(wire::NakCode::psn_sequence_error);

/// Where octets of memory go that a request names by key and address.
struct Target {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t checked_bytes = 0;  // from there on, must be the peer's to write
};

/// Nothing: the packet does not say, or contradicts itself; its turn will show what is wrong with it.
std::optional<Target> write_target(const Qp& qp, const PacketView& packet) {
  const wire::OpcodeInfo& opcode = packet.opcode();
  const std::size_t payload = packet.payload_bytes();
  const bool is_full = opcode.position == Position::first || opcode.position == Position::middle;
  if (is_full ? payload != qp.mtu : payload > qp.mtu) return std::nullopt;
  Target target;
  std::uint32_t left = 0;
  if (opcode.has_reth) {
    const wire::Reth reth = packet.reth();
    target = {reth.address, reth.rkey.value, reth.length};
    left = reth.length;
  } else if (const auto placement = placement_of(packet)) {
    target = {placement->address, placement->key, payload};
    left = placement->length;
  } else {
    return std::nullopt;
  }
  if (opcode.ends_message() ? payload != left : payload >= left) return std::nullopt;
  return target;
}

/// The scatter list of the receive with this number: of the message in progress, or of one that waits. Empty: none.
std::optional<std::span<const Sge>> receive_of(const Qp& qp, std::uint32_t number) {
  const Responder& responder = qp.responder;
  const std::int32_t ahead = distance(Psn(responder.receives_taken), Psn(number));
  if (ahead == -1 && responder.receive_held && responder.message == Responder::Message::send)
    return std::span<const Sge>(qp.held_sges.get(), responder.receive_sges);
  const bool is_posted =
      ahead >= 0 && qp.has_receive_queue && static_cast<std::uint32_t>(ahead) < qp.receive_queue.depth();
  if (!is_posted) return std::nullopt;
  return qp.receive_queue.peek(static_cast<std::uint32_t>(ahead)).sges;
}

/// False: it cannot be placed, as there is no receive for it yet (IRN, section 5.3: it is dropped in silence).
bool place_send(NicState& nic, Qp& qp, const PacketView& packet) {
  const auto placement = placement_of(packet);
  if (!placement) return false;
  const auto sges = receive_of(qp, placement->key);
  const std::span<const std::byte> payload = packet.payload();
  if (!sges || payload.size() > qp.mtu) return false;
  std::uint64_t room = 0;
  for (const Sge& sge : *sges) room += sge.length;
  if (placement->address > room || payload.size() > room - placement->address) return false;
  const PdHandle pd = qp.srq != nullptr ? qp.srq->pd : qp.pd;
  if (scatter(nic, qp, pd, *sges, static_cast<std::uint32_t>(placement->address), payload)) return true;
  (void)nic.regions.take_pages_due();
  return false;
}

}  // namespace

/// False: it cannot be placed.
bool SelectiveRepeat::place_write(NicState& nic, Qp& qp, const PacketView& packet, KeptPackets::Packet& made) const {
  const auto target = write_target(qp, packet);
  if (!target || (qp.attributes.access & kRemoteWrite) == 0) return false;
  const std::span<const std::byte> payload = packet.payload();
  if (payload.empty()) return true;
  const Translation to =
      nic.regions.translate(target->rkey, qp.pd, qp.handle, target->address, target->checked_bytes, kRemoteWrite);
  if (!to) {
    (void)nic.regions.take_pages_due();  // asked for again in its turn
    return false;
  }
  const Psn psn = packet.bth().psn;
  if (qp.responder.owes_jobs()) keep_for_reads(nic, qp, psn, target->address, payload.size(), to);
  if (!write(psn, to, payload)) return false;
  made.placed_at = to;
  made.placed_bytes = static_cast<std::uint32_t>(payload.size());
  return true;
}

/// READs and atomics wait for their turn as they are.
bool SelectiveRepeat::place(NicState& nic, Qp& qp, const PacketView& packet, KeptPackets::Packet& made) const {
  switch (packet.opcode().operation) {
    case Operation::send:
      return place_send(nic, qp, packet);
    case Operation::write:
      return place_write(nic, qp, packet, made);
    case Operation::atomic_write:
      if (packet.payload().size() != made.octets.size()) return false;
      std::copy(packet.payload().begin(), packet.payload().end(), made.octets.begin());
      return true;
    case Operation::read_request:
    case Operation::compare_swap:
    case Operation::fetch_add:
      return true;
    case Operation::read_response:
    case Operation::acknowledge:
    case Operation::atomic_acknowledge:
    case Operation::congestion_notification:
      break;
  }
  return false;
}

/// False: go-back-N is to deal with it.
bool SelectiveRepeat::keep(NicState& nic, Qp& qp, const PacketView& packet, std::int32_t ahead) {
  const Psn psn = packet.bth().psn;
  if (ahead >= static_cast<std::int32_t>(kept.capacity())) return !kept.empty();
  if (kept.has(psn)) {
    nic.arrival_counters->add(Counter::duplicate_request);
    return true;
  }
  KeptPackets::Packet& made = kept.insert(psn, packet);
  if (place(nic, qp, packet, made)) return true;
  (void)kept.take(psn);
  return !kept.empty();
}

/// Whether it came ahead of its turn and waits for it now, or has been dropped; else go-back-N is to deal with it.
bool SelectiveRepeat::is_kept(NicState& nic, Qp& qp, const PacketView& packet) {
  Responder& responder = qp.responder;
  const std::int32_t ahead = distance(responder.expected_psn, packet.bth().psn);
  if (ahead <= 0 || responder.silent || !is_agreed || !keep(nic, qp, packet, ahead)) return false;
  nic.arrival_counters->add(Counter::out_of_sequence);
  if (responder.acknowledge != Responder::Acknowledge::nak || responder.nak_syndrome == kSequenceError) {
    responder.acknowledge = Responder::Acknowledge::nak;
    responder.nak_syndrome = kSequenceError;
    responder.acknowledge_psn = responder.expected_psn;
  }
  nic.ready.push_back(qp);
  return true;
}

/// The NAK that is due speaks of what is missing now; nothing may be any more.
void SelectiveRepeat::update_nak(Qp& qp) const {
  Responder& responder = qp.responder;
  if (responder.acknowledge != Responder::Acknowledge::nak || responder.nak_syndrome != kSequenceError) return;
  if (responder.acknowledge_psn == responder.expected_psn) return;
  responder.acknowledge_psn = responder.expected_psn;
  if (kept.empty()) responder.acknowledge = Responder::Acknowledge::ack;
}

bool SelectiveRepeat::write(Psn psn, const Translation& to, std::span<const std::byte> payload) const {
  if (payload.empty()) return true;
  std::uint64_t cut_at = 0;
  std::uint64_t cut_end = 0;
  kept.for_each_over(psn, to, payload.size(), [&](Psn, const KeptPackets::Packet& later) {
    cut_at = later.placed_at.address;
    cut_end = later.placed_at.address + later.placed_bytes;
    return false;
  });
  if (cut_end == 0) return to.memory->write(to.address, payload);
  const std::uint64_t before = cut_at > to.address ? cut_at - to.address : 0;
  const std::uint64_t behind = std::min<std::uint64_t>(cut_end - to.address, payload.size());
  return write(psn, to, payload.first(before)) && write(psn, {to.memory, to.address + behind}, payload.subspan(behind));
}

std::optional<wire::SackEth> SelectiveRepeat::sack_due(const Qp& qp) const {
  const Responder& responder = qp.responder;
  const bool is_nak = responder.acknowledge == Responder::Acknowledge::nak && responder.nak_syndrome == kSequenceError;
  if (!is_nak || kept.empty()) return std::nullopt;
  return kept.sack(responder.expected_psn);
}

void SelectiveRepeat::take_request(NicState& nic, Qp& qp, const PacketView& packet) {
  learn_of_peer(nic, qp, packet.bth());
  if (is_kept(nic, qp, packet)) return;
  receive_request(nic, qp, packet);
  executes_kept = true;
  while (qp.accepts_packets() && !qp.responder.silent) {
    const auto next = kept.take(qp.responder.expected_psn);
    if (!next) break;
    const bool has_octets = next->view.opcode().operation == Operation::atomic_write;
    receive_request(nic, qp, has_octets ? without_frame(next->view, next->octets) : next->view);
  }
  executes_kept = false;
  update_nak(qp);
}

bool SelectiveRepeat::agrees(const Qp& qp, const PacketView& packet) const {
  const auto placement = placement_of(packet);
  if (!placement) return true;
  const Responder& responder = qp.responder;
  if (packet.opcode().operation == Operation::send)
    return placement->address == responder.receive_offset &&
           placement->key == ((responder.receives_taken - 1) & Psn::kMask);
  return placement->address == responder.write_address && placement->key == responder.write_rkey &&
         placement->length == responder.write_left;
}

bool SelectiveRepeat::keeps_only_what_is_ahead(const Qp& qp) const {
  if (kept.empty()) return true;
  const std::int32_t ahead = distance(qp.responder.expected_psn, kept.highest());
  return ahead > 0 && ahead < static_cast<std::int32_t>(kept.capacity()) &&
         (!kept.has(qp.responder.expected_psn) || qp.responder.silent);
}

}  // namespace verbena::nic
