// The numbers by which packets and completions name objects that are not QPs: XRC SRQs and work queues.
// Tested by: tests/nic/xrc_test.cc
#pragma once

#include <cstdint>

#include "emulator/nic/objects/handles.h"
#include "wire/types.h"

namespace verbena::nic {

/// A 24-bit number by which packets and completions name an object of a table of up to 4,096: its slot, with the
/// generation above it.
inline constexpr std::uint32_t kNumberSlotBits = 12;
inline constexpr std::uint32_t kNumberSlotMask = (1u << kNumberSlotBits) - 1;
template <class Tag>
wire::Qpn number_of(Handle<Tag> handle) {
  return wire::Qpn(((handle.index >> 20) + 1) % kNumberSlotMask << kNumberSlotBits | (handle.index & kNumberSlotMask));
}

}  // namespace verbena::nic
