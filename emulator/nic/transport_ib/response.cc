// What the responder sends: acknowledgements, NAKs, read data, atomic results, in PSN order (IBTA 9.7.5.1). Also the
// receive work request that a message in progress holds.
#include "emulator/nic/transport_ib/response.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/pacing.h"
#include "emulator/nic/transport_ib/payload.h"
#include "emulator/nic/transport_ib/receive_buffer.h"
#include "wire/aeth.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::OperationCode;

/// Credits (9.7.7.2.2): the receives for the messages after the MSN, and so with that of the message under way. An SRQ
/// does not count them. New receives alone make no acknowledgement, as they may: a requester without credits asks.
std::uint8_t acknowledge_syndrome(const Qp& qp) {
  if (!qp.has_receive_queue) return wire::ack_syndrome(wire::kUnlimitedCredits);
  return wire::ack_syndrome(wire::credit_code_of(qp.receive_queue.depth() + qp.responder.receive_held));
}

std::span<std::byte> reserve(Qp& qp, TransmitPort& port, wire::Opcode opcode, std::size_t payload,
                             std::size_t added_bytes = 0) {
  return port.reserve(
      {qp.attributes.address_vector.destination, qp.attributes.dest_qpn, qp.route_hint, &qp.frame_template},
      wire::frame_bytes(qp.frame_template, opcode, payload, added_bytes));
}

/// What the QP takes beside RoCE, and tells its peer.
std::uint8_t reserved_bits(const Qp& qp) {
  return static_cast<std::uint8_t>((qp.recovery != nullptr ? qp.recovery->bits() : 0) |
                                   (qp.telemetry & wire::kTakesTelemetry));
}

wire::Bth response_header(const Qp& qp, wire::Opcode opcode, wire::Psn psn, std::uint8_t reserved) {
  wire::Bth bth;
  bth.opcode = opcode;
  bth.dest_qp = qp.attributes.dest_qpn;
  bth.psn = psn;
  bth.pkey = qp.pkey;
  bth.reserved7 = reserved;
  return bth;
}

void commit(Qp& qp, TransmitPort& port, std::size_t bytes) {
  port.commit(bytes, port.icrc_wanted());
  qp.counters->add(Counter::tx_packets);
  qp.counters->add(Counter::tx_bytes, bytes);
}

OperationCode read_response_code(const ResponseJob& job) {
  if (job.packets_left == 1) return job.started ? OperationCode::read_response_last : OperationCode::read_response_only;
  return job.started ? OperationCode::read_response_middle : OperationCode::read_response_first;
}

/// The job at the head is done.
void finish_job(Responder& responder) {
  if (++responder.jobs_head == responder.jobs.size()) responder.earlier.reset();
}

Sent send_atomic_result(Qp& qp, const ResponseJob& job, TransmitPort& port) {
  const wire::Opcode opcode = wire::make_opcode(qp.service->transport, OperationCode::atomic_acknowledge);
  const std::span<std::byte> room = reserve(qp, port, opcode, 0);
  if (room.empty()) return Sent::blocked;
  wire::PacketBuilder builder(room, qp.frame_template, response_header(qp, opcode, job.psn, reserved_bits(qp)), 0,
                              port.icrc_wanted());
  builder.append(wire::Aeth{acknowledge_syndrome(qp), job.msn});
  builder.append(wire::AtomicAckEth{job.value});
  commit(qp, port, builder.finish());
  finish_job(qp.responder);
  return Sent::packet;
}

/// The memory went away between the request and this response packet. Its NAK takes the place of all that is owed from
/// here on, a NAK that is due already among it.
void fail_read(NicState& nic, Qp& qp, wire::Psn psn) {
  qp.counters->add(Counter::nak_sent_access);
  qp.responder.forget_jobs();
  nic.enter_error(qp);
  nic.raise(AsyncEventType::qp_access_error, qp);
  qp.responder.acknowledge = Responder::Acknowledge::nak;
  qp.responder.nak_syndrome = wire::nak_syndrome(wire::NakCode::remote_access_error);
  qp.responder.acknowledge_psn = psn;
}

/// The next octets of a READ's data. False: the memory faults.
bool read_for(NicState& nic, const Qp& qp, wire::Psn psn, const Translation& from, std::uint32_t bytes,
              wire::PacketBuilder& builder) {
  const EarlierOctets* const earlier = qp.responder.earlier.get();
  if (earlier == nullptr) [[likely]]
    return read_payload(nic, from, bytes, builder);
  const std::span<std::byte> octets = builder.payload(bytes);
  if (!from.memory->read(from.address, octets)) return false;
  earlier->restore(psn, from, octets);
  return true;
}

