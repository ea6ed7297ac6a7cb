// PacketView: the one checked way from untrusted bytes to a packet of the InfiniBand transport.
//
// parse_frame() copies the headers once and checks the copy, so that bytes which change under us (a hostile peer on
// shared memory) cannot change a decision already taken. A header becomes a plain value when it is asked for: most who
// look at a packet want a few fields. Accessors of a view cannot fail, except that asking for a header which the opcode
// does not carry asserts. The payload still lies where the frame lies; the view does not own it.
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/assert.h"
#include "wire/encapsulation.h"
#include "wire/headers.h"
#include "wire/ip_view.h"
#include "wire/path_address.h"
#include "wire/result.h"
#include "wire/selective_repeat.h"
#include "wire/telemetry.h"

namespace verbena::wire {

enum class ParseError : std::uint8_t {
  truncated,
  not_ip,
  bad_ip_header,
  ip_fragment,
  not_udp,
  not_roce_port,
  bad_length,
  bad_transport_version,
  unknown_opcode,
  bad_padding,
  bad_link_header,
  bad_grh,
  raw_packet,
};
std::string_view to_string(ParseError error);

/// How much of a cut packet has to be there.
enum class HeadersNeeded : std::uint8_t { all, bth };

/// Which header names a packet's ports. The numbers are those that a ConnectX reports of a datagram.
enum class NetworkHeader : std::uint8_t { grh = 0, ipv6 = 1, ipv4 = 2 };

/// Whether a packet is as its sender made it, so far as its ICRC tells.
enum class Integrity : std::uint8_t {
  right,
  wrong,
  unknown,  // the ICRC was cut off
};

class PacketView;

/// How a packet is carried, in the terms that all encapsulations have in common. Valid as long as the packet's view.
class NetworkView {
 public:
  Gid source() const;
  Gid destination() const;
  /// Whether it is what most packets are: RoCE v2 over IPv4. No question is cheaper.
  bool is_roce_v2_ipv4() const;
  /// The same as comparing source() and destination(), without making a GID of an IPv4 address.
  bool is_from(const Gid& gid) const;
  bool is_to(const Gid& gid) const;
  /// DSCP in the upper six bits, ECN in the lower two.
  std::uint8_t traffic_class() const;
  /// Whether a switch has marked the packet (RFC 3168).
  bool is_congestion_marked() const;
  /// The address from which the packet came over its last wire.
  PathAddress last_hop() const;
  /// On InfiniBand: the LID that the packet goes to within the subnet. kLidNone: it is not on InfiniBand.
  Lid local_destination() const;
  /// How many routers it may still pass; 0 as well: it has no header that says so.
  std::uint8_t hop_limit() const;
  /// What tells the flows between two ports apart: the UDP source port. 0 as well: there is nothing of that kind.
  std::uint16_t entropy() const;
  NetworkHeader header() const;
  const Encapsulation& encapsulation() const;
  FramePlaces places() const;

 private:
  friend class PacketView;
  explicit NetworkView(const PacketView& packet) : packet_(packet) {}
  const std::byte* address(std::size_t number) const;

  const PacketView& packet_;
};

class PacketView {
 public:
  /// Only the parser makes views, and PacketForm, which keeps what the parser has found out.
  class Unparsed {
    friend class FrameParser;
    friend class PacketForm;
    Unparsed() {}
  };
  explicit PacketView(Unparsed) {}

  NetworkView network() const { return NetworkView(*this); }
  // What most ask of it.
  Gid source() const { return network().source(); }
  Gid destination() const { return network().destination(); }

  // -- The headers of one encapsulation, for whoever shows packets. --
  /// Zeros: it is not on Ethernet.
  Ethernet ethernet() const {
    return encapsulation_ == nullptr || encapsulation_->is_on_ethernet ? header<EthernetLayout>(0) : Ethernet{};
  }
  std::optional<Vlan> vlan() const {
    if (ip_at_ != EthernetLayout::bytes + VlanLayout::bytes) return std::nullopt;
    return header<VlanLayout>(EthernetLayout::bytes);
  }
  /// Of RoCE v2, as is udp(); of RoCE v1 the GRH, which is laid out as an IPv6 header. Valid as long as this view.
  IpView ip() const { return {headers_.data() + ip_at_, is_ipv4_}; }
  Udp udp() const { return header<UdpLayout>(bth_at_ - UdpLayout::bytes); }

