// Routing: which way a frame goes on from a switch: along all shortest ways, one of them picked per flow.
//
// Solely the table and the choice. It is kept per pair of switches and not of hosts, so that it stays small; which
// vertices and links are alive it is told by rebuild(). Hosts do not forward. Who notices what, and when, is Network's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulator/fabric/chance.h"
#include "emulator/fabric/topology.h"

namespace verbena::fabric {

/// One direction of a cable, as the network numbers them.
using DirectionNumber = std::uint32_t;
inline constexpr DirectionNumber kNoDirection = UINT32_MAX;

/// A way out of a vertex.
struct Hop {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  DirectionNumber direction = kNoDirection;
};

class Routing {
 public:
  /// `hops`: all directions. `seed` makes the salts of the switches.
  Routing(const Topology& topology, std::span<const Hop> hops, std::uint64_t seed);

  /// `alive[d]`: direction d may be used. A dead switch is one of which no direction may.
  void rebuild(const std::vector<bool>& alive);

  /// The way on from switch `at` to host `destination`; kNoDirection: there is none.
  DirectionNumber next(std::uint32_t at, std::uint32_t destination, std::uint32_t flow_hash) const {
    const Attachment& attachment = attachments_[destination];
    if (attachment.to_switch == at) return attachment.down;
    if (attachment.to_switch == kNone) return kNoDirection;
    const Set set = sets_[place_of(at, attachment.edge)];
    if (set.count <= 1) return set.count == 0 ? kNoDirection : ways_[set.first];
    const std::uint64_t hash = mix(flow_hash ^ salts_[at - hosts_]) >> 32;
    return ways_[set.first + static_cast<std::uint32_t>(hash * set.count >> 32)];
  }
  /// next() will be asked soon.
  void prefetch(std::uint32_t at, std::uint32_t destination) const {
    __builtin_prefetch(&sets_[place_of(at, attachments_[destination].edge)]);
  }
  /// The way out of host `from` to host `destination`: its cable to a switch, or the one between the two.
  DirectionNumber first(std::uint32_t from, std::uint32_t destination) const;
  std::uint64_t memory_bytes() const { return sets_.size() * sizeof(Set) + ways_.size() * sizeof(DirectionNumber); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Where a host is plugged in.
  struct Attachment {
    std::uint32_t to_switch = kNone;
    std::uint32_t edge = 0;               // the switch's number among those that have hosts
    DirectionNumber down = kNoDirection;  // to the host
    DirectionNumber up = kNoDirection;
  };
  /// Equal ways: ways_[first .. first + count).
  struct Set {
    std::uint32_t first : 24 = 0;
    std::uint32_t count : 8 = 0;
  };
  static constexpr std::size_t kEqualWaysMax = (1u << 8) - 1;  // more are not made use of
  static constexpr std::size_t kStoredWaysMax = 1u << 24;
  static_assert(sizeof(Set) == 4);  // the table is most of what a hop reads

  std::size_t place_of(std::uint32_t at, std::uint32_t edge) const { return std::size_t{at - hosts_} * edges_ + edge; }
  void build_column(std::uint32_t edge, const std::vector<bool>& alive);
  Set store(std::uint32_t at_switch, std::span<const DirectionNumber> ways);

  std::uint32_t hosts_;
  std::uint32_t switches_;
  std::uint32_t edges_ = 0;
  std::vector<Attachment> attachments_;  // by host
  std::vector<std::uint32_t> edge_switches_;
  std::vector<std::vector<Hop>> out_;  // of each switch, to switches
  std::vector<std::vector<Hop>> in_;
  std::vector<std::vector<Hop>> to_hosts_;  // of each host, to hosts, by the host it leads to
  std::vector<std::uint64_t> salts_;
  std::vector<Set> sets_;  // switch by switch, for each edge
  std::vector<DirectionNumber> ways_;
  std::vector<std::vector<Set>> stored_;  // of each switch: most columns have the same ways
  std::vector<std::uint32_t> singles_;    // of each direction: where in ways_ it stands alone; kNone: not yet
  std::vector<std::uint32_t> distance_;
  std::vector<std::uint32_t> border_;
};

}  // namespace verbena::fabric
