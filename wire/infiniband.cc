// InfiniBand as an encapsulation: packets between an LRH, with a GRH or without, and a VCRC.
// Tested by: tests/wire/infiniband_test.cc
#include "wire/infiniband.h"

#include <algorithm>

#include "wire/encapsulation.h"
#include "wire/frame_template.h"
#include "wire/grh.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"

namespace verbena::wire {
namespace {

constexpr std::size_t kLrhBytes = LocalRouteHeaderLayout::bytes;
constexpr std::size_t kSourceLidAt = 6;
constexpr std::size_t kDestinationLidAt = 2;
constexpr std::size_t kWordsAt = 4;
constexpr std::size_t kGrhLengthAt = 4;
constexpr std::size_t kGrhHopLimitAt = 7;
constexpr std::size_t kGrhAddressesAt = 8;
constexpr std::size_t kWordBytes = 4;

/// x^16 + x^12 + x^3 + x + 1 with its bits the other way round, as those of each octet are.
constexpr std::uint16_t kPolynomial = 0xd008;

constexpr auto kCrcOfOctet = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::size_t octet = 0; octet < table.size(); ++octet) {
    std::uint16_t state = static_cast<std::uint16_t>(octet);
    for (int bit = 0; bit < 8; ++bit)
      state = static_cast<std::uint16_t>((state & 1) != 0 ? state >> 1 ^ kPolynomial : state >> 1);
    table[octet] = state;
  }
  return table;
}();

std::uint16_t load_crc(std::span<const std::byte, kVcrcBytes> from) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[0]) | std::to_integer<unsigned>(from[1]) << 8);
}
void store_crc(std::span<std::byte, kVcrcBytes> into, std::uint16_t crc) {
  into[0] = static_cast<std::byte>(crc);
  into[1] = static_cast<std::byte>(crc >> 8);
}

bool has_grh(const FramePath& path) {
  return path.destination != Gid{} && !lid_of(path.destination);
}

LocalRouteHeader lrh_of(std::span<const std::byte> frame) {
  return LocalRouteHeaderLayout::parse(frame.first<kLrhBytes>());
}

std::uint32_t icrc_of_headers(std::span<const std::byte> frame, const FramePlaces& places) {
  // 7.8.1: a switch may change the lane. A router makes a new LRH and changes more, so all that counts as ones.
  std::array<std::byte, kLrhBytes + GrhLayout::bytes> masked;
  masked.fill(std::byte{0xff});
  const bool is_global = places.network_bytes != 0;
  if (is_global) {
    std::byte* const grh = masked.data() + kLrhBytes;
    std::copy_n(frame.begin() + kLrhBytes, GrhLayout::bytes, grh);
    grh[0] |= std::byte{0x0f};  // the version stays
    grh[1] = grh[2] = grh[3] = grh[kGrhHopLimitAt] = std::byte{0xff};
  } else {
    std::copy_n(frame.begin(), kLrhBytes, masked.begin());
    masked[0] |= std::byte{0xf0};
  }
  Icrc crc;
  crc.update(masked.data(), is_global ? masked.size() : kLrhBytes);
  return crc.value();
}

void begin(const FramePath& path, FrameHeaders& into) {
  LocalRouteHeader lrh;
  lrh.service_level = path.to.service_level();
  lrh.next_header = has_grh(path) ? LinkNextHeader::iba_global : LinkNextHeader::iba_local;
  lrh.source = path.from.lid();
  lrh.destination = path.to.lid();
  into.append(LocalRouteHeaderLayout::emit(lrh));
  if (has_grh(path)) {
    Grh grh;
    grh.traffic_class = path.traffic_class;
    grh.flow_label = path.flow_label;
    grh.hop_limit = path.hop_limit;
    grh.source = path.source;
    grh.destination = path.destination;
    into.append(GrhLayout::emit(grh));
  }
  // What a NIC asks its port for room by is the service level, in the place of the DSCP (FrameTemplate::traffic_class).
  constexpr std::uint8_t kServiceLevelShift = 2;
  into.network_at = 0;
  into.class_shift = kServiceLevelShift;
}

void fit(FrameHeaders& headers, std::size_t transport_bytes) {
  const LocalRouteHeader lrh = lrh_of(headers.octets);
  std::byte* const octets = headers.octets.data();
  layout_detail::store_big_endian<2>(octets + kWordsAt, (headers.bytes + transport_bytes) / kWordBytes);
  if (lrh.next_header == LinkNextHeader::iba_global)
    layout_detail::store_big_endian<2>(octets + kLrhBytes + kGrhLengthAt, transport_bytes);
  headers.icrc_until_bth = icrc_of_headers(headers.octets, infiniband_places(lrh.next_header));
}

void seal(std::span<std::byte> frame) {
  const auto covered = frame.first(frame.size() - kVcrcBytes);
  store_crc(frame.last<kVcrcBytes>(), variant_crc(covered));
}

bool is_sealed(std::span<const std::byte> frame) {
  return load_crc(frame.last<kVcrcBytes>()) == variant_crc(frame.first(frame.size() - kVcrcBytes));
}

