// RoCE v2: packets in UDP over IPv4 or IPv6 (IBTA annex A17).
//
// IPv4 packets leave with DF set and identification 0, as a UDP socket sends them; UDP checksums are 0 over IPv4 and
// IPv6 alike (annex A17: the ICRC stands in for it). FrameParser has the checks of what comes in.
// Tested by: tests/wire/packet_test.cc
#include "wire/roce_v2.h"

#include "wire/crc32_polynomial.h"
#include "wire/encapsulation.h"
#include "wire/frame_template.h"
#include "wire/icrc.h"

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
constexpr std::size_t kIpv4ChecksumOffset = 10;
constexpr std::size_t kIpv4ProtocolOffset = 9;
constexpr std::size_t kIpv6LengthOffset = 4;
constexpr std::size_t kIpv6NextHeaderOffset = 6;
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

void begin(const FramePath& path, FrameHeaders& into) {
  const bool is_ipv4 = path.source.is_ipv4() && path.destination.is_ipv4();
  begin_ethernet(path, is_ipv4 ? kEtherTypeIpv4 : kEtherTypeIpv6, into);
  into.class_shift = roce_v2_places(into.network_at, is_ipv4).class_shift;
  if (is_ipv4) {
    Ipv4 ip;
    ip.dscp = path.traffic_class >> 2;
    ip.ecn = path.traffic_class & kEcnMask;
    ip.time_to_live = path.hop_limit;
    ip.identification = path.ipv4_identification;
    ip.dont_fragment = path.ipv4_dont_fragment;
    ip.source = path.source.ipv4();
    ip.destination = path.destination.ipv4();
    const auto octets = Ipv4Layout::emit(ip);
    into.checksum_sum = sum_of_words(octets);
    into.append(octets);
  } else {
    Ipv6 ip;
    ip.traffic_class = path.traffic_class;
    ip.hop_limit = path.hop_limit;
    ip.flow_label = path.flow_label;
    ip.source = path.source;
    ip.destination = path.destination;
    into.append(Ipv6Layout::emit(ip));
  }
  Udp udp;
  udp.source_port = path.udp_source_port;
  into.append(UdpLayout::emit(udp));
  into.icrc_of_length_0 = icrc_until_bth(std::span(into.octets).subspan(into.network_at), is_ipv4);
}

bool has_ipv4(const FrameHeaders& headers) {
  return (headers.octets[headers.network_at] >> 4) == std::byte{4};  // the version
}

void fit(FrameHeaders& headers, std::size_t transport_bytes) {
  const std::size_t udp_bytes = transport_bytes + UdpLayout::bytes;
  std::byte* const ip = headers.octets.data() + headers.network_at;
  headers.icrc_until_bth = headers.icrc_of_length_0 ^ kUdpShares.of(udp_bytes);
  if (has_ipv4(headers)) {
    const std::size_t total_bytes = udp_bytes + Ipv4Layout::bytes;
    std::uint32_t sum = headers.checksum_sum + static_cast<std::uint32_t>(total_bytes);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    store_u16(ip + kIpv4LengthOffset, total_bytes);
    store_u16(ip + kIpv4ChecksumOffset, ~sum & 0xffff);
    headers.icrc_until_bth ^= kIpv4Shares.of(total_bytes);
  } else {
    store_u16(ip + kIpv6LengthOffset, udp_bytes);
    headers.icrc_until_bth ^= kIpv6Shares.of(udp_bytes);
  }
  store_u16(headers.octets.data() + headers.bytes - UdpLayout::bytes + kUdpLengthOffset, udp_bytes);
}

std::optional<FramePlaces> find(std::span<const std::byte> frame, std::size_t network_at, std::uint16_t ether_type) {
  const bool is_ipv4 = ether_type == kEtherTypeIpv4;
  const std::size_t network_bytes = is_ipv4 ? Ipv4Layout::bytes : Ipv6Layout::bytes;
  if (frame.size() < network_at + network_bytes) return std::nullopt;
  FramePlaces places = roce_v2_places(network_at, is_ipv4);
  if (frame.size() < places.bth_at) return places;
  const std::size_t protocol_at = network_at + (is_ipv4 ? kIpv4ProtocolOffset : kIpv6NextHeaderOffset);
  const Udp udp = UdpLayout::parse(frame.subspan(places.entropy_at).first<UdpLayout::bytes>());
  places.carries_transport = frame[protocol_at] == std::byte{kIpProtocolUdp} && udp.destination_port == kRoceUdpPort;
  return places;
}

std::uint32_t icrc_of_headers(std::span<const std::byte> frame, const FramePlaces& places) {
  return icrc_until_bth(frame.subspan(places.network_at), places.network_bytes == Ipv4Layout::bytes);
}

}  // namespace

constinit const Encapsulation kRoceV2{.name = "RoCE v2",
                                      .ether_types = {kEtherTypeIpv4, kEtherTypeIpv6},
                                      .begin = begin,
                                      .fit = fit,
                                      .parse = nullptr,
                                      .find = find,
                                      .icrc_until_bth = icrc_of_headers};

}  // namespace verbena::wire
