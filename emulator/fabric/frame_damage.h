// Damage: the one place where octets of a frame on its way are changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbena::fabric {

/// Flips one bit, counted from the first octet, of a whole RoCE v2 frame. `repair_icrc`: the ICRC follows, so that the
/// receiver cannot see it (unless the bit is in the ICRC itself). Returns whether the ICRC fits then.
bool flip_bit(std::span<std::byte> frame, std::uint32_t bit, bool repair_icrc);

/// Sets Congestion Experienced (RFC 3168) in an Ethernet frame that carries IPv4 or IPv6, with or without a VLAN tag,
/// and corrects the IPv4 header's checksum. The ICRC does not cover either. At least 64 octets.
void mark_congestion(std::span<std::byte> frame);

}  // namespace verbena::fabric
