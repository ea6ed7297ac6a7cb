// Encapsulation: what carries the packets of the InfiniBand transport on a wire, as a row of functions.
//
// RoCE v2 is one (Ethernet, IP, UDP; annex A17), RoCE v1 (roce_v1.h) another. A further one is a file like roce_v1.cc
// with its row, and its place in encapsulations.cc. The transport and the NIC know none of them: they ask a packet in
// the terms that all have in common (packet_view.h) and build it from a FramePath (frame_template.h). What a network
// looks at on the way is FramePlaces.
// Tested by: tests/wire/encapsulation_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "wire/frame_places.h"
#include "wire/result.h"

namespace verbena::wire {

enum class ParseError : std::uint8_t;
struct FramePath;
struct FrameHeaders;

/// Where a checked packet lies.
struct Carried {
  FramePlaces places;
  std::size_t transport_bytes = 0;  // from the BTH to the ICRC, by what the network header says
};

struct Encapsulation {
  std::string_view name;
  bool is_on_ethernet = true;                  // false: its packets begin with its own header
  std::array<std::uint16_t, 2> ether_types{};  // that announce it on Ethernet; 0: no second one
  std::uint8_t trailer_bytes = 0;              // behind the ICRC
  bool is_hidden = false;                      // switches read none of its network header (FramePlaces::is_hidden)

  // -- Building: FrameTemplate calls these. --
  /// Writes the headers up to the BTH, without any length, and what they are worth for the ICRC.
  void (*begin)(const FramePath& path, FrameHeaders& into);
  /// Fits lengths, checksum and `icrc_until_bth` to a packet that has so many octets from the BTH to the ICRC.
  void (*fit)(FrameHeaders& headers, std::size_t transport_bytes);
  /// Writes the trailer of a frame that is whole but for it. Null: there is none.
  void (*seal)(std::span<std::byte> frame) = nullptr;
  /// Whether the trailer of a whole frame is the one that seal() writes. Null: nothing depends on it.
  bool (*is_sealed)(std::span<const std::byte> frame) = nullptr;

  // -- Reading. --
  /// Checks the headers from `network_at` to the BTH in a copy of the frame's first octets. Null: FrameParser has the
  /// checks in line.
  Result<Carried, ParseError> (*parse)(std::span<const std::byte> headers, std::size_t network_at);
  /// What an unchecked frame has where (find_places()).
  std::optional<FramePlaces> (*find)(std::span<const std::byte> frame, std::size_t network_at,
                                     std::uint16_t ether_type);
  /// The CRC from the octets of ones to the last octet before the BTH.
  std::uint32_t (*icrc_until_bth)(std::span<const std::byte> frame, const FramePlaces& places);
};

/// The rows (encapsulations.cc). The first is RoCE v2.
std::span<const Encapsulation* const> encapsulations();
/// Null: no row has this EtherType.
const Encapsulation* find_encapsulation(std::uint16_t ether_type);

extern const Encapsulation kRoceV2;
extern const Encapsulation kInfiniBand;

/// Writes the Ethernet header of a path, and its VLAN tag if it has one. For `begin` of encapsulations on Ethernet.
void begin_ethernet(const FramePath& path, std::uint16_t ether_type, FrameHeaders& into);

}  // namespace verbena::wire
