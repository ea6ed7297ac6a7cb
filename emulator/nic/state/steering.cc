#include "emulator/nic/state/steering.h"

#include <algorithm>

#include "wire/assert.h"

namespace verbena::nic {

Group* Steering::find_group(const wire::Gid& address) {
  const auto found = std::ranges::find(groups, address, &Group::address);
  return found != groups.end() ? &*found : nullptr;
}
const Group* Steering::find_group(const wire::Gid& address) const {
  const auto found = std::ranges::find(groups, address, &Group::address);
  return found != groups.end() ? &*found : nullptr;
}

void LoopedFrames::push(wire::Qpn sender, std::span<const std::byte> octets) {
  VERBENA_ASSERT(!full() && octets.size() <= wire::kFrameBytesMax && !storage_.empty());
  std::ranges::copy(octets, storage_.begin() + static_cast<std::ptrdiff_t>(count_ * wire::kFrameBytesMax));
  bytes_[count_] = octets.size();
  senders_[count_] = sender;
  ++count_;
}

}  // namespace verbena::nic
