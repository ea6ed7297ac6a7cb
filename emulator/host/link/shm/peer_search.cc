#include "emulator/host/link/shm/peer_search.h"

#include <mutex>

#include "emulator/host/node/node_directory.h"

namespace verbena::host {

void PeerSearch::find_all() {
  std::vector<PeerName> found;
  for (const SeatTaken& seat : seats_taken(fabric_))
    if (PeerName{seat.address, seat.slot} != own_name_) found.push_back({seat.address, seat.slot});
  const std::lock_guard guard(found_lock_);
  found_ = std::move(found);
  has_found_.store(true, std::memory_order_release);
}

bool PeerSearch::take_found(std::vector<PeerName>& into) {
  if (!has_found_.exchange(false, std::memory_order_acquire)) return false;
  const std::lock_guard guard(found_lock_);
  into.swap(found_);
  return true;
}

}  // namespace verbena::host
