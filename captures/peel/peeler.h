// The peeler: takes off what stands around a RoCE packet in a capture, or says what the packet is instead.
//
// Solely responsible for the walk from the outside in, its bounds, and the packet that is left: one that the parser of
// wire/ can read, which knows of no layers. Where a header in between had to go (IP options, extension headers,
// fragments) it makes a copy in the Arena; all else stays where it lies. The layers are rows of tables (layer.h).
#pragma once

#include <string>

#include "captures/peel/arena.h"
#include "captures/peel/fragments.h"
#include "captures/peel/layer.h"

namespace verbena::captures {

inline constexpr std::size_t kLayersMax = 64;  // of one packet

/// What a packet is.
struct Peeled {
  enum class Kind : std::uint8_t {
    roce,      // of the transport: `packet` begins with its Ethernet header, its IP header, or its LRH
    other,     // something else, or nothing that can be read: `name`
    headless,  // the capture has cut it off before that could be said
    fragment,  // a piece of a datagram that is not complete yet
  };
  Kind kind = Kind::other;
  wire::CapturedPacket packet;
  std::uint8_t opcode = 0;  // of a roce packet, if it is there
  std::string layers;       // what was taken off, from the outside in: "VLAN 100, VXLAN 42"; empty: nothing
  std::string name;         // of the innermost layer that is known, with the tunnel that it is in: "ARP in VXLAN"
};

class Peeler {
 public:
  Peeled peel(const wire::CapturedPacket& captured);

  /// Pieces that were joined with the last one of their datagram, so far.
  std::uint64_t joined_count() const { return fragments_.joined_count(); }

 private:
  Peeled walk(Walk& walk, const wire::CapturedPacket& captured);
  static Peeled carried(const Walk& walk, const wire::CapturedPacket& captured);
  Peeled found(const Walk& walk, const wire::CapturedPacket& captured);
  Peeled found_roce_v1(const Walk& walk, const wire::CapturedPacket& captured);

  Arena arena_;
  Fragments fragments_{arena_};
};

}  // namespace verbena::captures
