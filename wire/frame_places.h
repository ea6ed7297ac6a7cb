// FramePlaces: where a frame, however it is carried, has what the network between two NICs looks at and changes.
//
// For switches, links and faults: they carry whatever comes in, so nothing is checked but that each header that is
// named lies within the frame. A NIC parses (packet_view.h). Which headers a frame has is said by its encapsulation
// (encapsulation.h); what they mean is the same for all, and stands here once.
// Tested by: tests/wire/frame_places_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "wire/lid.h"
#include "wire/path_address.h"
#include "wire/types.h"

namespace verbena::wire {

/// Offsets in octets from the start of the frame.
struct FramePlaces {
  std::uint8_t network_at = 0;  // the network header: IPv4, IPv6
  std::uint8_t network_bytes = 0;
  std::uint8_t addresses_at = 0;    // the source's, then the destination's
  std::uint8_t destination_at = 0;  // where it does not follow the source's; 0: it does
  std::uint8_t address_bytes = 0;   // of each: 2 (a LID), 4 (IPv4) or 16
  std::uint8_t entropy_at = 0;      // two octets that tell the flows between two ports apart; 0: none
  std::uint8_t bth_at = 0;
  std::uint8_t class_shift = 0;    // the traffic class lies so far up in the 16 bits at network_at
  std::uint8_t checksum_at = 0;    // over the network header (RFC 791); 0: none
  bool carries_transport = false;  // its headers say that a BTH follows, and the frame has them
  bool is_hidden = false;          // from switches, which read no network header but IP: no DSCP, no ECN, no addresses
  std::uint8_t priority = 0;       // not a place: the PCP of a VLAN tag, or a service level; 0 as well: there is none
};

inline std::size_t place_of_destination(const FramePlaces& places) {
  return places.destination_at != 0 ? places.destination_at : std::size_t{places.addresses_at} + places.address_bytes;
}

/// The address that lies there: 2 octets are a LID, 4 an IPv4 address, 16 a GID. Any other size is no GID, but zeros.
inline Gid gid_at(const std::byte* octets, std::size_t bytes) {
  Gid gid;
  if (bytes == gid.octets.size()) std::memcpy(gid.octets.data(), octets, gid.octets.size());
  if (bytes == sizeof(Lid))
    return gid_of(Lid(std::to_integer<std::uint32_t>(octets[0]) << 8 | std::to_integer<std::uint32_t>(octets[1])));
  if (bytes != sizeof(std::uint32_t)) return gid;
  gid.octets[10] = gid.octets[11] = 0xff;
  std::memcpy(gid.octets.data() + 12, octets, sizeof(std::uint32_t));
  return gid;
}

/// Nothing: the frame's encapsulation is not known, or the frame ends within the network header. What lies behind that
/// header may be missing: ask has_bth().
std::optional<FramePlaces> find_places(std::span<const std::byte> frame);
/// The same of a frame on any medium.
std::optional<FramePlaces> find_places(std::span<const std::byte> frame, Medium medium);

/// Whether the frame has its BTH whole.
bool has_bth(std::span<const std::byte> frame, const FramePlaces& places);

Gid source_of(std::span<const std::byte> frame, const FramePlaces& places);
Gid destination_of(std::span<const std::byte> frame, const FramePlaces& places);
/// DSCP in the upper six bits, ECN in the lower two.
std::uint8_t traffic_class_of(std::span<const std::byte> frame, const FramePlaces& places);
/// Writes Congestion Experienced (RFC 3168) and mends the checksum of the network header (RFC 1624).
void mark_congestion_at(std::span<std::byte> frame, const FramePlaces& places);

}  // namespace verbena::wire
