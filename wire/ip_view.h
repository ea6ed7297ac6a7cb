// IpView: the IP header of a packet, of either version.
//
// Solely responsible for what IPv4 and IPv6 say in common: from whom, to whom, which traffic class, how far. It owns
// nothing and checks nothing: a PacketView has checked the octets and keeps them (packet_view.h). Asking for the header
// of the other version asserts.
// Tested by: tests/wire/packet_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/assert.h"
#include "wire/headers.h"

namespace verbena::wire {

class IpView {
 public:
  IpView(const std::byte* header, bool is_v4) : header_(header), is_v4_(is_v4) {}

  bool is_v4() const { return is_v4_; }
  Ipv4 v4() const {
    VERBENA_ASSERT(is_v4_);
    return Ipv4Layout::parse(std::span<const std::byte, Ipv4Layout::bytes>(header_, Ipv4Layout::bytes));
  }
  Ipv6 v6() const {
    VERBENA_ASSERT(!is_v4_);
    return Ipv6Layout::parse(std::span<const std::byte, Ipv6Layout::bytes>(header_, Ipv6Layout::bytes));
  }

  Gid source() const { return is_v4_ ? Gid::from_ipv4(v4().source) : v6().source; }
  Gid destination() const { return is_v4_ ? Gid::from_ipv4(v4().destination) : v6().destination; }
  /// The same as comparing source() and destination(), without making a GID of an IPv4 address.
  bool is_from(const Gid& gid) const { return is_v4_ ? is_mapped(gid, v4().source) : gid == v6().source; }
  bool is_to(const Gid& gid) const { return is_v4_ ? is_mapped(gid, v4().destination) : gid == v6().destination; }
  /// DSCP in the upper six bits, ECN in the lower two.
  std::uint8_t traffic_class() const {
    return is_v4_ ? static_cast<std::uint8_t>(v4().dscp << 2 | v4().ecn) : v6().traffic_class;
  }
  std::uint8_t hop_limit() const { return is_v4_ ? v4().time_to_live : v6().hop_limit; }

 private:
  static bool is_mapped(const Gid& gid, std::uint32_t ipv4) { return gid.ipv4() == ipv4 && gid.is_ipv4(); }

  const std::byte* header_;
  bool is_v4_;
};

}  // namespace verbena::wire
