#include "emulator/nic/memory_table.h"

namespace verbena::nic {

MemoryTable::MemoryTable(const NicLimits& limits, std::uint64_t seed)
    : max_(limits.max_mr), bytes_max_(limits.max_mr_bytes), next_key_(static_cast<std::uint8_t>(seed * 0x9e + 0x11)) {
  regions_.emplace_back();  // slot 0 stays empty: key 0 is never valid
  slots_ = 1;
}

Result<MemoryRegion, VerbsError> MemoryTable::add(const MemoryRegionInit& init) {
  if ((init.access & (kRemoteWrite | kRemoteAtomic)) != 0 && (init.access & kLocalWrite) == 0)
    return Failure{VerbsError::invalid_argument};
  if (init.address + init.length < init.address || init.iova + init.length < init.iova)
    return Failure{VerbsError::invalid_argument};
  if (live_ >= max_ || init.length > bytes_max_) return Failure{VerbsError::no_memory};
  std::uint32_t slot;
  if (free_.empty()) {
    slot = slots_++;
    regions_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  ++live_;
  regions_[slot] = Region{init, slot << kKeyBits | next_key_++, true};
  return MemoryRegion{MrHandle{slot}, regions_[slot].key, regions_[slot].key};
}

Result<PdHandle, VerbsError> MemoryTable::remove(MrHandle handle) {
  if (handle.index >= regions_.size() || !regions_[handle.index].live) return Failure{VerbsError::invalid_argument};
  regions_[handle.index].live = false;
  free_.push_back(handle.index);
  --live_;
  return regions_[handle.index].init.pd;
}

}  // namespace verbena::nic
