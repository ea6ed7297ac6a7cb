// The responder: an ordered list of checks on a request, each with a verdict; one place says what a verdict means.
// IBTA vol 1, 9.7.4 (RC, order of checks figure 84), 9.8.2 (UC), 9.9.3 (responder's errors, tables 60 and 61).
#include "emulator/nic/transport_ib/responder.h"

#include <algorithm>
#include <array>

#include "emulator/nic/state/nic_state.h"
#include "emulator/nic/transport_ib/notification_point.h"
#include "emulator/nic/transport_ib/receive_buffer.h"
#include "emulator/nic/transport_ib/response.h"
#include "emulator/nic/transport_ib/xrc.h"
#include "wire/aeth.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::distance;
using wire::Operation;
using wire::PacketView;
using wire::Position;
using wire::Psn;
using Message = Responder::Message;
using Acknowledge = Responder::Acknowledge;

enum class Verdict : std::uint8_t {
  pass,
  drop,                // says nothing
  duplicate,           // behind the expected PSN
  sequence_error,      // ahead of it, the first to show the gap
  receiver_not_ready,  // no receive work request, or pages that are still to come
  invalid_request,     // operation, order, length or alignment
  remote_access,       // rkey, bounds, rights
  receive_too_short,   // the message does not fit the receive work request
  local_protection,    // the receive work request names memory that is not allowed
  fault,               // the memory itself is gone
};

void schedule_nak(NicState& nic, Qp& qp, std::uint8_t syndrome, Psn psn) {
  VERBENA_ASSERT(qp.service->is_reliable);
  qp.responder.acknowledge = Acknowledge::nak;
  qp.responder.nak_syndrome = syndrome;
  qp.responder.acknowledge_psn = psn;
  nic.ready.push_back(qp);
}

void schedule_acknowledge(NicState& nic, Qp& qp) {
  if (qp.responder.acknowledge == Acknowledge::none) qp.responder.acknowledge = Acknowledge::ack;
  nic.ready.push_back(qp);
}

/// An access to memory was refused. Pages that are not there yet make the peer try again, as ConnectX does.
[[gnu::cold]] Verdict refusal(NicState& nic, Verdict verdict) {
  return nic.regions.take_pages_due() != kNever ? Verdict::receiver_not_ready : verdict;
}

// -- The checks, in the order of the specification ------------------------------------------------------------------

Verdict check_psn(NicState& nic, Qp& qp, const PacketView& packet) {
  Responder& responder = qp.responder;
  const std::int32_t ahead = distance(responder.expected_psn, packet.bth().psn);
  if (ahead == 0) {
    responder.silent = false;
    return Verdict::pass;
  }
  if (!qp.service->is_reliable) {  // 9.8.2.2.4: the message is lost; the next one that starts is received
    if (responder.message != Message::none && responder.message != Message::discard)
      nic.arrival_counters->add(Counter::uc_dropped_messages);
    nic.arrival_counters->add(ahead > 0 ? Counter::out_of_sequence : Counter::duplicate_request);
    responder.message = Message::none;
    responder.expected_psn = packet.bth().psn;
    return Verdict::pass;
  }
  if (ahead < 0) return Verdict::duplicate;
  nic.arrival_counters->add(Counter::out_of_sequence);
  return responder.silent ? Verdict::drop : Verdict::sequence_error;
}

Verdict check_sequence(NicState&, Qp& qp, const PacketView& packet) {
  const wire::OpcodeInfo& opcode = packet.opcode();
  const bool continues = !opcode.starts_message();
  const bool in_order = [&] {
    switch (qp.responder.message) {
      case Message::none:
      case Message::discard:
        return !continues;
      case Message::send:
        return continues && opcode.operation == Operation::send;
      case Message::write:
        return continues && opcode.operation == Operation::write;
    }
    return false;
  }();
  if (in_order) return Verdict::pass;
  if (qp.service->is_reliable) return Verdict::invalid_request;
  // UC: the rest of a damaged message is dropped; a new message ends the old one (9.8.2.2.6).
  if (continues) return Verdict::drop;
  qp.responder.message = Message::none;
  return Verdict::pass;
}

