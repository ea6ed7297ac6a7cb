// The identity of a node: from its number or address to its GIDs, its MAC address and its GUID, and back.
//
// Solely these translations, all of them: the verbs, the frames and the files below /sys must agree. libc only: the
// path shim includes it.
// Tested by: tests/host/config/environment_test.cc
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "wire/types.h"

namespace verbena::host {

inline constexpr std::uint32_t kNodesMax = 254;
inline constexpr std::uint32_t kNodeDefault = 1;
inline constexpr std::uint32_t kNodeNetwork = 0x7f2f5b00;  // 127.47.91.0/24
inline constexpr std::uint32_t kNodeNetworkMask = 0xffffff00;

/// The address of node K, 1 to kNodesMax.
constexpr wire::Gid node_address(std::uint32_t node) {
  return wire::Gid::from_ipv4(kNodeNetwork | node);
}
/// Back. Nothing: the address is not of this kind.
constexpr std::optional<std::uint32_t> node_number(const wire::Gid& address) {
  const std::uint32_t node = address.octets[15];
  if (node < 1 || node > kNodesMax || address != node_address(node)) return std::nullopt;
  return node;
}

namespace detail {
/// 02:56 and the last four octets of the address.
constexpr wire::MacAddress mac_from_tail(const wire::Gid& address) {
  const auto& octets = address.octets;
  return {{0x02, 0x56, octets[12], octets[13], octets[14], octets[15]}};
}
}  // namespace detail

/// Modified EUI-64 of a MAC address (RFC 4291, appendix A): the universal/local bit is inverted, ff:fe stands in the
/// middle.
constexpr std::array<std::uint8_t, 8> guid_of(const wire::MacAddress& mac) {
  const auto& octets = mac.octets;
  return {static_cast<std::uint8_t>(octets[0] ^ 2), octets[1], octets[2], 0xff, 0xfe, octets[3], octets[4], octets[5]};
}

/// The second address that a node with an IPv4 address has: fe80::/64 and the EUI-64 of its MAC. Nothing: the node's
/// address is an IPv6 address, of which the MAC keeps too little to find the way back.
constexpr std::optional<wire::Gid> link_local_of(const wire::Gid& node) {
  if (!node.is_ipv4()) return std::nullopt;
  wire::Gid address{{0xfe, 0x80}};
  const auto guid = guid_of(detail::mac_from_tail(node));
  for (std::size_t i = 0; i < guid.size(); ++i) address.octets[8 + i] = guid[i];
  return address;
}

/// The node's own address; any other than link_local_of() an IPv4 address is returned as it is.
constexpr wire::Gid node_of(const wire::Gid& address) {
  if (!address.is_link_local()) return address;
  const auto& octets = address.octets;
  const wire::Gid node{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, octets[10], octets[13], octets[14], octets[15]}};
  return link_local_of(node) == address ? node : address;
}

/// The MAC of a node whose link has none of its own. A link-local address is that of the node it belongs to.
constexpr wire::MacAddress node_mac(const wire::Gid& address) {
  return detail::mac_from_tail(node_of(address));
}

/// K in 1..254 (127.47.91.K), an IPv4 or an IPv6 address of one node.
inline std::optional<wire::Gid> parse_node(const char* text) {
  std::uint32_t node = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && at - text < 3; ++at) node = node * 10 + static_cast<std::uint32_t>(*at - '0');
  if (at != text && *at == '\0') return node < 1 || node > kNodesMax ? std::nullopt : std::optional(node_address(node));
  in_addr ipv4{};
  wire::Gid gid;
  if (inet_pton(AF_INET, text, &ipv4) == 1)
    gid = wire::Gid::from_ipv4(ntohl(ipv4.s_addr));
  else if (inet_pton(AF_INET6, text, gid.octets.data()) != 1)
    return std::nullopt;
  if (gid == wire::Gid{} || gid == wire::Gid::from_ipv4(INADDR_ANY) || gid.is_multicast()) return std::nullopt;
  return gid;
}

}  // namespace verbena::host
