// GroupMembership: what a network is told of the multicast groups that a node is a member of.
//
// An optional part of a link (LinkParts::groups), for those to whom the network gives only what they ask for; one that
// hears everything leaves the choice to the NIC. Called under the engine's lock, and done when the next flush()
// returns.
// Tested by: tests/host/link/udp/udp_groups_test.cc
#pragma once

#include "wire/types.h"

namespace verbena::host {

class GroupMembership {
 public:
  virtual ~GroupMembership() = default;
  /// The first local member of a group has come. Joining twice is joining once.
  virtual void join(const wire::Gid& group) = 0;
  /// The last one has gone.
  virtual void leave(const wire::Gid& group) = 0;
};

}  // namespace verbena::host
