#include "emulator/fabric/flow_dissector.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/fabric/chance.h"
#include "wire/headers.h"
#include "wire/selective_repeat.h"
#include "wire/telemetry.h"

namespace verbena::fabric {
namespace {

constexpr std::size_t kEthernet = wire::EthernetLayout::bytes;

std::uint32_t load_u16(const std::byte* at) {
  return std::to_integer<std::uint32_t>(at[0]) << 8 | std::to_integer<std::uint32_t>(at[1]);
}

/// In an order of octets that is the same on every machine.
std::uint64_t load_u64(const std::byte* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::uint32_t digest_of(std::span<const std::byte> headers) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  std::uint64_t state = headers.size();
  std::size_t done = 0;
  for (; done + 8 <= headers.size(); done += 8) {
    state = (state ^ load_u64(headers.data() + done)) * kOdd;
    state ^= state >> 29;
  }
  if (done < headers.size()) {
    std::uint64_t rest = 0;
    for (std::size_t i = headers.size(); i-- > done;) rest = rest << 8 | std::to_integer<std::uint64_t>(headers[i]);
    state = (state ^ rest) * kOdd;
  }
  return static_cast<std::uint32_t>((state ^ state >> 32) * kOdd >> 32);
}

/// Up to the payload. The opcode is behind the UDP header.
std::size_t header_bytes(std::span<const std::byte> stored, std::size_t udp) {
  const std::size_t bth = udp + wire::UdpLayout::bytes;
  if (stored.size() < bth + wire::BthLayout::bytes) return stored.size();
  constexpr std::size_t kReserved7At = 8;  // in the BTH
  const wire::Bth header{.opcode = static_cast<wire::Opcode>(stored[bth]),
                         .reserved7 = std::to_integer<std::uint8_t>(stored[bth + kReserved7At])};
  const wire::OpcodeInfo& info = wire::opcode_info(header.opcode);
  const std::size_t added_bytes = wire::recovery_header_bytes(info, header) + wire::telemetry_bytes(header);
  return std::min(stored.size(), bth + wire::BthLayout::bytes + info.extension_bytes + added_bytes);
}

struct IpPlace {
  std::size_t ip = kEthernet;
  std::uint32_t type = 0;  // EtherType
};

IpPlace find_ip(std::span<const std::byte> frame) {
  IpPlace place;
  if (frame.size() >= place.ip) place.type = load_u16(frame.data() + place.ip - 2);
  if (place.type == wire::kEtherTypeVlan && frame.size() >= place.ip + wire::VlanLayout::bytes) {
    place.ip += wire::VlanLayout::bytes;
    place.type = load_u16(frame.data() + place.ip - 2);
  }
  return place;
}

}  // namespace

FlowDissector look_at(std::span<const std::byte> stored, std::size_t bytes, bool with_digest) {
  FlowDissector look;
  stored = stored.first(std::min(stored.size(), bytes));
  const std::byte* const octets = stored.data();
  const auto [ip, type] = find_ip(stored);
  std::size_t udp = 0;
  std::uint64_t addresses = 0;
  if (type == wire::kEtherTypeIpv4 && stored.size() >= ip + wire::Ipv4Layout::bytes + wire::UdpLayout::bytes) {
    udp = ip + wire::Ipv4Layout::bytes;
    look.ecn_capable = ((octets[ip + 1] ^ octets[ip + 1] >> 1) & std::byte{1}) != std::byte{0};
    addresses = load_u64(octets + ip + 12);
    look.destination.octets[10] = look.destination.octets[11] = 0xff;
    std::memcpy(look.destination.octets.data() + 12, octets + ip + 16, 4);
  } else if (type == wire::kEtherTypeIpv6 && stored.size() >= ip + wire::Ipv6Layout::bytes + wire::UdpLayout::bytes) {
    udp = ip + wire::Ipv6Layout::bytes;
    look.ecn_capable = ((octets[ip + 1] ^ octets[ip + 1] >> 1) & std::byte{0x10}) != std::byte{0};
    addresses = mix_all({load_u64(octets + ip + 8), load_u64(octets + ip + 16), load_u64(octets + ip + 24),
                         load_u64(octets + ip + 32)});
    std::memcpy(look.destination.octets.data(), octets + ip + 24, 16);
  } else {
    look.header_bytes = stored.size();
    if (with_digest) look.digest = digest_of(stored.first(std::min<std::size_t>(stored.size(), 64)));
    return look;
  }
  look.is_ip = true;
  look.flow_hash = static_cast<std::uint32_t>(mix(mix(addresses) ^ load_u16(octets + udp)));
  look.header_bytes = header_bytes(stored, udp);
  if (with_digest) look.digest = digest_of(stored.first(look.header_bytes).subspan(ip));
  return look;
}

FrameMarking look_at_marking(std::span<const std::byte> frame) {
  constexpr unsigned kPcpShift = 13;
  constexpr unsigned kDscpShift = 2;
  const auto [ip, type] = find_ip(frame);
  FrameMarking marking;
  if (ip != kEthernet) marking.pcp = static_cast<std::uint8_t>(load_u16(frame.data() + kEthernet) >> kPcpShift);
  if (frame.size() < ip + wire::Ipv4Layout::bytes) return marking;
  if (type == wire::kEtherTypeIpv4)
    marking.dscp = std::to_integer<std::uint8_t>(frame[ip + 1] >> kDscpShift);
  else if (type == wire::kEtherTypeIpv6)
    marking.dscp = static_cast<std::uint8_t>((load_u16(frame.data() + ip) >> 4 & 0xff) >> kDscpShift);
  return marking;
}

std::optional<wire::Gid> look_at_source(std::span<const std::byte> frame) {
  const auto [ip, type] = find_ip(frame);
  wire::Gid source;
  if (type == wire::kEtherTypeIpv4 && frame.size() >= ip + wire::Ipv4Layout::bytes) {
    source.octets[10] = source.octets[11] = 0xff;
    std::memcpy(source.octets.data() + 12, frame.data() + ip + 12, 4);
  } else if (type == wire::kEtherTypeIpv6 && frame.size() >= ip + wire::Ipv6Layout::bytes) {
    std::memcpy(source.octets.data(), frame.data() + ip + 8, 16);
  } else {
    return std::nullopt;
  }
  return source;
}

std::optional<wire::Qpn> look_at_uncommon_destination_qpn(std::span<const std::byte> frame) {
  constexpr std::size_t kOffset = 5;  // in the BTH, three octets
  const auto [ip, type] = find_ip(frame);
  std::size_t bth = ip + wire::UdpLayout::bytes;
  if (type == wire::kEtherTypeIpv4)
    bth += wire::Ipv4Layout::bytes;
  else if (type == wire::kEtherTypeIpv6)
    bth += wire::Ipv6Layout::bytes;
  else
    return std::nullopt;
  if (frame.size() < bth + wire::BthLayout::bytes) return std::nullopt;
  const std::byte* const at = frame.data() + bth + kOffset;
  return wire::Qpn{std::to_integer<std::uint32_t>(at[0]) << 16 | load_u16(at + 1)};
}

}  // namespace verbena::fabric
