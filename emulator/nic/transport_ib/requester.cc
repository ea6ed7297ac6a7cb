// The requester: turns work requests of RC and UC QPs into request packets, within what the peer and the queue allow.
// IBTA vol 1, 9.7.2 - 9.7.4 (RC), 9.8 (UC).
#include "emulator/nic/transport_ib/requester.h"

#include <algorithm>
#include <array>
#include <utility>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/payload.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::OperationCode;
using wire::Psn;

/// The opcodes of a message by the place of the packet in it.
struct OpcodeRow {
  OperationCode first, middle, last, only;
};

constexpr std::array<OpcodeRow, kSendOpcodesMax> make_opcode_rows() {
  using enum OperationCode;
  std::array<OpcodeRow, kSendOpcodesMax> rows{};
  const auto row = [&rows](SendOpcode opcode) -> OpcodeRow& { return rows[static_cast<std::size_t>(opcode)]; };
  const auto one = [&row](SendOpcode opcode, OperationCode code) { row(opcode) = {code, code, code, code}; };
  row(SendOpcode::send) = {send_first, send_middle, send_last, send_only};
  row(SendOpcode::send_with_immediate) = {send_first, send_middle, send_last_with_immediate, send_only_with_immediate};
  row(SendOpcode::send_with_invalidate) = {send_first, send_middle, send_last_with_invalidate,
                                           send_only_with_invalidate};
  row(SendOpcode::rdma_write) = {write_first, write_middle, write_last, write_only};
  row(SendOpcode::rdma_write_with_immediate) = {write_first, write_middle, write_last_with_immediate,
                                                write_only_with_immediate};
  one(SendOpcode::rdma_read, read_request);
  one(SendOpcode::compare_and_swap, compare_swap);
  one(SendOpcode::fetch_and_add, fetch_add);
  one(SendOpcode::atomic_write, atomic_write);
  return rows;
}
constexpr std::array<OpcodeRow, kSendOpcodesMax> kOpcodeRows = make_opcode_rows();

/// Whether the transport has the packets of every operation that the service offers.
constexpr bool has_its_opcodes(const Service& service) {
  if (service.transport == kNoTransport) return true;
  for (std::size_t i = 0; i < kSendOpcodesMax; ++i) {
    const auto& [first, middle, last, only] = kOpcodeRows[i];
    const bool is_packet = contains(service.operations & ~kLocal, static_cast<SendOpcode>(i));
    if (is_packet && !wire::is_defined(service.transport, only)) return false;
    if (!is_packet || service.sends_datagrams) continue;
    for (const OperationCode code : {first, middle, last})
      if (!wire::is_defined(service.transport, code)) return false;
  }
  return true;
}
static_assert(std::all_of(kServices.begin(), kServices.end(), has_its_opcodes));

OperationCode operation_code(const SendWork& work, std::uint32_t packet) {
  const OpcodeRow& row = kOpcodeRows[static_cast<std::size_t>(work.opcode)];
  if (work.packets == 1) return row.only;
  if (packet == 0) return row.first;
  return packet + 1 == work.packets ? row.last : row.middle;
}

/// End-to-end flow control (9.7.7.2). The last SSN that may consume a receive is MSN + credits of an acknowledgement; a
/// message beyond it is limited: its first packet alone may ask, with AckReq, when nothing else is outstanding. Once
/// that packet is accepted the message has its receive (or, of a WRITE with immediate, needs none before its last
/// packet), and no limit stops it; nor does one that became known in its middle. qib and hfi1 look at the limit at the
/// first packet only, too.
[[gnu::always_inline]] inline bool is_limited(const Requester& requester, const SendWork& work) {
  return requester.credits_known && work.consumes_receive() &&
         wire::distance(Psn(work.ssn), Psn(requester.limit_ssn)) < 0;
}
[[gnu::always_inline]] inline bool credits_allow(const Requester& requester, const SendWork& work) {
  if (!requester.credits_known || !work.consumes_receive()) return true;
  if (requester.next_packet != 0) return !requester.probing || wire::distance(work.first_psn, requester.una_psn) > 0;
  return requester.una_psn == requester.next_psn || !is_limited(requester, work);
}

