// The topology of an InfiniBand subnet, as ibnetdiscover writes it and ibsim reads it.
//
// Solely the reading of such a file into plain values, with an error that names the place. What the nodes do is
// subnet.h's. Source: the description at the head of ibsim's examples, and ibnetdiscover(8).
// Tested by: tests/subnet/topology_file_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/result.h"
#include "wire/subnet_management.h"

namespace verbena::subnet {

/// The end of a cable.
struct PortEnd {
  std::size_t node = 0;  // among Topology::nodes
  std::uint8_t port = 0;
  bool operator==(const PortEnd&) const = default;
};

struct PortPlan {
  std::optional<PortEnd> peer;
  std::optional<std::uint64_t> guid;  // nothing: made of the node's
  std::uint8_t width = 2;             // as PortInfo has it: 1 is 1x, 2 is 4x, 4 is 8x, 8 is 12x
  std::uint8_t speed = 4;             // 1 is SDR, 2 DDR, 4 QDR
  std::uint8_t speed_extended = 0;    // 1 is FDR, 2 EDR, 4 HDR, 8 NDR
  std::uint8_t mtu = 5;               // MTUCap: 1 is 256 octets, 5 is 4096
  bool is_rate_told = false;          // the file says width and speed, at one end of the cable at least, or of all
};

struct NodePlan {
  wire::NodeType type = wire::NodeType::channel_adapter;
  std::string id;  // unique in its file
  std::string description;
  std::uint64_t guid = 0;
  std::uint64_t system_image_guid = 0;
  std::uint32_t vendor = 0x0002c9;
  std::uint16_t device = 0;
  std::vector<PortPlan> ports;  // [0] is a switch's own; an adapter has none

  std::uint8_t port_count() const { return static_cast<std::uint8_t>(ports.size() - 1); }
  std::uint64_t port_guid(std::uint8_t port) const;
};

struct Topology {
  std::vector<NodePlan> nodes;
  /// The first adapter of the file; nothing: it has none.
  std::optional<std::size_t> first_adapter() const;
  /// By id, or by description where only one node has it.
  std::optional<std::size_t> find(std::string_view name) const;
};

/// The error is one line, "FILE:LINE:COLUMN: what is wrong, and what to write", of the first octet of the word that is
/// wrong; lines and columns count from 1, columns in octets. Without a node: "FILE: no node". `file`: its name, for
/// errors. `load`: the text of a file that is included, by its name as it stands there; the error is one line.
using TopologyLoader = std::function<Result<std::string, std::string>(const std::string& name)>;
Result<Topology, std::string> read_topology(std::string_view text, const std::string& file,
                                            const TopologyLoader& load = {});

}  // namespace verbena::subnet
