#include "wire/packet_builder.h"

#include "wire/crc32_polynomial.h"

namespace verbena::wire {
namespace {

/// What the two octets of a length, followed by `kAfter` octets up to the end of the UDP header, change in a CRC: it is
/// linear, so each octet's share can be looked up.
template <std::size_t kAfter>
struct LengthShares {
  std::array<std::uint32_t, 256> high{};
  std::array<std::uint32_t, 256> low{};

  static constexpr std::uint32_t share(std::uint32_t octet, std::size_t octets_after) {
    std::uint32_t state = octet;
    for (std::size_t bit = 0; bit < 8 * (octets_after + 1); ++bit) state = crc32_times_x(state);
    return state;
  }
  constexpr LengthShares() {
    for (std::uint32_t octet = 0; octet < 256; ++octet) {
      high[octet] = share(octet, kAfter + 1);
      low[octet] = share(octet, kAfter);
    }
  }
  std::uint32_t of(std::size_t length) const { return high[length >> 8 & 0xff] ^ low[length & 0xff]; }
};

constexpr std::size_t kIpv4LengthOffset = 2;
constexpr std::size_t kIpv6LengthOffset = 4;
constexpr std::size_t kUdpLengthOffset = 4;
constexpr LengthShares<Ipv4Layout::bytes + UdpLayout::bytes - kIpv4LengthOffset - 2> kIpv4Shares;
constexpr LengthShares<Ipv6Layout::bytes + UdpLayout::bytes - kIpv6LengthOffset - 2> kIpv6Shares;
constexpr LengthShares<UdpLayout::bytes - kUdpLengthOffset - 2> kUdpShares;

void store_u16(std::byte* into, std::size_t value) {
  layout_detail::store_big_endian<2>(into, value);
}

std::uint32_t sum_of_words(std::span<const std::byte> octets) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < octets.size(); i += 2) {
    sum += std::to_integer<std::uint32_t>(octets[i]) << 8 | std::to_integer<std::uint32_t>(octets[i + 1]);
  }
  return sum;
}

}  // namespace

FrameTemplate::FrameTemplate(const FramePath& path) {
  std::size_t end = 0;
  const auto add = [&](const auto& header_octets) {
    std::memcpy(octets_.data() + end, header_octets.data(), header_octets.size());
    end += header_octets.size();
  };
  is_ipv4_ = path.source.is_ipv4() && path.destination.is_ipv4();
  const std::uint16_t ether_type = is_ipv4_ ? kEtherTypeIpv4 : kEtherTypeIpv6;
  add(EthernetLayout::emit({path.destination_mac, path.source_mac, path.vlan ? kEtherTypeVlan : ether_type}));
  if (path.vlan) {
    Vlan vlan = *path.vlan;
    vlan.ether_type = ether_type;
    add(VlanLayout::emit(vlan));
  }
  ip_offset_ = static_cast<std::uint8_t>(end);
  if (is_ipv4_) {
    Ipv4 ip;
    ip.dscp = path.traffic_class >> 2;
    ip.ecn = path.traffic_class & 3;
    ip.time_to_live = path.hop_limit;
    ip.identification = path.ipv4_identification;
    ip.dont_fragment = path.ipv4_dont_fragment;
    ip.source = path.source.ipv4();
    ip.destination = path.destination.ipv4();
    const auto ip_octets = Ipv4Layout::emit(ip);
    checksum_sum_ = sum_of_words(ip_octets);
    add(ip_octets);
  } else {
    Ipv6 ip;
    ip.traffic_class = path.traffic_class;
    ip.hop_limit = path.hop_limit;
    ip.flow_label = path.flow_label;
    ip.source = path.source;
    ip.destination = path.destination;
    add(Ipv6Layout::emit(ip));
  }
  Udp udp;
  udp.source_port = path.udp_source_port;
  add(UdpLayout::emit(udp));
  header_bytes_ = static_cast<std::uint8_t>(end);
  icrc_of_length_0_ = wire::icrc_until_bth(std::span(octets_).subspan(ip_offset_), is_ipv4_);
}

std::uint8_t FrameTemplate::traffic_class() const {
  if (header_bytes_ == 0) return 0;
  const std::byte* const ip = octets_.data() + ip_offset_;
  return std::to_integer<std::uint8_t>(is_ipv4_ ? ip[1] : ip[0] << 4 | ip[1] >> 4);
}

void FrameTemplate::fit(std::size_t udp_payload_bytes) const {
  fitted_bytes_ = static_cast<std::uint16_t>(udp_payload_bytes);
  const std::size_t udp_bytes = udp_payload_bytes + UdpLayout::bytes;
  std::byte* const ip = octets_.data() + ip_offset_;
  icrc_until_bth_ = icrc_of_length_0_ ^ kUdpShares.of(udp_bytes);
  if (is_ipv4_) {
    const std::size_t total_bytes = udp_bytes + Ipv4Layout::bytes;
    std::uint32_t sum = checksum_sum_ + static_cast<std::uint32_t>(total_bytes);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    store_u16(ip + kIpv4LengthOffset, total_bytes);
    store_u16(ip + 10, ~sum & 0xffff);
    icrc_until_bth_ ^= kIpv4Shares.of(total_bytes);
  } else {
    store_u16(ip + kIpv6LengthOffset, udp_bytes);
    icrc_until_bth_ ^= kIpv6Shares.of(udp_bytes);
  }
  store_u16(octets_.data() + header_bytes_ - 4, udp_bytes);
}

}  // namespace verbena::wire
