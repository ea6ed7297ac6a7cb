// The invariant CRC of a packet, over the CRC-32 of Ethernet (crc32.h), and how RoCE v2 masks its headers for it (IBTA
// annex A17.3.3). Other encapsulations mask theirs (encapsulation.h).
//
// Solely responsible for what the ICRC covers and how its value comes about. Covered: eight octets of ones in the place
// of InfiniBand's LRH, the IP header with TOS, TTL and checksum (IPv6: traffic class, flow label, hop limit) as ones,
// the UDP header with its checksum as ones, the BTH with FECN, BECN and reserved6 as ones, and all the rest as it is. A
// telemetry header (telemetry.h), which no specification knows, counts as zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/headers.h"
#include "wire/path_address.h"

namespace verbena::wire {

/// A running CRC-32 over pieces of a packet. Start it with the masked headers (PacketBuilder does), go on with the
/// payload.
class Icrc {
 public:
  constexpr Icrc() = default;
  constexpr explicit Icrc(std::uint32_t state) : state_(state) {}
  void update(const void* bytes, std::size_t size);
  /// The value as it is stored, least significant octet first, in the last four octets of the packet.
  constexpr std::uint32_t value() const { return state_; }

 private:
  std::uint32_t state_ = 0;
};

/// Octets of the ones in front, an IP header, a UDP header and a BTH: the part of a packet that is masked.
inline constexpr std::size_t kMaskedBytesMax = 8 + Ipv6Layout::bytes + UdpLayout::bytes + BthLayout::bytes;

/// The masked form of the headers from IP to BTH that lie at `ip_header`, the eight octets of ones in front.
/// `ip_header` must hold them whole. Returns how many octets of `into` are filled.
std::size_t mask_headers(std::span<const std::byte> ip_header, bool is_ipv4,
                         std::span<std::byte, kMaskedBytesMax> into);

/// The CRC over the octets of ones and the masked IP and UDP headers that lie at `ip_header`, whole.
std::uint32_t icrc_until_bth(std::span<const std::byte> ip_header, bool is_ipv4);

/// Goes on with what lies between them and the ICRC: `transport` is the BTH and its extension headers (12 to 52
/// octets), `payload` is padded. A telemetry header between them is left out, and counts as so many zeros.
std::uint32_t icrc_from_bth(std::uint32_t until_bth, std::span<const std::byte> transport,
                            std::span<const std::byte> payload, std::size_t telemetry_bytes = 0);

/// Octets of a packet that count as zeros, behind the BTH.
struct ZeroedOctets {
  std::size_t at = 0;  // from the IP header on
  std::size_t bytes = 0;
};
/// The ICRC of a packet from its IP header to the octet before the ICRC. `packet` must hold IP, UDP and BTH whole, and
/// what is zeroed.
std::uint32_t compute_icrc(std::span<const std::byte> packet, bool is_ipv4, const ZeroedOctets& zeroed = {});

/// ICRC offload: between processes that trust each other's memory a frame may travel with its ICRC deferred
/// (IcrcState), as Linux leaves a checksum open between the two ends of a veth pair. This is the one place where it is
/// made up for, by whoever lets the frame out of there, looks at its octets or changes them. Stores the ICRC, and the
/// trailer if there is one; what is no frame of a known encapsulation stays as it is.
void complete_icrc(std::span<std::byte> frame, Medium medium = Medium::ethernet);

/// A copy of a frame whose ICRC is deferred, with its ICRC, for who may not write where it lies.
class CompletedFrame {
 public:
  /// Valid until the next call. At most kFrameBytesMax octets.
  std::span<const std::byte> copy_of(std::span<const std::byte> frame, Medium medium = Medium::ethernet);

 private:
  std::array<std::byte, kFrameBytesMax> octets_;
};

/// The octet of a masked BTH that holds FECN, BECN and reserved6.
inline constexpr std::size_t kBthMaskedOctet = 4;

/// A UDP socket does not see the IPv4 identification of what it receives, but the ICRC covers it. A CRC is linear, so
/// exactly one 32-bit change explains a wrong ICRC, and if the identification alone can be that change, this is the
/// value that makes the ICRC fit (16 of 32 bits of protection remain). Nothing: no value fits, or `frame` is not a
/// whole RoCE v2 frame over IPv4.
std::optional<std::uint16_t> solve_ipv4_identification(std::span<const std::byte> frame);

/// Stores the identification in an IPv4 frame of at least Ethernet and IPv4 headers (untagged or with one VLAN tag) and
/// corrects the header checksum. Other frames are left alone.
void set_ipv4_identification(std::span<std::byte> frame, std::uint16_t identification);

}  // namespace verbena::wire
