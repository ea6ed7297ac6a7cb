// Membership of multicast groups: ibv_attach_mcast, ibv_detach_mcast. The LID of a group means nothing on Ethernet, and
// must be one of a group on InfiniBand.
// Tested by: tests/shim/verbs/errno_test.cc
#include <cerrno>

#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "verbs-shim/verbs/translate.h"

namespace verbena::shim {

namespace {
bool is_lid_wrong(verbena::host::Engine& engine, std::uint16_t lid) {
  return engine.nic_config().medium() == wire::Medium::infiniband && !wire::Lid(lid).is_multicast();
}
}  // namespace

int attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  const auto found = live_engine(qp);
  if (!found) return found.error();
  if (is_lid_wrong(**found, lid)) return EINVAL;
  return errno_of((*found)->attach_group(qp_of(qp)->nic, gid_of(*gid)));
}

int detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  const auto found = live_engine(qp);
  if (!found) return found.error();
  if (is_lid_wrong(**found, lid)) return EINVAL;
  return errno_of((*found)->detach_group(qp_of(qp)->nic, gid_of(*gid)));
}

}  // namespace verbena::shim
