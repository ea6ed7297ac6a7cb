// The strong types of the InfiniBand transport that appear on the wire: PSN, QPN, keys, addresses.
//
// Values are in host order. How they lie in a packet is declared in headers.h only.
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace verbena::wire {

/// Packet sequence number: 24 bits, ordered only within a window of 2^23 (IBTA vol 1, 9.7.1).
/// There is no operator<: use distance().
class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}
  constexpr std::uint32_t value() const { return value_; }
  constexpr bool operator==(const Psn&) const = default;
  constexpr Psn operator+(std::uint32_t packets) const { return Psn(value_ + packets); }
  constexpr Psn operator-(std::uint32_t packets) const { return Psn(value_ - packets); }
  constexpr Psn& operator++() { return *this = *this + 1; }

 private:
  std::uint32_t value_ = 0;
};

/// Packets from `from` to `to`, in [-2^23, 2^23): negative when `to` is behind `from`.
constexpr std::int32_t distance(Psn from, Psn to) {
  return static_cast<std::int32_t>((to.value() - from.value()) << 8) >> 8;  // the sign bit of 24
}
constexpr Psn later_of(Psn a, Psn b) {
  return distance(a, b) > 0 ? b : a;
}

/// Queue pair number: 24 bits. 0 and 1 are the management QPs, 0xffffff addresses multicast.
class Qpn {
 public:
  static constexpr std::uint32_t kMask = 0xffffff;
  constexpr Qpn() = default;
  constexpr explicit Qpn(std::uint32_t value) : value_(value & kMask) {}
  constexpr std::uint32_t value() const { return value_; }
  constexpr auto operator<=>(const Qpn&) const = default;

 private:
  std::uint32_t value_ = 0;
};
inline constexpr Qpn kGsiQpn{1};
inline constexpr Qpn kMulticastQpn{0xffffff};

/// The key that a remote access carries in RETH, AtomicETH and IETH.
struct Rkey {
  std::uint32_t value = 0;
  constexpr auto operator<=>(const Rkey&) const = default;
};

struct MacAddress {
  std::array<std::uint8_t, 6> octets{};
  constexpr auto operator<=>(const MacAddress&) const = default;
};

/// A port's address: an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d. RoCE v2 takes the IP header from it
/// (IBTA annex A17).
struct Gid {
  std::array<std::uint8_t, 16> octets{};
  constexpr auto operator<=>(const Gid&) const = default;
  constexpr bool operator==(const Gid& other) const {
    if (std::is_constant_evaluated()) return octets == other.octets;
    // Sixteen at once would be a call.
    return std::memcmp(octets.data(), other.octets.data(), 8) == 0 &&
           std::memcmp(octets.data() + 8, other.octets.data() + 8, 8) == 0;
  }

  static constexpr Gid from_ipv4(std::uint32_t host_order) {
    const auto octet = [host_order](unsigned shift) { return static_cast<std::uint8_t>(host_order >> shift); };
    return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, octet(24), octet(16), octet(8), octet(0)}};
  }
  constexpr bool is_ipv4() const {
    constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::is_constant_evaluated()) return std::equal(kMapped.begin(), kMapped.end(), octets.begin());
    // Twelve at once would be a call.
    return std::memcmp(octets.data(), kMapped.data(), 8) == 0 &&
           std::memcmp(octets.data() + 8, kMapped.data() + 8, 4) == 0;
  }
  /// Host order. Only for is_ipv4().
  constexpr std::uint32_t ipv4() const {
    return static_cast<std::uint32_t>(octets[12]) << 24 | static_cast<std::uint32_t>(octets[13]) << 16 |
           static_cast<std::uint32_t>(octets[14]) << 8 | octets[15];
  }
  /// fe80::/64, RFC 4291, 2.5.6.
  constexpr bool is_link_local() const {
    if (octets[0] != 0xfe || octets[1] != 0x80) return false;
    for (std::size_t i = 2; i < 8; ++i)
      if (octets[i] != 0) return false;
    return true;
  }
  constexpr bool is_multicast() const { return is_ipv4() ? (octets[12] & 0xf0) == 0xe0 : octets[0] == 0xff; }
};

/// What the last four octets of a frame in memory are.
enum class IcrcState : std::uint8_t {
  present,   // an ICRC, right or wrong
  verified,  // an ICRC that somebody has checked
  deferred,  // nothing yet: whoever lets the frame out of the processes that trust each other computes it (icrc.h)
};

inline constexpr std::uint16_t kRoceUdpPort = 4791;  // IANA, IBTA annex A17
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::size_t kGrhBytes = 40;
inline constexpr std::size_t kPayloadBytesMax = 4096;
/// The largest frame: Ethernet 14, VLAN 4, IPv6 40, UDP 8, BTH 12, XRCETH 4, AtomicETH 28, payload 4096, ICRC 4,
/// rounded up.
inline constexpr std::size_t kFrameBytesMax = kPayloadBytesMax + 128;

}  // namespace verbena::wire
