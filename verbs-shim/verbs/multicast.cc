// Membership of multicast groups: ibv_attach_mcast, ibv_detach_mcast. The LID of a group means nothing on Ethernet.
// Tested by: tests/shim/verbs/errno_test.cc
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {

int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  const auto found = live_engine(qp);
  if (!found) return found.error();
  return errno_of((*found)->attach_group(qp_of(qp)->nic, gid_of(*gid)));
}

int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t) {
  const auto found = live_engine(qp);
  if (!found) return found.error();
  return errno_of((*found)->detach_group(qp_of(qp)->nic, gid_of(*gid)));
}

}  // namespace verbena::shim
