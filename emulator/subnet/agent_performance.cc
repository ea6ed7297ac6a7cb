#include "emulator/subnet/agent_performance.h"

#include <algorithm>
#include <limits>

#include "emulator/subnet/smp.h"

namespace verbena::subnet {
namespace {

constexpr std::uint8_t kAllPorts = 0xff;
constexpr std::uint16_t kHasAllPortSelect = 1 << 8;
constexpr std::uint16_t kHasExtendedWidth = 1 << 9;

/// Counters stop at their highest value.
template <class Number>
Number held(std::uint64_t value, std::uint64_t most = std::numeric_limits<Number>::max()) {
  return static_cast<Number>(std::min(value, most));
}

void add(PortTotals& sum, const PortTotals& one) {
  sum.transmit_packets += one.transmit_packets;
  sum.receive_packets += one.receive_packets;
  sum.transmit_words += one.transmit_words;
  sum.receive_words += one.receive_words;
  sum.link_downed += one.link_downed;
  sum.transmit_discards += one.transmit_discards;
  sum.receive_switch_relay_errors += one.receive_switch_relay_errors;
  sum.vl15_dropped += one.vl15_dropped;
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
      {.capability_mask = kHasAllPortSelect | kHasExtendedWidth, .response_time = kResponseTime},
      data.first<wire::ClassPortInfoLayout::bytes>());
  return 0;
}

std::optional<PortTotals> PerformanceAgent::totals_of(std::uint8_t port) const {
  PortTotals sum;
  if (port == kAllPorts) {
    for (const Port& one : node_.ports) add(sum, one.totals);
    return sum;
  }
  if (port >= node_.ports.size() || (port == 0 && !node_.is_switch())) return std::nullopt;
  return node_.ports[port].totals;
}

template <class Change>
void PerformanceAgent::for_each(std::uint8_t port, Change change) {
  for (std::size_t i = 0; i < node_.ports.size(); ++i)
    if (port == kAllPorts || i == port) change(node_.ports[i].totals);
}

std::uint16_t PerformanceAgent::port_counters(std::span<std::byte> data, bool is_set) {
  const auto octets = data.first<wire::PortCountersLayout::bytes>();
  const auto asked = wire::PortCountersLayout::parse(octets);
  if (!totals_of(asked.port)) return wire::kStatusBadValue;
  if (is_set) {
    const auto clear = [&](unsigned bit, std::uint64_t PortTotals::* counter, std::uint64_t value) {
      if ((asked.select >> bit & 1) != 0) for_each(asked.port, [&](PortTotals& totals) { totals.*counter = value; });
    };
    // 16.1.3.5: a bit for each counter, in their order.
    clear(2, &PortTotals::link_downed, asked.link_downed);
    clear(5, &PortTotals::receive_switch_relay_errors, asked.receive_switch_relay_errors);
    clear(6, &PortTotals::transmit_discards, asked.transmit_discards);
    clear(11, &PortTotals::vl15_dropped, asked.vl15_dropped);
    clear(12, &PortTotals::transmit_words, asked.transmit_words);
    clear(13, &PortTotals::receive_words, asked.receive_words);
    clear(14, &PortTotals::transmit_packets, asked.transmit_packets);
    clear(15, &PortTotals::receive_packets, asked.receive_packets);
  }
  const PortTotals totals = *totals_of(asked.port);
  wire::PortCountersLayout::emit(
      {.port = asked.port,
       .select = asked.select,
       .link_downed = held<std::uint8_t>(totals.link_downed),
       .receive_switch_relay_errors = held<std::uint16_t>(totals.receive_switch_relay_errors),
       .transmit_discards = held<std::uint16_t>(totals.transmit_discards),
       .vl15_dropped = held<std::uint16_t>(totals.vl15_dropped),
       .transmit_words = held<std::uint32_t>(totals.transmit_words),
       .receive_words = held<std::uint32_t>(totals.receive_words),
       .transmit_packets = held<std::uint32_t>(totals.transmit_packets),
       .receive_packets = held<std::uint32_t>(totals.receive_packets)},
      octets);
  return 0;
}

std::uint16_t PerformanceAgent::port_counters_extended(std::span<std::byte> data, bool is_set) {
  const auto octets = data.first<wire::PortCountersExtendedLayout::bytes>();
  const auto asked = wire::PortCountersExtendedLayout::parse(octets);
  if (!totals_of(asked.port)) return wire::kStatusBadValue;
  if (is_set) {
    const auto clear = [&](unsigned bit, std::uint64_t PortTotals::* counter, std::uint64_t value) {
      if ((asked.select >> bit & 1) != 0) for_each(asked.port, [&](PortTotals& totals) { totals.*counter = value; });
    };
    clear(0, &PortTotals::transmit_words, asked.transmit_words);
    clear(1, &PortTotals::receive_words, asked.receive_words);
    clear(2, &PortTotals::transmit_packets, asked.transmit_packets);
    clear(3, &PortTotals::receive_packets, asked.receive_packets);
  }
  const PortTotals totals = *totals_of(asked.port);
  wire::PortCountersExtendedLayout::emit({.port = asked.port,
                                          .select = asked.select,
                                          .transmit_words = totals.transmit_words,
                                          .receive_words = totals.receive_words,
                                          .transmit_packets = totals.transmit_packets,
                                          .receive_packets = totals.receive_packets,
                                          .unicast_transmit_packets = totals.transmit_packets,
                                          .unicast_receive_packets = totals.receive_packets},
                                         octets);
  return 0;
}

}  // namespace verbena::subnet
