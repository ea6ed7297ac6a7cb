#include "wire/packet_view.h"

#include "wire/assert.h"
#include "wire/frame_parser.h"
#include "wire/icrc.h"

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
  }
  return "unknown error";
}

std::uint32_t computed_icrc(const PacketView& packet) {
  VERBENA_ASSERT(packet.is_whole_);
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

Result<PacketView, ParseError> parse_cut_ip_packet(std::span<const std::byte> packet, HeadersNeeded needed) {
  return FrameParser::parse(packet, {.begins = FrameParser::Begins::with_ip, .may_be_cut = true, .needed = needed});
}

}  // namespace verbena::wire