/// The PSN after this packet, the queue and the counters move on.
template <bool has_policy>
[[gnu::always_inline]] inline void advance(NicState& nic, Qp& qp, SendWork& work, Time now) {
  Requester& requester = qp.requester;
  const bool is_again = wire::distance(requester.next_psn, requester.sent_psn) > 0;
  if (is_again) qp.counters->add(Counter::tx_retransmitted_packets);
  if (work.awaits_data()) {
    ++requester.outstanding_reads;
    requester.next_packet = work.packets;
  } else {
    ++requester.next_packet;
  }
  const Psn psn = std::exchange(requester.next_psn, work.first_psn + requester.next_packet);
  if constexpr (has_policy) qp.recovery->sent(qp, psn, is_again, now);
  const bool is_new = wire::distance(requester.sent_psn, requester.next_psn) > 0;
  if (is_new) requester.sent_psn = requester.next_psn;
  if (requester.next_packet == work.packets) {
    if (is_new && !work.consumes_receive()) ++requester.limit_ssn;  // it has an SSN, and leaves the credits as they are
    ++qp.send_queue.next;
    requester.next_packet = 0;
  }
  if (!qp.service->is_reliable) {
    requester.una_psn = requester.next_psn;
    retire(nic, qp);
    return;
  }
  requester.last_batch = nic.batch;
  if (qp.timers.runs(Timer::ack)) return;
  if constexpr (has_policy) return restart_ack_timer(nic, qp, now);
  if (requester.ack_timeout.ns == 0) return;
  requester.timed_batch = nic.batch;
  nic.start_timer(qp, Timer::ack, now + requester.ack_timeout);
}

[[gnu::always_inline]] inline void append_extensions(wire::PacketBuilder& builder, const Qp& qp, const SendWork& work,
                                                     const wire::OpcodeInfo& info, std::uint32_t packet) {
  if (info.has_xrceth) builder.append(wire::Xrceth{0, work.remote_qpn});
  if (info.has_reth) {
    const std::uint32_t skipped = work.is_read() ? packet * qp.mtu : 0;  // a read goes on where responses are missing
    builder.append(
        wire::Reth{work.operand.remote.address + skipped, wire::Rkey{work.operand.remote.rkey}, work.length - skipped});
  }
  if (info.has_atomic_eth) {
    const bool swap = work.opcode == SendOpcode::compare_and_swap;
    builder.append(wire::AtomicEth{work.operand.remote.address, wire::Rkey{work.operand.remote.rkey},
                                   swap ? work.operand.remote.swap : work.operand.remote.compare_or_add,
                                   swap ? work.operand.remote.compare_or_add : 0});
  }
  if (info.has_immediate) builder.append(wire::ImmDt{work.immediate});
  if (info.has_invalidate) builder.append(wire::Ieth{wire::Rkey{work.immediate}});
}

/// Where the payload goes, for a peer that may place it before its turn.
wire::PlacementEth placement_of(const SendWork& work, std::uint32_t offset) {
  if (!work.is_write()) return {.address = offset, .key = work.receive_number & wire::Psn::kMask};
  return {work.operand.remote.address + offset, work.operand.remote.rkey, work.length - offset};
}

void fail_locally(NicState& nic, Qp& qp, SendWork& work, CompletionStatus status) {
  work.status = status;
  retire(nic, qp);
}

/// The one at SendQueue::next, in its turn: behind everything that was sent before (10.8.3.3). It takes no PSN; what is
/// sent again passes it by.
[[gnu::cold, gnu::noinline]] void run_local(NicState& nic, Qp& qp, SendWork& work) {
  VERBENA_ASSERT(work.is_local() && qp.requester.next_packet == 0);
  if (!work.is_executed()) {
    const bool binds = work.opcode == SendOpcode::bind_memory_window;
    const bool done = binds ? nic.regions.bind(work.operand.binding, qp.pd, qp.handle)
                            : nic.regions.may_invalidate(work.immediate, qp.pd, qp.handle);
    if (!done) return fail_locally(nic, qp, work, CompletionStatus::memory_window_bind_error);
    if (!binds) nic.regions.invalidate(work.immediate, qp.pd, qp.handle);
    work.received_packets = 1;
  }
  ++qp.send_queue.next;
  retire(nic, qp);
}

