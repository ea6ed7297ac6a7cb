// The extended QP: wr_start, the builders of each operation, the setters, wr_complete and wr_abort.
//
// Requests are collected and posted together in wr_complete, under one run of the engine. An operation that the QP was
// not created for, a malformed request, or too little room fails the whole batch: nothing of it is posted.
// Tested by: tests/shim/verbs/extended_test.cc
#include <endian.h>

#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/call_faults.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/fault_boundary.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/staged_requests.h"

namespace verbena::shim {
namespace {

Qp& self(ibv_qp_ex* qp) {
  return *static_cast<Qp*>(qp);
}
StagedRequests& staged_of(ibv_qp_ex* qp) {
  return *self(qp).staged;
}

/// The next request with what all operations share, or null when the batch has failed.
nic::SendRequest* begin(ibv_qp_ex* qp, nic::SendOpcode opcode, std::uint64_t operation) {
  StagedRequests& staged = staged_of(qp);
  if ((self(qp).send_operations & operation) == 0) staged.refuse(EOPNOTSUPP);
  nic::SendRequest* const request = staged.append();
  if (request == nullptr) return nullptr;
  request->wr_id = qp->wr_id;
  request->opcode = opcode;
  request->signaled = (qp->wr_flags & IBV_SEND_SIGNALED) != 0;
  request->solicited = (qp->wr_flags & IBV_SEND_SOLICITED) != 0;
  request->fence = (qp->wr_flags & IBV_SEND_FENCE) != 0;
  return request;
}

void begin_rdma(ibv_qp_ex* qp, nic::SendOpcode opcode, std::uint64_t operation, std::uint32_t rkey,
                std::uint64_t remote_address, std::uint32_t immediate = 0) {
  nic::SendRequest* const request = begin(qp, opcode, operation);
  if (request == nullptr) return;
  request->operand.remote.address = remote_address;
  request->operand.remote.rkey = rkey;
  request->immediate = immediate;
}

void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr, std::uint64_t compare,
                       std::uint64_t swap) {
  begin_rdma(qp, nic::SendOpcode::compare_and_swap, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, rkey, remote_addr);
  if (nic::SendRequest* const request = staged_of(qp).current()) {
    request->operand.remote.compare_or_add = compare;
    request->operand.remote.swap = swap;
  }
}

void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr, std::uint64_t add) {
  begin_rdma(qp, nic::SendOpcode::fetch_and_add, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);
  if (nic::SendRequest* const request = staged_of(qp).current()) request->operand.remote.compare_or_add = add;
}

void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr) {
  begin_rdma(qp, nic::SendOpcode::rdma_read, IBV_QP_EX_WITH_RDMA_READ, rkey, remote_addr);
}

void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr) {
  begin_rdma(qp, nic::SendOpcode::rdma_write, IBV_QP_EX_WITH_RDMA_WRITE, rkey, remote_addr);
}

void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr, __be32 imm_data) {
  begin_rdma(qp, nic::SendOpcode::rdma_write_with_immediate, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, rkey, remote_addr,
             be32toh(imm_data));
}

void wr_send(ibv_qp_ex* qp) {
  begin(qp, nic::SendOpcode::send, IBV_QP_EX_WITH_SEND);
}

void wr_send_imm(ibv_qp_ex* qp, __be32 imm_data) {
  nic::SendRequest* const request = begin(qp, nic::SendOpcode::send_with_immediate, IBV_QP_EX_WITH_SEND_WITH_IMM);
  if (request != nullptr) request->immediate = be32toh(imm_data);
}

void wr_send_inv(ibv_qp_ex* qp, std::uint32_t invalidate_rkey) {
  nic::SendRequest* const request = begin(qp, nic::SendOpcode::send_with_invalidate, IBV_QP_EX_WITH_SEND_WITH_INV);
  if (request != nullptr) request->immediate = invalidate_rkey;
}

void wr_local_inv(ibv_qp_ex* qp, std::uint32_t invalidate_rkey) {
  nic::SendRequest* const request = begin(qp, nic::SendOpcode::local_invalidate, IBV_QP_EX_WITH_LOCAL_INV);
  if (request != nullptr) request->immediate = invalidate_rkey;
}

void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* bind_info) {
  nic::SendRequest* const request = begin(qp, nic::SendOpcode::bind_memory_window, IBV_QP_EX_WITH_BIND_MW);
  if (request == nullptr) return;
  request->operand = {.binding = binding_of(qp->qp_base, *mw, IBV_MW_TYPE_2, rkey, *bind_info)};
  staged_of(qp).windows[staged_of(qp).count - 1] = mw;
}

void wr_atomic_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t remote_addr, const void* atomic_wr) {
  begin_rdma(qp, nic::SendOpcode::atomic_write, IBV_QP_EX_WITH_ATOMIC_WRITE, rkey, remote_addr);
  const ibv_data_buf buffer{const_cast<void*>(atomic_wr), kAtomicWriteBytes};
  staged_of(qp).set_inline(1, &buffer);
}