Sent send_read_response(NicState& nic, Qp& qp, ResponseJob& job, TransmitPort& port) {
  VERBENA_ASSERT(job.packets_left != 0);
  const wire::Opcode opcode = wire::make_opcode(qp.service->transport, read_response_code(job));
  const std::uint32_t payload = std::min(qp.mtu, job.bytes_left);
  const std::size_t added_bytes = wire::telemetry_bytes(qp.telemetry);
  const std::span<std::byte> room = reserve(qp, port, opcode, payload, added_bytes);
  if (room.empty()) return Sent::blocked;
  wire::Bth bth = response_header(qp, opcode, job.psn, reserved_bits(qp));
  bth.reserved7 |= qp.telemetry;
  wire::PacketBuilder builder(room, qp.frame_template, bth, payload, port.icrc_wanted(), added_bytes);
  if (wire::opcode_info(opcode).has_aeth) builder.append(wire::Aeth{acknowledge_syndrome(qp), job.msn});
  if (added_bytes != 0) [[unlikely]]
    builder.append_telemetry();
  Translation from;
  if (payload > 0) from = nic.regions.translate(job.rkey, job.pd, qp.handle, job.value, payload, kRemoteRead);
  if (payload > 0 && (!from || !read_for(nic, qp, job.psn, from, payload, builder))) {
    port.cancel();
    if (waits_for_pages(nic, qp)) return Sent::nothing;
    fail_read(nic, qp, job.psn);
    return send_response(nic, qp, port);
  }
  commit(qp, port, builder.finish());
  job.started = true;
  ++job.psn;
  job.value += payload;
  job.bytes_left -= payload;
  if (--job.packets_left == 0) finish_job(qp.responder);
  return Sent::packet;
}

/// What the acknowledgement of all up to `bth.psn` says of marks. False: it acknowledges a first part, and another one
/// is due. An answer to a READ or an atomic has acknowledged what was before it: marks among that come late.
bool tell_marks(Responder& responder, wire::Bth& bth, std::uint32_t& msn) {
  if (responder.acknowledge == Responder::Acknowledge::nak) {
    bth.becn = responder.echo->forget();
    return true;
  }
  const MarkEcho::Part all{.last = bth.psn, .msn = msn};
  MarkEcho::Part part = responder.echo->take(all);
  bool is_late = false;
  const bool has_answered = !responder.jobs.empty();
  while (part.last != all.last && has_answered && wire::distance(part.last, responder.jobs.back().psn) > 0) {
    is_late = is_late || part.is_marked;
    part = responder.echo->take(all);
  }
  bth.psn = part.last;
  bth.becn = part.is_marked || is_late;
  msn = part.msn;
  return part.last == all.last;
}

/// In an acknowledgement that is complete: the telemetry of the newest request. Its ICRC takes it for zeros.
void echo_telemetry(Responder& responder, std::span<std::byte> frame) {
  wire::Telemetry telemetry = *responder.telemetry;
  telemetry.head.is_echo = true;
  telemetry.emit(frame.last<wire::kTelemetryBytes + wire::kIcrcBytes>().first<wire::kTelemetryBytes>());
  responder.has_new_telemetry = false;
}

/// `tells_more`: the QP has an echo, telemetry or a policy of loss recovery; those of others cost no more for it.
template <bool tells_more>
Sent send_acknowledge(Qp& qp, TransmitPort& port) {
  Responder& responder = qp.responder;
  const wire::Opcode opcode = wire::make_opcode(qp.service->transport, OperationCode::acknowledge);
  std::optional<wire::SackEth> sack;
  if constexpr (tells_more)
    if (qp.recovery != nullptr) sack = qp.recovery->sack_due(qp);
  const bool has_telemetry = tells_more && responder.has_new_telemetry;
  const std::size_t added_bytes = (sack ? wire::SackEthLayout::bytes : 0) + (has_telemetry ? wire::kTelemetryBytes : 0);
  const std::span<std::byte> room = reserve(qp, port, opcode, 0, added_bytes);
  if (room.empty()) return Sent::blocked;
  const bool nak = responder.acknowledge == Responder::Acknowledge::nak;
  // One acknowledgement for everything executed so far: requests of a batch coalesce (9.7.5.1.2).
  wire::Bth bth = response_header(qp, opcode, nak ? responder.acknowledge_psn : responder.expected_psn - 1,
                                  tells_more ? reserved_bits(qp) : std::uint8_t{0});
  std::uint32_t msn = responder.msn;
  bool is_all = true;
  if constexpr (tells_more)
    if (responder.echo != nullptr) is_all = tell_marks(responder, bth, msn);
  if (sack) bth.reserved7 |= wire::kHasRecoveryHeader;
  if (has_telemetry) bth.reserved7 |= wire::kHasTelemetry;
  wire::PacketBuilder builder(room, qp.frame_template, bth, 0, port.icrc_wanted(), added_bytes);
  builder.append(wire::Aeth{nak ? responder.nak_syndrome : acknowledge_syndrome(qp), msn});
  if (sack) builder.append(*sack);
  if (has_telemetry) builder.append_telemetry();
  const std::size_t bytes = builder.finish();
  if (has_telemetry) echo_telemetry(responder, room.first(bytes));
  commit(qp, port, bytes);
  qp.counters->add(Counter::tx_acknowledges);
  if (!is_all) return Sent::packet;
  responder.acknowledge = Responder::Acknowledge::none;
  responder.unacknowledged_packets = 0;
  return Sent::packet;
}

