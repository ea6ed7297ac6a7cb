// PauseFrame: what asks the other end of a cable to stop sending for a while (MAC control frames).
//
// Solely their form: priority-based flow control (IEEE 802.1Q clause 36, formerly 802.1Qbb: opcode 0x0101, a class
// vector, a time for each class) and PAUSE for the whole port (IEEE 802.3 annex 31B: opcode 0x0001, one time). Who
// sends one, and what it does, is emulator/fabric's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/types.h"

namespace verbena::wire {

inline constexpr std::uint16_t kEtherTypeMacControl = 0x8808;
/// The shortest Ethernet frame, without its check sequence, as all frames here are.
inline constexpr std::size_t kPauseFrameBytes = 60;
inline constexpr std::size_t kPauseClasses = 8;
/// The unit of pause times: so many bits at the rate of the port.
inline constexpr std::uint64_t kPauseQuantumBits = 512;

struct PauseFrame {
  MacAddress source;
  bool is_by_class = true;                            // false: PAUSE, and only quanta[0] counts
  std::uint8_t classes = 0;                           // bit c: quanta[c] is for class c
  std::array<std::uint16_t, kPauseClasses> quanta{};  // 0: go on

  constexpr bool operator==(const PauseFrame&) const = default;
};

/// `into` has at least kPauseFrameBytes, and all of these are written.
void write_pause_frame(const PauseFrame& frame, std::span<std::byte> into);
/// Nothing: it is none. Octets behind the times are padding and may be anything.
std::optional<PauseFrame> parse_pause_frame(std::span<const std::byte> frame);

}  // namespace verbena::wire
