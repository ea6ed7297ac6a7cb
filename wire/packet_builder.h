// Building RoCE v2 frames in place, in the buffer of the link they leave on.
//
// FramePath is what stays the same for a flow; FrameTemplate is its Ethernet, IP and UDP octets made once; PacketBuilder
// appends BTH, extension headers and payload and closes the frame (padding, lengths, IP checksum, ICRC).
// Nothing here allocates. IPv4 packets leave with DF set and identification 0 (see design.md: what a UDP socket sends).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

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
};

class FrameTemplate;

/// One frame. Order of calls: constructor, append() in the order of the specification, payload, finish() once.
///   PacketBuilder builder(into, frame_template, bth);
///   builder.append(reth);
///   if (!memory.read(va, builder.payload(n), builder.icrc())) ...;   // fills n octets and feeds the CRC from their origin
///   std::size_t bytes = builder.finish();
class PacketBuilder {
 public:
  /// `into` must hold frame_bytes(); asserts otherwise. bth.pad_bytes is overwritten from the payload's size.
  PacketBuilder(std::span<std::byte> into, const FrameTemplate& frame_template, const Bth& bth, std::size_t payload_bytes);

  void append(const Xrceth&);
  void append(const Deth&);
  void append(const Reth&);
  void append(const AtomicEth&);
  void append(const Aeth&);
  void append(const AtomicAckEth&);
  void append(const ImmDt&);
  void append(const Ieth&);

  /// The place of the next `bytes` octets of payload. The caller writes them and feeds icrc() with the same octets, taken
  /// from their origin and not from here (those lines may still belong to another core).
  std::span<std::byte> payload(std::size_t bytes);
  /// Valid from the first payload() call on: covers all headers.
  Icrc& icrc();
  /// Copies and feeds the CRC.
  void append_payload(std::span<const std::byte> bytes);
  /// Pads, stores the ICRC; returns the size of the frame in octets.
  std::size_t finish();
};

/// The size in octets of a frame with this opcode and payload, ICRC included.
std::size_t frame_bytes(const FrameTemplate& frame_template, Opcode opcode, std::size_t payload_bytes);

}  // namespace verbena::wire
