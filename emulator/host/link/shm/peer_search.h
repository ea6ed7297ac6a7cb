// PeerSearch: who else is on the fabric, as the directory of its nodes says.
//
// Solely responsible for looking, outside of the engine's lock, and for handing over what was found. Whom to call,
// GroupFlood says (group_flood.h).
// Tested by: tests/host/link/shm/shm_link_test.cc
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "emulator/host/link/shm/deferred_work.h"
#include "emulator/host/link/shm/shm_control.h"
#include "emulator/host/os/spin_lock.h"

namespace verbena::host {

class PeerSearch {
 public:
  PeerSearch(DeferredWork& deferred, std::string fabric, const PeerName& own_name)
      : deferred_(deferred), fabric_(std::move(fabric)), own_name_(own_name) {}

  // Under the engine's lock.
  /// Has the directory looked into with the next flush(); then take_found() gives who was found, once.
  void look_around() { deferred_.add({DeferredWork::Item::Kind::look_around, {}, nullptr}); }
  bool take_found(std::vector<PeerName>& into);

  // Outside of it.
  void find_all();

  // Around fork().
  void hold() { found_lock_.lock(); }
  void release() { found_lock_.unlock(); }

 private:
  DeferredWork& deferred_;
  const std::string fabric_;
  const PeerName own_name_;
  SpinLock found_lock_;  // guards found_
  std::vector<PeerName> found_;
  std::atomic<bool> has_found_{false};
};

}  // namespace verbena::host