/// XRC (annex A14): the SRQ must be of the QP's domain, and the same through a message.
Verdict check_named_srq(NicState& nic, Qp& qp, const PacketView& packet) {
  if (!qp.service->names_srq || take_named_srq(nic, qp, packet)) return Verdict::pass;
  return Verdict::invalid_request;
}

/// What a QP must allow for an operation to be done on it.
struct Requirement {
  std::uint32_t rights = 0;
  bool is_for_reliable_only = false;
  bool is_request = false;
};
constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::congestion_notification) + 1;
constexpr std::array<Requirement, kOperations> make_requirements() {
  std::array<Requirement, kOperations> requirements{};
  const auto set = [&](Operation operation, Requirement requirement) {
    requirements[static_cast<std::size_t>(operation)] = requirement;
  };
  set(Operation::send, {.is_request = true});
  set(Operation::write, {.rights = kRemoteWrite, .is_request = true});
  set(Operation::read_request, {.rights = kRemoteRead, .is_for_reliable_only = true, .is_request = true});
  set(Operation::compare_swap, {.rights = kRemoteAtomic, .is_for_reliable_only = true, .is_request = true});
  set(Operation::fetch_add, {.rights = kRemoteAtomic, .is_for_reliable_only = true, .is_request = true});
  set(Operation::atomic_write, {.rights = kRemoteWrite, .is_for_reliable_only = true, .is_request = true});
  return requirements;
}
constexpr std::array<Requirement, kOperations> kRequirements = make_requirements();

Verdict check_enabled(NicState&, Qp& qp, const PacketView& packet) {
  const Requirement& requirement = kRequirements[static_cast<std::size_t>(packet.opcode().operation)];
  if (!requirement.is_request) return Verdict::drop;
  const bool is_allowed = (qp.attributes.access & requirement.rights) == requirement.rights &&
                          (qp.service->is_reliable || !requirement.is_for_reliable_only);
  return is_allowed ? Verdict::pass : Verdict::invalid_request;
}

Verdict check_resources(NicState& nic, Qp& qp, const PacketView& packet) {
  const wire::OpcodeInfo& opcode = packet.opcode();
  const bool wants_receive = opcode.operation == Operation::send ? opcode.starts_message() : opcode.consumes_receive;
  if (wants_receive) {
    if (!take_receive(nic, qp)) return Verdict::receiver_not_ready;
    return Verdict::pass;
  }
  if (opcode.takes_resource) {
    // Replays do not count: a duplicate from the network may come when the requester has had its answer long since.
    const auto outstanding = std::count_if(qp.responder.jobs.begin() + qp.responder.jobs_head, qp.responder.jobs.end(),
                                           [](const ResponseJob& job) { return !job.replay; });
    if (outstanding >= qp.attributes.max_dest_read_atomic) return Verdict::invalid_request;  // 9.7.4.1
  }
  return Verdict::pass;
}

/// Of what is neither SEND nor WRITE.
Verdict check_length_of_rest(NicState& nic, const PacketView& packet) {
  switch (packet.opcode().operation) {
    case Operation::read_request:
      return packet.reth().length <= nic.config.limits.max_message_bytes ? Verdict::pass : Verdict::invalid_request;
    case Operation::compare_swap:
    case Operation::fetch_add:
      return packet.atomic_eth().address % kAtomicBytes == 0 ? Verdict::pass : Verdict::invalid_request;
    case Operation::atomic_write: {
      const bool fits = packet.payload_bytes() == kAtomicBytes && packet.reth().length == kAtomicBytes;
      return fits && packet.reth().address % kAtomicBytes == 0 ? Verdict::pass : Verdict::invalid_request;
    }
    case Operation::send:
    case Operation::write:
    case Operation::read_response:
    case Operation::acknowledge:
    case Operation::atomic_acknowledge:
    case Operation::congestion_notification:
      break;
  }
  return Verdict::drop;
}

