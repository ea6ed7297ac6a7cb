// Building RoCE v2 frames in place, in the buffer of the link they leave on.
//
// FramePath is what stays the same for a flow; FrameTemplate is its Ethernet, IP and UDP octets made once;
// PacketBuilder appends BTH, extension headers and payload and closes the frame (padding, lengths, IP checksum, ICRC).
// Nothing here allocates. IPv4 packets leave with DF set and identification 0 (see design.md: what a UDP socket sends),
// UDP checksums are 0 over IPv4 and IPv6 alike (annex A17: the ICRC stands in for it).
// The place of a frame is written and never read: its lines may still belong to another core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "wire/assert.h"
#include "wire/headers.h"
#include "wire/icrc.h"

namespace verbena::wire {

struct FramePath {
  MacAddress source_mac;
  MacAddress destination_mac;
  Gid source;
  Gid destination;  // both IPv4-mapped, or neither
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint16_t udp_source_port = 0xc000;
  std::optional<Vlan> vlan;  // ether_type is filled in
  std::uint16_t ipv4_identification = 0;
  bool ipv4_dont_fragment = true;
};

/// The Ethernet, VLAN, IP and UDP headers of a flow, ready but for the lengths.
class FrameTemplate {
 public:
  FrameTemplate() = default;
  explicit FrameTemplate(const FramePath& path);

  /// Ethernet to UDP.
  std::size_t header_bytes() const { return header_bytes_; }
  bool is_ipv4() const { return is_ipv4_; }

  /// Writes the headers of a frame whose UDP payload (BTH to ICRC) has this size. `into` must hold header_bytes().
  void emit(std::span<std::byte> into, std::size_t udp_payload_bytes) const;

  /// The CRC from the octets of ones up to the UDP ports, for a UDP payload of this size.
  std::uint32_t icrc_until_ports(std::size_t udp_payload_bytes) const;

 private:
  static constexpr std::size_t kHeaderBytesMax =
      EthernetLayout::bytes + VlanLayout::bytes + Ipv6Layout::bytes + UdpLayout::bytes;
  std::array<std::byte, kHeaderBytesMax> octets_{};
  std::uint8_t header_bytes_ = 0;
  std::uint8_t ip_offset_ = 0;
  bool is_ipv4_ = true;
  std::uint32_t checksum_sum_ = 0;  // of the IPv4 header without total length and checksum
  std::uint32_t icrc_of_length_0_ =
      0;  // from the octets of ones up to the UDP ports, with a zero length in the IP header
};

/// One frame. Order of calls: constructor, append() in the order of the specification, payload, finish() once.
///   PacketBuilder builder(into, frame_template, bth, payload_bytes);
///   builder.append(reth);
///   if (!memory.read(va, builder.payload(n), builder.icrc())) ...;   // fills n octets and feeds the CRC from their
///   origin std::size_t bytes = builder.finish();
/// Leaving an extension header of the opcode out, or giving more or less payload than announced, asserts.
class PacketBuilder {
 public:
  /// `into` must hold frame_bytes(); asserts otherwise. bth.pad_bytes is overwritten from the payload's size.
  PacketBuilder(std::span<std::byte> into, const FrameTemplate& frame_template, const Bth& bth,
                std::size_t payload_bytes);

  void append(const Xrceth& header) { append_header<XrcethLayout>(header); }
  void append(const Deth& header) { append_header<DethLayout>(header); }
  void append(const Reth& header) { append_header<RethLayout>(header); }
  void append(const AtomicEth& header) { append_header<AtomicEthLayout>(header); }
  void append(const Aeth& header) { append_header<AethLayout>(header); }
  void append(const AtomicAckEth& header) { append_header<AtomicAckEthLayout>(header); }
  void append(const ImmDt& header) { append_header<ImmDtLayout>(header); }
  void append(const Ieth& header) { append_header<IethLayout>(header); }

  /// The place of the next `bytes` octets of payload. The caller writes them and feeds icrc() with the same octets,
  /// taken from their origin and not from here (those lines may still belong to another core).
  std::span<std::byte> payload(std::size_t bytes) {
    close_headers();
    VERBENA_ASSERT(bytes <= payload_bytes_left_);
    payload_bytes_left_ -= bytes;
    std::byte* const place = next_;
    next_ += bytes;
    return {place, bytes};
  }
  /// Valid from the first payload() call on: covers all headers.
  Icrc& icrc() {
    close_headers();
    return icrc_;
  }
  /// Copies and feeds the CRC.
  void append_payload(std::span<const std::byte> bytes) {
    const std::span<std::byte> place = payload(bytes.size());
    if (bytes.empty()) return;
    std::memcpy(place.data(), bytes.data(), bytes.size());
    icrc_.update(bytes.data(), bytes.size());
  }
  /// Pads, stores the ICRC; returns the size of the frame in octets.
  std::size_t finish();

 private:
  // The CRC takes up where the template left off: with the second half of the UDP header.
  static constexpr std::size_t kUdpTailBytes = 4;
  static constexpr std::size_t kExtensionBytesMax = 32;  // XRCETH and AtomicETH
  static constexpr std::size_t kCoveredBytesMax = kUdpTailBytes + BthLayout::bytes + kExtensionBytesMax;

  template <class HeaderLayout>
  void append_header(const typename HeaderLayout::Header& header) {
    VERBENA_ASSERT(HeaderLayout::bytes <= extension_bytes_left_ && !headers_closed_);
    extension_bytes_left_ = static_cast<std::uint8_t>(extension_bytes_left_ - HeaderLayout::bytes);
    const auto octets = HeaderLayout::emit(header);
    std::memcpy(covered_.data() + covered_bytes_, octets.data(), octets.size());
    std::memcpy(next_, octets.data(), octets.size());
    covered_bytes_ = static_cast<std::uint8_t>(covered_bytes_ + octets.size());
    next_ += octets.size();
  }
  void close_headers() {
    if (headers_closed_) return;
    VERBENA_ASSERT(extension_bytes_left_ == 0);
    headers_closed_ = true;
    icrc_.update(covered_.data(), covered_bytes_);
  }

  std::byte* begin_;
  std::byte* next_;
  std::size_t payload_bytes_left_;
  Icrc icrc_;
  std::uint8_t pad_bytes_;
  std::uint8_t extension_bytes_left_;
  std::uint8_t covered_bytes_;
  bool headers_closed_ = false;
  std::array<std::byte, kCoveredBytesMax> covered_;  // as the CRC sees it: masked
};

/// The size in octets of a frame with this opcode and payload, ICRC included.
inline std::size_t frame_bytes(const FrameTemplate& frame_template, Opcode opcode, std::size_t payload_bytes) {
  return frame_template.header_bytes() + BthLayout::bytes + opcode_info(opcode).extension_bytes +
         (payload_bytes + 3) / 4 * 4 + kIcrcBytes;
}

}  // namespace verbena::wire