/// In a storm of duplicates the latest of them gives way: its requester asks again, where one whose first answer never
/// left would be owed it.
void drop_latest_replay(Responder& responder) {
  auto& jobs = responder.jobs;
  const auto end = jobs.rend() - responder.jobs_head;
  const auto replay =
      std::find_if(jobs.rbegin(), end, [](const ResponseJob& job) { return job.replay && !job.started; });
  VERBENA_ASSERT(replay != end);  // of the others there are no more than max_dest_read_atomic
  jobs.erase(std::next(replay).base());
}

void push_job(NicState& nic, Qp& qp, const ResponseJob& job) {
  auto& jobs = qp.responder.jobs;
  VERBENA_ASSERT(job.packets_left != 0 && jobs.capacity() >= kDuplicateJobs);  // nothing is allocated here
  if (qp.responder.jobs_head == jobs.size()) {
    jobs.clear();
    qp.responder.jobs_head = 0;
  } else if (jobs.size() == jobs.capacity()) {
    jobs.erase(jobs.begin(), jobs.begin() + qp.responder.jobs_head);
    qp.responder.jobs_head = 0;
  }
  if (jobs.size() == jobs.capacity()) {
    if (job.replay) return;
    drop_latest_replay(qp.responder);
  }
  // In the order of PSNs, but a response that has begun is not interrupted (9.7.5.1: responses come one after another).
  const auto first = jobs.begin() + qp.responder.jobs_head;
  const bool has_begun = first != jobs.end() && first->started;
  const auto later = std::find_if(first + has_begun, jobs.end(),
                                  [&](const ResponseJob& other) { return wire::distance(job.psn, other.psn) > 0; });
  jobs.insert(later, job);
  nic.ready.push_back(qp);
}

}  // namespace

void push_read(NicState& nic, Qp& qp, const wire::PacketView& packet, std::uint32_t msn, bool replay) {
  const wire::Reth& reth = packet.reth();
  ResponseJob job;
  job.psn = packet.bth().psn;
  job.packets_left = qp.packets_of(reth.length);
  job.bytes_left = reth.length;
  job.value = reth.address;
  job.rkey = reth.rkey.value;
  job.pd = qp.pd;
  job.msn = msn & wire::Psn::kMask;
  job.replay = replay;
  push_job(nic, qp, job);
}

void push_atomic(NicState& nic, Qp& qp, const AtomicRecord& record, bool is_write, bool replay) {
  ResponseJob job;
  job.psn = record.psn;
  job.packets_left = 1;
  job.is_atomic = !is_write;
  job.value = record.original;
  job.msn = record.msn & wire::Psn::kMask;
  job.replay = replay;
  push_job(nic, qp, job);
}

Sent send_response(NicState& nic, Qp& qp, TransmitPort& port) {
  Responder& responder = qp.responder;
  if (!qp.service->is_reliable || qp.state == QpState::reset || qp.state == QpState::init) return Sent::nothing;
  if (responder.jobs_head < responder.jobs.size()) {
    ResponseJob& job = responder.jobs[responder.jobs_head];
    return job.is_atomic ? send_atomic_result(qp, job, port) : send_read_response(nic, qp, job, port);
  }
  if (responder.acknowledge == Responder::Acknowledge::none) return Sent::nothing;
  const bool tells_more = responder.echo != nullptr || qp.recovery != nullptr || qp.telemetry != 0;
  return tells_more ? send_acknowledge<true>(qp, port) : send_acknowledge<false>(qp, port);
}

