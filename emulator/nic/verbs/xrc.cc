// The verbs of extended reliable connections (IBTA annex A14): domains, and QPs with several holders.
#include "emulator/nic/nic_private.h"

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

}  // namespace verbena::nic
