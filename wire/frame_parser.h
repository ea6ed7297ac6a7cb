// FrameParser: the one checked parse of a frame's octets, behind parse_frame() and its kin (packet_view.h).
//
// Solely responsible for the checks and for filling a PacketView. A header only so that the NIC's receive path has it
// in line: a frame that is parsed by a call costs 60 instructions more, and link-time optimisation inlines a function
// of this size only as long as it has one caller. Everybody else calls parse_frame().
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "wire/assert.h"
#include "wire/known_headers.h"
#include "wire/packet_view.h"

namespace verbena::wire {

/// memcpy of `bytes` <= 112 octets. Frames come in all sizes, but most are acknowledgements or longer than their
/// headers: two runs of words that overlap need neither a call nor a loop.
inline void copy_headers(std::byte* into, const std::byte* from, std::size_t bytes) {
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

/// Goes over the view's copy of the headers from the front; the first thing that is wrong ends it.
class FrameParser {
 public:
  enum class Begins : std::uint8_t { with_ethernet, with_ip, with_own_header };
  struct Options {
    Begins begins = Begins::with_ethernet;
    bool may_be_cut = false;
    HeadersNeeded needed = HeadersNeeded::all;
    KnownHeaders* known = nullptr;                 // none: nothing is remembered
    const Encapsulation* encapsulation = nullptr;  // whose own header it begins with
    /// Of Bth::reserved7, the bits that say that a header of ours follows. The others are reserved: not looked at
    /// (IBTA 9.2).
    std::uint8_t extensions = kHasRecoveryHeader | kHasTelemetry;
  };

  [[gnu::always_inline]] static inline Result<PacketView, ParseError> parse(std::span<const std::byte> frame,
                                                                            Options options) {
    Result<PacketView, ParseError> result(std::in_place, PacketView::Unparsed());
    FrameParser parser(*result, frame, options);
    const bool is_good =
        options.begins == Begins::with_ethernet ? parser.parse_ethernet() : parser.begin_otherwise(options);
    if (!is_good) result = Failure{parser.error_};
    return result;
  }

 private:
  FrameParser(PacketView& view, std::span<const std::byte> frame, Options options)
      : view_(view),
        frame_(frame),
        end_(frame.size()),
        known_(options.known),
        extensions_(options.extensions),
        may_be_cut_(options.may_be_cut),
        needs_bth_only_(options.needed == HeadersNeeded::bth) {}

  bool fail(ParseError error) {
    error_ = error;
    return false;
  }
  /// Whether the packet goes on up to there, counted as end_ is.
  bool reaches(std::size_t end) { return end <= end_ || fail(ParseError::truncated); }

  void take_extensions(const Bth& bth) {
    if ((extensions_ & kHasRecoveryHeader) != 0)
      view_.recovery_bytes_ = static_cast<std::uint8_t>(recovery_header_bytes(*view_.info_, bth));
    if ((extensions_ & kHasTelemetry) != 0) view_.telemetry_bytes_ = static_cast<std::uint8_t>(telemetry_bytes(bth));
    added_bytes_ = view_.recovery_bytes_ + view_.telemetry_bytes_;
  }

  /// In line in each of its few callers: as a call it costs a packet 40 instructions (all of the parser in line costs
  /// 35 more than this).
  [[gnu::always_inline]] inline bool parse_ethernet() {
    copy_headers(view_.headers_.data(), frame_.data(), std::min(frame_.size(), PacketView::kHeaderBytesMax));
    if (known_ != nullptr && frame_.size() >= KnownHeaders::kBytes) {
      const KnownHeaders::Entry* const entry = known_->find(view_.headers_.data(), frame_.size());
      return entry != nullptr ? parse_known(*entry) : parse_unknown();
    }
    return parse_by_ether_type();
  }
  [[gnu::noinline]] bool parse_unknown() {
    if (!parse_by_ether_type()) return false;
    if (view_.bth_at_ == KnownHeaders::kBytes && view_.is_ipv4_)
      known_->notice(view_.headers_.data(), frame_.size(), ip_payload_bytes_);
    return true;
  }
  bool parse_known(const KnownHeaders::Entry& entry) {
    constexpr std::size_t kUdpAt = kUntagged + Ipv4Layout::bytes;
    view_.ip_offset_ = view_.ip_at_ = kUntagged;
    view_.bth_at_ = KnownHeaders::kBytes;
    view_.is_ipv4_ = true;
    view_.knows_icrc_until_bth_ = true;
    view_.icrc_until_bth_ = entry.icrc_until_bth;
    ip_payload_bytes_ = entry.ip_payload_bytes;
    return limit_to(kUdpAt) && parse_transport(kUdpAt, kUdpAt + UdpLayout::bytes);
  }
  bool parse_by_ether_type() {
    if (!reaches(kUntagged)) return false;
    const std::uint16_t ether_type = view_.header<EthernetLayout>(0).ether_type;
    if (ether_type != kEtherTypeVlan) return parse_ip<kUntagged>(ether_type);
    return reaches(kTagged) && parse_ip<kTagged>(view_.header<VlanLayout>(kUntagged).ether_type);
  }
  template <std::size_t kIpAt>
  bool parse_ip(std::uint16_t ether_type) {
    view_.ip_offset_ = kIpAt;
    if (ether_type == kEtherTypeIpv4) return parse_packet<kIpAt, Ipv4Layout>();
    return ether_type == kEtherTypeIpv6 ? parse_packet<kIpAt, Ipv6Layout>() : parse_carried(ether_type, kIpAt);
  }
  /// What no IP header follows.
  [[gnu::cold, gnu::noinline]] bool parse_carried(std::uint16_t ether_type, std::size_t network_at) {
    const Encapsulation* const by = find_encapsulation(ether_type);
    return by != nullptr ? parse_by(*by, network_at, by->trailer_bytes) : fail(ParseError::not_ip);
  }
  bool parse_by(const Encapsulation& by, std::size_t network_at, std::size_t trailer_bytes) {
    const auto headers = std::span<const std::byte>(view_.headers_).first(std::min(end_, view_.headers_.size()));
    const Result<Carried, ParseError> carried = by.parse(headers, network_at);
    if (!carried) return fail(carried.error());
    VERBENA_ASSERT(carried->places.bth_at + BthLayout::bytes + PacketView::kExtensionBytesMax <=
                   PacketView::kHeaderBytesMax);
    view_.encapsulation_ = &by;
    view_.places_ = carried->places;
    view_.is_ipv4_ = false;
    view_.ip_at_ = view_.ip_offset_;
    view_.bth_at_ = carried->places.bth_at;
    ip_payload_bytes_ = carried->transport_bytes;
    const std::size_t there = end_;
    if (!limit_to(view_.bth_at_, trailer_bytes)) return false;
    view_.has_trailer_ = view_.is_whole_ && by.trailer_bytes != 0 && there >= end_ + by.trailer_bytes;
    return parse_transport(view_.bth_at_, view_.bth_at_);
  }

  [[gnu::cold]] bool begin_otherwise(const Options& options) {
    return options.begins == Begins::with_ip ? begin_with_ip() : begin_with_own_header(*options.encapsulation);
  }
  bool begin_with_own_header(const Encapsulation& by) {
    copy_headers(view_.headers_.data(), frame_.data(), std::min(frame_.size(), PacketView::kHeaderBytesMax));
    return parse_by(by, 0, may_be_cut_ ? 0 : by.trailer_bytes);
  }
  /// Puts an Ethernet header in front: all zeros but for the type.
  bool begin_with_ip() {
    if (frame_.empty()) return fail(ParseError::truncated);
    link_bytes_ = kUntagged;
    end_ += kUntagged;
    std::byte* const ip = view_.headers_.data() + kUntagged;
    copy_headers(ip, frame_.data(), std::min(frame_.size(), PacketView::kHeaderBytesMax - kUntagged));
    const auto version = std::to_integer<unsigned>(*ip >> 4);
    if (version != 4 && version != 6) return fail(ParseError::not_ip);
    EthernetLayout::emit({{}, {}, version == 4 ? kEtherTypeIpv4 : kEtherTypeIpv6},
                         std::span(view_.headers_).first<kUntagged>());
    return version == 4 ? parse_packet<kUntagged, Ipv4Layout>() : parse_packet<kUntagged, Ipv6Layout>();
  }

  /// From the IP header on. Where each header lies is known to the compiler for each of the forms that a frame has.
  template <std::size_t kIpAt, class IpLayout>
  bool parse_packet() {
    constexpr std::size_t kUdpAt = kIpAt + IpLayout::bytes;
    constexpr std::size_t kBthAt = kUdpAt + UdpLayout::bytes;
    view_.ip_at_ = kIpAt;
    view_.bth_at_ = kBthAt;
    view_.is_ipv4_ = std::is_same_v<IpLayout, Ipv4Layout>;
    if (!reaches(kUdpAt) || !check(view_.header<IpLayout>(kIpAt)) || !limit_to(kUdpAt)) return false;
    if (!reaches(kBthAt) || !check(view_.header<UdpLayout>(kUdpAt))) return false;
    return parse_transport(kUdpAt, kBthAt);
  }
  /// `carried_at`: what ip_payload_bytes_ counts from.
  [[gnu::always_inline]] inline bool parse_transport(std::size_t carried_at, std::size_t bth_at) {
    if (!reaches(bth_at + BthLayout::bytes)) return false;
    if (!check(view_.header<BthLayout>(bth_at))) return false;
    const std::size_t payload_at = bth_at + BthLayout::bytes + view_.info_->extension_bytes + added_bytes_;
    if (payload_at > end_ && needs_bth_only_)
      lack_headers(end_ - bth_at - BthLayout::bytes);
    else if (!reaches(payload_at))
      return false;
    return parse_payload(carried_at, payload_at);
  }

  /// The snap length has left no more than `bytes` of what is behind the BTH.
  void lack_headers(std::size_t bytes) {
    if (bytes < view_.info_->extension_bytes + std::size_t{view_.recovery_bytes_}) view_.recovery_bytes_ = 0;
    view_.telemetry_bytes_ = 0;
    view_.info_ = &opcode_info_within(view_.header<BthLayout>(view_.bth_at_).opcode, bytes);
  }

  /// Cuts a trailer and Ethernet padding off what follows the IP header.
  bool limit_to(std::size_t ip_payload_at, std::size_t trailer_bytes = 0) {
    const std::size_t end = ip_payload_at + ip_payload_bytes_;
    if (end_ < end + trailer_bytes) {
      view_.is_whole_ = false;
      return may_be_cut_ || fail(ParseError::truncated);
    }
    end_ = end;
    return true;
  }

  bool check(const Ipv4& ip) {
    // Annex A17: no options. total_bytes must at least hold the header itself.
    if (ip.version != 4 || ip.header_words != 5 || ip.total_bytes < Ipv4Layout::bytes) {
      return fail(ParseError::bad_ip_header);
    }
    if (ip.more_fragments || ip.fragment_offset != 0) return fail(ParseError::ip_fragment);
    if (ip.protocol != kIpProtocolUdp) return fail(ParseError::not_udp);
    ip_payload_bytes_ = ip.total_bytes - Ipv4Layout::bytes;
    return true;
  }

  bool check(const Ipv6& ip) {
    constexpr std::uint8_t kFragmentHeader = 44;
    if (ip.version != 6) return fail(ParseError::bad_ip_header);
    if (ip.next_header == kFragmentHeader) return fail(ParseError::ip_fragment);
    if (ip.next_header != kIpProtocolUdp) return fail(ParseError::not_udp);
    ip_payload_bytes_ = ip.payload_bytes;
    return true;
  }

  bool check(const Udp& udp) {
    if (udp.destination_port != kRoceUdpPort) return fail(ParseError::not_roce_port);
    return udp.bytes == ip_payload_bytes_ || fail(ParseError::bad_length);
  }

  bool check(const Bth& bth) {
    if (bth.version != 0) return fail(ParseError::bad_transport_version);
    pad_bytes_ = bth.pad_bytes;
    view_.info_ = &opcode_info(bth.opcode);
    if ((bth.reserved7 & (kHasRecoveryHeader | kHasTelemetry)) != 0) [[unlikely]]
      take_extensions(bth);
    return view_.info_->defined || fail(ParseError::unknown_opcode);
  }

  [[gnu::always_inline]] inline bool parse_payload(std::size_t carried_at, std::size_t payload_at) {
    const std::size_t before = payload_at - carried_at;
    if (ip_payload_bytes_ < before + kIcrcBytes) return fail(ParseError::truncated);
    const std::size_t padded = ip_payload_bytes_ - before - kIcrcBytes;
    // IBTA 9.2: a packet is whole words, its payload padded by 0 to 3 octets.
    if (padded % 4 != 0 || (padded != 0 && !view_.info_->has_payload)) return fail(ParseError::bad_length);
    if (pad_bytes_ > padded) return fail(ParseError::bad_padding);
    view_.payload_bytes_ = padded - pad_bytes_;
    view_.frame_ = frame_.first(end_ - link_bytes_);
    const std::byte* const payload = frame_.data() + (std::min(payload_at, end_) - link_bytes_);
    if (!view_.is_whole_) {
      view_.payload_ = {payload, std::min(end_ - std::min(payload_at, end_), view_.payload_bytes_)};
      return true;
    }
    view_.payload_ = {payload, view_.payload_bytes_};
    view_.icrc_ = layout_detail::load_icrc(payload + padded);
    return true;
  }

  static constexpr std::size_t kUntagged = EthernetLayout::bytes;
  static constexpr std::size_t kTagged = EthernetLayout::bytes + VlanLayout::bytes;
  PacketView& view_;
  std::span<const std::byte> frame_;
  std::size_t end_;                   // of the packet, counted from the start of the view's copy
  std::size_t link_bytes_ = 0;        // that the copy has in front of the frame
  std::size_t ip_payload_bytes_ = 0;  // or what another network header carries
  std::size_t added_bytes_ = 0;       // by headers of ours
  std::uint8_t pad_bytes_ = 0;
  KnownHeaders* known_;
  std::uint8_t extensions_;
  bool may_be_cut_;
  bool needs_bth_only_;
  ParseError error_ = ParseError::truncated;
};

}  // namespace verbena::wire
