// The verbs of multicast groups (IBTA 10.5.2): which QPs belong to one.
#include "emulator/nic/transport_ib/groups.h"

#include <algorithm>

#include "emulator/nic/nic_private.h"

namespace verbena::nic {
namespace {

bool may_join(const Qp* qp, const wire::Gid& group) {
  return qp != nullptr && qp->service->type == QpType::ud && group.is_multicast();
}

}  // namespace

VerbsResult<void> Nic::attach_group(QpHandle handle, const wire::Gid& address) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (!may_join(qp, address)) return Failure{VerbsError::invalid_argument};
  Group* group = nic.steering.find_group(address);
  if (group != nullptr && std::ranges::find(group->members, qp) != group->members.end()) return {};
  const bool has_room = group != nullptr ? group->members.size() < nic.config.limits.max_group_members
                                         : nic.steering.groups.size() < nic.config.limits.max_groups;
  if (!has_room) return Failure{VerbsError::no_memory};
  if (group == nullptr) group = &nic.steering.groups.emplace_back(Group{address, {}});
  group->members.push_back(qp);
  ++qp->attachments;
  nic.steering.looped.allocate();
  return {};
}

VerbsResult<void> Nic::detach_group(QpHandle handle, const wire::Gid& address) {
  NicState& nic = *state_;
  Qp* qp = nic.qps.find(handle);
  if (!may_join(qp, address)) return Failure{VerbsError::invalid_argument};
  Group* group = nic.steering.find_group(address);
  if (group == nullptr || std::erase(group->members, qp) == 0) return Failure{VerbsError::invalid_argument};
  --qp->attachments;
  if (group->members.empty()) std::erase_if(nic.steering.groups, [group](const Group& g) { return &g == group; });
  return {};
}

bool Nic::has_members(const wire::Gid& group) const {
  return loops_back(*state_, group);
}

}  // namespace verbena::nic
