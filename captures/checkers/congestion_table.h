// CongestionTable: how the NICs of hosts manage congestion, as checkers are told of it.
// Tested by: tests/captures/checkers/congestion_test.cc
#pragma once

#include <unordered_map>

#include "captures/checkers/region_table.h"

namespace verbena::checkers {

class CongestionTable {
 public:
  void add(const CheckedCongestion& congestion) { by_host_[congestion.host].congestion = congestion; }
  /// The host has begun anew: what its NIC had heard of is gone.
  void restart(const wire::Gid& host) {
    const auto found = by_host_.find(host);
    if (found != by_host_.end()) ++found->second.generation;
  }

  struct Entry {
    CheckedCongestion congestion;
    std::uint32_t generation = 0;
  };
  /// Null: nothing was said of the host.
  const Entry* find(const wire::Gid& host) const {
    const auto found = by_host_.find(host);
    return found == by_host_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<wire::Gid, Entry, GidHash> by_host_;
};

/// A queue pair, or with QPN 0 a host, that another one has to do with.
struct TowardsQp {
  wire::Gid from;
  wire::Gid to;
  std::uint32_t qpn = 0;
  bool operator==(const TowardsQp&) const = default;
};
struct TowardsQpHash {
  std::size_t operator()(const TowardsQp& key) const {
    const GidHash hash;
    return (hash(key.from) * 31 + hash(key.to)) * 0x9e3779b97f4a7c15u + key.qpn;
  }
};

}  // namespace verbena::checkers