  // -- The transport. --
  Bth bth() const { return header<BthLayout>(bth_at_); }
  const OpcodeInfo& opcode() const { return *info_; }
  // Where an extension header lies follows from their order (IBTA 9.2): XRCETH or DETH come first, AETH stands first
  // where it stands, RETH and AtomicETH have only an XRCETH before them, the others are the last of their packets.
  Xrceth xrceth() const {
    VERBENA_ASSERT(info_->has_xrceth);
    return extension<XrcethLayout>(0);
  }
  Deth deth() const {
    VERBENA_ASSERT(info_->has_deth);
    return extension<DethLayout>(0);
  }
  Reth reth() const {
    VERBENA_ASSERT(info_->has_reth);
    return extension<RethLayout>(info_->has_xrceth ? XrcethLayout::bytes : 0);
  }
  AtomicEth atomic_eth() const {
    VERBENA_ASSERT(info_->has_atomic_eth);
    return extension<AtomicEthLayout>(info_->has_xrceth ? XrcethLayout::bytes : 0);
  }
  Aeth aeth() const {
    VERBENA_ASSERT(info_->has_aeth);
    return extension<AethLayout>(0);
  }
  AtomicAckEth atomic_ack_eth() const {
    VERBENA_ASSERT(info_->has_atomic_ack_eth);
    return extension<AtomicAckEthLayout>(info_->extension_bytes - AtomicAckEthLayout::bytes);
  }
  ImmDt immediate() const {
    VERBENA_ASSERT(info_->has_immediate);
    return extension<ImmDtLayout>(info_->extension_bytes - ImmDtLayout::bytes);
  }
  Ieth ieth() const {
    VERBENA_ASSERT(info_->has_invalidate);
    return extension<IethLayout>(info_->extension_bytes - IethLayout::bytes);
  }

  /// Without pad bytes and ICRC. Of a cut frame: what is left of it.
  std::span<const std::byte> payload() const { return payload_; }
  /// The size of the payload on the wire; differs from payload().size() in a cut frame only.
  std::size_t payload_bytes() const { return payload_bytes_; }
  /// The whole frame up to and with the ICRC; a trailer and Ethernet padding are left off.
  std::span<const std::byte> frame() const { return frame_; }
  /// False: the capture's snap length cut the end off (parse_cut_frame), the ICRC included.
  bool is_whole() const { return is_whole_; }
  std::uint32_t icrc() const { return icrc_; }
  /// Computes the CRC over the frame's bytes as they are now (the headers: as they were read or as they are now) and
  /// compares. Never valid for a cut frame.
  bool icrc_is_valid() const;
  Integrity integrity() const {
    if (!is_whole_) return Integrity::unknown;
    return icrc_is_valid() ? Integrity::right : Integrity::wrong;
  }

 private:
  friend class FrameParser;
  friend class NetworkView;
  friend class PacketForm;
  friend std::optional<PlacementEth> placement_of(const PacketView& packet);
  friend std::optional<SackEth> sack_of(const PacketView& packet);
  friend std::size_t transport_bytes(const PacketView& packet);
  friend bool has_telemetry(const PacketView& packet);
  friend std::uint32_t computed_icrc(const PacketView& packet);
  friend std::span<const std::byte> trailer_of(const PacketView& packet);
  friend PacketView without_frame(const PacketView& packet, std::span<const std::byte> payload);

  static constexpr std::size_t kExtensionBytesMax = XrcethLayout::bytes + AtomicEthLayout::bytes;
  static constexpr std::size_t kHeaderBytesMax = EthernetLayout::bytes + VlanLayout::bytes + Ipv6Layout::bytes +
                                                 UdpLayout::bytes + BthLayout::bytes + kExtensionBytesMax;

