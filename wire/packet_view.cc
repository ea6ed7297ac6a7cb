#include "wire/packet_view.h"

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

bool PacketView::icrc_is_valid() const {
  if (!is_whole_) return false;
  if (knows_icrc_until_bth_) {
    const std::size_t padded = (payload_bytes_ + 3) / 4 * 4;
    return icrc_from_bth(icrc_until_bth_, std::span(headers_).subspan(bth_at_, transport_bytes(*this)),
                         {payload_.data(), padded}) == icrc_;
  }
  return compute_icrc(frame_.subspan(ip_offset_).first(frame_.size() - ip_offset_ - kIcrcBytes), is_ipv4_) == icrc_;
}

Result<PacketView, ParseError> parse_frame(std::span<const std::byte> frame) {
  return FrameParser::parse(frame, {});
}

Result<PacketView, ParseError> parse_cut_frame(std::span<const std::byte> frame) {
  return FrameParser::parse(frame, {.may_be_cut = true});
}

Result<PacketView, ParseError> parse_cut_ip_packet(std::span<const std::byte> packet) {
  return FrameParser::parse(packet, {.begins = FrameParser::Begins::with_ip, .may_be_cut = true});
}

}  // namespace verbena::wire