Verdict check_length(NicState& nic, Qp& qp, const PacketView& packet) {
  const wire::OpcodeInfo& opcode = packet.opcode();
  const std::size_t payload = packet.payload_bytes();
  if (opcode.has_payload) {
    const bool full = opcode.position == Position::first || opcode.position == Position::middle;
    const bool fits =
        full ? payload == qp.mtu : payload <= qp.mtu && (payload > 0 || opcode.position == Position::only);
    if (!fits) return Verdict::invalid_request;
  }
  if (opcode.operation == Operation::write) {
    const std::uint32_t left = opcode.has_reth ? packet.reth().length : qp.responder.write_left;
    if (opcode.has_reth && left > nic.config.limits.max_message_bytes) return Verdict::invalid_request;
    const bool fits = opcode.ends_message() ? payload == left : payload < left;
    return fits ? Verdict::pass : Verdict::invalid_request;
  }
  if (opcode.operation == Operation::send)
    return payload > receive_room(qp) ? Verdict::receive_too_short : Verdict::pass;
  return check_length_of_rest(nic, packet);
}

Verdict check_remote_access(NicState& nic, Qp& qp, const PacketView& packet) {
  const wire::OpcodeInfo& opcode = packet.opcode();
  if (opcode.has_reth) {
    const wire::Reth reth = packet.reth();
    if (reth.length == 0) return Verdict::pass;  // 9.7.4.1.5: a zero-length access is not checked
    const std::uint32_t right = opcode.operation == Operation::read_request ? kRemoteRead : kRemoteWrite;
    qp.responder.write_target =
        nic.regions.translate(reth.rkey.value, qp.pd, qp.handle, reth.address, reth.length, right);
    if (!qp.responder.write_target) return refusal(nic, Verdict::remote_access);
  } else if (opcode.has_atomic_eth) {
    const wire::AtomicEth atomic = packet.atomic_eth();
    qp.responder.write_target =
        nic.regions.translate(atomic.rkey.value, qp.pd, qp.handle, atomic.address, kAtomicBytes, kRemoteAtomic);
    if (!qp.responder.write_target) return refusal(nic, Verdict::remote_access);
  }
  return Verdict::pass;
}

template <auto... kChecks>
Verdict first_objection(NicState& nic, Qp& qp, const PacketView& packet) {
  Verdict verdict = Verdict::pass;
  (void)(((verdict = kChecks(nic, qp, packet)) == Verdict::pass) && ...);
  return verdict;
}

// -- Execution ----------------------------------------------------------------------------------------------------

template <bool has_policy>
[[gnu::always_inline]] inline Verdict execute_payload(NicState& nic, Qp& qp, const PacketView& packet) {
  Responder& responder = qp.responder;
  const std::span<const std::byte> payload = packet.payload();
  const bool is_placed = has_policy && qp.recovery->has_placed();
  if (packet.opcode().operation == Operation::send) {
    if (is_placed) {
      responder.receive_offset += static_cast<std::uint32_t>(packet.payload_bytes());
      return Verdict::pass;
    }
    if (scatter_receive(nic, qp, payload)) return Verdict::pass;
    responder.receive_offset -= static_cast<std::uint32_t>(payload.size());  // in case that it comes again
    return refusal(nic, Verdict::local_protection);
  }
  Translation to = responder.write_target;
  if (packet.opcode().has_reth) {
    const wire::Reth reth = packet.reth();
    responder.write_address = reth.address;
    responder.write_rkey = reth.rkey.value;
    responder.write_left = responder.write_length = reth.length;
    if (packet.payload_bytes() == 0) return Verdict::pass;
  } else {
    if (packet.payload_bytes() == 0) return Verdict::pass;
    // Again for each packet: the region may be deregistered in mid-message.
    to = nic.regions.translate(responder.write_rkey, qp.pd, qp.handle, responder.write_address, packet.payload_bytes(),
                               kRemoteWrite);
    if (!to) return refusal(nic, Verdict::remote_access);
  }
  if (!is_placed) {
    if (responder.owes_jobs()) [[unlikely]]
      keep_for_reads(nic, qp, packet, to);
    const bool is_stored =
        has_policy ? qp.recovery->write(packet.bth().psn, to, payload) : to.memory->write(to.address, payload);
    if (!is_stored) return Verdict::fault;
  }
  responder.write_address += packet.payload_bytes();
  responder.write_left -= static_cast<std::uint32_t>(packet.payload_bytes());
  return Verdict::pass;
}

[[gnu::noinline]] Verdict execute_payload_with_policy(NicState& nic, Qp& qp, const PacketView& packet) {
  if (!qp.recovery->agrees(qp, packet)) return Verdict::invalid_request;
  return execute_payload<true>(nic, qp, packet);
}