  bool is_roce_v2() const { return encapsulation_ == nullptr; }
  /// ip() where the version is known.
  IpView ipv4() const { return {headers_.data() + ip_at_, true}; }
  bool has_ip() const { return is_ipv4_ || is_roce_v2(); }

  template <class HeaderLayout>
  typename HeaderLayout::Header header(std::size_t at) const {
    return HeaderLayout::parse(
        std::span<const std::byte, HeaderLayout::bytes>(headers_.data() + at, HeaderLayout::bytes));
  }
  template <class HeaderLayout>
  typename HeaderLayout::Header extension(std::size_t offset) const {
    return header<HeaderLayout>(bth_at_ + BthLayout::bytes + offset);
  }

  std::array<std::byte, kHeaderBytesMax> headers_;  // Ethernet and what follows, as they were read; then anything
  std::uint8_t ip_at_ = 0;                          // in headers_
  std::uint8_t bth_at_ = 0;
  std::uint8_t ip_offset_ = 0;
  bool is_ipv4_ = true;
  bool is_whole_ = true;
  bool knows_icrc_until_bth_ = false;
  bool has_trailer_ = false;
  std::uint8_t recovery_bytes_ = 0;   // of selective repeat's own header
  std::uint8_t telemetry_bytes_ = 0;  // of a telemetry header
  std::uint32_t icrc_until_bth_ = 0;
  std::uint32_t icrc_ = 0;
  const Encapsulation* encapsulation_ = nullptr;  // none: RoCE v2
  const OpcodeInfo* info_ = nullptr;
  std::span<const std::byte> frame_;
  std::span<const std::byte> payload_;
  std::size_t payload_bytes_ = 0;
  union {
    FramePlaces places_;  // of another encapsulation than RoCE v2; else never written
  };
};

// IPv4 first: what most packets have costs no question more than its own. In line by attribute: a call in the way of
// the others costs the NIC's receive path ten instructions a packet.
inline const std::byte* NetworkView::address(std::size_t number) const {
  const FramePlaces& places = packet_.places_;
  return packet_.headers_.data() + (number == 0 ? places.addresses_at : place_of_destination(places));
}
[[gnu::always_inline]] inline Gid NetworkView::source() const {
  if (packet_.has_ip()) return packet_.ip().source();
  return gid_at(address(0), packet_.places_.address_bytes);
}
[[gnu::always_inline]] inline Gid NetworkView::destination() const {
  if (packet_.has_ip()) return packet_.ip().destination();
  return gid_at(address(1), packet_.places_.address_bytes);
}
[[gnu::always_inline]] inline bool NetworkView::is_roce_v2_ipv4() const {
  return packet_.is_ipv4_;
}
[[gnu::always_inline]] inline bool NetworkView::is_from(const Gid& gid) const {
  return packet_.is_ipv4_ ? packet_.ipv4().is_from(gid) : source() == gid;
}
[[gnu::always_inline]] inline bool NetworkView::is_to(const Gid& gid) const {
  return packet_.is_ipv4_ ? packet_.ipv4().is_to(gid) : destination() == gid;
}
inline std::uint8_t NetworkView::traffic_class() const {
  if (packet_.is_ipv4_) return packet_.ipv4().traffic_class();
  return packet_.has_ip() ? packet_.ip().traffic_class() : traffic_class_of(packet_.headers_, packet_.places_);
}
inline bool NetworkView::is_congestion_marked() const {
  const auto is_mark = [](std::uint8_t traffic_class) {
    return (traffic_class & kEcnMask) == kEcnCongestionExperienced;
  };
  if (packet_.is_ipv4_) return is_mark(packet_.ipv4().traffic_class());
  return is_mark(traffic_class()) && (packet_.has_ip() || !packet_.places_.is_hidden);
}
inline NetworkHeader NetworkView::header() const {
  if (!packet_.is_roce_v2()) return NetworkHeader::grh;
  return packet_.is_ipv4_ ? NetworkHeader::ipv4 : NetworkHeader::ipv6;
}
inline const Encapsulation& NetworkView::encapsulation() const {
  return packet_.is_roce_v2() ? kRoceV2 : *packet_.encapsulation_;
}

/// Selective repeat's own headers (selective_repeat.h); nothing: the packet has none.
inline std::optional<PlacementEth> placement_of(const PacketView& packet) {
  if (packet.recovery_bytes_ != PlacementEthLayout::bytes) return std::nullopt;
  return packet.extension<PlacementEthLayout>(packet.opcode().extension_bytes);
}
inline std::optional<SackEth> sack_of(const PacketView& packet) {
  if (packet.recovery_bytes_ != SackEthLayout::bytes) return std::nullopt;
  return packet.extension<SackEthLayout>(packet.opcode().extension_bytes);
}
/// From the start of the BTH to the payload.
inline std::size_t transport_bytes(const PacketView& packet) {
  return BthLayout::bytes + packet.opcode().extension_bytes + packet.recovery_bytes_;
}
/// The 40 octets that a datagram's receiver finds before the payload: the network header at their end, as it came
/// (a GRH, an IPv6 header; annex A17.4.4: 20 undefined octets and an IPv4 header).
std::array<std::byte, kGrhBytes> grh_area(const PacketView& packet);
/// For who keeps the headers longer than the frame: the same, of which `payload` is left, as of a cut frame.
inline PacketView without_frame(const PacketView& packet, std::span<const std::byte> payload) {
  PacketView view = packet;
  view.frame_ = {};
  view.payload_ = payload;
  view.is_whole_ = false;
  view.has_trailer_ = false;
  view.telemetry_bytes_ = 0;  // it lay in the frame
  return view;
}
/// What the ICRC of a whole packet has to be, over the frame's octets as they are now.
std::uint32_t computed_icrc(const PacketView& packet);
/// What lies behind the packet's frame(). Empty: there is none, or the capture has left it off.
std::span<const std::byte> trailer_of(const PacketView& packet);
/// What the trailer tells, which the ports of each link make anew: unknown as well where there is none.
Integrity trailer_integrity(const PacketView& packet);
/// Whether there is a telemetry header (telemetry.h), and what it says.
inline bool has_telemetry(const PacketView& packet) {
  return packet.telemetry_bytes_ != 0;
}
inline Telemetry telemetry_of(const PacketView& packet) {
  VERBENA_ASSERT(has_telemetry(packet));
  return Telemetry::parse(
      std::span<const std::byte, kTelemetryBytes>(packet.payload().data() - kTelemetryBytes, kTelemetryBytes));
}

/// A whole frame of any of encapsulations(), in one piece. On Ethernet it is untagged or has one VLAN tag. Trailing
/// bytes beyond what the network header announces are ignored. The ICRC is not checked here: call icrc_is_valid().
/// Neither are the IP and UDP checksums: captures made before checksum offload lack them, and the ICRC covers all that
/// they cover but the fields a router changes.
Result<PacketView, ParseError> parse_frame(std::span<const std::byte> frame);

/// The same for a frame of which a capture may have cut off the end: only the headers need be there. With
/// HeadersNeeded::bth those behind the BTH may be cut off as well: opcode() names those alone that are there.
Result<PacketView, ParseError> parse_cut_frame(std::span<const std::byte> frame,
                                               HeadersNeeded needed = HeadersNeeded::all);

/// The same for a packet that begins with its IP header (captures of link types without Ethernet): ethernet() is all
/// zeros but for the type, frame() begins with the IP header.
Result<PacketView, ParseError> parse_cut_ip_packet(std::span<const std::byte> packet,
                                                   HeadersNeeded needed = HeadersNeeded::all);

/// parse_frame() and parse_cut_frame() of what is on any medium: on InfiniBand a packet begins with its LRH.
Result<PacketView, ParseError> parse_on(Medium medium, std::span<const std::byte> frame);
Result<PacketView, ParseError> parse_cut_on(Medium medium, std::span<const std::byte> frame,
                                            HeadersNeeded needed = HeadersNeeded::all);

/// The same for a packet of an encapsulation that is not on Ethernet. Captures may leave its trailer off.
Result<PacketView, ParseError> parse_cut_packet(const Encapsulation& encapsulation, std::span<const std::byte> packet,
                                                HeadersNeeded needed = HeadersNeeded::all);

}  // namespace verbena::wire