Result<Carried, ParseError> parse(std::span<const std::byte> headers, std::size_t) {
  if (headers.size() < kLrhBytes) return Failure{ParseError::truncated};
  const LocalRouteHeader lrh = lrh_of(headers);
  if (lrh.link_version != 0) return Failure{ParseError::bad_link_header};
  const bool is_global = lrh.next_header == LinkNextHeader::iba_global;
  if (!is_global && lrh.next_header != LinkNextHeader::iba_local) return Failure{ParseError::raw_packet};
  const std::size_t header_bytes = kLrhBytes + (is_global ? GrhLayout::bytes : 0);
  const std::size_t packet_bytes = lrh.words * kWordBytes;
  if (packet_bytes < header_bytes) return Failure{ParseError::bad_length};
  const Carried carried{infiniband_places(lrh.next_header), packet_bytes - header_bytes};
  if (!is_global) return carried;
  if (headers.size() < header_bytes) return Failure{ParseError::truncated};
  const Grh grh = GrhLayout::parse(headers.subspan<kLrhBytes, GrhLayout::bytes>());
  if (grh.version != kGrhVersion) return Failure{ParseError::bad_grh};
  if (grh.next_header != kGrhNextHeaderIba) return Failure{ParseError::raw_packet};
  if (grh.payload_bytes != carried.transport_bytes) return Failure{ParseError::bad_length};
  return carried;
}

std::optional<FramePlaces> find(std::span<const std::byte> frame, std::size_t, std::uint16_t) {
  if (frame.size() < kLrhBytes) return std::nullopt;
  const LocalRouteHeader lrh = lrh_of(frame);
  FramePlaces places = infiniband_places(lrh.next_header);
  places.priority = lrh.service_level;
  const bool is_raw = lrh.next_header == LinkNextHeader::raw_ether_type || lrh.next_header == LinkNextHeader::raw_ipv6;
  if (places.network_bytes != 0 && frame.size() < kLrhBytes + GrhLayout::bytes) return std::nullopt;
  places.carries_transport = !is_raw && frame.size() >= places.bth_at;
  return places;
}

}  // namespace

FramePlaces infiniband_places(LinkNextHeader next_header) {
  constexpr std::uint8_t kNoClass = 16;       // nothing is left of 16 bits
  constexpr std::uint8_t kGrhClassShift = 4;  // the version lies above the traffic class, the flow label below
  FramePlaces places;
  places.is_hidden = true;  // switches read the LRH
  if (next_header == LinkNextHeader::iba_global) {
    places.network_at = kLrhBytes;
    places.network_bytes = GrhLayout::bytes;
    places.addresses_at = kLrhBytes + kGrhAddressesAt;
    places.address_bytes = sizeof(Gid);
    places.bth_at = kLrhBytes + GrhLayout::bytes;
    places.class_shift = kGrhClassShift;
  } else {
    places.addresses_at = kSourceLidAt;
    places.destination_at = kDestinationLidAt;
    places.address_bytes = sizeof(Lid);
    places.bth_at = kLrhBytes;
    places.class_shift = kNoClass;
  }
  return places;
}

std::uint16_t variant_crc(std::span<const std::byte> octets) {
  std::uint16_t state = 0xffff;
  for (const std::byte octet : octets) {
    const std::size_t index = (state ^ std::to_integer<unsigned>(octet)) & 0xff;
    state = static_cast<std::uint16_t>(state >> 8 ^ kCrcOfOctet[index]);
  }
  return static_cast<std::uint16_t>(~state);
}

std::array<std::byte, kLinkPacketBytes> write_link_packet(const FlowControlPacket& packet) {
  std::array<std::byte, kLinkPacketBytes> octets;
  std::ranges::copy(FlowControlPacketLayout::emit(packet), octets.begin());
  seal(octets);
  return octets;
}

std::optional<ReadLinkPacket> read_link_packet(std::span<const std::byte> octets) {
  if (octets.size() != kLinkPacketBytes) return std::nullopt;
  return ReadLinkPacket{FlowControlPacketLayout::parse(octets.first<FlowControlPacketLayout::bytes>()),
                        is_sealed(octets)};
}

constinit const Encapsulation kInfiniBand{.name = "InfiniBand",
                                          .is_on_ethernet = false,
                                          .trailer_bytes = kVcrcBytes,
                                          .begin = begin,
                                          .fit = fit,
                                          .seal = seal,
                                          .is_sealed = is_sealed,
                                          .parse = parse,
                                          .find = find,
                                          .icrc_until_bth = icrc_of_headers};

BadKeyDetails bad_key_details(const PacketView& packet, bool is_qkey) {
  const auto lrh = LocalRouteHeaderLayout::parse(packet.frame().first<LocalRouteHeaderLayout::bytes>());
  const bool has_deth = packet.opcode().has_deth;
  BadKeyDetails details{.source = lrh.source,
                        .destination = lrh.destination,
                        .key = is_qkey && has_deth ? packet.deth().qkey : packet.bth().pkey,
                        .service_level = lrh.service_level,
                        .source_qp = has_deth ? packet.deth().source_qp : Qpn{},
                        .destination_qp = packet.bth().dest_qp};
  if (lrh.next_header != LinkNextHeader::iba_global) return details;
  details.source_gid = packet.source();
  details.destination_gid = packet.destination();
  return details;
}

}  // namespace verbena::wire
