#include "emulator/host/os/socket_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace verbena::host {
namespace {

/// Means something on one link only (RFC 4291, 2.5.6, 2.7): link-local addresses, and groups of an interface or a link.
bool needs_interface(const wire::Gid& address) {
  const unsigned scope = address.octets[1] & 0x0fu;
  return (address.octets[0] == 0xfe && (address.octets[1] & 0xc0) == 0x80) ||
         (address.octets[0] == 0xff && (scope == 1 || scope == 2));
}

std::uint32_t mtu_of(const char* interface_name) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface_name, IFNAMSIZ - 1);
  const int any_socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any_socket < 0) return 0;
  const bool known = ::ioctl(any_socket, SIOCGIFMTU, &request) == 0;
  ::close(any_socket);
  return known && request.ifr_mtu > 0 ? static_cast<std::uint32_t>(request.ifr_mtu) : 0;
}

}  // namespace

SocketAddress socket_address(const wire::Gid& address, std::uint16_t port, unsigned interface_index) {
  SocketAddress result;
  std::memset(&result, 0, sizeof result);
  if (address.is_ipv4()) {
    result.ipv4.sin_family = AF_INET;
    result.ipv4.sin_port = htons(port);
    result.ipv4.sin_addr.s_addr = htonl(address.ipv4());
  } else {
    result.ipv6.sin6_family = AF_INET6;
    result.ipv6.sin6_port = htons(port);
    std::memcpy(&result.ipv6.sin6_addr, address.octets.data(), address.octets.size());
    if (needs_interface(address)) result.ipv6.sin6_scope_id = interface_index;
  }
  return result;
}

socklen_t socket_address_bytes(const SocketAddress& address) {
  return address.any.sa_family == AF_INET ? sizeof address.ipv4 : sizeof address.ipv6;
}

std::optional<wire::Gid> gid_of(const SocketAddress& address) {
  if (address.any.sa_family == AF_INET) return wire::Gid::from_ipv4(ntohl(address.ipv4.sin_addr.s_addr));
  if (address.any.sa_family != AF_INET6) return std::nullopt;
  wire::Gid gid;
  std::memcpy(gid.octets.data(), &address.ipv6.sin6_addr, gid.octets.size());
  return gid;
}

std::uint16_t port_of(const SocketAddress& address) {
  return ntohs(address.any.sa_family == AF_INET ? address.ipv4.sin_port : address.ipv6.sin6_port);
}

bool is_loopback(const wire::Gid& address) {
  if (address.is_ipv4()) return address.ipv4() >> 24 == 127;
  wire::Gid one;
  one.octets[15] = 1;
  return address == one;
}

std::optional<LocalInterface> interface_of(const wire::Gid& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* item = list; item != nullptr; item = item->ifa_next) {
    if (item->ifa_addr == nullptr) continue;
    const bool is_ipv4 = item->ifa_addr->sa_family == AF_INET;
    if (!is_ipv4 && item->ifa_addr->sa_family != AF_INET6) continue;
    SocketAddress here;
    std::memcpy(&here, item->ifa_addr, is_ipv4 ? sizeof here.ipv4 : sizeof here.ipv6);
    const bool matches = (item->ifa_flags & IFF_LOOPBACK) != 0 && is_loopback(address) && is_ipv4 == address.is_ipv4();
    if (!matches && gid_of(here) != address) continue;
    return LocalInterface{item->ifa_name, ::if_nametoindex(item->ifa_name), mtu_of(item->ifa_name)};
  }
  return std::nullopt;
}

std::uint32_t path_mtu_for(std::uint32_t interface_mtu_bytes) {
  // IP and UDP, BTH, XRCETH, the longest extension header, ICRC; IPv6 counted for both, as Linux does for RoCE.
  constexpr std::uint32_t kOverheadBytes = 40 + 8 + 12 + 4 + 28 + 4;
  std::uint32_t mtu_bytes = 4096;
  while (mtu_bytes > 256 && mtu_bytes + kOverheadBytes > interface_mtu_bytes) mtu_bytes /= 2;
  return mtu_bytes;
}

}  // namespace verbena::host
