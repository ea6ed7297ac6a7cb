#include "wire/packet_view.h"

#include "wire/assert.h"
#include "wire/frame_parser.h"
#include "wire/icrc.h"
#include "wire/infiniband.h"
#include "wire/roce_v2.h"

namespace verbena::wire {

std::string_view to_string(ParseError error) {
  switch (error) {
    case ParseError::truncated:
      return "truncated";
    case ParseError::not_ip:
      return "not IP";
    case ParseError::bad_ip_header:
      return "bad IP header";
    case ParseError::ip_fragment:
      return "IP fragment";
    case ParseError::not_udp:
      return "not UDP";
    case ParseError::not_roce_port:
      return "not UDP port 4791";
    case ParseError::bad_length:
      return "bad length";
    case ParseError::bad_transport_version:
      return "bad transport version";
    case ParseError::unknown_opcode:
      return "unknown opcode";
    case ParseError::bad_padding:
      return "bad padding";
    case ParseError::bad_link_header:
      return "bad link header";
    case ParseError::bad_grh:
      return "bad GRH";
    case ParseError::raw_packet:
      return "raw packet";
  }
  return "unknown error";
}

FramePlaces NetworkView::places() const {
  return packet_.is_roce_v2() ? roce_v2_places(packet_.ip_offset_, packet_.is_ipv4_) : packet_.places_;
}

PathAddress NetworkView::last_hop() const {
  if (encapsulation().is_on_ethernet) return packet_.ethernet().source;
  const LocalRouteHeader lrh = packet_.header<LocalRouteHeaderLayout>(0);
  return {lrh.source, lrh.service_level};
}

Lid NetworkView::local_destination() const {
  if (encapsulation().is_on_ethernet) return kLidNone;
  return packet_.header<LocalRouteHeaderLayout>(0).destination;
}

std::uint8_t NetworkView::hop_limit() const {
  constexpr std::size_t kGrhHopLimitAt = 7;
  if (packet_.has_ip()) return packet_.ip().hop_limit();
  const FramePlaces& places = packet_.places_;
  if (places.network_bytes != kGrhBytes) return 0;
  return std::to_integer<std::uint8_t>(packet_.headers_[places.network_at + kGrhHopLimitAt]);
}

std::uint16_t NetworkView::entropy() const {
  const FramePlaces place = places();
  if (packet_.has_ip()) return packet_.udp().source_port;
  if (place.entropy_at == 0) return 0;
  return static_cast<std::uint16_t>(layout_detail::load_big_endian<2>(packet_.headers_.data() + place.entropy_at));
}

std::span<const std::byte> trailer_of(const PacketView& packet) {
  if (!packet.has_trailer_) return {};
  return {packet.frame_.data() + packet.frame_.size(), packet.network().encapsulation().trailer_bytes};
}

Integrity trailer_integrity(const PacketView& packet) {
  const std::span<const std::byte> trailer = trailer_of(packet);
  const Encapsulation& by = packet.network().encapsulation();
  if (trailer.empty() || by.is_sealed == nullptr) return Integrity::unknown;
  const std::span<const std::byte> sealed(packet.frame().data(), packet.frame().size() + trailer.size());
  return by.is_sealed(sealed) ? Integrity::right : Integrity::wrong;
}

std::array<std::byte, kGrhBytes> grh_area(const PacketView& packet) {
  std::array<std::byte, kGrhBytes> area{};
  const FramePlaces places = packet.network().places();
  VERBENA_ASSERT(places.network_bytes <= area.size());
  std::memcpy(area.data() + area.size() - places.network_bytes, packet.frame().data() + places.network_at,
              places.network_bytes);
  return area;
}

/// computed_icrc() for another encapsulation than RoCE v2.
[[gnu::cold]] std::uint32_t icrc_by_row(const PacketView& packet) {
  constexpr std::byte kOnes{0xff};
  constexpr std::array<std::byte, kTelemetryBytes> kNoTelemetry{};
  const FramePlaces places = packet.network().places();
  const std::span<const std::byte> frame = packet.frame().first(packet.frame().size() - kIcrcBytes);
  const std::size_t after_mask = places.bth_at + kBthMaskedOctet + 1;
  const std::size_t telemetry_at = places.bth_at + transport_bytes(packet);
  const std::size_t zeroed_bytes = has_telemetry(packet) ? kTelemetryBytes : 0;
  Icrc crc(packet.network().encapsulation().icrc_until_bth(frame, places));
  crc.update(frame.data() + places.bth_at, kBthMaskedOctet);
  crc.update(&kOnes, sizeof kOnes);
  crc.update(frame.data() + after_mask, telemetry_at - after_mask);
  crc.update(kNoTelemetry.data(), zeroed_bytes);
  crc.update(frame.data() + telemetry_at + zeroed_bytes, frame.size() - telemetry_at - zeroed_bytes);
  return crc.value();
}

std::uint32_t computed_icrc(const PacketView& packet) {
  VERBENA_ASSERT(packet.is_whole_);
  if (!packet.is_roce_v2()) return icrc_by_row(packet);
  const std::span<const std::byte> ip = packet.frame_.subspan(packet.ip_offset_);
  const std::size_t telemetry_at = packet.bth_at_ - packet.ip_at_ + transport_bytes(packet);
  return compute_icrc(ip.first(ip.size() - kIcrcBytes), packet.is_ipv4_, {telemetry_at, packet.telemetry_bytes_});
}

bool PacketView::icrc_is_valid() const {
  if (!is_whole_) return false;
  if (knows_icrc_until_bth_) {
    const std::size_t padded = (payload_bytes_ + 3) / 4 * 4;
    return icrc_from_bth(icrc_until_bth_, std::span(headers_).subspan(bth_at_, transport_bytes(*this)),
                         {payload_.data(), padded}, telemetry_bytes_) == icrc_;
  }
  return computed_icrc(*this) == icrc_;
}

Result<PacketView, ParseError> parse_frame(std::span<const std::byte> frame) {
  return FrameParser::parse(frame, {});
}

Result<PacketView, ParseError> parse_cut_frame(std::span<const std::byte> frame, HeadersNeeded needed) {
  return FrameParser::parse(frame, {.may_be_cut = true, .needed = needed});
}

Result<PacketView, ParseError> parse_cut_packet(const Encapsulation& encapsulation, std::span<const std::byte> packet,
                                                HeadersNeeded needed) {
  return FrameParser::parse(packet, {.begins = FrameParser::Begins::with_own_header,
                                     .may_be_cut = true,
                                     .needed = needed,
                                     .encapsulation = &encapsulation});
}

Result<PacketView, ParseError> parse_on(Medium medium, std::span<const std::byte> frame) {
  if (medium == Medium::ethernet) return parse_frame(frame);
  return FrameParser::parse(frame, {.begins = FrameParser::Begins::with_own_header, .encapsulation = &kInfiniBand});
}

Result<PacketView, ParseError> parse_cut_on(Medium medium, std::span<const std::byte> frame, HeadersNeeded needed) {
  return medium == Medium::ethernet ? parse_cut_frame(frame, needed) : parse_cut_packet(kInfiniBand, frame, needed);
}

Result<PacketView, ParseError> parse_cut_ip_packet(std::span<const std::byte> packet, HeadersNeeded needed) {
  return FrameParser::parse(packet, {.begins = FrameParser::Begins::with_ip, .may_be_cut = true, .needed = needed});
}

}  // namespace verbena::wire
