// Building RoCE v2 frames for the buffer of the link they leave on.
//
// FramePath is what stays the same for a flow; FrameTemplate is its Ethernet, IP and UDP octets made once;
// PacketBuilder appends BTH, extension headers and payload and closes the frame (padding, lengths, IP checksum, ICRC).
// Nothing here allocates. IPv4 packets leave with DF set and identification 0 (see design.md: what a UDP socket sends),
// UDP checksums are 0 over IPv4 and IPv6 alike (annex A17: the ICRC stands in for it).
// A frame comes together in the builder, in lines that are this core's own, goes through the CRC there in one piece,
// and is then copied to its place. Where its ICRC is deferred (icrc.h) nothing has to be read again: only the headers
// come together in the builder, the payload goes from its origin to its place. Either way the place is written once and
// never read: its lines may still belong to another core.
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "wire/assert.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/selective_repeat.h"
#include "wire/telemetry.h"

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

/// The Ethernet, VLAN, IP and UDP headers of a flow. Kept ready for frames of the size that was asked for last, as most
/// have the same: one thread at a time, also where it is const.
class FrameTemplate {
 public:
  FrameTemplate() = default;
  explicit FrameTemplate(const FramePath& path);

  /// Ethernet to UDP.
  std::size_t header_bytes() const { return header_bytes_; }
  bool is_ipv4() const { return is_ipv4_; }
  /// That octet of the IP header; 0 as well: there are no headers.
  std::uint8_t traffic_class() const;

  /// Writes the headers of a frame whose UDP payload (BTH to ICRC) has this size. `into` must hold header_bytes().
  void emit(std::span<std::byte> into, std::size_t udp_payload_bytes) const {
    VERBENA_ASSERT(into.size() >= header_bytes_ && header_bytes_ != 0);
    if (udp_payload_bytes != fitted_bytes_) fit(udp_payload_bytes);
    constexpr std::size_t kUsualBytes = EthernetLayout::bytes + Ipv4Layout::bytes + UdpLayout::bytes;
    if (header_bytes_ == kUsualBytes)
      std::memcpy(into.data(), octets_.data(), kUsualBytes);
    else
      std::memcpy(into.data(), octets_.data(), header_bytes_);
  }

  /// The CRC from the octets of ones to the end of the UDP header, for a UDP payload of this size.
  std::uint32_t icrc_until_bth(std::size_t udp_payload_bytes) const {
    if (udp_payload_bytes != fitted_bytes_) fit(udp_payload_bytes);
    return icrc_until_bth_;
  }

  static constexpr std::size_t kHeaderBytesMax =
      EthernetLayout::bytes + VlanLayout::bytes + Ipv6Layout::bytes + UdpLayout::bytes;

 private:
  [[gnu::noinline]] void fit(std::size_t udp_payload_bytes) const;

  mutable std::array<std::byte, kHeaderBytesMax> octets_{};
  mutable std::uint16_t fitted_bytes_ = 0;  // the UDP payload that lengths and checksum are for; 0: none yet
  std::uint8_t header_bytes_ = 0;
  std::uint8_t ip_offset_ = 0;
  mutable std::uint32_t icrc_until_bth_ = 0;
  std::uint32_t icrc_of_length_0_ = 0;  // the same with zeros for both lengths
  std::uint32_t checksum_sum_ = 0;      // of the IPv4 header without total length and checksum
  bool is_ipv4_ = true;
};

/// One frame. Order of calls: constructor, append() in the order of the specification, payload, finish() once.
///   PacketBuilder builder(into, frame_template, bth, payload_bytes, port.icrc_wanted());
///   builder.append(reth);
///   if (!memory.read(va, builder.payload(n))) ...;   // fills n octets
///   std::size_t bytes = builder.finish();
/// Leaving an extension header of the opcode out, or giving more or less payload than announced, asserts.
class PacketBuilder {
 public:
  /// `into` must hold frame_bytes(); asserts otherwise. bth.pad_bytes is overwritten from the payload's size. `icrc`:
  /// present or deferred. `added_bytes`: of headers that the opcode does not bring (selective_repeat.h, telemetry.h).
  PacketBuilder(std::span<std::byte> into, const FrameTemplate& frame_template, const Bth& bth,
                std::size_t payload_bytes, IcrcState icrc = IcrcState::present, std::size_t added_bytes = 0);
  PacketBuilder(const PacketBuilder&) = delete;
  PacketBuilder& operator=(const PacketBuilder&) = delete;

