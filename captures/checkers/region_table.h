// RegionTable: the memory that hosts let others access, as checkers are told of it.
// Tested by: tests/captures/checkers/broken_test.cc
#pragma once

#include <unordered_map>

#include "captures/checkers/checker.h"

namespace verbena::checkers {

struct GidHash {
  std::size_t operator()(const wire::Gid& gid) const {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::uint8_t octet : gid.octets) hash = (hash ^ octet) * 0x100000001b3u;
    return static_cast<std::size_t>(hash ^ hash >> 29);
  }
};

class RegionTable {
 public:
  /// Beyond kRegionsMax nothing is known any more.
  void add(const CheckedRegion& region) {
    has_overflowed_ = has_overflowed_ || count_ == kRegionsMax;
    if (has_overflowed_) return;
    count_ += by_host_[region.host].insert_or_assign(region.rkey.value, region).second ? 1 : 0;
  }
  void remove(const wire::Gid& host, wire::Rkey rkey) {
    const auto found = by_host_.find(host);
    if (found != by_host_.end()) count_ -= found->second.erase(rkey.value);
  }
  void remove_all(const wire::Gid& host) {
    const auto found = by_host_.find(host);
    if (found == by_host_.end()) return;
    count_ -= found->second.size();
    found->second.clear();
  }
  /// Whether anything was ever said about the host's memory.
  bool knows(const wire::Gid& host) const { return !has_overflowed_ && by_host_.contains(host); }
  const CheckedRegion* find(const wire::Gid& host, wire::Rkey rkey) const {
    const auto found = by_host_.find(host);
    if (found == by_host_.end()) return nullptr;
    const auto region = found->second.find(rkey.value);
    return region == found->second.end() ? nullptr : &region->second;
  }

 private:
  std::unordered_map<wire::Gid, std::unordered_map<std::uint32_t, CheckedRegion>, GidHash> by_host_;
  std::size_t count_ = 0;
  bool has_overflowed_ = false;
};

}  // namespace verbena::checkers
