// ForkGuard: how a link comes through fork().
//
// An optional part of a link (LinkParts::fork_guard), for those that have descriptors or mappings which a child must
// let go of. Called by the forking thread, which holds the engine's lock.
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

namespace verbena::host {

class ForkGuard {
 public:
  virtual ~ForkGuard() = default;
  /// Waits until no other thread is inside of what release_after_fork() and abandon_after_fork() need, and keeps it so
  /// until the former.
  virtual void hold_for_fork() = 0;
  /// In the parent, and in the child before abandon_after_fork().
  virtual void release_after_fork() = 0;
  /// In the child: closes descriptors and mappings and says nothing to anybody, so that the parent's end is seen by its
  /// peers. The link is not used again, and not destroyed.
  virtual void abandon_after_fork() = 0;
};

}  // namespace verbena::host
