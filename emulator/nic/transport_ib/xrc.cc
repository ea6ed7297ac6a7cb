// Extended reliable connections (IBTA annex A14): domains, the SRQ that a request names, QPs with several holders.
#include "emulator/nic/transport_ib/xrc.h"

#include "emulator/nic/state/nic_state.h"

namespace verbena::nic {

VerbsResult<XrcDomainHandle> Nic::create_xrc_domain() {
  if (state_->xrc_domains.full()) return Failure{VerbsError::no_memory};
  return state_->xrc_domains.create().handle;
}

VerbsResult<void> Nic::destroy_xrc_domain(XrcDomainHandle handle) {
  XrcDomain* domain = state_->xrc_domains.find(handle);
  if (domain == nullptr) return Failure{VerbsError::invalid_argument};
  if (domain->users != 0) return Failure{VerbsError::busy};
  state_->xrc_domains.destroy(*domain);
  return {};
}

VerbsResult<wire::Qpn> Nic::srq_number(SrqHandle handle) const {
  const SharedReceiveQueue* srq = state_->srqs.find(handle);
  if (srq == nullptr || srq->xrc_domain == nullptr) return Failure{VerbsError::invalid_argument};
  return srq->number;
}

VerbsResult<QpHandle> Nic::open_qp(XrcDomainHandle handle, wire::Qpn qpn) {
  XrcDomain* domain = state_->xrc_domains.find(handle);
  Qp* qp = state_->qpns.find(qpn);
  if (domain == nullptr || qp == nullptr || !qp->service->names_srq || qp->xrc_domain != domain)
    return Failure{VerbsError::invalid_argument};
  ++qp->holders;
  return qp->handle;
}

bool take_named_srq(NicState& nic, Qp& qp, const wire::PacketView& packet) {
  const wire::Qpn number = packet.xrceth().xrc_srq;
  SharedReceiveQueue* srq = nic.srqs.find_slot(number.value() & kNumberSlotMask);
  if (srq == nullptr || srq->number != number || srq->xrc_domain != qp.xrc_domain) return false;
  if (!packet.opcode().starts_message() && qp.srq != srq) return false;
  qp.srq = srq;
  qp.recv_cq = srq->cq;
  qp.pd = srq->pd;
  return true;
}

void forget_srq(NicState& nic, const SharedReceiveQueue& srq) {
  nic.qps.for_each([&srq](Qp& qp) {
    if (!qp.service->names_srq || qp.srq != &srq) return;
    qp.srq = nullptr;
    qp.recv_cq = nullptr;
    qp.responder.receive_held = false;  // it was taken from the queue that goes
  });
}

}  // namespace verbena::nic
