// Extended reliable connections (IBTA annex A14): the SRQ that a request names.
#include "emulator/nic/transport_ib/xrc.h"

#include "emulator/nic/objects/object_number.h"

namespace verbena::nic {

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
