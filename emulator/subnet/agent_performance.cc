#include "emulator/subnet/agent_performance.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "emulator/subnet/smp.h"

namespace verbena::subnet {
namespace {

constexpr std::uint8_t kAllPorts = 0xff;
constexpr std::uint16_t kHasAllPortSelect = 1 << 8;
constexpr std::uint16_t kHasExtendedWidth = 1 << 9;
constexpr std::uint16_t kHasTransmitWait = 1 << 12;

/// Counters stop at their highest value.
template <class Number>
Number held(std::uint64_t value, std::uint64_t most = std::numeric_limits<Number>::max()) {
  return static_cast<Number>(std::min(value, most));
}

constexpr std::uint64_t PortTotals::* kCounters[] = {&PortTotals::transmit_packets,
                                                     &PortTotals::receive_packets,
                                                     &PortTotals::transmit_words,
                                                     &PortTotals::receive_words,
                                                     &PortTotals::unicast_transmit_packets,
                                                     &PortTotals::unicast_receive_packets,
                                                     &PortTotals::multicast_transmit_packets,
                                                     &PortTotals::multicast_receive_packets,
                                                     &PortTotals::transmit_wait,
                                                     &PortTotals::symbol_errors,
                                                     &PortTotals::receive_errors,
                                                     &PortTotals::link_downed,
                                                     &PortTotals::transmit_discards,
                                                     &PortTotals::receive_switch_relay_errors,
                                                     &PortTotals::transmit_constraint_errors,
                                                     &PortTotals::receive_constraint_errors,
                                                     &PortTotals::vl15_dropped,
                                                     &PortTotals::local_physical_errors,
                                                     &PortTotals::inactive_discards,
                                                     &PortTotals::neighbor_mtu_discards,
                                                     &PortTotals::head_of_queue_discards,
                                                     &PortTotals::lid_mapping_errors,
                                                     &PortTotals::lane_mapping_errors,
                                                     &PortTotals::looping_errors};
static_assert(sizeof(PortTotals) == std::size(kCounters) * sizeof(std::uint64_t), "each counter is in the list");

void add(PortTotals& sum, const PortTotals& one) {
  for (const auto counter : kCounters) sum.*counter += one.*counter;
}

}  // namespace

std::optional<Datagram> PerformanceAgent::process(const Datagram& request) {
  Datagram response = request;
  Smp mad(response.octets);
  wire::AnyMadHeader header = mad.header();
  const bool is_set = header.method == wire::kMethodSet;
  if (!is_set && header.method != wire::kMethodGet) return std::nullopt;
  const auto data = std::span(response.octets).subspan(wire::kPerformanceDataAt);
  switch (header.attribute) {
    case wire::kAttributeClassPortInfo:
      header.status = is_set ? wire::kStatusBadAttribute : class_port_info(data);
      break;
    case wire::kAttributePortCounters:
      header.status = port_counters(data, is_set);
      break;
    case wire::kAttributePortCountersExtended:
      header.status = port_counters_extended(data, is_set);
      break;
    case wire::kAttributePortReceiveErrorDetails:
      header.status = receive_error_details(data, is_set);
      break;
    case wire::kAttributePortTransmitDiscardDetails:
      header.status = transmit_discard_details(data, is_set);
      break;
    default:
      header.status = wire::kStatusBadAttribute;
  }
  header.method = wire::kMethodGet | wire::kMethodResponseBit;
  mad.set_header(header);
  return response;
}

std::uint16_t PerformanceAgent::class_port_info(std::span<std::byte> data) {
  constexpr std::uint8_t kResponseTime = 18;
  wire::ClassPortInfoLayout::emit(
      {.capability_mask = kHasAllPortSelect | kHasExtendedWidth | kHasTransmitWait, .response_time = kResponseTime},
      data.first<wire::ClassPortInfoLayout::bytes>());
  return 0;
}

PortTotals PerformanceAgent::data_of(std::size_t port) const {
  return data_path_ == nullptr ? PortTotals{} : data_path_->totals({at_.node, static_cast<std::uint8_t>(port)});
}

std::optional<PortTotals> PerformanceAgent::totals_of(std::uint8_t port) const {
  if (port != kAllPorts && (port >= node_.ports.size() || (port == 0 && !node_.is_switch()))) return std::nullopt;
  PortTotals sum;
  for (std::size_t i = 0; i < node_.ports.size(); ++i) {
    if (port != kAllPorts && i != port) continue;
    add(sum, node_.ports[i].totals);
    add(sum, data_of(i));
  }
  return sum;
}

/// What the data path counts goes on: the difference is kept, and may be below 0.
void PerformanceAgent::set(std::uint8_t port, std::uint64_t PortTotals::* counter, std::uint64_t value) {
  for (std::size_t i = 0; i < node_.ports.size(); ++i)
    if (port == kAllPorts || i == port) node_.ports[i].totals.*counter = value - data_of(i).*counter;
}

std::uint16_t PerformanceAgent::port_counters(std::span<std::byte> data, bool is_set) {
  const auto octets = data.first<wire::PortCountersLayout::bytes>();
  const auto asked = wire::PortCountersLayout::parse(octets);
  if (!totals_of(asked.port)) return wire::kStatusBadValue;
  if (is_set) {
    const auto clear = setter(asked.port, asked.select);
    // 16.1.3.5: a bit for each counter, in their order.
    clear(0, &PortTotals::symbol_errors, asked.symbol_errors);
    clear(2, &PortTotals::link_downed, asked.link_downed);
    clear(3, &PortTotals::receive_errors, asked.receive_errors);
    clear(5, &PortTotals::receive_switch_relay_errors, asked.receive_switch_relay_errors);
    clear(6, &PortTotals::transmit_discards, asked.transmit_discards);
    clear(7, &PortTotals::transmit_constraint_errors, asked.transmit_constraint_errors);
    clear(8, &PortTotals::receive_constraint_errors, asked.receive_constraint_errors);
    clear(11, &PortTotals::vl15_dropped, asked.vl15_dropped);
    clear(12, &PortTotals::transmit_words, asked.transmit_words);
    clear(13, &PortTotals::receive_words, asked.receive_words);
    clear(14, &PortTotals::transmit_packets, asked.transmit_packets);
    clear(15, &PortTotals::receive_packets, asked.receive_packets);
    if ((asked.select2 & 1) != 0) set(asked.port, &PortTotals::transmit_wait, asked.transmit_wait);
  }
  const PortTotals totals = *totals_of(asked.port);
  wire::PortCountersLayout::emit(
      {.port = asked.port,
       .select = asked.select,
       .symbol_errors = held<std::uint16_t>(totals.symbol_errors),
       .link_downed = held<std::uint8_t>(totals.link_downed),
       .receive_errors = held<std::uint16_t>(totals.receive_errors),
       .receive_switch_relay_errors = held<std::uint16_t>(totals.receive_switch_relay_errors),
       .transmit_discards = held<std::uint16_t>(totals.transmit_discards),
       .transmit_constraint_errors = held<std::uint8_t>(totals.transmit_constraint_errors),
       .receive_constraint_errors = held<std::uint8_t>(totals.receive_constraint_errors),
       .select2 = asked.select2,
       .vl15_dropped = held<std::uint16_t>(totals.vl15_dropped),
       .transmit_words = held<std::uint32_t>(totals.transmit_words),
       .receive_words = held<std::uint32_t>(totals.receive_words),
       .transmit_packets = held<std::uint32_t>(totals.transmit_packets),
       .receive_packets = held<std::uint32_t>(totals.receive_packets),
       .transmit_wait = held<std::uint32_t>(totals.transmit_wait)},
      octets);
  return 0;
}

std::uint16_t PerformanceAgent::port_counters_extended(std::span<std::byte> data, bool is_set) {
  const auto octets = data.first<wire::PortCountersExtendedLayout::bytes>();
  const auto asked = wire::PortCountersExtendedLayout::parse(octets);
  if (!totals_of(asked.port)) return wire::kStatusBadValue;
  if (is_set) {
    const auto clear = setter(asked.port, asked.select);
    clear(0, &PortTotals::transmit_words, asked.transmit_words);
    clear(1, &PortTotals::receive_words, asked.receive_words);
    clear(2, &PortTotals::transmit_packets, asked.transmit_packets);
    clear(3, &PortTotals::receive_packets, asked.receive_packets);
    clear(4, &PortTotals::unicast_transmit_packets, asked.unicast_transmit_packets);
    clear(5, &PortTotals::unicast_receive_packets, asked.unicast_receive_packets);
    clear(6, &PortTotals::multicast_transmit_packets, asked.multicast_transmit_packets);
    clear(7, &PortTotals::multicast_receive_packets, asked.multicast_receive_packets);
  }
  const PortTotals totals = *totals_of(asked.port);
  wire::PortCountersExtendedLayout::emit({.port = asked.port,
                                          .select = asked.select,
                                          .transmit_words = totals.transmit_words,
                                          .receive_words = totals.receive_words,
                                          .transmit_packets = totals.transmit_packets,
                                          .receive_packets = totals.receive_packets,
                                          .unicast_transmit_packets = totals.unicast_transmit_packets,
                                          .unicast_receive_packets = totals.unicast_receive_packets,
                                          .multicast_transmit_packets = totals.multicast_transmit_packets,
                                          .multicast_receive_packets = totals.multicast_receive_packets},
                                         octets);
  return 0;
}

std::uint16_t PerformanceAgent::receive_error_details(std::span<std::byte> data, bool is_set) {
  const auto octets = data.first<wire::PortReceiveErrorDetailsLayout::bytes>();
  const auto asked = wire::PortReceiveErrorDetailsLayout::parse(octets);
  if (!totals_of(asked.port)) return wire::kStatusBadValue;
  if (is_set) {
    const auto clear = setter(asked.port, asked.select);
    clear(0, &PortTotals::local_physical_errors, asked.local_physical_errors);
    clear(3, &PortTotals::lid_mapping_errors, asked.lid_mapping_errors);
    clear(4, &PortTotals::lane_mapping_errors, asked.lane_mapping_errors);
    clear(5, &PortTotals::looping_errors, asked.looping_errors);
  }
  const PortTotals totals = *totals_of(asked.port);
  wire::PortReceiveErrorDetailsLayout::emit({.port = asked.port,
                                             .select = asked.select,
                                             .local_physical_errors = held<std::uint16_t>(totals.local_physical_errors),
                                             .lid_mapping_errors = held<std::uint16_t>(totals.lid_mapping_errors),
                                             .lane_mapping_errors = held<std::uint16_t>(totals.lane_mapping_errors),
                                             .looping_errors = held<std::uint16_t>(totals.looping_errors)},
                                            octets);
  return 0;
}

std::uint16_t PerformanceAgent::transmit_discard_details(std::span<std::byte> data, bool is_set) {
  const auto octets = data.first<wire::PortTransmitDiscardDetailsLayout::bytes>();
  const auto asked = wire::PortTransmitDiscardDetailsLayout::parse(octets);
  if (!totals_of(asked.port)) return wire::kStatusBadValue;
  if (is_set) {
    const auto clear = setter(asked.port, asked.select);
    clear(0, &PortTotals::inactive_discards, asked.inactive_discards);
    clear(1, &PortTotals::neighbor_mtu_discards, asked.neighbor_mtu_discards);
    clear(3, &PortTotals::head_of_queue_discards, asked.head_of_queue_discards);
  }
  const PortTotals totals = *totals_of(asked.port);
  wire::PortTransmitDiscardDetailsLayout::emit(
      {.port = asked.port,
       .select = asked.select,
       .inactive_discards = held<std::uint16_t>(totals.inactive_discards),
       .neighbor_mtu_discards = held<std::uint16_t>(totals.neighbor_mtu_discards),
       .head_of_queue_discards = held<std::uint16_t>(totals.head_of_queue_discards)},
      octets);
  return 0;
}

}  // namespace verbena::subnet
