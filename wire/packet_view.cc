#include "wire/packet_view.h"

#include <memory>

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

/// Takes header by header off the front of a frame; the first thing that is wrong ends it.
class FrameParser {
 public:
  enum class Begins : std::uint8_t { with_ethernet, with_ip };
  struct Options {
    Begins begins = Begins::with_ethernet;
    bool may_be_cut = false;
  };

  static Result<PacketView, ParseError> parse(std::span<const std::byte> frame, Options options) {
    Result<PacketView, ParseError> result(std::in_place, PacketView::Unparsed());
    FrameParser parser(frame, options.may_be_cut);
    const bool has_link =
        options.begins == Begins::with_ethernet ? parser.parse_ethernet(*result) : parser.parse_ip_version(*result);
    if (!has_link || !parser.parse_packet(*result)) result = Failure{parser.error_};
    return result;
  }

 private:
  FrameParser(std::span<const std::byte> frame, bool may_be_cut)
      : frame_(frame), rest_(frame), may_be_cut_(may_be_cut) {}

  bool parse_packet(PacketView& view) {
    view.ip_offset_ = static_cast<std::uint8_t>(frame_.size() - rest_.size());
    return (view.is_ipv4_ ? parse_ipv4(view) : parse_ipv6(view)) && parse_udp(view) && parse_bth(view) &&
           parse_extensions(view) && parse_payload(view);
  }

  bool fail(ParseError error) {
    error_ = error;
    return false;
  }

  template <class HeaderLayout>
  bool take(typename HeaderLayout::Header& header) {
    if (rest_.size() < HeaderLayout::bytes) return fail(ParseError::truncated);
    // A union's member comes to life here.
    std::construct_at(&header);
    HeaderLayout::parse(rest_.template first<HeaderLayout::bytes>(), header);
    rest_ = rest_.subspan(HeaderLayout::bytes);
    return true;
  }

  bool parse_ethernet(PacketView& view) {
    if (!take<EthernetLayout>(view.ethernet_)) return false;
    std::uint16_t ether_type = view.ethernet_.ether_type;
    if (ether_type == kEtherTypeVlan) {
      if (!take<VlanLayout>(view.vlan_.emplace())) return false;
      ether_type = view.vlan_->ether_type;
    }
    view.is_ipv4_ = ether_type == kEtherTypeIpv4;
    return view.is_ipv4_ || ether_type == kEtherTypeIpv6 || fail(ParseError::not_ip);
  }

  bool parse_ip_version(PacketView& view) {
    if (rest_.empty()) return fail(ParseError::truncated);
    const auto version = std::to_integer<unsigned>(rest_[0] >> 4);
    view.is_ipv4_ = version == 4;
    view.ethernet_.ether_type = view.is_ipv4_ ? kEtherTypeIpv4 : kEtherTypeIpv6;
    return view.is_ipv4_ || version == 6 || fail(ParseError::not_ip);
  }

  /// `bytes`: what the IP header says that follows it. Cuts Ethernet padding off.
  bool limit_to(PacketView& view, std::size_t bytes) {
    ip_payload_bytes_ = bytes;
    if (rest_.size() < bytes) {
      view.is_whole_ = false;
      return may_be_cut_ || fail(ParseError::truncated);
    }
    frame_ = frame_.first(frame_.size() - (rest_.size() - bytes));
    rest_ = rest_.first(bytes);
    return true;
  }

  bool parse_ipv4(PacketView& view) {
    if (!take<Ipv4Layout>(view.ipv4_)) return false;
    const Ipv4& ip = view.ipv4_;
    // Annex A17: no options. total_bytes must at least hold the header itself.
    if (ip.version != 4 || ip.header_words != 5 || ip.total_bytes < Ipv4Layout::bytes) {
      return fail(ParseError::bad_ip_header);
    }
    if (ip.more_fragments || ip.fragment_offset != 0) return fail(ParseError::ip_fragment);
    if (ip.protocol != kIpProtocolUdp) return fail(ParseError::not_udp);
    return limit_to(view, ip.total_bytes - Ipv4Layout::bytes);
  }

  bool parse_ipv6(PacketView& view) {
    if (!take<Ipv6Layout>(view.ipv6_)) return false;
    constexpr std::uint8_t kFragmentHeader = 44;
    if (view.ipv6_.version != 6) return fail(ParseError::bad_ip_header);
    if (view.ipv6_.next_header == kFragmentHeader) return fail(ParseError::ip_fragment);
    if (view.ipv6_.next_header != kIpProtocolUdp) return fail(ParseError::not_udp);
    return limit_to(view, view.ipv6_.payload_bytes);
  }

  bool parse_udp(PacketView& view) {
    if (!take<UdpLayout>(view.udp_)) return false;
    if (view.udp_.destination_port != kRoceUdpPort) return fail(ParseError::not_roce_port);
    return view.udp_.bytes == ip_payload_bytes_ || fail(ParseError::bad_length);
  }

  bool parse_bth(PacketView& view) {
    if (!take<BthLayout>(view.bth_)) return false;
    if (view.bth_.version != 0) return fail(ParseError::bad_transport_version);
    view.info_ = &opcode_info(view.bth_.opcode);
    return view.info_->defined || fail(ParseError::unknown_opcode);
  }

  bool parse_extensions(PacketView& view) {
    const OpcodeInfo& info = *view.info_;
    if (info.has_xrceth && !take<XrcethLayout>(view.xrceth_)) return false;
    if (info.has_deth && !take<DethLayout>(view.deth_)) return false;
    if (info.has_reth && !take<RethLayout>(view.reth_)) return false;
    if (info.has_atomic_eth && !take<AtomicEthLayout>(view.atomic_eth_)) return false;
    if (info.has_aeth && !take<AethLayout>(view.aeth_)) return false;
    if (info.has_atomic_ack_eth && !take<AtomicAckEthLayout>(view.atomic_ack_eth_)) return false;
    if (info.has_immediate && !take<ImmDtLayout>(view.immediate_)) return false;
    return !info.has_invalidate || take<IethLayout>(view.ieth_);
  }

  bool parse_payload(PacketView& view) {
    const std::size_t before = UdpLayout::bytes + BthLayout::bytes + view.info_->extension_bytes;
    if (ip_payload_bytes_ < before + kIcrcBytes) return fail(ParseError::truncated);
    const std::size_t padded = ip_payload_bytes_ - before - kIcrcBytes;
    // IBTA 9.2: a packet is whole words, its payload padded by 0 to 3 octets.
    if (padded % 4 != 0 || (padded != 0 && !view.info_->has_payload)) return fail(ParseError::bad_length);
    if (view.bth_.pad_bytes > padded) return fail(ParseError::bad_padding);
    view.payload_bytes_ = padded - view.bth_.pad_bytes;
    view.payload_ = rest_.first(rest_.size() < view.payload_bytes_ ? rest_.size() : view.payload_bytes_);
    view.frame_ = frame_;
    if (!view.is_whole_) return true;
    for (std::size_t i = 0; i < kIcrcBytes; ++i) {
      view.icrc_ |= std::to_integer<std::uint32_t>(rest_[padded + i]) << (8 * i);
    }
    return true;
  }

  std::span<const std::byte> frame_;
  std::span<const std::byte> rest_;
  std::size_t ip_payload_bytes_ = 0;
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
