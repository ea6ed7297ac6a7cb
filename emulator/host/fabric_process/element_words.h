// ElementWords: what a running fabric is told of its links, switches, ports and pairs: words, and the change that they
// mean.
//
// Solely responsible for how `verbena fault` spells a fabric::ElementChange. What it does is fabric/element_faults.h's.
// LINK is the name of a cable, n1-s1, for both directions, n1->s1 for one, or `all`; NODES and SWITCHES are names with
// commas.
// Tested by: tests/host/fabric_process/fabric_process_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/element_faults.h"
#include "emulator/host/fabric_client/fabric_messages.h"
#include "wire/result.h"

namespace verbena::host {

/// What `stat` says of a link before its change, as a word of the change that brings it back.
struct LinkValue {
  std::string_view key;
  std::string_view unit;
};

/// How a change is said, and what it means to whoever says it.
struct ElementWord {
  /// What is named behind the word, and the value behind that.
  enum class Subject : std::uint8_t { links, switches, hosts, pairs };
  enum class Value : std::uint8_t { none, rate, delay, classes };
  fabric::ElementChange::Kind kind;
  Subject subject;
  Value value;
  std::string_view name;
  std::size_t words_min;  // with the name
  std::size_t words_max;
  std::string_view usage;
  std::string_view text;
  std::string_view example;
  std::string_view undo{};                // the word that ends it, with the same names; empty: nothing does
  std::span<const LinkValue> restores{};  // or: it ends when the links have again what they had
};
/// In the order of fabric::ElementChange::Kind.
std::span<const ElementWord> element_words();

/// One command may be two changes: a partition both ways. The number of words is right; the error is one line.
Result<std::vector<fabric::ElementChange>, std::string> parse_element(const fabric::Topology& topology,
                                                                      const ElementWord& word,
                                                                      const FabricWords& words);
/// What is wrong with a change that nobody spelled, in one line; nothing: it is one of this topology.
std::optional<std::string> why_no_change(const fabric::Topology& topology, const fabric::ElementChange& change);

// -- The names in them
std::string link_name(const fabric::Topology& topology, fabric::LinkId link);
std::optional<std::vector<fabric::LinkId>> find_links(const fabric::Topology& topology, const std::string& name);
/// Nothing: one of the names is not that of a host, or else of a switch.
std::optional<std::vector<std::uint32_t>> find_vertices(const fabric::Topology& topology, const std::string& names,
                                                        bool hosts);
std::string not_a_node(const fabric::Topology& topology, const std::string& names);
std::string no_link(const fabric::Topology& topology, const std::string& name);

/// As of fabric/quantity.h, and "0": frames take no time; nothing: not understood.
std::optional<std::uint64_t> parse_rate(std::string_view text);
/// As of fabric/quantity.h up to 60s, and "0".
std::optional<Duration> parse_time_span(std::string_view text);

}  // namespace verbena::host
