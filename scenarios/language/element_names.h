// ElementNames: what the names in a scenario stand for: hosts, switches, cables and their directions.
//
// Solely the look-up in a topology that has passed its check. A cable is called by its ends, `n1-s1`; `n1->s1` is its
// direction from n1 to s1; a host's or switch's name stands for all its cables; `all`, `hosts` and `trunks` for all
// cables, those of hosts and those between switches. A node's name stands for all of its rails (fabric/rails.h).
// Tested by: tests/scenarios/language/read_faults_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/topology.h"
#include "scenarios/language/scenario.h"
#include "scenarios/language/yaml_value.h"

namespace verbena::scenarios {

class ElementNames {
 public:
  /// The topology must outlive this.
  explicit ElementNames(const fabric::Topology& topology);

  const fabric::Topology& topology() const { return topology_; }
  /// A node, not one of its rails.
  std::uint32_t node(const Value& name) const;
  /// One name, a list, or `all`; in the order written, none twice.
  std::vector<std::uint32_t> hosts(const Value& names) const;
  /// As hosts(), of which the nodes are all there or not at all: by node.
  std::vector<std::uint32_t> nodes(const Value& names) const;
  std::vector<std::uint32_t> switches(const Value& names) const;
  /// A host, or all rails of a node. Empty: there is none of this name.
  std::vector<std::uint32_t> find_hosts(const std::string& name) const;
  std::optional<std::uint32_t> find_node(const std::string& name) const;
  /// What is said of a name that find_hosts() does not know.
  std::string no_host(const std::string& name) const;
  /// "; did you mean 's1'?", of a name that no node and no switch has, nor, if they are meant, a group; or nothing.
  std::string meant(const std::string& name, bool with_groups = false) const;
  /// Whole cables, by number.
  std::vector<LinkChoice> cables(const Value& names) const;
  /// Directions of cables, by number. `direction` is what a packet fault says about the node that it is seen from;
  /// nothing: a host's or switch's name means what leaves it, a cable's both ways.
  std::vector<LinkChoice> directions(const Value& names, std::optional<fabric::FaultDirection> direction) const;
  /// What leaves each host.
  std::vector<LinkChoice> out_of_hosts() const;

 private:
  using Chosen = std::map<std::uint32_t, unsigned>;  // cable -> bits: 1 forward, 2 backward
  void choose(const Value& name, std::optional<fabric::FaultDirection> direction, Chosen& chosen) const;
  std::vector<std::uint32_t> find_vertices(const std::string& name) const;
  std::vector<std::uint32_t> need_hosts(const Value& name) const;
  [[noreturn]] void no_link(const Value& name) const;
  static std::vector<LinkChoice> links_of(const Chosen& chosen);

  const fabric::Topology& topology_;
  std::map<std::string, std::uint32_t, std::less<>> vertices_;
  std::map<std::string_view, std::uint32_t> nodes_;  // where they are not hosts
};

/// The other way round: what a scenario, and `verbena fault`, call a cable or one of its directions.
std::string link_name(const fabric::Topology& topology, const LinkChoice& link);
/// A cable of which both directions follow one another is named once, as links_of() gives them.
std::vector<std::string> link_names(const fabric::Topology& topology, const std::vector<fabric::LinkId>& links);

}  // namespace verbena::scenarios
