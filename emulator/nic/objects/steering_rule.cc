#include "emulator/nic/objects/steering_rule.h"

#include <algorithm>
#include <bit>

namespace verbena::nic {
namespace {

constexpr std::uint16_t kVlanType = 0x8100;
constexpr std::uint16_t kIpv4Type = 0x0800;
constexpr std::uint16_t kIpv6Type = 0x86dd;
constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;
constexpr std::size_t kIpv4BytesMin = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kPortBytes = 4;

/// Takes a frame apart from its front.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> octets) : left_(octets) {}
  std::size_t left() const { return left_.size(); }
  std::uint8_t peek(std::size_t at) const { return static_cast<std::uint8_t>(left_[at]); }
  template <std::size_t kBytes>
  void copy(std::size_t at, std::array<std::uint8_t, kBytes>& into, std::size_t bytes = kBytes) const {
    for (std::size_t i = 0; i < bytes; ++i) into[i] = peek(at + i);
  }
  void skip(std::size_t bytes) { left_ = left_.subspan(bytes); }

 private:
  std::span<const std::byte> left_;
};

std::uint16_t number(const std::array<std::uint8_t, 2>& octets) {
  return static_cast<std::uint16_t>(octets[0] << 8 | octets[1]);
}

void read_ports(Reader& reader, FlowFields& fields) {
  if ((fields.protocol != kTcp && fields.protocol != kUdp) || reader.left() < kPortBytes) return;
  fields.transport = fields.protocol;
  reader.copy(0, fields.source_port);
  reader.copy(2, fields.destination_port);
}

void read_ipv4(Reader& reader, FlowFields& fields) {
  constexpr std::uint16_t kFragmentOffset = 0x1fff;
  if (reader.left() < kIpv4BytesMin || reader.peek(0) >> 4 != 4) return;
  const std::size_t header_bytes = std::size_t{reader.peek(0)} % 16 * 4;
  if (header_bytes < kIpv4BytesMin || header_bytes > reader.left()) return;
  fields.ip_version = 4;
  fields.traffic_class = reader.peek(1);
  // Do not fragment is 2 on the wire and for verbs, more fragments 1 on the wire and 4 for verbs.
  const unsigned flags = reader.peek(6) >> 5;
  fields.ipv4_flags = static_cast<std::uint8_t>((flags & 2) | (flags & 1) << 2);
  fields.hop_limit = reader.peek(8);
  fields.protocol = reader.peek(9);
  reader.copy(12, fields.source, 4);
  reader.copy(16, fields.destination, 4);
  const bool is_later_fragment = ((reader.peek(6) << 8 | reader.peek(7)) & kFragmentOffset) != 0;
  reader.skip(header_bytes);
  if (!is_later_fragment) read_ports(reader, fields);
}

void read_ipv6(Reader& reader, FlowFields& fields) {
  if (reader.left() < kIpv6Bytes || reader.peek(0) >> 4 != 6) return;
  fields.ip_version = 6;
  fields.traffic_class = static_cast<std::uint8_t>(reader.peek(0) << 4 | reader.peek(1) >> 4);
  fields.flow_label = {0, static_cast<std::uint8_t>(reader.peek(1) & 0x0f), reader.peek(2), reader.peek(3)};
  fields.protocol = reader.peek(6);
  fields.hop_limit = reader.peek(7);
  reader.copy(8, fields.source);
  reader.copy(24, fields.destination);
  reader.skip(kIpv6Bytes);
  read_ports(reader, fields);
}

// The bits of enum ibv_rx_hash_fields.
constexpr std::uint32_t kSourceIpv4 = 1 << 0, kDestinationIpv4 = 1 << 1, kSourceIpv6 = 1 << 2,
                        kDestinationIpv6 = 1 << 3, kSourceTcp = 1 << 4, kDestinationTcp = 1 << 5, kSourceUdp = 1 << 6,
                        kDestinationUdp = 1 << 7;

/// For every set bit of the input, the 32 bits of the key that begin there.
class Toeplitz {
 public:
  explicit Toeplitz(const ReceiveHash& hash) : key_(hash.key) {}
  void feed(std::span<const std::uint8_t> octets) {
    for (const std::uint8_t octet : octets) {
      for (unsigned bit = 0; bit < 8; ++bit)
        if ((octet >> (7 - bit) & 1) != 0) value_ ^= window(at_ * 8 + bit);
      ++at_;
    }
  }
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t window(std::size_t bit) const {
    std::uint64_t octets = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const std::size_t at = bit / 8 + i;
      octets = octets << 8 | (at < key_.size() ? key_[at] : 0);
    }
    return static_cast<std::uint32_t>(octets >> (8 - bit % 8));
  }
  const std::array<std::uint8_t, ReceiveHash::kKeyBytes>& key_;
  std::size_t at_ = 0;
  std::uint32_t value_ = 0;
};

}  // namespace

std::optional<FlowFields> fields_of(std::span<const std::byte> frame) {
  Reader reader(frame);
  if (reader.left() < kEthernetBytes) return std::nullopt;
  FlowFields fields;
  reader.copy(0, fields.destination_mac);
  reader.copy(6, fields.source_mac);
  reader.copy(12, fields.ether_type);
  reader.skip(kEthernetBytes);
  if (number(fields.ether_type) == kVlanType && reader.left() >= kVlanBytes) {
    fields.is_tagged = 1;
    reader.copy(0, fields.vlan_tag);
    reader.copy(2, fields.ether_type);
    reader.skip(kVlanBytes);
  }
  if (number(fields.ether_type) == kIpv4Type) read_ipv4(reader, fields);
  if (number(fields.ether_type) == kIpv6Type) read_ipv6(reader, fields);
  return fields;
}

bool matches(const FlowFields& fields, const FlowFields& value, const FlowFields& mask) {
  const auto frame_octets = std::bit_cast<FlowOctets>(fields);
  const auto value_octets = std::bit_cast<FlowOctets>(value);
  const auto mask_octets = std::bit_cast<FlowOctets>(mask);
  for (std::size_t i = 0; i < mask_octets.size(); ++i)
    if (((frame_octets[i] ^ value_octets[i]) & mask_octets[i]) != 0) return false;
  return true;
}

std::uint32_t receive_hash(const ReceiveHash& hash, const FlowFields& fields) {
  Toeplitz toeplitz(hash);
  const auto named = [&hash](std::uint32_t field) { return (hash.fields & field) != 0; };
  const bool is_ipv4 = fields.ip_version == 4;
  const bool is_tcp = fields.transport == kTcp;
  const std::size_t address_bytes = is_ipv4 ? 4 : 16;
  if (fields.ip_version == 0) return 0;
  if (named(is_ipv4 ? kSourceIpv4 : kSourceIpv6)) toeplitz.feed(std::span(fields.source).first(address_bytes));
  if (named(is_ipv4 ? kDestinationIpv4 : kDestinationIpv6))
    toeplitz.feed(std::span(fields.destination).first(address_bytes));
  if (fields.transport == 0) return toeplitz.value();
  if (named(is_tcp ? kSourceTcp : kSourceUdp)) toeplitz.feed(fields.source_port);
  if (named(is_tcp ? kDestinationTcp : kDestinationUdp)) toeplitz.feed(fields.destination_port);
  return toeplitz.value();
}

}  // namespace verbena::nic
