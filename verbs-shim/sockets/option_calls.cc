// Hooks: setsockopt(): what names one of the node's own interfaces (own_addresses.h), which no kernel knows, and what
// makes a socket hear more than the node's address (wildcard.h).
// Tested by: tests/shim/sockets/wildcard_test.cc
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>

#include "verbs-shim/sockets/own_addresses.h"
#include "verbs-shim/sockets/wildcard.h"
#include "verbs-shim/sysfs/real.h"

namespace {

constexpr int kBindToIndex = 62;  // SO_BINDTOIFINDEX of newer headers

/// An option whose value has an interface's index in it, and whether it makes a socket hear a group.
struct GroupOption {
  int level;
  int name;
  std::size_t index_at;
  std::size_t least;  // a shorter value has no index
  bool joins;
};
constexpr GroupOption kGroupOptions[] = {
    {IPPROTO_IP, IP_MULTICAST_IF, offsetof(ip_mreqn, imr_ifindex), sizeof(ip_mreqn), false},
    {IPPROTO_IP, IP_ADD_MEMBERSHIP, offsetof(ip_mreqn, imr_ifindex), sizeof(ip_mreqn), true},
    {IPPROTO_IP, IP_DROP_MEMBERSHIP, offsetof(ip_mreqn, imr_ifindex), sizeof(ip_mreqn), false},
    {IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, 0, SIZE_MAX, true},
    {IPPROTO_IP, MCAST_JOIN_GROUP, 0, sizeof(group_req), true},
    {IPPROTO_IP, MCAST_LEAVE_GROUP, 0, sizeof(group_req), false},
    {IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, 0, sizeof(group_source_req), true},
    {IPPROTO_IPV6, IPV6_MULTICAST_IF, 0, sizeof(int), false},
    {IPPROTO_IPV6, IPV6_JOIN_GROUP, offsetof(ipv6_mreq, ipv6mr_interface), sizeof(ipv6_mreq), true},
    {IPPROTO_IPV6, IPV6_LEAVE_GROUP, offsetof(ipv6_mreq, ipv6mr_interface), sizeof(ipv6_mreq), false},
    {IPPROTO_IPV6, MCAST_JOIN_GROUP, 0, sizeof(group_req), true},
    {IPPROTO_IPV6, MCAST_LEAVE_GROUP, 0, sizeof(group_req), false},
};
constexpr std::size_t kValueBytesMax = sizeof(group_source_req);

const GroupOption* group_option(int level, int name) {
  if (level != IPPROTO_IP && level != IPPROTO_IPV6) return nullptr;
  for (const GroupOption& one : kGroupOptions)
    if (one.level == level && one.name == name) return &one;
  return nullptr;
}

/// A socket bound to one of the interfaces is one bound to the node: there is nothing to be done for it.
bool binds_to_own_interface(int name, const void* value, socklen_t bytes) {
  if (value == nullptr) return false;
  if (name == SO_BINDTODEVICE) {
    char wanted[IF_NAMESIZE] = {};
    if (strnlen(static_cast<const char*>(value), bytes) >= sizeof wanted) return false;
    std::memcpy(wanted, value, strnlen(static_cast<const char*>(value), bytes));
    return verbena::path::own_interface_named(wanted).has_value();
  }
  std::uint32_t index = 0;
  if (bytes < sizeof index) return false;
  std::memcpy(&index, value, sizeof index);
  return verbena::path::own_interface_at(index).has_value();
}

bool is_on(const void* value, socklen_t bytes) {
  int number = 0;
  if (value == nullptr || bytes < sizeof number) return false;
  std::memcpy(&number, value, sizeof number);
  return number != 0;
}

}  // namespace

VERBENA_HOOK(int, setsockopt, (int fd, int level, int name, const void* value, socklen_t bytes)) {
  if (level == SOL_SOCKET) {
    if ((name == SO_BINDTODEVICE || name == kBindToIndex) && binds_to_own_interface(name, value, bytes)) return 0;
    if (name == SO_BROADCAST && is_on(value, bytes)) verbena::path::widen(fd);
    return VERBENA_REAL(setsockopt)(fd, level, name, value, bytes);
  }
  const GroupOption* const group = group_option(level, name);
  if (group == nullptr) return VERBENA_REAL(setsockopt)(fd, level, name, value, bytes);
  if (group->joins) verbena::path::hear_groups(fd);
  char changed[kValueBytesMax];
  std::uint32_t index = 0;
  if (value != nullptr && bytes >= group->least && bytes <= sizeof changed) {
    std::memcpy(changed, value, bytes);
    std::memcpy(&index, changed + group->index_at, sizeof index);
    if (verbena::path::own_interface_at(index)) {
      index = if_nametoindex("lo");  // which has its address
      std::memcpy(changed + group->index_at, &index, sizeof index);
      value = changed;
    }
  }
  return VERBENA_REAL(setsockopt)(fd, level, name, value, bytes);
}
