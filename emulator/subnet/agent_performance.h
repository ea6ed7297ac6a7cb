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
  PerformanceAgent(Subnet& subnet, PortEnd at)
      : data_path_(subnet.data_path_), node_(subnet.nodes_[at.node]), at_(at) {}

  /// The response; nothing: it was none of its requests.
  std::optional<Datagram> process(const Datagram& request);

 private:
  std::uint16_t class_port_info(std::span<std::byte> data);
  std::uint16_t port_counters(std::span<std::byte> data, bool is_set);
  std::uint16_t port_counters_extended(std::span<std::byte> data, bool is_set);
  std::uint16_t receive_error_details(std::span<std::byte> data, bool is_set);
  std::uint16_t transmit_discard_details(std::span<std::byte> data, bool is_set);
  /// Of the ports that the number stands for; nothing: there is none.
  std::optional<PortTotals> totals_of(std::uint8_t port) const;
  /// Of data; without a data path all are 0.
  PortTotals data_of(std::size_t port) const;
  /// So that it is told as `value`.
  void set(std::uint8_t port, std::uint64_t PortTotals::* counter, std::uint64_t value);
  /// Sets a counter of the port if its bit is selected.
  auto setter(std::uint8_t port, unsigned selected) {
    return [this, port, selected](unsigned bit, std::uint64_t PortTotals::* counter, std::uint64_t value) {
      if ((selected >> bit & 1) != 0) set(port, counter, value);
    };
  }

  DataPath* data_path_;
  Node& node_;
  PortEnd at_;
};

}  // namespace verbena::subnet
