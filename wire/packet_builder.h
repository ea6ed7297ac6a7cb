// Building frames for the buffer of the link they leave on.
//
// A flow's FrameTemplate brings the octets in front of the BTH. PacketBuilder appends BTH, extension headers and
// payload, and closes the frame (padding, ICRC, trailer). Nothing here allocates.
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
#include <span>
#include <utility>

#include "wire/assert.h"
#include "wire/frame_template.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/selective_repeat.h"
#include "wire/telemetry.h"

namespace verbena::wire {

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
  /// Pads, stores the ICRC (zeros, if it is deferred), what is not yet in its place, and the trailer (left open, if the
  /// ICRC is deferred); returns the frame's size in octets.
  std::size_t finish();

 private:
  bool icrc_is_deferred() const { return payload_is_in_place_; }
  /// `bytes`: up to the ICRC. Returns them with those of the trailer.
  std::size_t sealed(std::size_t bytes) const {
    const std::size_t trailer_bytes = template_.trailer_bytes();
    if (trailer_bytes == 0) [[likely]]
      return bytes;
    template_.seal({into_, bytes + trailer_bytes});
    return bytes + trailer_bytes;
  }
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

  const FrameTemplate& template_;
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
    : template_(frame_template),
      into_(into.data()),
      payload_bytes_left_(payload_bytes),
      pad_bytes_(-payload_bytes & 3),
      payload_is_in_place_(icrc == IcrcState::deferred) {
  const OpcodeInfo& info = opcode_info(bth.opcode);
  VERBENA_ASSERT(info.defined && (info.has_payload || payload_bytes == 0) && payload_bytes <= kPayloadBytesMax);
  const std::size_t extension_bytes = info.extension_bytes + added_bytes;
  const std::size_t transport_bytes = BthLayout::bytes + extension_bytes + payload_bytes + pad_bytes_ + kIcrcBytes;
  const std::size_t header_bytes = frame_template.header_bytes();
  VERBENA_ASSERT(into.size() >= header_bytes + transport_bytes + frame_template.trailer_bytes());
  extension_bytes_left_ = static_cast<std::uint8_t>(extension_bytes);
  bth_ = stage_.data() + kPayloadAt - extension_bytes - BthLayout::bytes;
  begin_ = bth_ - header_bytes;
  next_ = bth_ + BthLayout::bytes;
  std::byte* const staged = stage_.data() + kPayloadAt;
  payload_ = payload_is_in_place_ ? into_ + (staged - begin_) : staged;
  frame_template.emit({begin_, header_bytes}, transport_bytes);
  icrc_ = Icrc(frame_template.icrc_until_bth(transport_bytes));
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
    return static_cast<std::size_t>(payload_ + kIcrcBytes - into_) + template_.trailer_bytes();
  }
  const std::byte masked = std::exchange(bth_[kBthMaskedOctet], std::byte{0xff});
  icrc_.update(bth_, static_cast<std::size_t>(payload_ - bth_));
  bth_[kBthMaskedOctet] = masked;
  if (left_out_bytes_ != 0) {
    const auto before = static_cast<std::size_t>(payload_ - pad_bytes_ - begin_);
    std::memcpy(into_, begin_, before);
    std::byte* const end = into_ + before + left_out_bytes_ + pad_bytes_;
    layout_detail::store_icrc(end, icrc_.value());
    return sealed(static_cast<std::size_t>(end + kIcrcBytes - into_));
  }
  layout_detail::store_icrc(payload_, icrc_.value());
  const auto bytes = static_cast<std::size_t>(payload_ + kIcrcBytes - begin_);
  std::memcpy(into_, begin_, bytes);
  return sealed(bytes);
}

/// The size in octets of a frame with this opcode and payload, ICRC and trailer included.
inline std::size_t frame_bytes(const FrameTemplate& frame_template, Opcode opcode, std::size_t payload_bytes,
                               std::size_t added_bytes = 0) {
  return frame_template.header_bytes() + BthLayout::bytes + opcode_info(opcode).extension_bytes + added_bytes +
         (payload_bytes + 3) / 4 * 4 + kIcrcBytes + frame_template.trailer_bytes();
}

}  // namespace verbena::wire
