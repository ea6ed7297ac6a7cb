#include "emulator/nic/transport_ib/invariants.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "emulator/nic/transport_ib/completer.h"
#include "emulator/nic/transport_ib/requester.h"
#include "wire/assert.h"

namespace verbena::nic {
namespace {

using wire::distance;
using wire::Psn;

bool is_any_of(QpState state, std::initializer_list<QpState> states) {
  return std::find(states.begin(), states.end(), state) != states.end();
}
/// The states in which a send queue keeps work requests.
bool sends(const Qp& qp) {
  return is_any_of(qp.state, {QpState::rts, QpState::sqd});
}
bool sends_reliably(const Qp& qp) {
  return sends(qp) && qp.service->takes_responses;
}

/// Calls for each work request in the send queue, the oldest first; false: one call said so.
template <class Call>
bool all_posted(const Qp& qp, Call&& holds) {
  const SendQueue& queue = qp.send_queue;
  for (std::uint32_t position = queue.head; position != queue.tail; ++position)
    if (!holds(position, queue.at(position))) return false;
  return true;
}

// -- What the QP is -------------------------------------------------------------------------------------------------

bool is_found(const NicState& nic, const Qp& qp) {
  return qp.service != nullptr && nic.qps.find(qp.handle) == &qp && nic.qpns.find(qp.qpn) == &qp;
}

bool has_its_receive_queue(const NicState&, const Qp& qp) {
  const bool is_own = qp.service->has_receive_cq && qp.srq == nullptr && qp.spread == nullptr;
  return qp.has_receive_queue == is_own && (is_own || qp.receive_queue.empty());
}

bool has_both_of_a_named_srq(const NicState&, const Qp& qp) {
  return !qp.service->names_srq || (qp.srq == nullptr) == (qp.recv_cq == nullptr);
}

bool has_a_usable_mtu(const NicState& nic, const Qp& qp) {
  return !qp.accepts_packets() || (std::has_single_bit(qp.mtu) && qp.mtu >= 256 && qp.mtu <= nic.config.port_mtu_bytes);
}

bool is_empty_where_it_must_be(const NicState&, const Qp& qp) {
  if (sends(qp)) return true;
  const bool keeps_receives = qp.state == QpState::init || qp.accepts_packets();
  return qp.send_queue.head == qp.send_queue.tail &&
         (keeps_receives || (qp.receive_queue.empty() && !qp.responder.receive_held));
}

bool drains_in_sqd_only(const NicState&, const Qp& qp) {
  return !qp.sq_draining || qp.state == QpState::sqd;
}

bool is_drained_when_it_says_so(const NicState&, const Qp& qp) {
  if (qp.state != QpState::sqd || qp.sq_draining) return true;
  return qp.send_queue.head == qp.send_queue.next && qp.requester.next_packet == 0 &&
         qp.requester.una_psn == qp.requester.sent_psn;
}

// -- The send queue and its PSNs ------------------------------------------------------------------------------------

bool has_positions_in_order(const NicState&, const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  const std::uint32_t posted = queue.tail - queue.head;
  return queue.next - queue.head <= posted && queue.done() <= queue.capacity() - posted && posted <= queue.capacity() &&
         qp.receive_queue.done() <= qp.receive_queue.used() && qp.receive_queue.used() <= qp.receive_queue.capacity();
}

bool has_psns_in_order(const NicState&, const Qp& qp) {
  const Requester& requester = qp.requester;
  return distance(requester.una_psn, requester.next_psn) >= 0 && distance(requester.next_psn, requester.sent_psn) >= 0;
}

bool has_consecutive_work(const NicState&, const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  const Requester& requester = qp.requester;
  if (queue.head == queue.tail)
    return requester.una_psn == requester.post_psn && requester.sent_psn == requester.post_psn;
  Psn psn = queue.at(queue.head).first_psn;
  std::uint32_t ssn = queue.at(queue.head).ssn;
  const bool is_chain = all_posted(qp, [&](std::uint32_t, const SendWork& work) {
    const bool fits = work.first_psn == psn && work.ssn == ssn && work.is_local() == (work.packets == 0);
    psn = psn + work.packets;
    ssn = (ssn + !work.is_local()) & Psn::kMask;
    return fits;
  });
  return is_chain && psn == requester.post_psn && ssn == (requester.post_ssn & Psn::kMask);
}

/// What is outstanding begins in the oldest work request; what is done has left the queue.
bool keeps_only_what_is_not_done(const NicState&, const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  if (queue.head == queue.tail) return true;
  const SendWork& oldest = queue.at(queue.head);
  const std::int32_t into = distance(oldest.first_psn, qp.requester.una_psn);
  if (into < 0) return false;
  return queue.head == queue.next || into < static_cast<std::int32_t>(oldest.packets);
}

bool sends_on_where_the_queue_says(const NicState&, const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  const Requester& requester = qp.requester;
  if (queue.next == queue.tail) return requester.next_packet == 0 && requester.next_psn == requester.post_psn;
  const SendWork& work = queue.at(queue.next);
  const bool is_in_it = requester.next_packet < work.packets || (work.packets == 0 && requester.next_packet == 0);
  return is_in_it && requester.next_psn == work.first_psn + requester.next_packet;
}

bool keeps_to_its_window(const NicState&, const Qp& qp) {
  const Requester& requester = qp.requester;
  if (!sends_reliably(qp) || requester.una_psn == requester.sent_psn) return true;
  // A READ takes as many PSNs as its responses have packets: it is within the window if it begins there.
  Psn last = requester.sent_psn - 1;
  (void)all_posted(qp, [&](std::uint32_t, const SendWork& work) {
    const std::int32_t into = distance(work.first_psn, requester.sent_psn - 1);
    if (work.awaits_data() && into >= 0 && into < static_cast<std::int32_t>(work.packets)) last = work.first_psn;
    return true;
  });
  // What left under a larger window of congestion control may still be outstanding.
  const bool may_shrink = qp.pace.control != nullptr && qp.pace.control->wants().window;
  const std::int32_t most =
      may_shrink ? static_cast<std::int32_t>(qp.pace.control->window_limit()) : requester.window_packets;
  return distance(requester.una_psn, last) < most && requester.window_packets <= most;
}

bool counts_what_it_reads(const NicState& nic, const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  if (!qp.service->takes_responses) return qp.requester.outstanding_reads == 0;
  std::uint32_t reads = 0;
  for (std::uint32_t position = queue.head; position != queue.next; ++position)
    reads += queue.at(position).awaits_data();
  return reads == qp.requester.outstanding_reads && reads <= nic.config.limits.max_read_atomic;
}

/// Responses come in order: only the oldest can be answered in part, and then that is what is acknowledged.
bool has_responses_in_order(const NicState&, const Qp& qp) {
  return all_posted(qp, [&](std::uint32_t position, const SendWork& work) {
    if (!work.awaits_data()) return true;
    if (position != qp.send_queue.head) return work.received_packets == 0;
    return work.received_packets < work.packets &&
           (work.received_packets == 0 || qp.requester.una_psn == work.first_psn + work.received_packets);
  });
}

bool has_retries_within_its_attributes(const NicState&, const Qp& qp) {
  return !sends_reliably(qp) || (qp.requester.retries_left <= qp.attributes.retry_count &&
                                 qp.requester.rnr_retries_left <= qp.attributes.rnr_retry);
}

bool asks_for_acknowledgements_in_time(const NicState& nic, const Qp& qp) {
  const Requester& requester = qp.requester;
  return requester.packets_since_ack_request < requester.ack_request_every &&
         requester.timed_batch <= requester.last_batch && requester.last_batch <= nic.batch;
}

// -- Timers ---------------------------------------------------------------------------------------------------------

bool comes_back_in_time(const NicState& nic, const Qp& qp) {
  const TimerEntry& entry = qp.timer_entry;
  if (entry.owner != &qp || !nic.timers.is_in_place(entry)) return false;
  return qp.timers.next() == kNever || (entry.position != TimerEntry::kIdle && entry.when <= qp.timers.next());
}

bool times_nothing_before_it_lives(const NicState&, const Qp& qp) {
  return !is_any_of(qp.state, {QpState::reset, QpState::init}) || qp.timers.next() == kNever;
}

bool times_what_is_outstanding(const NicState&, const Qp& qp) {
  const Requester& requester = qp.requester;
  const bool is_timed = sends_reliably(qp) && ack_timeout(qp).ns != 0 && !qp.timers.runs(Timer::rnr) &&
                        requester.una_psn != requester.next_psn;
  return qp.timers.runs(Timer::ack) == is_timed;
}

bool waits_for_the_responder_with_nothing_sent(const NicState&, const Qp& qp) {
  return !qp.timers.runs(Timer::rnr) || (sends_reliably(qp) && qp.requester.una_psn == qp.requester.next_psn);
}

bool waits_for_its_pace_only_with_one(const NicState&, const Qp& qp) {
  return !qp.timers.runs(Timer::pace) || ((qp.pace.bits_per_second != 0 || qp.service->sends_datagrams) &&
                                          qp.timers.deadline(Timer::pace) == qp.pace.next);
}

// -- Nothing is forgotten -------------------------------------------------------------------------------------------

bool is_held(const NicState& nic, const Qp& qp) {
  const auto end = nic.held.begin() + nic.held_count;
  return std::find(nic.held.begin(), end, &qp) != end;
}

bool is_ready_only_when_it_lives(const NicState&, const Qp& qp) {
  return !qp.ready || !is_any_of(qp.state, {QpState::reset, QpState::init});
}

bool answers_what_it_owes(const NicState& nic, const Qp& qp) {
  const bool is_paced = qp.pace.holds_responses && qp.responder.owes_jobs() && qp.timers.runs(Timer::pace);
  return !qp.responder.owes_response() || qp.ready || is_held(nic, qp) || qp.timers.runs(Timer::pages) || is_paced;
}

bool sends_what_it_may(const NicState&, const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  if (qp.ready || !sends(qp) || queue.next == queue.tail) return true;
  if (qp.timers.runs(Timer::pages) || qp.timers.runs(Timer::pace)) return true;
  if (qp.service->sends_datagrams) return qp.state == QpState::sqd;
  const SendWork& next = queue.at(queue.next);
  if (next.status != CompletionStatus::success) return queue.next != queue.head;  // it waits for those before it
  return !may_send(qp, next);
}

// -- The responder --------------------------------------------------------------------------------------------------

bool owes_only_what_its_state_allows(const NicState&, const Qp& qp) {
  const Responder& responder = qp.responder;
  if (!responder.owes_response()) return true;
  if (!qp.service->is_reliable || is_any_of(qp.state, {QpState::reset, QpState::init})) return false;
  // A NAK ends what is owed behind it.
  return qp.state != QpState::error || responder.acknowledge == Responder::Acknowledge::nak;
}

bool keeps_to_its_resources(const NicState& nic, const Qp& qp) {
  const Responder& responder = qp.responder;
  if (responder.jobs_head > responder.jobs.size()) return false;
  if (!qp.service->is_reliable || !qp.accepts_packets()) return true;
  const std::size_t granted = responder.jobs.capacity() - kDuplicateJobs;  // the most since it was reset
  const auto taken = std::count_if(responder.jobs.begin() + responder.jobs_head, responder.jobs.end(),
                                   [](const ResponseJob& job) { return !job.replay; });
  return responder.jobs.capacity() >= kDuplicateJobs + qp.attributes.max_dest_read_atomic &&
         static_cast<std::size_t>(taken) <= granted && granted <= nic.config.limits.max_read_atomic &&
         responder.atomics.size() == std::max<std::size_t>(qp.attributes.max_dest_read_atomic, 1);
}

bool answers_in_order(const NicState&, const Qp& qp) {
  const Responder& responder = qp.responder;
  auto job = responder.jobs.begin() + responder.jobs_head;
  if (job != responder.jobs.end() && job->started) ++job;  // it is not interrupted
  const auto is_behind = [](const ResponseJob& a, const ResponseJob& b) { return distance(a.psn, b.psn) < 0; };
  return std::adjacent_find(job, responder.jobs.end(), is_behind) == responder.jobs.end() &&
         std::none_of(job, responder.jobs.end(), [](const ResponseJob& waiting) { return waiting.started; }) &&
         std::all_of(responder.jobs.begin() + responder.jobs_head, responder.jobs.end(),
                     [](const ResponseJob& owed) { return owed.packets_left != 0; });
}

bool is_in_a_message_as_it_says(const NicState&, const Qp& qp) {
  const Responder& responder = qp.responder;
  if (!qp.accepts_packets()) return true;
  switch (responder.message) {
    case Responder::Message::none:
      return true;
    case Responder::Message::discard:
      return !qp.service->is_reliable;
    case Responder::Message::send:  // of XRC: until its SRQ is destroyed
      return responder.receive_held || (qp.service->names_srq && qp.srq == nullptr);
    case Responder::Message::write:
      return responder.write_left != 0 && responder.write_left <= responder.write_length;
  }
  return false;
}

// -- Loss recovery --------------------------------------------------------------------------------------------------

bool knows_only_of_what_is_outstanding(const NicState&, const Qp& qp) {
  return qp.recovery == nullptr || !sends_reliably(qp) || qp.recovery->knows_only_of_what_is_outstanding(qp);
}

bool keeps_only_what_is_ahead(const NicState&, const Qp& qp) {
  return qp.recovery == nullptr || !qp.accepts_packets() || qp.recovery->keeps_only_what_is_ahead(qp);
}

/// What the ten most likely questions are about.
void describe(const Qp& qp) {
  const SendQueue& queue = qp.send_queue;
  const Requester& requester = qp.requester;
  const auto number = [](auto value) { return static_cast<unsigned>(value); };
  std::fprintf(stderr, "verbena: QP 0x%06x of type %u in state %u: work requests %u to %u, next is %u, its packet %u;",
               qp.qpn.value(), number(qp.service != nullptr ? qp.service->type : QpType{}), number(qp.state),
               queue.head, queue.tail, queue.next, requester.next_packet);
  std::fprintf(stderr, " PSNs una %u, next %u, sent %u, post %u; reads %u; jobs %u of %zu; timers",
               requester.una_psn.value(), requester.next_psn.value(), requester.sent_psn.value(),
               requester.post_psn.value(), requester.outstanding_reads, qp.responder.jobs_head,
               qp.responder.jobs.size());
  for (std::size_t i = 0; i < kTimers; ++i) std::fprintf(stderr, " %d", qp.timers.runs(static_cast<Timer>(i)));
  std::fprintf(stderr, "; %s\n", qp.ready ? "ready" : "not ready");
}

constexpr std::array kQpInvariants{
    QpInvariant{"the QP is found by its handle and its number", is_found},
    QpInvariant{"it has a receive queue of its own, or uses another", has_its_receive_queue},
    QpInvariant{"an SRQ that a request names brings its CQ", has_both_of_a_named_srq},
    QpInvariant{"the MTU is one of the five, and fits the port", has_a_usable_mtu},
    QpInvariant{"queues are empty in the states that keep nothing", is_empty_where_it_must_be},
    QpInvariant{"the send queue drains in SQD only", drains_in_sqd_only},
    QpInvariant{"a drained send queue has nothing outstanding", is_drained_when_it_says_so},
    QpInvariant{"positions: freed <= head <= next <= tail, within the capacity", has_positions_in_order},
    QpInvariant{"PSNs: una <= next <= sent", has_psns_in_order},
    QpInvariant{"posted work requests follow one another in PSN and SSN", has_consecutive_work},
    QpInvariant{"the oldest work request is not done", keeps_only_what_is_not_done},
    QpInvariant{"the next PSN is that of the next work request's next packet", sends_on_where_the_queue_says},
    QpInvariant{"what is outstanding began within the window", keeps_to_its_window},
    QpInvariant{"outstanding reads and atomics are counted", counts_what_it_reads},
    QpInvariant{"only the oldest read has responses, up to the acknowledged PSN", has_responses_in_order},
    QpInvariant{"retries left are within the attributes", has_retries_within_its_attributes},
    QpInvariant{"acknowledgements are asked for in time", asks_for_acknowledgements_in_time},
    QpInvariant{"the timer heap comes back by the earliest deadline", comes_back_in_time},
    QpInvariant{"no timer runs in RESET and INIT", times_nothing_before_it_lives},
    QpInvariant{"the ACK timer runs while something is outstanding", times_what_is_outstanding},
    QpInvariant{"the RNR timer holds back a requester with nothing sent", waits_for_the_responder_with_nothing_sent},
    QpInvariant{"the pace timer runs only with a rate, until the next packet", waits_for_its_pace_only_with_one},
    QpInvariant{"in RESET and INIT nothing is to be sent", is_ready_only_when_it_lives},
    QpInvariant{"who owes a response is ready, held or waits for pages or for its rate", answers_what_it_owes},
    QpInvariant{"who may send is ready or waits for its rate or pages", sends_what_it_may},
    QpInvariant{"a response is owed only by a reliable QP that lives, or with a NAK", owes_only_what_its_state_allows},
    QpInvariant{"the responder keeps to its resources", keeps_to_its_resources},
    QpInvariant{"responses are owed in the order of PSNs", answers_in_order},
    QpInvariant{"a message in progress has its receive or the rest of its WRITE", is_in_a_message_as_it_says},
    QpInvariant{"what is known to have arrived, or to be lost, is outstanding", knows_only_of_what_is_outstanding},
    QpInvariant{"what is kept lies ahead of the expected PSN", keeps_only_what_is_ahead},
};

}  // namespace

std::span<const QpInvariant> qp_invariants() {
  return kQpInvariants;
}

std::optional<std::string_view> broken_invariant(const NicState& nic, const Qp& qp) {
  const auto broken = std::find_if(kQpInvariants.begin(), kQpInvariants.end(),
                                   [&](const QpInvariant& invariant) { return !invariant.holds(nic, qp); });
  if (broken == kQpInvariants.end()) return std::nullopt;
  return broken->text;
}

std::optional<std::string_view> broken_invariant(const NicState& nic) {
  std::size_t listed = 0;
  const Qp* last = nullptr;
  for (const Qp* qp = nic.ready.first(); qp != nullptr && listed <= nic.ready.size(); qp = qp->ready_next) {
    if (!qp->ready || nic.qps.find(qp->handle) != qp) return "the list of ready QPs has only such";
    ++listed;
    last = qp;
  }
  if (listed != nic.ready.size() || last != nic.ready.last()) return "the list of ready QPs has its length and its end";
  std::size_t ready = 0;
  for (std::uint32_t slot = 0; slot < nic.qps.slots(); ++slot)
    if (const Qp* const qp = nic.qps.find_slot(slot)) ready += qp->ready;
  if (ready != listed) return "a QP that is ready is in the list";
  for (std::uint32_t i = 0; i < nic.held_count; ++i)
    if (nic.qps.find(nic.held[i]->handle) != nic.held[i]) return "only QPs that live are held";
  return std::nullopt;
}

std::uint32_t assert_invariants(const NicState& nic, std::uint32_t first, std::uint32_t count) {
  const std::uint32_t end = first + std::min(count, nic.qps.slots() - std::min(first, nic.qps.slots()));
  for (std::uint32_t slot = first; slot < end; ++slot) {
    const Qp* const qp = nic.qps.find_slot(slot);
    if (qp == nullptr) continue;
    const auto broken = broken_invariant(nic, *qp);
    if (!broken) continue;
    describe(*qp);
    assertion_failed(broken->data(), __FILE__, __LINE__);
  }
  if (end < nic.qps.slots()) return end;
  if (const auto broken = broken_invariant(nic)) assertion_failed(broken->data(), __FILE__, __LINE__);
  return 0;
}

}  // namespace verbena::nic
