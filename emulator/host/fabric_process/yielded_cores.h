// YieldedCores: what a fabric process that is short of a core asks of those who poll on its own, and gives back.
//
// Solely the fabric process's side of what directed_yield.h explains; when it is short of one is CoreLease's to say.
// Tested by: tests/host/fabric_process/directed_yield_test.cc
#pragma once

#include "emulator/host/link/shm/shm_peers.h"

namespace verbena::host {

class YieldedCores {
 public:
  explicit YieldedCores(ShmPeers& peers) : peers_(peers) {}

  /// It is short of a core: processes that poll on this one are to yield it.
  void ask(bool is_short_of_a_core);
  /// A process has yielded its core, and sleeps until it gets frames, or give_all_back().
  bool has_any() const;
  static bool has_yielded(const ShmChannel& channel);
  /// False: it has not yielded it.
  static bool give_back(const ShmChannel& channel);
  void give_all_back();

  /// Before it sleeps, and afterwards: whether a process has polled meanwhile on the core that the caller runs on.
  void count_polls_beside();
  bool was_polled_beside() const;

 private:
  ShmPeers& peers_;
  bool asks_ = false;
};

}  // namespace verbena::host