void fail_receive(NicState& nic, Qp& qp, CompletionStatus status) {
  if (!qp.responder.receive_held) return;
  qp.responder.receive_held = false;
  Completion completion;
  completion.wr_id = qp.responder.receive_wr_id;
  completion.status = status;
  completion.opcode = CompletionOpcode::receive;
  nic.complete_receive(qp, completion, true);
}

/// Class J (9.9.6.3): neither acknowledged nor refused. Its receive says so, and the QP's time is over; what was owed
/// for the requests before it still leaves, as the QP's last word.
[[gnu::cold]] void refuse_invalidation(NicState& nic, Qp& qp, Psn psn) {
  const Responder& responder = qp.responder;
  if (responder.acknowledge != Acknowledge::none || responder.owes_jobs())
    schedule_nak(nic, qp, wire::ack_syndrome(wire::kUnlimitedCredits), psn - 1);
  fail_receive(nic, qp, CompletionStatus::remote_invalid_request);
  nic.enter_error(qp);
}

void finish_message(NicState& nic, Qp& qp, const PacketView& packet) {
  Responder& responder = qp.responder;
  const wire::OpcodeInfo& opcode = packet.opcode();
  if (opcode.has_invalidate && !nic.regions.may_invalidate(packet.ieth().rkey.value, qp.pd, qp.handle))
    return refuse_invalidation(nic, qp, packet.bth().psn);
  responder.msn = (responder.msn + 1) & Psn::kMask;
  responder.message = Message::none;
  if (!opcode.consumes_receive) return;
  VERBENA_ASSERT(responder.receive_held);
  Completion completion;
  completion.wr_id = responder.receive_wr_id;
  const bool write = opcode.operation == Operation::write;
  completion.opcode = write ? CompletionOpcode::receive_rdma_with_immediate : CompletionOpcode::receive;
  completion.byte_count = write ? responder.write_length : responder.receive_offset;
  completion.has_immediate = opcode.has_immediate;
  if (opcode.has_immediate) completion.immediate = packet.immediate().data;
  if (opcode.has_invalidate) {
    const std::uint32_t rkey = packet.ieth().rkey.value;
    completion.has_invalidate = true;
    completion.immediate = rkey;
    nic.regions.invalidate(rkey, qp.pd, qp.handle);
  }
  responder.receive_held = false;
  nic.complete_receive(qp, completion, packet.bth().solicited);
}

std::optional<std::uint64_t> apply_atomic(const PacketView& packet, const Translation& to) {
  if (packet.opcode().operation == Operation::atomic_write) {
    if (!to.memory->write(to.address, packet.payload())) return std::nullopt;  // aligned: one store
    return 0;
  }
  const wire::AtomicEth& atomic = packet.atomic_eth();
  if (packet.opcode().operation == Operation::fetch_add) return to.memory->fetch_add(to.address, atomic.swap_or_add);
  return to.memory->compare_swap(to.address, atomic.compare, atomic.swap_or_add);
}

Verdict execute_atomic(NicState& nic, Qp& qp, const PacketView& packet) {
  Responder& responder = qp.responder;
  const Translation target = responder.write_target;
  if (target.address % kAtomicBytes != 0) return Verdict::invalid_request;
  if (responder.owes_jobs()) keep_for_reads(nic, qp, packet, target);
  const auto original = apply_atomic(packet, target);
  if (!original) return Verdict::fault;
  VERBENA_ASSERT(!responder.atomics.empty());
  responder.msn = (responder.msn + 1) & Psn::kMask;
  const AtomicRecord record{*original, packet.bth().psn, responder.msn};
  responder.atomics[responder.atomics_next++ % responder.atomics.size()] = record;
  push_atomic(nic, qp, record, packet.opcode().operation == Operation::atomic_write, false);
  return Verdict::pass;
}

