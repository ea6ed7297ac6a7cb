// ElementWords: what a running fabric is told of its links, switches, ports and pairs: words, and the fault that they
// mean.
//
// Solely responsible for how `verbena fault` spells a row of fabric/element_rows.h: its word, what is named, and its
// keys' values in the order of the row. LINK is what scenarios call links (fabric/link_names.h); several of them, of
// NODES and of SWITCHES have commas between.
// Tested by: tests/host/fabric_process/fabric_process_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/element_rows.h"
#include "emulator/fabric/link_names.h"
#include "emulator/host/fabric_client/fabric_messages.h"
#include "wire/result.h"

namespace verbena::host {

/// "link-delay LINK TIME [JITTER]".
std::string usage_of(const fabric::ElementRow& row);

/// One command may be two faults: a partition both ways. The error is one line.
Result<std::vector<fabric::Fault>, std::string> parse_element(const fabric::Topology& topology,
                                                              const fabric::ElementRow& row, const FabricWords& words);
/// What is wrong with a change that nobody spelled, in one line; nothing: it is one of this topology.
std::optional<std::string> why_no_change(const fabric::Topology& topology, const fabric::ElementChange& change);

// -- The names in them
std::string link_name(const fabric::Topology& topology, fabric::LinkId link);
/// Ascending, none twice. `direction`: of a name that has none, as it is seen from there. The error is one line: there
/// is none of one of the names.
Result<std::vector<fabric::LinkId>, std::string> find_links(const fabric::Topology& topology, const std::string& names,
                                                            fabric::SeenFrom direction);
/// Those for packets of this rule; the error is as well that its direction has no meaning there.
Result<std::vector<fabric::LinkId>, std::string> find_links_of(const fabric::Topology& topology,
                                                               const std::string& names, const fabric::FaultRule& rule);
/// Nothing: one of the names is not that of a host, or else of a switch.
std::optional<std::vector<std::uint32_t>> find_vertices(const fabric::Topology& topology, const std::string& names,
                                                        bool hosts);
std::string not_a_node(const fabric::Topology& topology, const std::string& names);

/// As of fabric/quantity.h, and "0": frames take no time; nothing: not understood.
std::optional<std::uint64_t> parse_rate(std::string_view text);
/// As of fabric/quantity.h up to 60s, and "0".
std::optional<Duration> parse_time_span(std::string_view text);

}  // namespace verbena::host
