#include "emulator/nic/state/planned_completions.h"

#include <algorithm>

#include "emulator/nic/state/nic_state.h"
#include "wire/aeth.h"

namespace verbena::nic {
namespace {

bool is_receive(const Completion& completion) {
  return completion.slot_owner != SlotOwner::send_queue;
}

/// What ibv_poll_cq(3) leaves undefined of a failed one: all but wr_id, status, qp_num and vendor_err. A receive looks
/// like a send, and the other way round.
void spoil(Completion& completion, std::uint32_t garbage) {
  constexpr auto kReceiveBit = static_cast<std::uint8_t>(CompletionOpcode::receive);
  completion.opcode = static_cast<CompletionOpcode>(static_cast<std::uint8_t>(completion.opcode) ^ kReceiveBit);
  completion.byte_count = garbage;
  completion.immediate = ~garbage;
  completion.has_immediate = !completion.has_immediate;
  completion.source_qpn = wire::Qpn(garbage >> 8);
}

/// The NAK by which a responder tells of an error of its own (IBTA table 60); the other end's request fails by it.
void refuse_message(NicState& nic, Qp& qp, CompletionStatus status) {
  const bool is_requests_fault =
      status == CompletionStatus::local_length_error || status == CompletionStatus::remote_invalid_request;
  Responder& responder = qp.responder;
  if (responder.acknowledge == Responder::Acknowledge::nak) return;
  responder.acknowledge = Responder::Acknowledge::nak;
  responder.nak_syndrome =
      wire::nak_syndrome(is_requests_fault ? wire::NakCode::invalid_request : wire::NakCode::remote_operational_error);
  responder.acknowledge_psn = responder.expected_psn;
  nic.ready.push_back(qp);
}

/// The QP's state after a completion of this status.
void follow(NicState& nic, Qp& qp, bool of_receive, CompletionStatus status) {
  if (qp.state == QpState::error || qp.state == QpState::reset) return;
  if (of_receive || qp.service->is_reliable || status == CompletionStatus::flushed) {
    if (of_receive && qp.service->is_reliable && qp.service->responds) refuse_message(nic, qp, status);
    return nic.enter_error(qp);
  }
  if (qp.state == QpState::sqe) return;
  qp.enter(QpState::sqe);  // IBTA 10.3.1.2.5
  nic.flush_send_queue(qp);
}

/// Whether there was anything that it is of.
bool raise_for(NicState& nic, const PlannedEvent& event) {
  if (nic.is_removed) return false;
  bool is_raised = false;
  const auto is_named = [&](std::uint32_t number) {
    const bool is_one = number >= event.first && number <= event.last;
    is_raised = is_raised || is_one;
    return is_one;
  };
  switch (scope_of(event.type)) {
    case EventScope::cq:
      nic.cqs.for_each([&](CompletionQueue& cq) {
        if (is_named(cq.number)) nic.overrun(cq);
      });
      return is_raised;
    case EventScope::srq:
      nic.srqs.for_each([&](SharedReceiveQueue& srq) {
        is_raised = true;
        nic.raise(event.type, srq.handle.index, srq.context);
      });
      return is_raised;
    case EventScope::qp:
      nic.qps.for_each([&](Qp& qp) {
        if (!is_named(qp.number)) return;
        nic.raise(event.type, qp);
        if (is_qp_error(event.type) && qp.state != QpState::reset) nic.enter_error(qp);
      });
      return is_raised;
    case EventScope::port:
      if (!nic.config.has_port(event.first)) return false;
      nic.raise(event.type, event.first, 0);
      return true;
  }
  return false;
}

}  // namespace

PlannedCompletions::PlannedCompletions(CompletionJudge& judge, Time& deadline) : judge_(judge), deadline_(deadline) {
  come_back_at(judge_.next_event());
}

void PlannedCompletions::complete(NicState& nic, CompletionQueue& cq, Completion completion, bool solicited,
                                  Counters& of_port) {
  Qp* const qp = nic.qpns.find(completion.qpn);
  const bool of_receive = is_receive(completion);
  const CompletionVerdict verdict =
      judge_.judge({qp == nullptr ? UINT32_MAX : qp->number, cq.number, of_receive, completion.status}, nic.now);
  if (verdict.changes_nothing() && late_.empty()) [[likely]]
    return nic.store(cq, completion, solicited, of_port);
  if (verdict.overruns) return nic.overrun(cq);
  if (verdict.status) completion.status = *verdict.status;
  if (verdict.garbage != 0 && completion.status != CompletionStatus::success) spoil(completion, verdict.garbage);
  if (!verdict.is_lost) {
    take(nic, cq, {cq.handle, completion, solicited, &of_port, nic.now + verdict.delay});
    if (verdict.comes_twice) {
      completion.slot_owner = SlotOwner::work_queue;  // the first one has freed the slot
      completion.slot = kNoSlot;
      take(nic, cq, {cq.handle, completion, solicited, &of_port, nic.now + verdict.delay});
    }
  }
  if (verdict.status && !verdict.is_report_only && qp != nullptr) follow(nic, *qp, of_receive, *verdict.status);
}

void PlannedCompletions::take(NicState& nic, CompletionQueue& cq, Late one) {
  // Behind what waits for the same CQ.
  const auto last = std::find_if(late_.rbegin(), late_.rend(), [&](const Late& late) { return late.cq == one.cq; });
  if (last != late_.rend()) one.due = std::max(one.due, last->due);
  if (one.due <= nic.now) return nic.store(cq, one.completion, one.solicited, *one.of_port);
  late_.push_back(one);
  come_back_at(one.due);
}

void PlannedCompletions::run(NicState& nic, Time now) {
  while (const auto event = judge_.take_event(now))
    if (raise_for(nic, *event)) judge_.event_raised(*event);
  const auto is_due = [&](const Late& late) { return late.due <= now; };
  for (auto next = std::ranges::find_if(late_, is_due); next != late_.end();
       next = std::ranges::find_if(late_, is_due)) {
    const Late late = *next;
    late_.erase(next);  // first: what is stored may make others late, or drop them
    if (CompletionQueue* const cq = nic.cqs.find(late.cq))
      nic.store(*cq, late.completion, late.solicited, *late.of_port);
  }
  come_back_at(judge_.next_event());
  for (const Late& late : late_) come_back_at(late.due);
}

}  // namespace verbena::nic
