#include "emulator/fabric/frame_damage.h"

#include "wire/assert.h"
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

std::uint32_t load_u16(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint32_t>(bytes[at]) << 8 | std::to_integer<std::uint32_t>(bytes[at + 1]);
}

void store_u16(std::span<std::byte> bytes, std::size_t at, std::uint32_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value);
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  wire::Icrc crc;
  crc.update(bytes.data(), bytes.size());
  return crc.value();
}

}  // namespace

bool flip_bit(std::span<std::byte> frame, std::uint32_t bit, bool repair_icrc) {
  const std::size_t octet = bit / 8;
  const auto mask = static_cast<std::byte>(1u << (bit % 8));
  // The frame may be longer than the packet (Ethernet padding): the ICRC ends the packet.
  const auto packet = wire::parse_frame(frame);
  VERBENA_ASSERT(packet && octet < packet->frame().size());
  const std::size_t icrc_at = packet->frame().size() - wire::kIcrcBytes;
  if (!repair_icrc || octet >= icrc_at) {
    frame[octet] ^= mask;
    return false;
  }
  // A CRC is affine: the change in the value is the change that the tail from the flipped octet on makes by itself, so
  // the masked headers in front need not be known.
  const std::span<const std::byte> tail = frame.subspan(octet, icrc_at - octet);
  const std::uint32_t before = crc_of(tail);
  frame[octet] ^= mask;
  const std::uint32_t change = before ^ crc_of(tail);
  const std::span<std::byte> stored = frame.subspan(icrc_at, wire::kIcrcBytes);
  store_little_endian(stored, load_little_endian(stored) ^ change);
  return true;
}

void mark_congestion(std::span<std::byte> frame) {
  std::size_t ip = wire::EthernetLayout::bytes;
  std::uint32_t type = load_u16(frame, ip - 2);
  if (type == wire::kEtherTypeVlan) {
    ip += wire::VlanLayout::bytes;
    type = load_u16(frame, ip - 2);
  }
  if (type == wire::kEtherTypeIpv6) {
    frame[ip + 1] |= std::byte{0x30};  // the lower two bits of the traffic class
  } else if (type == wire::kEtherTypeIpv4) {
    constexpr std::size_t kChecksum = 10;
    const std::uint32_t before = load_u16(frame, ip);
    frame[ip + 1] |= std::byte{0x03};
    // RFC 1624, equation 3.
    std::uint32_t sum = (~load_u16(frame, ip + kChecksum) & 0xffff) + (~before & 0xffff) + load_u16(frame, ip);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    store_u16(frame, ip + kChecksum, ~sum & 0xffff);
  }
}

}  // namespace verbena::fabric