// Segmentation is not built.
void wr_send_tso(ibv_qp_ex* qp, void*, std::uint16_t, std::uint16_t) {
  staged_of(qp).refuse(EOPNOTSUPP);
}
void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t remote_srqn) {
  StagedRequests& staged = staged_of(qp);
  nic::SendRequest* const request = staged.current();
  if (request == nullptr || qp->qp_base.qp_type != IBV_QPT_XRC_SEND) return staged.refuse(EINVAL);
  request->remote_qpn = wire::Qpn(remote_srqn);
}

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t remote_qpn, std::uint32_t remote_qkey) {
  StagedRequests& staged = staged_of(qp);
  nic::SendRequest* const request = staged.current();
  if (request == nullptr || ah == nullptr || qp->qp_base.qp_type != IBV_QPT_UD) return staged.refuse(EINVAL);
  request->address_handle = static_cast<Ah*>(ah)->nic;
  request->remote_qpn = wire::Qpn(remote_qpn);
  request->remote_qkey = remote_qkey;
}

void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t num_buf, const ibv_data_buf* buf_list) {
  staged_of(qp).set_inline(num_buf, buf_list);
}

void wr_set_inline_data(ibv_qp_ex* qp, void* addr, std::size_t length) {
  const ibv_data_buf buffer{addr, length};
  staged_of(qp).set_inline(1, &buffer);
}

void wr_set_sge_list(ibv_qp_ex* qp, std::size_t num_sge, const ibv_sge* sg_list) {
  staged_of(qp).set_sges(num_sge, sg_list);
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t addr, std::uint32_t length) {
  const ibv_sge sge{addr, length, lkey};
  staged_of(qp).set_sges(length == 0 ? 0 : 1, &sge);
}

void wr_start(ibv_qp_ex* qp) {
  StagedRequests& staged = staged_of(qp);
  staged.mutex.lock();
  staged.clear();
}

int wr_complete(ibv_qp_ex* qp) {
  StagedRequests& staged = staged_of(qp);
  host::Engine* const engine = engine_of(qp->qp_base.context);
  if (engine == nullptr) staged.refuse(kNoDevice);
  int error = staged.error;
  if (error == 0)
    error = engine->post([&](nic::Nic& nic, Time now) {
      for (std::uint32_t i = 0; i < staged.count; ++i) {
        const nic::SendRequest& request = staged.requests[i];
        const auto posted = nic.post_send(self(qp).nic, request, now, staged.count - i);
        if (!posted) return errno_of(posted);
        if (request.opcode == nic::SendOpcode::bind_memory_window)
          note_bind(*staged.windows[i], request.operand.binding.rkey);
      }
      return 0;
    });
  staged.mutex.unlock();
  return error;
}

/// Each request that was collected is a call of ibv_post_send to a plan; one that fails fails them all.
template <auto kComplete>
int complete_as_planned(ibv_qp_ex* qp) {
  StagedRequests& staged = staged_of(qp);
  if (CallFaults* const plan = CallFaults::plan())
    for (std::uint32_t i = 0; i < staged.count && staged.error == 0; ++i)
      if (const int error = plan->before(call_about(fabric::Verb::post_send, &qp->qp_base)); error != 0)
        staged.refuse(error);
  return kComplete(qp);
}

void wr_abort(ibv_qp_ex* qp) {
  staged_of(qp).mutex.unlock();
}

}  // namespace

void plan_slots(Qp& qp) {
  set_slot(qp.wr_complete,
           is_planned(fabric::Verb::post_send) ? verb<complete_as_planned<wr_complete>> : verb<wr_complete>);
}

void fill_building(Qp& qp) {
  qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
  qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
  qp.wr_bind_mw = wr_bind_mw;
  qp.wr_local_inv = wr_local_inv;
  qp.wr_rdma_read = wr_rdma_read;
  qp.wr_rdma_write = wr_rdma_write;
  qp.wr_rdma_write_imm = wr_rdma_write_imm;
  qp.wr_send = wr_send;
  qp.wr_send_imm = wr_send_imm;
  qp.wr_send_inv = wr_send_inv;
  qp.wr_send_tso = wr_send_tso;
  qp.wr_set_ud_addr = wr_set_ud_addr;
  qp.wr_set_xrc_srqn = wr_set_xrc_srqn;
  qp.wr_set_inline_data = wr_set_inline_data;
  qp.wr_set_inline_data_list = wr_set_inline_data_list;
  qp.wr_set_sge = wr_set_sge;
  qp.wr_set_sge_list = wr_set_sge_list;
  qp.wr_start = wr_start;
  plan_slots(qp);
  qp.wr_abort = wr_abort;
  qp.wr_atomic_write = wr_atomic_write;
}

}  // namespace verbena::shim