Verdict execute(NicState& nic, Qp& qp, const PacketView& packet) {
  Responder& responder = qp.responder;
  std::uint32_t psns = 1;
  const wire::OpcodeInfo& opcode = packet.opcode();
  if (opcode.operation == Operation::send || opcode.operation == Operation::write) {
    const Verdict verdict =
        qp.recovery == nullptr ? execute_payload<false>(nic, qp, packet) : execute_payload_with_policy(nic, qp, packet);
    if (verdict != Verdict::pass) return verdict;
    nic.arrival_counters->add(
        opcode.operation == Operation::send ? Counter::rx_send_requests : Counter::rx_write_requests,
        opcode.starts_message());
    responder.message = opcode.operation == Operation::send ? Message::send : Message::write;
    if (opcode.ends_message()) finish_message(nic, qp, packet);
  } else if (opcode.operation == Operation::read_request) {
    nic.arrival_counters->add(Counter::rx_read_requests);
    psns = qp.packets_of(packet.reth().length);
    responder.msn = (responder.msn + 1) & Psn::kMask;
    push_read(nic, qp, packet, responder.msn, false);
  } else {
    nic.arrival_counters->add(Counter::rx_atomic_requests);
    const Verdict verdict = execute_atomic(nic, qp, packet);
    if (verdict != Verdict::pass) return verdict;
  }
  responder.expected_psn = responder.expected_psn + psns;
  if (qp.service->is_reliable && !opcode.takes_resource && qp.state != QpState::error) {
    const bool is_due = ++responder.unacknowledged_packets == nic.config.acknowledge_every;
    if (is_due || packet.bth().ack_request) schedule_acknowledge(nic, qp);
  }
  return Verdict::pass;
}

// -- Verdicts -------------------------------------------------------------------------------------------------------

/// 9.7.5.1.4 and 9.7.1: executed before; the answer may have been lost.
void answer_duplicate(NicState& nic, Qp& qp, const PacketView& packet) {
  nic.arrival_counters->add(Counter::duplicate_request);
  Responder& responder = qp.responder;
  const Psn psn = packet.bth().psn;
  const bool pending = std::any_of(responder.jobs.begin() + responder.jobs_head, responder.jobs.end(),
                                   [&](const ResponseJob& job) { return job.psn == psn && !job.started; });
  switch (packet.opcode().operation) {
    case Operation::send:
    case Operation::write:
      schedule_acknowledge(nic, qp);
      break;
    case Operation::read_request: {
      const wire::Reth& reth = packet.reth();
      const std::uint32_t psns = qp.packets_of(reth.length);
      if (pending || distance(psn + psns, responder.expected_psn) < 0) return;
      if (check_named_srq(nic, qp, packet) != Verdict::pass || check_enabled(nic, qp, packet) != Verdict::pass ||
          check_length(nic, qp, packet) != Verdict::pass || check_remote_access(nic, qp, packet) != Verdict::pass)
        return;  // it no longer names what it named: dropped, as a stale packet
      // What is left of an answer under way to the same request begins again where it was asked for.
      std::erase_if(responder.jobs, [&, i = std::size_t{0}](const ResponseJob& job) mutable {
        return i++ >= responder.jobs_head && !job.is_atomic && distance(psn, job.psn) >= 0 &&
               distance(job.psn, psn + psns) > 0;
      });
      push_read(nic, qp, packet, responder.msn, true);
      break;
    }
    case Operation::compare_swap:
    case Operation::fetch_add:
    case Operation::atomic_write:
      if (pending) return;
      for (const AtomicRecord& record : responder.atomics)
        if (record.psn == psn && record.msn != AtomicRecord::kNone) {
          push_atomic(nic, qp, record, !packet.opcode().has_atomic_eth, true);
          return;
        }
      break;
    case Operation::read_response:
    case Operation::acknowledge:
    case Operation::atomic_acknowledge:
    case Operation::congestion_notification:
      break;
  }
}

struct FatalVerdict {
  wire::NakCode nak;
  Counter counter;
  CompletionStatus receive_status;  // of a receive work request in progress
  std::optional<AsyncEventType> event;
};

