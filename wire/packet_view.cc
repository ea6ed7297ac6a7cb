#include "wire/packet_view.h"

#include <algorithm>
#include <cstring>

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
  return compute_icrc(frame_.subspan(ip_offset_).first(frame_.size() - ip_offset_ - kIcrcBytes), is_ipv4_) == icrc_;
}

namespace {

/// memcpy of `bytes` <= 112 octets. Frames come in all sizes, but most are acknowledgements or longer than their
/// headers: two runs of words that overlap need neither a call nor a loop.
void copy_headers(std::byte* into, const std::byte* from, std::size_t bytes) {
  if (bytes >= 64) {
    std::memcpy(into, from, 64);
    std::memcpy(into + bytes - 48, from + bytes - 48, 48);
  } else if (bytes >= 32) {
    std::memcpy(into, from, 32);
    std::memcpy(into + bytes - 32, from + bytes - 32, 32);
  } else if (bytes != 0) {
    std::memcpy(into, from, bytes);
  }
}

}  // namespace

/// Goes over the view's copy of the headers from the front; the first thing that is wrong ends it.
class FrameParser {
 public:
  enum class Begins : std::uint8_t { with_ethernet, with_ip };
  struct Options {
    Begins begins = Begins::with_ethernet;
    bool may_be_cut = false;
  };

  static Result<PacketView, ParseError> parse(std::span<const std::byte> frame, Options options) {
    Result<PacketView, ParseError> result(std::in_place, PacketView::Unparsed());
    FrameParser parser(*result, frame, options);
    const bool has_link = options.begins == Begins::with_ethernet ? parser.parse_ethernet() : parser.begin_with_ip();
    if (!has_link || !parser.parse_packet()) result = Failure{parser.error_};
    return result;
  }

 private:
  FrameParser(PacketView& view, std::span<const std::byte> frame, Options options)
      : view_(view), frame_(frame), end_(frame.size()), may_be_cut_(options.may_be_cut) {}

  bool parse_packet() {
    return (view_.is_ipv4_ ? parse_ipv4() : parse_ipv6()) && parse_udp() && parse_bth() && parse_payload();
  }

  bool fail(ParseError error) {
    error_ = error;
    return false;
  }
  /// Whether the frame holds the next header whole.
  template <class HeaderLayout>
  bool has() {
    return at_ + HeaderLayout::bytes <= end_ || fail(ParseError::truncated);
  }
  template <class HeaderLayout>
  typename HeaderLayout::Header take() {
    const std::size_t at = at_;
    at_ += HeaderLayout::bytes;
    return view_.header<HeaderLayout>(at);
  }

  bool parse_ethernet() {
    copy_headers(view_.headers_.data(), frame_.data(), std::min(frame_.size(), PacketView::kHeaderBytesMax));
    if (!has<EthernetLayout>()) return false;
    std::uint16_t ether_type = take<EthernetLayout>().ether_type;
    if (ether_type == kEtherTypeVlan) {
      if (!has<VlanLayout>()) return false;
      ether_type = take<VlanLayout>().ether_type;
    }
    view_.ip_at_ = view_.ip_offset_ = static_cast<std::uint8_t>(at_);
    view_.is_ipv4_ = ether_type == kEtherTypeIpv4;
    return view_.is_ipv4_ || ether_type == kEtherTypeIpv6 || fail(ParseError::not_ip);
  }

  /// Puts an Ethernet header in front: all zeros but for the type.
  bool begin_with_ip() {
    if (frame_.empty()) return fail(ParseError::truncated);
    at_ = link_bytes_ = EthernetLayout::bytes;
    end_ += at_;
    copy_headers(view_.headers_.data() + at_, frame_.data(),
                 std::min(frame_.size(), PacketView::kHeaderBytesMax - at_));
    const auto version = std::to_integer<unsigned>(view_.headers_[at_] >> 4);
    view_.is_ipv4_ = version == 4;
    view_.ip_at_ = static_cast<std::uint8_t>(at_);
    EthernetLayout::emit({{}, {}, view_.is_ipv4_ ? kEtherTypeIpv4 : kEtherTypeIpv6},
                         std::span(view_.headers_).first<EthernetLayout::bytes>());
    return view_.is_ipv4_ || version == 6 || fail(ParseError::not_ip);
  }

