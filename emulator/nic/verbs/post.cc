// Posting work: the checks that a verbs call answers at once, and the copy into the queue.
// Tested by: tests/nic/error_test.cc, tests/nic/queue_test.cc
#include <cstring>

#include "emulator/nic/nic_private.h"
#include "emulator/nic/state/slots.h"
#include "emulator/nic/transport_ib/transport.h"

namespace verbena::nic {
namespace {

/// For what an application says.
bool is_one_of(SendOpcode opcode, Operations operations) {
  return static_cast<unsigned>(opcode) < kSendOpcodesMax && contains(operations, opcode);
}

/// A UD message, or a whole frame.
bool fits_datagram(const Qp& qp, std::uint64_t bytes) {
  if (qp.service->type == QpType::ud) return bytes <= qp.mtu;
  return bytes >= kEthernetBytes && bytes <= qp.mtu + kEthernetBytes + kVlanBytes;
}

/// A UD QP finds an opcode that is not its own, and an address handle of another domain, only when it takes the work
/// request up, as rxe and mlx5 do: their posting looks at neither. One that does not exist is an error of posting.
bool names_destination(const NicState& nic, const SendRequest& request) {
  if (!is_one_of(request.opcode, kDatagramOperations)) return true;  // it has none
  const AddressHandle* ah = nic.address_handles.find(request.address_handle);
  return ah != nullptr && !ah->is_destroyed;
}
bool is_fit_for_datagram(const NicState& nic, const Qp& qp, const SendWork& work) {
  return contains(qp.service->operations, work.opcode) && nic.address_handles.find(work.address_handle)->pd == qp.pd;
}

/// What only shows when the NIC takes up the work request: it completes in error, in its turn.
CompletionStatus local_status(const NicState& nic, const Qp& qp, const SendWork& work, std::uint64_t bytes) {
  if (qp.service->sends_datagrams) {
    if (qp.service->type == QpType::ud && !is_fit_for_datagram(nic, qp, work))
      return CompletionStatus::local_qp_operation_error;
    if (!fits_datagram(qp, bytes)) return CompletionStatus::local_length_error;
  }
  const bool too_long = bytes > nic.config.limits.max_message_bytes ||
                        (contains(kEightOctets, work.opcode) && bytes != sizeof(std::uint64_t));
  if (too_long) return CompletionStatus::local_length_error;
  const bool no_initiator_depth = work.awaits_data() && qp.attributes.max_read_atomic == 0;
  return no_initiator_depth ? CompletionStatus::local_qp_operation_error : CompletionStatus::success;
}

void fill(SendWork& work, const SendRequest& request) {
  work.wr_id = request.wr_id;
  work.operand = request.operand;
  work.immediate = request.immediate;
  work.received_packets = 0;
  work.remote_qkey = request.remote_qkey;
  work.remote_qpn = request.remote_qpn;
  work.address_handle = request.address_handle;
  work.opcode = request.opcode;
  work.sge_count = static_cast<std::uint8_t>(request.sges.size());
  work.signaled = request.signaled;
  work.solicited = request.solicited;
  work.fence = request.fence;
  work.inline_data = request.inline_data;
}

}  // namespace

VerbsResult<void> Nic::post_send(QpHandle handle, const SendRequest& request, Time now, std::uint32_t together) {
  NicState& nic = *state_;
  nic.now = now;
  Qp* qp = nic.qps.find(handle);
  if (qp == nullptr || qp->send_cq == nullptr) return Failure{VerbsError::invalid_argument};
  prefetch(*qp);
  if (qp->state == QpState::reset || qp->state == QpState::init || qp->state == QpState::rtr)
    return Failure{VerbsError::invalid_argument};  // IBTA 11.4.1.1
  const Service& service = *qp->service;
  if (!is_one_of(request.opcode, service.posted)) return Failure{VerbsError::invalid_argument};
  if (request.sges.size() > qp->attributes.capabilities.max_send_sge && !request.inline_data)
    return Failure{VerbsError::invalid_argument};
  SendQueue& queue = qp->send_queue;
  if (queue.room() < together) return refuse_post(*qp->counters, queue.done());

  std::uint64_t bytes = 0;
  for (const Sge& sge : request.sges) bytes += sge.length;
  if (request.inline_data &&
      (bytes > qp->attributes.capabilities.max_inline_data || is_one_of(request.opcode, kNeverInline)))
    return Failure{VerbsError::invalid_argument};
  if (service.type == QpType::ud && !names_destination(nic, request)) return Failure{VerbsError::invalid_argument};

  SendWork& work = queue.at(queue.tail);
  fill(work, request);
  work.status = local_status(nic, *qp, work, bytes);
  work.length = work.status == CompletionStatus::success ? static_cast<std::uint32_t>(bytes) : 0;
  if (request.inline_data) {
    std::byte* to = queue.inline_data(queue.tail).data();
    for (const Sge& sge : request.sges) {
      if (sge.length == 0) continue;
      std::memcpy(to, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(sge.address)), sge.length);
      to += sge.length;
    }
  } else {
    std::copy(request.sges.begin(), request.sges.end(), queue.sges(queue.tail).begin());
  }
  if (work.is_local() && !request.sges.empty()) return Failure{VerbsError::invalid_argument};
  transport_ib::post(*qp, work);
  ++queue.tail;

  if (qp->state == QpState::error || qp->state == QpState::sqe)
    nic.flush_send_queue(*qp);
  else
    nic.ready.push_back(*qp);
  return {};
}

VerbsResult<void> Nic::post_receive(QpHandle handle, const ReceiveRequest& request) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (qp == nullptr || !qp->has_receive_queue || qp->state == QpState::reset)
    return Failure{VerbsError::invalid_argument};
  if (request.sges.size() > qp->attributes.capabilities.max_recv_sge) return Failure{VerbsError::invalid_argument};
  if (qp->receive_queue.full()) return refuse_post(*qp->counters, qp->receive_queue.done());
  qp->receive_queue.push(request);
  if (qp->state == QpState::error) nic.flush_receive_queue(*qp);
  return {};
}

VerbsResult<void> Nic::post_srq_receive(SrqHandle handle, const ReceiveRequest& request) {
  SharedReceiveQueue* srq = state_->srqs.find(handle);
  if (srq == nullptr || request.sges.size() > srq->max_sge) return Failure{VerbsError::invalid_argument};
  if (srq->queue.full()) return refuse_post(state_->counters.of(1), srq->queue.done());
  srq->queue.push(request);
  return {};
}

}  // namespace verbena::nic