void keep_for_reads(NicState& nic, Qp& qp, const wire::PacketView& packet, const Translation& to) {
  const Responder& responder = qp.responder;
  const bool is_atomic = packet.opcode().has_atomic_eth;
  const std::uint64_t remote = is_atomic                  ? packet.atomic_eth().address
                               : packet.opcode().has_reth ? packet.reth().address
                                                          : responder.write_address;
  const std::size_t bytes = is_atomic ? kAtomicBytes : packet.payload().size();
  keep_for_reads(nic, qp, packet.bth().psn, remote, bytes, to);
}

void keep_for_reads(NicState& nic, Qp& qp, wire::Psn psn, std::uint64_t remote, std::size_t bytes,
                    const Translation& to) {
  Responder& responder = qp.responder;
  if (!nic.memory_has_octets) return;
  wire::Psn oldest = psn;
  bool is_owed = false;
  for (std::size_t i = responder.jobs_head; i < responder.jobs.size(); ++i) {
    const ResponseJob& job = responder.jobs[i];
    if (wire::distance(job.psn, oldest) > 0) oldest = job.psn;
    is_owed = is_owed || (!job.is_atomic && job.value < remote + bytes && remote < job.value + job.bytes_left);
  }
  if (responder.earlier) responder.earlier->forget_before(oldest);
  if (!is_owed || (responder.earlier && responder.earlier->is_full())) return;
  std::vector<std::byte> octets(bytes);
  if (!to.memory->read(to.address, octets)) return;
  if (!responder.earlier) responder.earlier = std::make_unique<EarlierOctets>();
  responder.earlier->keep(psn, to, std::move(octets));
}

bool take_receive(NicState& nic, Qp& qp) {
  ReceiveQueue& queue = qp.srq != nullptr ? qp.srq->queue : qp.receive_queue;
  Responder& responder = qp.responder;
  responder.receive_offset = 0;
  if (responder.receive_held) return true;  // UC and UD: kept from a message that was dropped
  if (queue.empty()) return false;
  const ReceiveRequest request = queue.front();
  responder.receive_held = true;
  responder.receive_wr_id = request.wr_id;
  responder.receive_sges = static_cast<std::uint32_t>(request.sges.size());
  std::copy(request.sges.begin(), request.sges.end(), qp.held_sges.get());
  queue.pop();
  ++responder.receives_taken;
  if (qp.srq != nullptr && qp.srq->limit != 0 && queue.depth() < qp.srq->limit) {
    qp.srq->limit = 0;  // one event per arming (IBTA 11.2.3.3)
    nic.raise(AsyncEventType::srq_limit_reached, qp.srq->handle.index, qp.srq->context);
  }
  return true;
}

void drop_long_message(NicState& nic, Qp& qp, bool solicited) {
  if (qp.srq == nullptr) return;
  Completion completion;
  completion.wr_id = qp.responder.receive_wr_id;
  completion.status = CompletionStatus::remote_invalid_request;
  completion.opcode = CompletionOpcode::receive;
  qp.responder.receive_held = false;
  nic.complete_receive(qp, completion, solicited);
}

std::uint64_t receive_room(const Qp& qp) {
  std::uint64_t room = 0;
  for (std::uint32_t i = 0; i < qp.responder.receive_sges; ++i) room += qp.held_sges[i].length;
  return room - std::min<std::uint64_t>(room, qp.responder.receive_offset);
}

bool scatter_receive(NicState& nic, Qp& qp, std::span<const std::byte> payload) {
  VERBENA_ASSERT(qp.responder.receive_held);
  // A receive belongs to the queue that it was posted to (10.2.9).
  const PdHandle pd = qp.srq != nullptr ? qp.srq->pd : qp.pd;
  const std::uint32_t offset = qp.responder.receive_offset;
  qp.responder.receive_offset += static_cast<std::uint32_t>(payload.size());
  return scatter(nic, qp, pd, {qp.held_sges.get(), qp.responder.receive_sges}, offset, payload);
}

bool scatter(NicState& nic, Qp& qp, PdHandle pd, std::span<const Sge> sges, std::uint32_t skip,
             std::span<const std::byte> payload) {
  for (const Sge& sge : sges) {
    if (payload.empty()) break;
    if (skip >= sge.length) {
      skip -= sge.length;
      continue;
    }
    const std::size_t part = std::min<std::size_t>(payload.size(), sge.length - skip);
    if (!write_local(nic, qp, pd, sge.lkey, sge.address + skip, payload.first(part))) return false;
    payload = payload.subspan(part);
    skip = 0;
  }
  return true;
}

}  // namespace verbena::nic
