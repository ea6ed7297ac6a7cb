#include "emulator/fabric/alter_frame.h"

#include <algorithm>
#include <optional>

#include "wire/assert.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/packet_view.h"

namespace verbena::fabric {
namespace {

constexpr std::size_t kIpv4ChecksumOffset = 10;

std::uint32_t load_little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(bytes[i]) << (8 * i);
  return value;
}

void store_little_endian(std::span<std::byte> bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint32_t load_big_endian_16(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at]) << 8 | static_cast<std::uint32_t>(bytes[at + 1]);
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  wire::Icrc crc;
  crc.update(bytes.data(), bytes.size());
  return crc.value();
}

void flip(std::span<std::byte> frame, std::uint32_t flip_bit, bool repair_icrc) {
  const std::size_t octet = flip_bit / 8;
  const auto bit = static_cast<std::byte>(1u << (flip_bit % 8));
  // The frame may be longer than the packet (Ethernet padding): the ICRC ends the packet.
  const auto packet = wire::parse_frame(frame);
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

/// Where the ECN bits are, and how far up in their octet.
struct EcnPlace {
  std::size_t octet = 0;
  unsigned shift = 0;
  std::optional<std::size_t> ipv4_at;
};

std::optional<EcnPlace> find_ecn(std::span<const std::byte> frame) {
  std::size_t ip_at = wire::EthernetLayout::bytes;
  if (frame.size() < ip_at + wire::Ipv4Layout::bytes) return std::nullopt;
  std::uint32_t type = load_big_endian_16(frame, ip_at - 2);
  if (type == wire::kEtherTypeVlan) {
    ip_at += wire::VlanLayout::bytes;
    type = load_big_endian_16(frame, ip_at - 2);
    if (frame.size() < ip_at + wire::Ipv4Layout::bytes) return std::nullopt;
  }
  if (type == wire::kEtherTypeIpv4) return EcnPlace{ip_at + 1, 0, ip_at};
  if (type == wire::kEtherTypeIpv6)
    return EcnPlace{ip_at + 1, 4, std::nullopt};  // the traffic class lies across octets
  return std::nullopt;
}

}  // namespace

bool is_ecn_capable(std::span<const std::byte> frame) {
  const auto place = find_ecn(frame);
  return place && (static_cast<unsigned>(frame[place->octet]) >> place->shift & wire::kEcnMask) != 0;
}

bool mark_congestion(std::span<std::byte> frame) {
  const auto place = find_ecn(frame);
  if (!place) return false;
  const auto before = static_cast<std::uint32_t>(frame[place->octet]);
  const std::uint32_t after = before | static_cast<std::uint32_t>(wire::kEcnMask) << place->shift;
  frame[place->octet] = static_cast<std::byte>(after);
  if (!place->ipv4_at || after == before) return true;
  // RFC 1624: the new checksum is ~(~old + ~before + after), each a word; the octet is the low one of its word.
  const std::size_t checksum_at = *place->ipv4_at + kIpv4ChecksumOffset;
  std::uint32_t sum = (~load_big_endian_16(frame, checksum_at) & 0xffffu) + (~before & 0xffffu) + after;
  while (sum >> 16 != 0) sum = (sum & 0xffffu) + (sum >> 16);
  frame[checksum_at] = static_cast<std::byte>(~sum >> 8);
  frame[checksum_at + 1] = static_cast<std::byte>(~sum);
  return true;
}

AlteredFrame alter_frame(std::span<std::byte> frame, const FaultVerdict& verdict) {
  AlteredFrame altered{frame.size(), false};
  if (verdict.flip_bit) {
    flip(frame, *verdict.flip_bit, verdict.repair_icrc);
    altered.corrupted = true;
  }
  if (verdict.mark) mark_congestion(frame);
  if (verdict.truncate_to && *verdict.truncate_to < frame.size()) {
    altered.bytes = *verdict.truncate_to;
    altered.corrupted = true;
  }
  return altered;
}

}  // namespace verbena::fabric
