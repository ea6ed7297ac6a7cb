// Posting work: the checks that a verbs call answers at once, and the copy into the queue.
#include <cstring>

#include "emulator/nic/nic_state.h"

namespace verbena::nic {
namespace {

/// Which operations a transport service offers (IBTA table 40).
VerbsResult<void> check_opcode(const Qp& qp, const SendRequest& request) {
  switch (request.opcode) {
    case SendOpcode::send:
    case SendOpcode::send_with_immediate:
      return {};
    case SendOpcode::rdma_write:
    case SendOpcode::rdma_write_with_immediate:
      if (qp.type == QpType::ud || qp.type == QpType::raw_packet) return Failure{VerbsError::invalid_argument};
      return {};
    case SendOpcode::rdma_read:
    case SendOpcode::compare_and_swap:
    case SendOpcode::fetch_and_add:
      if (!qp.reliable || request.inline_data) return Failure{VerbsError::invalid_argument};
      return {};
    case SendOpcode::local_invalidate:
    case SendOpcode::bind_memory_window:
    case SendOpcode::send_with_invalidate:
      return Failure{VerbsError::not_supported};
  }
  return Failure{VerbsError::invalid_argument};
}

/// What only shows when the NIC takes up the work request: it completes in error, in its turn.
CompletionStatus local_status(const NicState& nic, const Qp& qp, const SendWork& work, std::uint64_t bytes) {
  const bool is_frame = qp.type == QpType::raw_packet;
  const bool too_long = bytes > nic.config.limits.max_message_bytes || (qp.type == QpType::ud && bytes > qp.mtu) ||
                        (is_frame && (bytes < kEthernetBytes || bytes > qp.mtu + kEthernetBytes + kVlanBytes)) ||
                        (work.is_atomic() && bytes != sizeof(std::uint64_t));
  if (too_long) return CompletionStatus::local_length_error;
  const bool no_initiator_depth = work.awaits_data() && qp.attributes.max_read_atomic == 0;
  return no_initiator_depth ? CompletionStatus::local_qp_operation_error : CompletionStatus::success;
}

void fill(SendWork& work, const SendRequest& request) {
  work.wr_id = request.wr_id;
  work.remote_address = request.remote_address;
  work.compare_or_add = request.compare_or_add;
  work.swap = request.swap;
  work.rkey = request.rkey;
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

VerbsResult<void> Nic::post_send(QpHandle handle, const SendRequest& request, Time now) {
  NicState& nic = *state_;
  nic.now = now;
  Qp* qp = nic.qps.find(handle);
  if (qp == nullptr || qp->send_cq == nullptr) return Failure{VerbsError::invalid_argument};
  prefetch(*qp);
  if (qp->state == QpState::reset || qp->state == QpState::init || qp->state == QpState::rtr)
    return Failure{VerbsError::invalid_argument};  // IBTA 11.4.1.1
  if (auto checked = check_opcode(*qp, request); !checked) return checked;
  if (request.sges.size() > qp->attributes.capabilities.max_send_sge && !request.inline_data)
    return Failure{VerbsError::invalid_argument};
  SendQueue& queue = qp->send_queue;
  if (queue.full()) return Failure{VerbsError::no_memory};

  std::uint64_t bytes = 0;
  for (const Sge& sge : request.sges) bytes += sge.length;
  if (request.inline_data && bytes > qp->attributes.capabilities.max_inline_data)
    return Failure{VerbsError::invalid_argument};
  if (qp->type == QpType::ud) {
    const AddressHandle* ah = nic.address_handles.find(request.address_handle);
    if (ah == nullptr || ah->pd != qp->pd) return Failure{VerbsError::invalid_argument};
  }

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
  Requester& requester = qp->requester;
  work.packets = work.is_atomic() ? 1 : qp->packets_of(work.length);
  work.first_psn = requester.post_psn;
  work.ssn = requester.post_ssn++ & wire::Psn::kMask;
  requester.post_psn = requester.post_psn + work.packets;
  ++queue.tail;

  if (qp->state == QpState::error || qp->state == QpState::sqe)
    nic.flush_send_queue(*qp);
  else
    nic.make_ready(*qp);
  return {};
}

VerbsResult<void> Nic::post_receive(QpHandle handle, const ReceiveRequest& request) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (qp == nullptr || !qp->has_receive_queue || qp->state == QpState::reset)
    return Failure{VerbsError::invalid_argument};
  if (request.sges.size() > qp->attributes.capabilities.max_recv_sge) return Failure{VerbsError::invalid_argument};
  if (qp->receive_queue.full()) return Failure{VerbsError::no_memory};
  qp->receive_queue.push(request);
  if (qp->state == QpState::error) nic.flush_receive_queue(*qp);
  return {};
}

VerbsResult<void> Nic::post_srq_receive(SrqHandle handle, const ReceiveRequest& request) {
  SharedReceiveQueue* srq = state_->srqs.find(handle);
  if (srq == nullptr || request.sges.size() > srq->max_sge) return Failure{VerbsError::invalid_argument};
  if (srq->queue.full()) return Failure{VerbsError::no_memory};
  srq->queue.push(request);
  return {};
}

}  // namespace verbena::nic
