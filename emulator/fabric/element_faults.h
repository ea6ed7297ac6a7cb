// ElementFaults: what happens to the elements of a network, and what ends it: links, switches, ports of hosts, pairs of
// hosts, and the packet faults that lie on links.
//
// Solely responsible for the meaning of such a change on a Network, under both clocks: sim::World brings the changes of
// a scenario, the fabric process those that it is told. It has no words and no times of its own; when something happens
// is said by who calls. Partitions are kept one by one: a pair stays cut as long as any of them cuts it.
// Tested by: tests/fabric/network_faults_test.cc, tests/sim/world_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "emulator/fabric/fault.h"
#include "emulator/fabric/network_control.h"

namespace verbena::fabric {

/// Changes of one element.
ElementChange link_up(LinkId link, bool is_up);
ElementChange link_rate(LinkId link, std::uint64_t bits_per_second);
ElementChange link_delay(LinkId link, Duration propagation, Duration jitter);
ElementChange switch_up(std::uint32_t vertex, bool is_up);

class ElementFaults {
 public:
  /// The network outlives this.
  explicit ElementFaults(Network& network) : network_(network), control_(network) {}

  void apply(Time now, const ElementChange& change);

  // -- Packet faults --------------------------------------------------------------------------------------------------
  /// On these links from now on, those of a link in the order of their ids. The id is not in use.
  void add_rule(std::uint32_t id, std::vector<LinkId> links, FaultRule rule);
  void remove_rule(std::uint32_t id);
  /// Packets that it has hit; 0: there is no such rule.
  std::uint64_t hits(std::uint32_t id) const;

  // -- What is there now ----------------------------------------------------------------------------------------------
  const std::set<LinkId>& dead_links() const { return dead_links_; }
  const std::set<std::uint32_t>& dead_switches() const { return dead_switches_; }
  /// Pairs (from, to), each once.
  std::set<std::pair<std::uint32_t, std::uint32_t>> cut_pairs() const;
  std::size_t partitions() const { return partitions_.size(); }
  /// There is a partition that such a `heal` would end.
  bool has_partition(const std::vector<std::uint32_t>& hosts, const std::vector<std::uint32_t>& peers) const;

 private:
  struct Partition {
    std::vector<std::uint32_t> hosts;
    std::vector<std::uint32_t> peers;
  };
  struct Rule {
    std::vector<LinkId> links;
    FaultRule rule;
  };
  void set_link(Time now, LinkId link, bool up);
  void set_ports(Time now, const std::vector<std::uint32_t>& hosts, bool up);
  void set_switches(Time now, const std::vector<std::uint32_t>& switches, bool up);
  void set_pauses(Time now, const ElementChange& change);
  void cut(const ElementChange& change);
  void heal(const ElementChange& change);
  std::vector<Partition>::const_iterator find_latest(const std::vector<std::uint32_t>& hosts,
                                                     const std::vector<std::uint32_t>& peers) const;
  /// All rules of a link make one plan; those that stay go on counting.
  void set_plan(LinkId link);

  const Network& network_;
  NetworkControl control_;
  std::set<LinkId> dead_links_;
  std::set<std::uint32_t> dead_switches_;
  std::map<std::uint32_t, ClassMask> pause_storms_;  // by host
  std::vector<Partition> partitions_;                // that have begun and are not healed, the latest last
  std::map<std::uint32_t, Rule> rules_;              // by id
};

}  // namespace verbena::fabric
