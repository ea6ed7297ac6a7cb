// PerformanceAgent: what the performance management agent of a node answers (IBTA vol 1, 16.1).
//
// Solely the attributes; the counters are those of the ports. It lives as long as one datagram.
// Tested by: tests/subnet/agents_test.cc
#pragma once

#include <optional>

#include "emulator/subnet/subnet.h"

namespace verbena::subnet {

class PerformanceAgent {
 public:
  PerformanceAgent(Subnet& subnet, PortEnd at) : node_(subnet.nodes_[at.node]), at_(at) {}

  /// The response; nothing: it was none of its requests.
  std::optional<Datagram> process(const Datagram& request);

 private:
  std::uint16_t class_port_info(std::span<std::byte> data);
  std::uint16_t port_counters(std::span<std::byte> data, bool is_set);
  std::uint16_t port_counters_extended(std::span<std::byte> data, bool is_set);
  /// Of the ports that the number stands for; nothing: there is none.
  std::optional<PortTotals> totals_of(std::uint8_t port) const;
  template <class Change>
  void for_each(std::uint8_t port, Change change);

  Node& node_;
  PortEnd at_;
};

}  // namespace verbena::subnet
