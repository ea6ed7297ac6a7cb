#include "captures/peel/peeler.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "wire/icrc.h"
#include "wire/roce_v1.h"

namespace verbena::captures {

namespace {

void store_u16(std::span<std::byte> into, std::size_t at, std::size_t value) {
  into[at] = static_cast<std::byte>(value >> 8);
  into[at + 1] = static_cast<std::byte>(value);
}

/// A header as RoCE v2 has it: no options, no extension headers, the length that is left, where it goes in the end.
void write_plain_header(std::span<std::byte> packet, const IpHeader& ip, std::size_t on_wire, bool goes_to_end) {
  const auto header = ip.packet.bytes();
  if (ip.is_v4) {
    std::copy_n(header.begin(), kIpv4Bytes, packet.begin());
    packet[0] = std::byte{0x45};
    store_u16(packet, 2, on_wire);
    return;
  }
  std::copy_n(header.begin(), kIpv6Bytes, packet.begin());
  store_u16(packet, 4, on_wire - kIpv6Bytes);
  packet[6] = static_cast<std::byte>(wire::kIpProtocolUdp);
  if (!goes_to_end || !ip.final_destination) return;
  for (std::size_t i = 0; i < 16; ++i) packet[24 + i] = static_cast<std::byte>(ip.final_destination->octets[i]);
}

std::uint32_t icrc_of(std::span<const std::byte> packet, bool is_v4) {
  return wire::compute_icrc(packet.first(packet.size() - wire::kIcrcBytes), is_v4);
}

/// The ICRC covers the header as its sender had it: as RoCE v2 has it, or, if the sender itself has put more there, as
/// rxe computes it, over the header as it is without what follows. Where that one is right, the copy gets the one that
/// is right for it.
void translate_icrc(std::span<std::byte> packet, const IpHeader& ip) {
  wire::CapturedPacket copy;
  copy.bytes = packet;
  copy.original_bytes = packet.size();
  copy.link_type = wire::LinkType::raw_ip;
  const auto view = wire::parse_captured(copy);
  if (!view || !view->is_whole() || view->icrc_is_valid()) return;
  const std::size_t end = view->frame().size();
  const std::span<std::byte> whole = packet.first(end);
  std::uint32_t stored = 0;
  for (std::size_t i = 0; i < wire::kIcrcBytes; ++i)
    stored |= std::to_integer<std::uint32_t>(whole[end - wire::kIcrcBytes + i]) << 8 * i;
  const std::size_t header_bytes = ip.is_v4 ? kIpv4Bytes : kIpv6Bytes;
  std::copy_n(ip.packet.bytes().begin(), header_bytes, whole.begin());
  bool is_right = icrc_of(whole, ip.is_v4) == stored;
  if (ip.final_destination && !is_right) {
    write_plain_header(whole, ip, end, false);
    is_right = icrc_of(whole, ip.is_v4) == stored;
  }
  write_plain_header(whole, ip, end, true);
  if (!is_right) return;
  const std::uint32_t made = icrc_of(whole, ip.is_v4);
  for (std::size_t i = 0; i < wire::kIcrcBytes; ++i)
    whole[end - wire::kIcrcBytes + i] = static_cast<std::byte>(made >> 8 * i);
}

Peeled of_kind(Peeled::Kind kind) {
  Peeled peeled;
  peeled.kind = kind;
  return peeled;
}

std::string joined(const std::vector<std::string>& layers) {
  return fmt::format("{}", fmt::join(layers, ", "));
}

}  // namespace

const LayerRow* find_layer(Announced announced) {
  static const auto all = [] {
    std::unordered_map<std::uint64_t, const LayerRow*> made;
    for (const auto& table : {link_layers(), ether_type_layers(), ip_layers(), udp_layers()})
      for (const LayerRow& row : table)
        made[std::uint64_t{static_cast<std::uint8_t>(row.announced.space)} << 32 | row.announced.number] = &row;
    return made;
  }();
  const auto found = all.find(std::uint64_t{static_cast<std::uint8_t>(announced.space)} << 32 | announced.number);
  return found == all.end() ? nullptr : found->second;
}

std::string name_of(Announced announced) {
  switch (announced.space) {
    case Space::link_type:
      return fmt::format("link type {}", announced.number);
    case Space::ether_type:
      return fmt::format("EtherType {:#06x}", announced.number);
    case Space::ip_protocol:
      return fmt::format("IP protocol {}", announced.number);
    case Space::udp_port:
      return fmt::format("UDP port {}", announced.number);
    case Space::ppp:
      return fmt::format("PPP protocol {:#06x}", announced.number);
    case Space::sap:
      return "LLC";
  }
  return "";
}

Peeled Peeler::peel(const wire::CapturedPacket& captured) {
  Walk walk;
  walk.left = Octets(captured.bytes, captured.original_bytes);
  walk.next = {Space::link_type, static_cast<std::uint32_t>(captured.link_type)};
  Peeled peeled = this->walk(walk, captured);
  peeled.layers = joined(walk.layers);
  if (!peeled.name.empty() && !walk.tunnel.empty() && peeled.name != walk.tunnel)
    peeled.name += fmt::format(" in {}", walk.tunnel);
  return peeled;
}

Peeled Peeler::walk(Walk& walk, const wire::CapturedPacket& captured) {
  const auto other = [](std::string name) {
    Peeled peeled;
    peeled.name = std::move(name);
    return peeled;
  };
  std::string_view outside;
  for (std::size_t depth = 0; depth < kLayersMax; ++depth) {
    const LayerRow* row = find_layer(walk.next);
    if (row == nullptr) return other(name_of(walk.next));
    if (row->strip == nullptr) return other(std::string(row->name));
    walk.behind_ethernet = walk.before == kEthernet && depth != 0;
    walk.before = walk.next;
    walk.name.clear();
    if (!outside.empty()) walk.tunnel = outside;
    outside = row->is_tunnel ? row->name : std::string_view();
    Step step = row->strip(walk);
    if (step == Step::fragment) {
      const auto whole = fragments_.add(walk);
      if (!whole) return of_kind(Peeled::Kind::fragment);
      walk.ip = *whole;
      walk.left = whole->packet;
      walk.inside("IP fragments");
      step = walk.strip(whole->transport_at, {Space::ip_protocol, walk.piece.protocol});
    }
    switch (step) {
      case Step::next:
        break;
      case Step::found:
        return found(walk, captured);
      case Step::carried:
        return carried(walk, captured);
      case Step::named:
        return other(walk.name.empty() ? std::string(row->name) : walk.name);
      case Step::short_of:
        if (walk.left.is_cut()) return of_kind(Peeled::Kind::headless);
        return other(fmt::format("{}, malformed", row->name));
      case Step::broken:
      case Step::fragment:
        return other(fmt::format("{}, malformed", row->name));
    }
  }
  return other("too many layers");
}

Peeled Peeler::carried(const Walk& walk, const wire::CapturedPacket& captured) {
  Peeled peeled = of_kind(Peeled::Kind::roce);
  peeled.packet = captured;
  peeled.packet.bytes = walk.left.bytes();
  peeled.packet.original_bytes = walk.left.on_wire();
  peeled.packet.link_type = wire::LinkType::infiniband;
  peeled.opcode = static_cast<std::uint8_t>(walk.left.u8(walk.opcode_at));
  return peeled;
}

/// The parser knows it behind an Ethernet header alone. Where another layer stands in front, a copy gets one, with the
/// addresses of the frame that it was in.
Peeled Peeler::found_roce_v1(const Walk& walk, const wire::CapturedPacket& captured) {
  Peeled peeled = of_kind(Peeled::Kind::roce);
  peeled.packet = captured;
  peeled.packet.link_type = wire::LinkType::ethernet;
  peeled.opcode = static_cast<std::uint8_t>(walk.left.u8(wire::kGrhBytes));
  peeled.packet.original_bytes = kEthernetBytes + walk.left.on_wire();
  if (walk.behind_ethernet) {
    Octets frame = walk.ethernet;
    frame.limit(kEthernetBytes + walk.left.on_wire());
    peeled.packet.bytes = frame.bytes();
    return peeled;
  }
  const std::span<std::byte> frame = arena_.room(kEthernetBytes + walk.left.size());
  if (frame.empty()) {
    peeled.kind = Peeled::Kind::other;
    peeled.name = "RoCE v1, more than there is room for";
    return peeled;
  }
  constexpr std::size_t kTypeAt = kEthernetBytes - 2;
  std::ranges::fill(frame.first(kTypeAt), std::byte{0});
  const auto outer = walk.ethernet.bytes();
  if (outer.size() >= kTypeAt) std::ranges::copy(outer.first(kTypeAt), frame.begin());
  store_u16(frame, kTypeAt, wire::kEtherTypeRoceV1);
  std::ranges::copy(walk.left.bytes(), frame.begin() + kEthernetBytes);
  peeled.packet.bytes = frame;
  return peeled;
}

Peeled Peeler::found(const Walk& walk, const wire::CapturedPacket& captured) {
  if (walk.is_roce_v1) return found_roce_v1(walk, captured);
  Peeled peeled = of_kind(Peeled::Kind::roce);
  const IpHeader& ip = walk.ip;
  peeled.packet = captured;
  peeled.opcode = static_cast<std::uint8_t>(ip.packet.u8(ip.transport_at + wire::UdpLayout::bytes));
  if (ip.is_plain) {
    const Octets& from = ip.has_ethernet ? ip.frame : ip.packet;
    peeled.packet.bytes = from.bytes();
    peeled.packet.original_bytes = from.on_wire();
    peeled.packet.link_type = ip.has_ethernet ? wire::LinkType::ethernet : wire::LinkType::raw_ip;
    return peeled;
  }
  const std::size_t header_bytes = ip.is_v4 ? kIpv4Bytes : kIpv6Bytes;
  const std::size_t kept = header_bytes + ip.packet.size() - ip.transport_at;
  const std::size_t on_wire = header_bytes + ip.packet.on_wire() - ip.transport_at;
  const std::span<std::byte> packet = arena_.room(kept);
  if (packet.empty()) {
    peeled.kind = Peeled::Kind::other;
    peeled.name = "RoCE v2 with IP options, more than there is room for";
    return peeled;
  }
  const auto transport = ip.packet.bytes().subspan(ip.transport_at);
  std::copy(transport.begin(), transport.end(), packet.begin() + static_cast<std::ptrdiff_t>(header_bytes));
  write_plain_header(packet, ip, on_wire, true);
  if (kept == on_wire) translate_icrc(packet, ip);
  peeled.packet.bytes = packet;
  peeled.packet.original_bytes = on_wire;
  peeled.packet.link_type = wire::LinkType::raw_ip;
  return peeled;
}

}  // namespace verbena::captures
