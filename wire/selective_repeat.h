// What selective repeat adds to RoCE v2 packets: two of the BTH's reserved bits and two extension headers of its own.
//
// Solely responsible for the bits, for where the headers' fields lie, and for which packets carry which. It is no
// specification's: docs/selective-repeat.md describes it, after Mittal et al., "Revisiting Network Support for RDMA",
// SIGCOMM 2018 (IRN), section 5. They stand behind the headers that the opcode brings and before the payload, and only
// between QPs that have told each other: for everybody else they would be payload. RC only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/headers.h"

namespace verbena::wire {

/// Bth::reserved7, which the ICRC covers: the sender's QP takes selective repeat, as requester and as responder.
inline constexpr std::uint8_t kTakesSelectiveRepeat = 0x01;
/// Together with it: one of the two headers below follows.
inline constexpr std::uint8_t kHasRecoveryHeader = 0x02;

/// Where a packet's payload goes, so that it can be placed before those in front of it have come. On SENDs, and on
/// WRITEs without a RETH.
struct PlacementEth {
  std::uint64_t address = 0;  // of the payload: in the peer's memory; of a SEND: its offset in the message
  std::uint32_t key = 0;      // WRITE: the rkey; SEND: how many messages before it take a receive, modulo 2^24
  std::uint32_t length = 0;   // WRITE: octets of the message from here to its end; SEND: 0
  constexpr bool operator==(const PlacementEth&) const = default;
};

/// What has arrived behind the PSN that a NAK (PSN sequence error) asks for. IRN's NACK names one packet; here one NAK
/// may stand for many arrivals, so it names the 64 before as well.
struct SackEth {
  std::uint8_t reserved = 0;
  Psn highest;              // that has arrived
  std::uint64_t below = 0;  // bit i: so has highest - 1 - i
  constexpr bool operator==(const SackEth&) const = default;
};

using PlacementEthLayout =
    Layout<Field<&PlacementEth::address, 64>, Field<&PlacementEth::key, 32>, Field<&PlacementEth::length, 32>>;
static_assert(PlacementEthLayout::bytes == 16);

using SackEthLayout = Layout<Field<&SackEth::reserved, 8>, Field<&SackEth::highest, 24>, Field<&SackEth::below, 64>>;
static_assert(SackEthLayout::bytes == 12);

/// Octets of such a header behind those that the opcode brings; 0: none.
constexpr std::size_t recovery_header_bytes(const OpcodeInfo& info, const Bth& bth) {
  constexpr std::uint8_t kBoth = kTakesSelectiveRepeat | kHasRecoveryHeader;
  if ((bth.reserved7 & kBoth) != kBoth || transport_of(bth.opcode) != Transport::rc) [[likely]]
    return 0;
  if (info.operation == Operation::acknowledge) return SackEthLayout::bytes;
  const bool is_placed = info.operation == Operation::send || (info.operation == Operation::write && !info.has_reth);
  return is_placed ? PlacementEthLayout::bytes : 0;
}

}  // namespace verbena::wire
