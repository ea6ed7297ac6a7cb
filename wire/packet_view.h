// PacketView: the one checked way from untrusted bytes to a RoCE v2 packet.
//
// parse_frame() reads every header once into plain values, so that bytes which change under us (a hostile peer on shared
// memory) cannot change a decision already taken. Accessors of a view cannot fail, except that asking for a header which
// the opcode does not carry asserts. The payload still lies where the frame lies; the view does not own it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/headers.h"
#include "wire/result.h"

namespace verbena::wire {

enum class ParseError : std::uint8_t {
  truncated, not_ip, bad_ip_header, ip_fragment, not_udp, not_roce_port, bad_length, bad_transport_version, unknown_opcode, bad_padding,
};
std::string_view to_string(ParseError error);

class PacketView {
 public:
  const Ethernet& ethernet() const { return ethernet_; }
  const std::optional<Vlan>& vlan() const { return vlan_; }
  bool is_ipv4() const { return is_ipv4_; }
  const Ipv4& ipv4() const;
  const Ipv6& ipv6() const;
  const Udp& udp() const { return udp_; }
  Gid source() const;
  Gid destination() const;
  /// DSCP in the upper six bits, ECN in the lower two.
  std::uint8_t traffic_class() const;
  std::uint8_t hop_limit() const;

  const Bth& bth() const { return bth_; }
  const OpcodeInfo& opcode() const { return *info_; }
  const Xrceth& xrceth() const;
  const Deth& deth() const;
  const Reth& reth() const;
  const AtomicEth& atomic_eth() const;
  const Aeth& aeth() const;
  const AtomicAckEth& atomic_ack_eth() const;
  const ImmDt& immediate() const;
  const Ieth& ieth() const;

  /// Without pad bytes and ICRC.
  std::span<const std::byte> payload() const { return payload_; }
  /// The whole frame up to and with the ICRC; trailing Ethernet padding is left off.
  std::span<const std::byte> frame() const { return frame_; }
  std::uint32_t icrc() const { return icrc_; }
  /// Computes the CRC over the frame's bytes as they are now and compares.
  bool icrc_is_valid() const;
};

/// A whole Ethernet frame, untagged or with one VLAN tag, in one piece. Trailing bytes beyond the IP length are ignored.
/// The ICRC is not checked here: call icrc_is_valid().
Result<PacketView, ParseError> parse_frame(std::span<const std::byte> frame);

}  // namespace verbena::wire