  void append(const Xrceth& header) { append_header<XrcethLayout>(header); }
  void append(const Deth& header) { append_header<DethLayout>(header); }
  void append(const Reth& header) { append_header<RethLayout>(header); }
  void append(const AtomicEth& header) { append_header<AtomicEthLayout>(header); }
  void append(const Aeth& header) { append_header<AethLayout>(header); }
  void append(const AtomicAckEth& header) { append_header<AtomicAckEthLayout>(header); }
  void append(const ImmDt& header) { append_header<ImmDtLayout>(header); }
  void append(const Ieth& header) { append_header<IethLayout>(header); }
  void append(const PlacementEth& header) { append_header<PlacementEthLayout>(header); }
  void append(const SackEth& header) { append_header<SackEthLayout>(header); }
  /// Last: a telemetry header of zeros, as which the ICRC takes whatever is written there later.
  void append_telemetry() {
    VERBENA_ASSERT(extension_bytes_left_ == kTelemetryBytes);
    extension_bytes_left_ = 0;
    std::memset(next_, 0, kTelemetryBytes);
    next_ += kTelemetryBytes;
  }

  /// The next `bytes` octets of payload, for the caller to write, and not to read, before finish(). What is written is
  /// what leaves and what the ICRC covers, whatever becomes of its origin.
  std::span<std::byte> payload(std::size_t bytes) {
    VERBENA_ASSERT(extension_bytes_left_ == 0 && bytes <= payload_bytes_left_);
    payload_bytes_left_ -= bytes;
    std::byte* const place = payload_;
    payload_ += bytes;
    return {place, bytes};
  }
  void append_payload(std::span<const std::byte> bytes) {
    const std::span<std::byte> place = payload(bytes.size());
    if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
  }
  /// Instead of all payload: its place stays as it is, and the ICRC leaves it out. For simulations without payload.
  void leave_out_payload(std::size_t bytes) {
    VERBENA_ASSERT(bytes <= payload_bytes_left_ && !icrc_is_deferred());
    payload_bytes_left_ -= bytes;
    left_out_bytes_ += bytes;
  }
  /// Pads, stores the ICRC (zeros, if it is deferred), and what is not yet in its place; returns the frame's size in
  /// octets.
  std::size_t finish();

 private:
  bool icrc_is_deferred() const { return payload_is_in_place_; }
  static constexpr std::size_t kExtensionBytesMax = XrcethLayout::bytes + AtomicEthLayout::bytes + kTelemetryBytes;
  // The payload begins here: the headers end where a cache line does.
  static constexpr std::size_t kPayloadAt = 192;
  static_assert(FrameTemplate::kHeaderBytesMax + BthLayout::bytes + kExtensionBytesMax <= kPayloadAt);

  template <class HeaderLayout>
  void append_header(const typename HeaderLayout::Header& header) {
    VERBENA_ASSERT(HeaderLayout::bytes <= extension_bytes_left_);
    extension_bytes_left_ = static_cast<std::uint8_t>(extension_bytes_left_ - HeaderLayout::bytes);
    HeaderLayout::emit(header, std::span<std::byte, HeaderLayout::bytes>(next_, HeaderLayout::bytes));
    next_ += HeaderLayout::bytes;
  }

  std::byte* into_;
  std::byte* begin_;
  std::byte* bth_;
  std::byte* next_;     // of the extension headers
  std::byte* payload_;  // the next octet of it
  std::size_t payload_bytes_left_;
  std::size_t left_out_bytes_ = 0;
  Icrc icrc_;
  std::uint8_t pad_bytes_;
  std::uint8_t extension_bytes_left_;
  bool payload_is_in_place_;  // and not in the stage
  alignas(64) std::array<std::byte, kPayloadAt + kPayloadBytesMax + kIcrcBytes> stage_;
};