  /// `bytes`: what the IP header says that follows it. Cuts Ethernet padding off.
  bool limit_to(std::size_t bytes) {
    ip_payload_bytes_ = bytes;
    if (end_ - at_ < bytes) {
      view_.is_whole_ = false;
      return may_be_cut_ || fail(ParseError::truncated);
    }
    end_ = at_ + bytes;
    return true;
  }

  bool parse_ipv4() {
    if (!has<Ipv4Layout>()) return false;
    const Ipv4 ip = take<Ipv4Layout>();
    // Annex A17: no options. total_bytes must at least hold the header itself.
    if (ip.version != 4 || ip.header_words != 5 || ip.total_bytes < Ipv4Layout::bytes) {
      return fail(ParseError::bad_ip_header);
    }
    if (ip.more_fragments || ip.fragment_offset != 0) return fail(ParseError::ip_fragment);
    if (ip.protocol != kIpProtocolUdp) return fail(ParseError::not_udp);
    return limit_to(ip.total_bytes - Ipv4Layout::bytes);
  }

  bool parse_ipv6() {
    if (!has<Ipv6Layout>()) return false;
    const Ipv6 ip = take<Ipv6Layout>();
    constexpr std::uint8_t kFragmentHeader = 44;
    if (ip.version != 6) return fail(ParseError::bad_ip_header);
    if (ip.next_header == kFragmentHeader) return fail(ParseError::ip_fragment);
    if (ip.next_header != kIpProtocolUdp) return fail(ParseError::not_udp);
    return limit_to(ip.payload_bytes);
  }

  bool parse_udp() {
    if (!has<UdpLayout>()) return false;
    const Udp udp = take<UdpLayout>();
    if (udp.destination_port != kRoceUdpPort) return fail(ParseError::not_roce_port);
    return udp.bytes == ip_payload_bytes_ || fail(ParseError::bad_length);
  }

  bool parse_bth() {
    if (!has<BthLayout>()) return false;
    view_.bth_at_ = static_cast<std::uint8_t>(at_);
    const Bth bth = take<BthLayout>();
    if (bth.version != 0) return fail(ParseError::bad_transport_version);
    pad_bytes_ = bth.pad_bytes;
    view_.info_ = &opcode_info(bth.opcode);
    if (!view_.info_->defined) return fail(ParseError::unknown_opcode);
    at_ += view_.info_->extension_bytes;
    return at_ <= end_ || fail(ParseError::truncated);
  }

  bool parse_payload() {
    const std::size_t before = UdpLayout::bytes + BthLayout::bytes + view_.info_->extension_bytes;
    if (ip_payload_bytes_ < before + kIcrcBytes) return fail(ParseError::truncated);
    const std::size_t padded = ip_payload_bytes_ - before - kIcrcBytes;
    // IBTA 9.2: a packet is whole words, its payload padded by 0 to 3 octets.
    if (padded % 4 != 0 || (padded != 0 && !view_.info_->has_payload)) return fail(ParseError::bad_length);
    if (pad_bytes_ > padded) return fail(ParseError::bad_padding);
    view_.payload_bytes_ = padded - pad_bytes_;
    view_.frame_ = frame_.first(end_ - link_bytes_);
    view_.payload_ = view_.frame_.subspan(at_ - link_bytes_);
    if (view_.payload_.size() > view_.payload_bytes_) view_.payload_ = view_.payload_.first(view_.payload_bytes_);
    if (!view_.is_whole_) return true;
    view_.icrc_ = layout_detail::load_icrc(view_.frame_.data() + view_.frame_.size() - kIcrcBytes);
    return true;
  }

  PacketView& view_;
  std::span<const std::byte> frame_;
  std::size_t at_ = 0;          // of the next header, in the view's copy
  std::size_t end_;             // of the packet, counted as at_ is
  std::size_t link_bytes_ = 0;  // that the copy has in front of the frame
  std::size_t ip_payload_bytes_ = 0;
  std::uint8_t pad_bytes_ = 0;
  bool may_be_cut_;
  ParseError error_ = ParseError::truncated;
};

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