[[gnu::always_inline]] inline bool is_allowed(const Qp& qp, const SendWork& work) {
  const Requester& requester = qp.requester;
  const bool again = wire::distance(requester.next_psn, requester.sent_psn) > 0;
  if (qp.state == QpState::sqd && requester.next_packet == 0 && !again) return false;  // drains: starts nothing new
  if (!qp.service->is_reliable) return true;
  if (qp.timers.runs(Timer::rnr)) return false;
  if (wire::distance(requester.una_psn, requester.next_psn) >= requester.window_packets) return false;
  if (work.fence && requester.next_packet == 0 && requester.outstanding_reads > 0) return false;
  if (work.awaits_data() && requester.outstanding_reads >= qp.attributes.max_read_atomic) return false;
  return credits_allow(requester, work);
}

}  // namespace

bool may_send(const Qp& qp, const SendWork& work) {
  return is_allowed(qp, work);
}

bool read_null_region(NicState& nic, const Qp& qp, const Sge& from, wire::PacketBuilder& builder) {
  if (!nic.regions.is_null(from.lkey, qp.pd)) return false;
  if (nic.memory_has_octets)
    std::ranges::fill(builder.payload(from.length), std::byte{0});
  else
    builder.leave_out_payload(from.length);
  return true;
}

bool gather_pieces(NicState& nic, Qp& qp, std::uint32_t position, std::uint32_t offset, std::uint32_t bytes,
                   wire::PacketBuilder& builder) {
  SendQueue& queue = qp.send_queue;
  const SendWork& work = queue.at(position);
  Requester& requester = qp.requester;
  if (requester.cursor_position != position || offset < requester.cursor_offset) {
    requester.cursor_position = position;
    requester.cursor_offset = requester.cursor_sge = 0;
  }
  const std::span<const Sge> sges = queue.sges(position).first(work.sge_count);
  while (bytes > 0) {
    VERBENA_ASSERT(requester.cursor_sge < sges.size());
    const Sge& sge = sges[requester.cursor_sge];
    const std::uint32_t skip = offset - requester.cursor_offset;
    if (skip >= sge.length) {
      requester.cursor_offset += sge.length;
      ++requester.cursor_sge;
      continue;
    }
    const std::uint32_t part = std::min(bytes, sge.length - skip);
    if (!read_local(nic, qp, {sge.address + skip, part, sge.lkey}, builder)) return false;
    offset += part;
    bytes -= part;
  }
  return true;
}

void go_back(Qp& qp, Psn psn) {
  SendQueue& queue = qp.send_queue;
  Requester& requester = qp.requester;
  VERBENA_ASSERT(wire::distance(requester.una_psn, psn) >= 0 && wire::distance(psn, requester.sent_psn) >= 0);
  if (qp.pace.control != nullptr) qp.pace.control->measurement.reset();  // whose answer would come is not known
  requester.outstanding_reads = 0;
  requester.packets_since_ack_request = 0;
  requester.next_psn = psn;
  requester.next_packet = 0;
  for (queue.next = queue.head; queue.next != queue.tail; ++queue.next) {
    const SendWork& work = queue.at(queue.next);
    const std::int32_t into = wire::distance(work.first_psn, psn);
    if (work.packets == 0 ? !work.is_executed() : into < static_cast<std::int32_t>(work.packets)) {
      requester.next_packet = static_cast<std::uint32_t>(std::max(into, 0));
      return;
    }
    if (work.awaits_data()) ++requester.outstanding_reads;
  }
}

