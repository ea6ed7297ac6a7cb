#include "emulator/fabric/alter_frame.h"

#include <algorithm>

#include "wire/assert.h"
#include "wire/encapsulation.h"
#include "wire/frame_places.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"

namespace verbena::fabric {
namespace {

std::uint32_t load_little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[i]) << (8 * i);
  return value;
}

void store_little_endian(std::span<std::byte> bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  wire::Icrc crc;
  crc.update(bytes.data(), bytes.size());
  return crc.value();
}

void flip(std::span<std::byte> frame, std::uint32_t flip_bit, bool repair_icrc, wire::Medium medium) {
  const std::size_t octet = flip_bit / 8;
  const auto bit = static_cast<std::byte>(1u << (flip_bit % 8));
  // The frame may be longer than the packet (Ethernet padding): the ICRC ends the packet.
  const auto packet = wire::parse_on(medium, frame);
  VERBENA_ASSERT(packet && octet < packet->frame().size());
  const std::size_t icrc_at = packet->frame().size() - wire::kIcrcBytes;
  if (!repair_icrc || octet >= icrc_at) {
    frame[octet] ^= bit;
    return;
  }
  // A CRC is affine: the change in the value is the change that the tail from the flipped octet on makes by itself, so
  // the masked headers in front need not be known.
  const std::span<const std::byte> tail = frame.subspan(octet, icrc_at - octet);
  const std::uint32_t before = crc_of(tail);
  frame[octet] ^= bit;
  const std::uint32_t change = before ^ crc_of(tail);
  const std::span<std::byte> stored = frame.subspan(icrc_at, wire::kIcrcBytes);
  store_little_endian(stored, load_little_endian(stored) ^ change);
}

}  // namespace

bool is_ecn_capable(std::span<const std::byte> frame) {
  const auto places = wire::find_places(frame);
  return places && !places->is_hidden && (wire::traffic_class_of(frame, *places) & wire::kEcnMask) != 0;
}

bool mark_congestion(std::span<std::byte> frame) {
  const auto places = wire::find_places(frame);
  const bool can_mark = places && !places->is_hidden;
  if (can_mark) wire::mark_congestion_at(frame, *places);
  return can_mark;
}

AlteredFrame alter_frame(std::span<std::byte> frame, const FaultVerdict& verdict, wire::Medium medium) {
  AlteredFrame altered{frame.size(), false};
  if (verdict.flip_bit) {
    flip(frame, *verdict.flip_bit, verdict.repair_icrc, medium);
    // Each port makes the VCRC anew.
    if (verdict.repair_icrc && medium == wire::Medium::infiniband) wire::kInfiniBand.seal(frame);
    altered.corrupted = true;
  }
  if (verdict.mark && medium == wire::Medium::ethernet) mark_congestion(frame);
  if (verdict.truncate_to && *verdict.truncate_to < frame.size()) {
    altered.bytes = *verdict.truncate_to;
    altered.corrupted = true;
  }
  return altered;
}

}  // namespace verbena::fabric
