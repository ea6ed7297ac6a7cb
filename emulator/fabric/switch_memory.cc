#include "emulator/fabric/switch_memory.h"

#include <algorithm>

#include "wire/assert.h"

namespace verbena::fabric {

void SwitchMemory::add_port(IngressPort& port, std::uint64_t headroom_bytes) {
  const std::uint64_t reserved = headroom_bytes * qos_->lossless_groups();
  VERBENA_ASSERT(reserved <= shared_max_bytes_);
  port.headroom_max_bytes = headroom_bytes;
  shared_max_bytes_ -= reserved;
}

bool SwitchMemory::admit(IngressPort& port, TrafficClass group, std::uint32_t bytes) {
  IngressGroup& held = port.groups[group];
  // The frame that goes beyond the threshold is the last one that is shared.
  if (held.headroom_bytes == 0 && held.shared_bytes <= xoff_bytes() && bytes <= free_bytes()) {
    held.shared_bytes += bytes;
    shared_bytes_ += bytes;
    return true;
  }
  if (held.headroom_bytes + bytes > port.headroom_max_bytes) return false;
  held.headroom_bytes += bytes;
  return true;
}

bool SwitchMemory::admit_lossy(std::uint64_t queue_bytes, std::uint32_t bytes) {
  if (bytes > free_bytes() || queue_bytes + bytes > qos_->egress.at(free_bytes())) return false;
  shared_bytes_ += bytes;
  return true;
}

void SwitchMemory::release(IngressPort& port, TrafficClass group, std::uint32_t bytes) {
  IngressGroup& held = port.groups[group];
  const std::uint64_t of_headroom = std::min<std::uint64_t>(held.headroom_bytes, bytes);
  held.headroom_bytes -= of_headroom;
  held.shared_bytes -= bytes - of_headroom;
  shared_bytes_ -= bytes - of_headroom;
}

bool SwitchMemory::has_to_pause(const IngressPort& port, TrafficClass group) const {
  const IngressGroup& held = port.groups[group];
  return held.headroom_bytes != 0 || held.shared_bytes > xoff_bytes();
}

bool SwitchMemory::may_go_on(const IngressPort& port, TrafficClass group) const {
  const IngressGroup& held = port.groups[group];
  return held.headroom_bytes == 0 && held.shared_bytes <= xon_bytes();
}

std::uint64_t SwitchMemory::xon_bytes() const {
  const std::uint64_t xoff = xoff_bytes();
  return xoff > qos_->xon_offset_bytes ? xoff - qos_->xon_offset_bytes : 0;
}

}  // namespace verbena::fabric
