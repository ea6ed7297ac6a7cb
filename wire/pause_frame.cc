#include "wire/pause_frame.h"

#include <algorithm>

#include "wire/assert.h"
#include "wire/headers.h"

namespace verbena::wire {
namespace {

/// Ends at the next bridge, so that no switch forwards it (IEEE 802.1Q table 8-1).
constexpr MacAddress kMacControlAddress{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}};

constexpr std::uint16_t kPause = 0x0001;
constexpr std::uint16_t kPriorityPause = 0x0101;

constexpr std::size_t kOpcodeAt = EthernetLayout::bytes;
constexpr std::size_t kVectorAt = kOpcodeAt + 2;
constexpr std::size_t kQuantaAt = kVectorAt + 2;
constexpr std::size_t kPauseBytesMin = kVectorAt + 2;
constexpr std::size_t kPriorityPauseBytesMin = kQuantaAt + 2 * kPauseClasses;

void store(std::span<std::byte> into, std::size_t at, std::uint16_t value) {
  into[at] = static_cast<std::byte>(value >> 8);
  into[at + 1] = static_cast<std::byte>(value);
}
std::uint16_t load(std::span<const std::byte> from, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(from[at]) << 8 | std::to_integer<unsigned>(from[at + 1]));
}

}  // namespace

void write_pause_frame(const PauseFrame& frame, std::span<std::byte> into) {
  VERBENA_ASSERT(into.size() >= kPauseFrameBytes);
  std::fill_n(into.begin(), kPauseFrameBytes, std::byte{0});
  EthernetLayout::emit({kMacControlAddress, frame.source, kEtherTypeMacControl}, into.first<EthernetLayout::bytes>());
  store(into, kOpcodeAt, frame.is_by_class ? kPriorityPause : kPause);
  store(into, kVectorAt, frame.is_by_class ? frame.classes : frame.quanta[0]);
  if (!frame.is_by_class) return;
  for (std::size_t i = 0; i < kPauseClasses; ++i) store(into, kQuantaAt + 2 * i, frame.quanta[i]);
}

std::optional<PauseFrame> parse_pause_frame(std::span<const std::byte> octets) {
  if (octets.size() < kPauseBytesMin) return std::nullopt;
  const Ethernet ethernet = EthernetLayout::parse(octets.first<EthernetLayout::bytes>());
  if (ethernet.ether_type != kEtherTypeMacControl) return std::nullopt;
  PauseFrame frame;
  frame.source = ethernet.source;
  const std::uint16_t opcode = load(octets, kOpcodeAt);
  if (opcode == kPause) {
    frame.is_by_class = false;
    frame.classes = UINT8_MAX;
    frame.quanta.fill(load(octets, kVectorAt));
    return frame;
  }
  if (opcode != kPriorityPause || octets.size() < kPriorityPauseBytesMin) return std::nullopt;
  frame.classes = static_cast<std::uint8_t>(load(octets, kVectorAt));
  for (std::size_t i = 0; i < kPauseClasses; ++i) frame.quanta[i] = load(octets, kQuantaAt + 2 * i);
  return frame;
}

}  // namespace verbena::wire
