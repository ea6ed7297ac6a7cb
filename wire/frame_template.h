// FrameTemplate: all that the frames of one flow have in front of the BTH, made once.
//
// FramePath says where the flow goes, in terms that every encapsulation has. The path's encapsulation turns it into
// octets, and fits them to the size of a frame. Nothing here allocates.
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "wire/assert.h"
#include "wire/encapsulation.h"
#include "wire/headers.h"
#include "wire/path_address.h"

namespace verbena::wire {

struct FramePath {
  PathAddress from;
  PathAddress to;  // of the next hop
  Gid source;
  Gid destination;  // both IPv4-mapped, or neither
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t port = 1;  // of the sender's NIC, by which they leave; not in the frame
  std::uint32_t flow_label = 0;
  std::uint16_t udp_source_port = 0xc000;
  std::optional<Vlan> vlan;  // ether_type is filled in
  std::uint16_t ipv4_identification = 0;
  bool ipv4_dont_fragment = true;
  const Encapsulation* encapsulation = &kRoceV2;
};

/// The headers as an encapsulation fills them in.
struct FrameHeaders {
  /// The longest: Ethernet, a VLAN tag, IPv6, UDP.
  static constexpr std::size_t kBytesMax =
      EthernetLayout::bytes + VlanLayout::bytes + Ipv6Layout::bytes + UdpLayout::bytes;

  template <std::size_t kBytes>
  void append(const std::array<std::byte, kBytes>& header) {
    VERBENA_ASSERT(bytes + kBytes <= kBytesMax);
    std::memcpy(octets.data() + bytes, header.data(), kBytes);
    bytes = static_cast<std::uint8_t>(bytes + kBytes);
  }

  std::array<std::byte, kBytesMax> octets{};
  std::uint16_t fitted_bytes = 0;  // what fit() was last asked for; 0: never
  std::uint8_t bytes = 0;
  std::uint8_t network_at = 0;   // the network header
  std::uint8_t class_shift = 0;  // the traffic class lies so far up in its first 16 bits
  std::uint8_t trailer_bytes = 0;
  std::uint8_t port = 1;               // of the sender's NIC
  std::uint32_t icrc_until_bth = 0;    // from the octets of ones to the last octet before the BTH
  std::uint32_t icrc_of_length_0 = 0;  // the same with zeros for each length
  std::uint32_t checksum_sum = 0;      // of the network header without length and checksum
};

/// Kept ready for frames of the size that was asked for last, as most have the same: one thread at a time, also where
/// it is const.
class FrameTemplate {
 public:
  FrameTemplate() = default;
  explicit FrameTemplate(const FramePath& path) : encapsulation_(path.encapsulation) {
    encapsulation_->begin(path, headers_);
    headers_.trailer_bytes = encapsulation_->trailer_bytes;
    headers_.port = path.port;
  }

  /// Up to the BTH.
  std::size_t header_bytes() const { return headers_.bytes; }
  /// Behind the ICRC.
  std::size_t trailer_bytes() const { return headers_.trailer_bytes; }
  /// By which the frames leave the sender's NIC.
  std::uint8_t port() const { return headers_.port; }
  /// DSCP and ECN, or on InfiniBand the service level in the place of the DSCP; 0 as well: there are no headers.
  std::uint8_t traffic_class() const {
    const std::byte* const network = headers_.octets.data() + headers_.network_at;
    return static_cast<std::uint8_t>(layout_detail::load_big_endian<2>(network) >> headers_.class_shift);
  }

  /// Writes the headers of a frame that has so many octets from the BTH to the ICRC. `into` must hold header_bytes().
  void emit(std::span<std::byte> into, std::size_t transport_bytes) const {
    VERBENA_ASSERT(into.size() >= headers_.bytes && headers_.bytes != 0);
    if (transport_bytes != headers_.fitted_bytes) fit(transport_bytes);
    constexpr std::size_t kUsualBytes = EthernetLayout::bytes + Ipv4Layout::bytes + UdpLayout::bytes;
    if (headers_.bytes == kUsualBytes)
      std::memcpy(into.data(), headers_.octets.data(), kUsualBytes);
    else
      std::memcpy(into.data(), headers_.octets.data(), headers_.bytes);
  }

  /// The CRC from the octets of ones to the last octet before the BTH, for a frame of this size.
  std::uint32_t icrc_until_bth(std::size_t transport_bytes) const {
    if (transport_bytes != headers_.fitted_bytes) fit(transport_bytes);
    return headers_.icrc_until_bth;
  }

  /// Writes the trailer of a frame that is whole but for it.
  void seal(std::span<std::byte> frame) const { encapsulation_->seal(frame); }

  static constexpr std::size_t kHeaderBytesMax = FrameHeaders::kBytesMax;

 private:
  [[gnu::noinline]] void fit(std::size_t transport_bytes) const {
    headers_.fitted_bytes = static_cast<std::uint16_t>(transport_bytes);
    encapsulation_->fit(headers_, transport_bytes);
  }

  mutable FrameHeaders headers_;
  const Encapsulation* encapsulation_ = nullptr;
};

}  // namespace verbena::wire
