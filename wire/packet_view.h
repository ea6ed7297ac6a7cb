// PacketView: the one checked way from untrusted bytes to a RoCE v2 packet.
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
#include "wire/headers.h"
#include "wire/ip_view.h"
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
};
std::string_view to_string(ParseError error);

/// How much of a cut packet has to be there.
enum class HeadersNeeded : std::uint8_t { all, bth };

/// Whether a packet is as its sender made it, so far as its ICRC tells.
enum class Integrity : std::uint8_t {
  right,
  wrong,
  unknown,  // the ICRC was cut off
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

  Ethernet ethernet() const { return header<EthernetLayout>(0); }
  std::optional<Vlan> vlan() const {
    if (ip_at_ == EthernetLayout::bytes) return std::nullopt;
    return header<VlanLayout>(EthernetLayout::bytes);
  }
  /// Valid as long as this view.
  IpView ip() const { return {headers_.data() + ip_at_, is_ipv4_}; }
  Udp udp() const { return header<UdpLayout>(bth_at_ - UdpLayout::bytes); }
  // What most ask of the IP header.
  Gid source() const { return ip().source(); }
  Gid destination() const { return ip().destination(); }

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
  /// The whole frame up to and with the ICRC; trailing Ethernet padding is left off.
  std::span<const std::byte> frame() const { return frame_; }
  /// Where the IP header begins in frame().
  std::size_t ip_offset() const { return ip_offset_; }
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
  friend class PacketForm;
  friend std::optional<PlacementEth> placement_of(const PacketView& packet);
  friend std::optional<SackEth> sack_of(const PacketView& packet);
  friend std::size_t transport_bytes(const PacketView& packet);
  friend bool has_telemetry(const PacketView& packet);
  friend std::uint32_t computed_icrc(const PacketView& packet);
  friend PacketView without_frame(const PacketView& packet, std::span<const std::byte> payload);

  static constexpr std::size_t kExtensionBytesMax = XrcethLayout::bytes + AtomicEthLayout::bytes;
  static constexpr std::size_t kHeaderBytesMax = EthernetLayout::bytes + VlanLayout::bytes + Ipv6Layout::bytes +
                                                 UdpLayout::bytes + BthLayout::bytes + kExtensionBytesMax;

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
  std::uint8_t recovery_bytes_ = 0;   // of selective repeat's own header
  std::uint8_t telemetry_bytes_ = 0;  // of a telemetry header
  std::uint32_t icrc_until_bth_ = 0;
  std::uint32_t icrc_ = 0;
  const OpcodeInfo* info_ = nullptr;
  std::span<const std::byte> frame_;
  std::span<const std::byte> payload_;
  std::size_t payload_bytes_ = 0;
};

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
/// For who keeps the headers longer than the frame: the same, of which `payload` is left, as of a cut frame.
inline PacketView without_frame(const PacketView& packet, std::span<const std::byte> payload) {
  PacketView view = packet;
  view.frame_ = {};
  view.payload_ = payload;
  view.is_whole_ = false;
  view.telemetry_bytes_ = 0;  // it lay in the frame
  return view;
}
/// What the ICRC of a whole packet has to be, over the frame's octets as they are now.
std::uint32_t computed_icrc(const PacketView& packet);
/// Whether there is a telemetry header (telemetry.h), and what it says.
inline bool has_telemetry(const PacketView& packet) {
  return packet.telemetry_bytes_ != 0;
}
inline Telemetry telemetry_of(const PacketView& packet) {
  VERBENA_ASSERT(has_telemetry(packet));
  return Telemetry::parse(
      std::span<const std::byte, kTelemetryBytes>(packet.payload().data() - kTelemetryBytes, kTelemetryBytes));
}

/// A whole Ethernet frame, untagged or with one VLAN tag, in one piece. Trailing bytes beyond the IP length are
/// ignored. The ICRC is not checked here: call icrc_is_valid(). Neither are the IP and UDP checksums: captures made
/// before checksum offload lack them, and the ICRC covers all that they cover but the fields a router changes.
Result<PacketView, ParseError> parse_frame(std::span<const std::byte> frame);

/// The same for a frame of which a capture may have cut off the end: only the headers need be there. With
/// HeadersNeeded::bth those behind the BTH may be cut off as well: opcode() names those alone that are there.
Result<PacketView, ParseError> parse_cut_frame(std::span<const std::byte> frame,
                                               HeadersNeeded needed = HeadersNeeded::all);

/// The same for a packet that begins with its IP header (captures of link types without Ethernet): ethernet() is all
/// zeros but for the type, frame() begins with the IP header.
Result<PacketView, ParseError> parse_cut_ip_packet(std::span<const std::byte> packet,
                                                   HeadersNeeded needed = HeadersNeeded::all);

}  // namespace verbena::wire