// In line by attribute, however many places build packets: most fields of a BTH are constants there, and what is known
// of the frame stays in registers.
[[gnu::always_inline]] inline PacketBuilder::PacketBuilder(std::span<std::byte> into,
                                                           const FrameTemplate& frame_template, const Bth& bth,
                                                           std::size_t payload_bytes, IcrcState icrc,
                                                           std::size_t added_bytes)
    : into_(into.data()),
      payload_bytes_left_(payload_bytes),
      pad_bytes_(-payload_bytes & 3),
      payload_is_in_place_(icrc == IcrcState::deferred) {
  const OpcodeInfo& info = opcode_info(bth.opcode);
  VERBENA_ASSERT(info.defined && (info.has_payload || payload_bytes == 0) && payload_bytes <= kPayloadBytesMax);
  const std::size_t extension_bytes = info.extension_bytes + added_bytes;
  const std::size_t udp_payload_bytes = BthLayout::bytes + extension_bytes + payload_bytes + pad_bytes_ + kIcrcBytes;
  const std::size_t header_bytes = frame_template.header_bytes();
  VERBENA_ASSERT(into.size() >= header_bytes + udp_payload_bytes);
  extension_bytes_left_ = static_cast<std::uint8_t>(extension_bytes);
  bth_ = stage_.data() + kPayloadAt - extension_bytes - BthLayout::bytes;
  begin_ = bth_ - header_bytes;
  next_ = bth_ + BthLayout::bytes;
  std::byte* const staged = stage_.data() + kPayloadAt;
  payload_ = payload_is_in_place_ ? into_ + (staged - begin_) : staged;
  frame_template.emit({begin_, header_bytes}, udp_payload_bytes);
  icrc_ = Icrc(frame_template.icrc_until_bth(udp_payload_bytes));
  Bth padded = bth;
  padded.pad_bytes = pad_bytes_;
  BthLayout::emit(padded, std::span<std::byte, BthLayout::bytes>(bth_, BthLayout::bytes));
}

[[gnu::always_inline]] inline std::size_t PacketBuilder::finish() {
  VERBENA_ASSERT(extension_bytes_left_ == 0 && payload_bytes_left_ == 0);
  for (std::uint8_t i = 0; i < pad_bytes_; ++i) *payload_++ = std::byte{0};
  if (icrc_is_deferred()) {
    std::memcpy(into_, begin_, static_cast<std::size_t>(next_ - begin_));
    layout_detail::store_icrc(payload_, 0);
    return static_cast<std::size_t>(payload_ + kIcrcBytes - into_);
  }
  const std::byte masked = std::exchange(bth_[kBthMaskedOctet], std::byte{0xff});
  icrc_.update(bth_, static_cast<std::size_t>(payload_ - bth_));
  bth_[kBthMaskedOctet] = masked;
  if (left_out_bytes_ != 0) {
    const auto before = static_cast<std::size_t>(payload_ - pad_bytes_ - begin_);
    std::memcpy(into_, begin_, before);
    std::byte* const end = into_ + before + left_out_bytes_ + pad_bytes_;
    layout_detail::store_icrc(end, icrc_.value());
    return static_cast<std::size_t>(end + kIcrcBytes - into_);
  }
  layout_detail::store_icrc(payload_, icrc_.value());
  const auto bytes = static_cast<std::size_t>(payload_ + kIcrcBytes - begin_);
  std::memcpy(into_, begin_, bytes);
  return bytes;
}

/// The size in octets of a frame with this opcode and payload, ICRC included.
inline std::size_t frame_bytes(const FrameTemplate& frame_template, Opcode opcode, std::size_t payload_bytes,
                               std::size_t added_bytes = 0) {
  return frame_template.header_bytes() + BthLayout::bytes + opcode_info(opcode).extension_bytes + added_bytes +
         (payload_bytes + 3) / 4 * 4 + kIcrcBytes;
}

}  // namespace verbena::wire
