// Who talks with whom: groups the packets of a capture into conversations between two queue pairs.
//
// A packet names only the QP it goes to (UD packets also name the one they come from). For RC the other half is found
// by its answers: a stream of packets from B to A belongs to the stream from A to B whose outstanding PSNs it
// acknowledges. What is left over (UC, one-sided captures) is paired if between the two addresses exactly one stream
// each way is left; else a conversation has one known end only.
// Tested by: tests/captures/story/kernel_captures_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "captures/conversations/sightings.h"
#include "captures/read/capture.h"
#include "wire/encapsulation.h"
#include "wire/opcode.h"
#include "wire/types.h"

namespace verbena::captures {

using ClassMask = std::uint8_t;  // bit c: traffic class c

/// The classes that a packet may be in: its VLAN tag's, and that of its DSCP's upper three bits (RFC 2474).
ClassMask classes_of(const wire::PacketView& packet);

struct End {
  wire::Gid address;
  std::optional<wire::Qpn> qpn;
  bool operator==(const End&) const = default;
};

struct Conversation {
  wire::Transport transport{};
  const wire::Encapsulation* encapsulation = &wire::kRoceV2;
  std::array<End, 2> ends;             // 0: who sent the first request
  std::uint32_t path_mtu_bytes = 0;    // 0: not seen
  ClassMask classes = 0;               // that its packets may be in
  std::vector<std::uint32_t> packets;  // indices into Capture::packets(), in order: of each frame the first sighting
  /// The other sightings (sightings.h), in order.
  struct Again {
    std::uint32_t packet = 0;
    Sighting sighting;
  };
  std::vector<Again> again;
  /// Which end sent the packet.
  unsigned sender_of(const wire::PacketView& packet) const;
};

/// In the order of their first packets.
std::vector<Conversation> find_conversations(const Capture& capture);

}  // namespace verbena::captures
