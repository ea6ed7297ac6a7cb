// MemoryTable: the memory regions of a NIC, their keys, and the check that every access passes first.
//
// Solely responsible for keys, bounds, protection domains and access rights (IBTA 10.6). Copies nothing: see memory.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/nic/verbs.h"
#include "wire/result.h"

namespace verbena::nic {

struct ProtectionDomain {
  PdHandle handle;
  std::uint32_t users = 0;
};

class MemoryTable {
 public:
  MemoryTable(const NicLimits& limits, std::uint64_t seed);

  /// no_memory beyond the limits; invalid_argument for access flags that contradict each other (remote write or atomic
  /// without local write, IBTA 10.6.3.1) or a range that wraps.
  Result<MemoryRegion, VerbsError> add(const MemoryRegionInit& init);
  /// The PD of the removed region; invalid_argument if there is none.
  Result<PdHandle, VerbsError> remove(MrHandle handle);

  /// The address behind [address, address + bytes) if the key, the PD, the bounds and the rights allow the access.
  /// Zero bytes with any key are allowed (IBTA 9.4.4: zero-length accesses are not checked).
  bool translate(std::uint32_t key, PdHandle pd, std::uint64_t address, std::uint64_t bytes, std::uint32_t access,
                 std::uint64_t& translated) const {
    const std::uint32_t slot = key >> kKeyBits;
    if (slot >= slots_) return false;
    const Region& region = regions_[slot];
    if (!region.live || region.key != key || region.init.pd != pd) return false;
    if ((region.init.access & access) != access) return false;
    // An address below the region gives an offset beyond its end: iova + length does not wrap (add).
    const std::uint64_t offset = address - region.init.iova;
    if (offset > region.init.length || bytes > region.init.length - offset) return false;
    translated = region.init.address + offset;
    return true;
  }

 private:
  static constexpr std::uint32_t kKeyBits = 8;  // the part of a key that changes with every use of a slot
  struct Region {
    MemoryRegionInit init;
    std::uint32_t key = 0;
    bool live = false;
  };
  std::vector<Region> regions_;
  std::uint32_t slots_ = 0;  // regions_.size(): a region is no power of two
  std::vector<std::uint32_t> free_;
  std::uint32_t live_ = 0;
  std::uint32_t max_;
  std::uint64_t bytes_max_;
  std::uint8_t next_key_;
};

}  // namespace verbena::nic