/// Tables 60 and 61, classes B and C: what ends an RC connection, and how both sides are told.
std::optional<FatalVerdict> fatal_verdict(Verdict verdict) {
  using wire::NakCode;
  switch (verdict) {
    case Verdict::invalid_request:
      return FatalVerdict{NakCode::invalid_request, Counter::nak_sent_invalid_request,
                          CompletionStatus::remote_invalid_request, AsyncEventType::qp_request_error};
    case Verdict::remote_access:
    case Verdict::fault:
      // Of a WRITE with immediate: to the receive's side the error is a local one (11.6.2).
      return FatalVerdict{NakCode::remote_access_error, Counter::nak_sent_access, CompletionStatus::local_access_error,
                          AsyncEventType::qp_access_error};
    case Verdict::receive_too_short:
      return FatalVerdict{NakCode::invalid_request, Counter::nak_sent_invalid_request,
                          CompletionStatus::local_length_error, std::nullopt};
    case Verdict::local_protection:
      return FatalVerdict{NakCode::remote_operational_error, Counter::nak_sent_operation,
                          CompletionStatus::local_protection_error, std::nullopt};
    case Verdict::pass:
    case Verdict::drop:
    case Verdict::duplicate:
    case Verdict::sequence_error:
    case Verdict::receiver_not_ready:
      break;
  }
  return std::nullopt;
}

/// The NAK leaves, the QP goes to error.
void fail_connection(NicState& nic, Qp& qp, const FatalVerdict& fatal, Psn psn) {
  nic.arrival_counters->add(fatal.counter);
  schedule_nak(nic, qp, wire::nak_syndrome(fatal.nak), psn);
  fail_receive(nic, qp, fatal.receive_status);
  if (fatal.event) nic.raise(*fatal.event, qp);
  nic.enter_error(qp);
}

void apply_reliable(NicState& nic, Qp& qp, const PacketView& packet, Verdict verdict) {
  const Psn psn = packet.bth().psn;
  if (const auto fatal = fatal_verdict(verdict)) {
    fail_connection(nic, qp, *fatal, psn);
  } else if (verdict == Verdict::duplicate) {
    answer_duplicate(nic, qp, packet);
  } else if (verdict == Verdict::sequence_error) {
    qp.responder.silent = true;
    schedule_nak(nic, qp, wire::nak_syndrome(wire::NakCode::psn_sequence_error), qp.responder.expected_psn);
    notice_gap(nic, qp, packet);
  } else if (verdict == Verdict::receiver_not_ready) {
    qp.responder.silent = true;
    nic.arrival_counters->add(Counter::rnr_nak_sent);
    schedule_nak(nic, qp, wire::rnr_syndrome(qp.attributes.min_rnr_timer), psn);
  }
}

/// 9.8.2.2 and table 62: nothing is answered; the message is dropped, and only a broken receive work request is an
/// error.
void apply_unreliable(NicState& nic, Qp& qp, const PacketView& packet, Verdict verdict) {
  Responder& responder = qp.responder;
  switch (verdict) {
    case Verdict::pass:
      return;
    case Verdict::local_protection:
      fail_receive(nic, qp, CompletionStatus::local_protection_error);
      nic.enter_error(qp);
      return;
    case Verdict::receive_too_short:
      drop_long_message(nic, qp, packet.bth().solicited);
      [[fallthrough]];
    case Verdict::receiver_not_ready:
    case Verdict::invalid_request:
    case Verdict::remote_access:
    case Verdict::fault:
      nic.arrival_counters->add(Counter::uc_dropped_messages);
      break;
    case Verdict::drop:
    case Verdict::duplicate:
    case Verdict::sequence_error:
      break;
  }
  responder.message = packet.opcode().ends_message() ? Message::none : Message::discard;
  responder.expected_psn = packet.bth().psn + 1;
}

}  // namespace

void receive_request(NicState& nic, Qp& qp, const PacketView& packet) {
  VERBENA_ASSERT(packet.opcode().is_request && qp.accepts_packets());
  if (qp.state == QpState::rtr && !qp.responder.communication_established) {
    qp.responder.communication_established = true;
    nic.raise(AsyncEventType::communication_established, qp);
  }
  Verdict verdict = first_objection<check_psn, check_sequence, check_named_srq, check_enabled, check_resources,
                                    check_length, check_remote_access>(nic, qp, packet);
  if (verdict == Verdict::pass) verdict = execute(nic, qp, packet);
  if (verdict == Verdict::pass) return;
  if (qp.service->is_reliable)
    apply_reliable(nic, qp, packet, verdict);
  else
    apply_unreliable(nic, qp, packet, verdict);
}

}  // namespace verbena::nic