namespace {

/// The next packet of the work request at SendQueue::next, which may leave. `may_tell`: it may have telemetry; those of
/// other QPs cost no more for it.
template <bool has_policy, bool may_tell>
[[gnu::always_inline]] inline Sent send_packet(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  SendQueue& queue = qp.send_queue;
  SendWork& work = queue.at(queue.next);
  Requester& requester = qp.requester;
  const std::uint32_t packet = requester.next_packet;
  const Service& service = *qp.service;
  wire::Bth bth;
  bth.opcode = wire::make_opcode(service.transport, operation_code(work, packet));
  bth.pkey = qp.pkey;
  const wire::OpcodeInfo& info = wire::opcode_info(bth.opcode);
  const std::uint32_t offset = packet * qp.mtu;
  const std::uint32_t payload = info.has_payload ? std::min(qp.mtu, work.length - offset) : 0;
  std::size_t recovery_bytes = 0;
  if constexpr (has_policy) {
    bth.reserved7 = qp.recovery->request_bits(info);
    recovery_bytes = wire::recovery_header_bytes(info, bth);
  }
  std::size_t added_bytes = recovery_bytes;
  if constexpr (may_tell) {
    const std::uint8_t telemetry = info.has_payload ? qp.telemetry : qp.telemetry & wire::kTakesTelemetry;
    bth.reserved7 |= telemetry;
    added_bytes += wire::telemetry_bytes(telemetry);
  }

  const std::span<std::byte> room = port.reserve(
      {qp.attributes.address_vector.destination, qp.attributes.dest_qpn, qp.route_hint, &qp.frame_template},
      wire::frame_bytes(qp.frame_template, bth.opcode, payload, added_bytes));
  if (room.empty()) return Sent::blocked;
  bth.dest_qp = qp.attributes.dest_qpn;
  bth.psn = requester.next_psn;
  if (service.is_reliable) {
    if (packet == 0) requester.probing = is_limited(requester, work);
    const bool probes = packet == 0 && requester.probing;
    bth.ack_request =
        info.ends_message() || probes || ++requester.packets_since_ack_request >= requester.ack_request_every;
    if constexpr (has_policy)  // who sends again wants to know soon
      bth.ack_request = bth.ack_request || wire::distance(bth.psn, requester.sent_psn) > 0;
    if (bth.ack_request) requester.packets_since_ack_request = 0;
  }
  bth.solicited = work.solicited && info.consumes_receive && info.ends_message();
  wire::PacketBuilder builder(room, qp.frame_template, bth, payload, port.icrc_wanted(), added_bytes);
  append_extensions(builder, qp, work, info, packet);
  if (recovery_bytes != 0) builder.append(placement_of(work, offset));
  if constexpr (may_tell)
    if (added_bytes != recovery_bytes) builder.append_telemetry();
  if (payload > 0 && !gather_payload(nic, qp, queue.next, offset, payload, builder)) {
    port.cancel();
    if (!waits_for_pages(nic, qp)) fail_locally(nic, qp, work, CompletionStatus::local_protection_error);
    return Sent::nothing;
  }
  const std::size_t bytes = builder.finish();
  port.commit(bytes, port.icrc_wanted());
  qp.counters->add(Counter::tx_packets);
  qp.counters->add(Counter::tx_bytes, bytes);
  advance<has_policy>(nic, qp, work, now);
  return Sent::packet;
}

/// The next packet or local operation, if it may go.
template <bool has_policy, bool may_tell>
[[gnu::always_inline]] inline Sent send_next(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  SendWork& work = qp.send_queue.at(qp.send_queue.next);
  if (work.status != CompletionStatus::success) {
    retire(nic, qp);
    return Sent::nothing;
  }
  if (!is_allowed(qp, work)) return Sent::nothing;
  if (work.packets == 0) {
    run_local(nic, qp, work);
    return Sent::nothing;
  }
  return send_packet<has_policy, may_tell>(nic, qp, now, port);
}

[[gnu::noinline]] Sent send_next_with_policy(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  qp.recovery->seek(nic, qp, now);
  if (qp.send_queue.next == qp.send_queue.tail) return Sent::nothing;
  return send_next<true, true>(nic, qp, now, port);
}

[[gnu::noinline]] Sent send_next_with_telemetry(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  return send_next<false, true>(nic, qp, now, port);
}

}  // namespace

Sent send_request(NicState& nic, Qp& qp, Time now, TransmitPort& port) {
  const SendQueue& queue = qp.send_queue;
  if (queue.next == queue.tail || (qp.state != QpState::rts && qp.state != QpState::sqd)) return Sent::nothing;
  if (qp.recovery != nullptr) [[unlikely]]
    return send_next_with_policy(nic, qp, now, port);
  if (qp.telemetry != 0) [[unlikely]]
    return send_next_with_telemetry(nic, qp, now, port);
  return send_next<false, false>(nic, qp, now, port);
}

}  // namespace verbena::nic
