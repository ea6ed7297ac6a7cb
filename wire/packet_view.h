// PacketView: the one checked way from untrusted bytes to a RoCE v2 packet.
//
// parse_frame() reads every header once into plain values, so that bytes which change under us (a hostile peer on
// shared memory) cannot change a decision already taken. Accessors of a view cannot fail, except that asking for a
// header which the opcode does not carry asserts. The payload still lies where the frame lies; the view does not own
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/assert.h"
#include "wire/headers.h"
#include "wire/result.h"

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

class PacketView {
 public:
  /// Only the parser makes views.
  class Unparsed {
    friend class FrameParser;
    Unparsed() {}
  };
  explicit PacketView(Unparsed) {}

  const Ethernet& ethernet() const { return ethernet_; }
  const std::optional<Vlan>& vlan() const { return vlan_; }
  bool is_ipv4() const { return is_ipv4_; }
  const Ipv4& ipv4() const {
    VERBENA_ASSERT(is_ipv4_);
    return ipv4_;
  }
  const Ipv6& ipv6() const {
    VERBENA_ASSERT(!is_ipv4_);
    return ipv6_;
  }
  const Udp& udp() const { return udp_; }
  Gid source() const { return is_ipv4_ ? Gid::from_ipv4(ipv4_.source) : ipv6_.source; }
  Gid destination() const { return is_ipv4_ ? Gid::from_ipv4(ipv4_.destination) : ipv6_.destination; }
  /// DSCP in the upper six bits, ECN in the lower two.
  std::uint8_t traffic_class() const {
    return is_ipv4_ ? static_cast<std::uint8_t>(ipv4_.dscp << 2 | ipv4_.ecn) : ipv6_.traffic_class;
  }
  std::uint8_t hop_limit() const { return is_ipv4_ ? ipv4_.time_to_live : ipv6_.hop_limit; }

  const Bth& bth() const { return bth_; }
  const OpcodeInfo& opcode() const { return *info_; }
  const Xrceth& xrceth() const {
    VERBENA_ASSERT(info_->has_xrceth);
    return xrceth_;
  }
  const Deth& deth() const {
    VERBENA_ASSERT(info_->has_deth);
    return deth_;
  }
  const Reth& reth() const {
    VERBENA_ASSERT(info_->has_reth);
    return reth_;
  }
  const AtomicEth& atomic_eth() const {
    VERBENA_ASSERT(info_->has_atomic_eth);
    return atomic_eth_;
  }
  const Aeth& aeth() const {
    VERBENA_ASSERT(info_->has_aeth);
    return aeth_;
  }
  const AtomicAckEth& atomic_ack_eth() const {
    VERBENA_ASSERT(info_->has_atomic_ack_eth);
    return atomic_ack_eth_;
  }
  const ImmDt& immediate() const {
    VERBENA_ASSERT(info_->has_immediate);
    return immediate_;
  }
  const Ieth& ieth() const {
    VERBENA_ASSERT(info_->has_invalidate);
    return ieth_;
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
  /// Computes the CRC over the frame's bytes as they are now and compares. Never valid for a cut frame.
  bool icrc_is_valid() const;

 private:
  friend class FrameParser;

  // A packet has one of each union, named by is_ipv4_ and by the opcode table.
  union {
    Ipv4 ipv4_;
    Ipv6 ipv6_;
  };
  union {
    Reth reth_{};
    AtomicEth atomic_eth_;
    Aeth aeth_;
  };
  union {
    ImmDt immediate_{};
    Ieth ieth_;
  };
  AtomicAckEth atomic_ack_eth_;
  Deth deth_;
  Xrceth xrceth_;
  Ethernet ethernet_;
  std::optional<Vlan> vlan_;
  Udp udp_;
  Bth bth_;
  bool is_ipv4_ = true;
  bool is_whole_ = true;
  std::uint8_t ip_offset_ = 0;
  std::uint32_t icrc_ = 0;
  const OpcodeInfo* info_ = nullptr;
  std::span<const std::byte> frame_;
  std::span<const std::byte> payload_;
  std::size_t payload_bytes_ = 0;
};

/// A whole Ethernet frame, untagged or with one VLAN tag, in one piece. Trailing bytes beyond the IP length are
/// ignored. The ICRC is not checked here: call icrc_is_valid(). Neither are the IP and UDP checksums: captures made
/// before checksum offload lack them, and the ICRC covers all that they cover but the fields a router changes.
Result<PacketView, ParseError> parse_frame(std::span<const std::byte> frame);

/// The same for a frame of which a capture may have cut off the end: only the headers need be there.
Result<PacketView, ParseError> parse_cut_frame(std::span<const std::byte> frame);

/// The same for a packet that begins with its IP header (captures of link types without Ethernet): ethernet() is all
/// zeros but for the type, frame() begins with the IP header.
Result<PacketView, ParseError> parse_cut_ip_packet(std::span<const std::byte> packet);

}  // namespace verbena::wire
