// Hooks: getifaddrs() and the if_*() family: the node's own interface (own_interface.h) stands among the machine's.
//
// libc asks netlink by calls of its own, which no hook sees: so these are hooked themselves. What a program asks of
// netlink is route_netlink.h's, what it asks by ioctl() interface_requests.cc's.
// Tested by: tests/shim/sockets/own_interface_test.cc
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <net/if.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "verbs-shim/sockets/own_addresses.h"
#include "verbs-shim/sysfs/real.h"

using verbena::host::OwnInterface;
using verbena::path::own_interface;

namespace {

/// What is added at the end of libc's list; one piece of memory, as libc's own.
struct OwnRows {
  ifaddrs link;
  ifaddrs internet;
  sockaddr_ll mac;
  sockaddr_ll broadcast_mac;
  sockaddr_in address;
  sockaddr_in netmask;
  sockaddr_in broadcast;
  rtnl_link_stats statistics;
};

template <class Name>
sockaddr* as_name(Name& name) {
  return reinterpret_cast<sockaddr*>(&name);
}

OwnRows* make_rows(const OwnInterface& own) {
  auto* const rows = static_cast<OwnRows*>(std::calloc(1, sizeof(OwnRows)));
  if (rows == nullptr) return nullptr;
  char* const name = const_cast<char*>(own.name.c_str());
  const unsigned flags = verbena::path::interface_flags();
  rows->mac = verbena::path::link_name(own, verbena::path::interface_mac());
  rows->broadcast_mac = verbena::path::link_name(own, verbena::path::kBroadcastMac);
  rows->address = verbena::path::socket_name(verbena::path::interface_address());
  rows->netmask = verbena::path::socket_name(verbena::path::interface_netmask());
  rows->broadcast = verbena::path::socket_name(verbena::path::interface_broadcast());
  rows->link.ifa_next = &rows->internet;
  rows->link.ifa_name = rows->internet.ifa_name = name;
  rows->link.ifa_flags = rows->internet.ifa_flags = flags;
  rows->link.ifa_addr = as_name(rows->mac);
  rows->link.ifa_broadaddr = as_name(rows->broadcast_mac);
  rows->link.ifa_data = &rows->statistics;
  rows->internet.ifa_addr = as_name(rows->address);
  rows->internet.ifa_netmask = as_name(rows->netmask);
  rows->internet.ifa_broadaddr = as_name(rows->broadcast);
  return rows;
}

/// By where the name lies: libc's lies in its own memory.
bool is_own_row(const ifaddrs* row) {
  for (const auto& of_device : verbena::host::kOwnInterfaces.of)
    for (const OwnInterface& own : of_device)
      if (row->ifa_name == own.name.c_str()) return true;
  return false;
}

/// Null: the name is none of an interface of our own, or not there in this process.
const OwnInterface* own_interface_named(const char* name) {
  const OwnInterface* const own = name != nullptr ? own_interface() : nullptr;
  return own != nullptr && std::strcmp(own->name.c_str(), name) == 0 ? own : nullptr;
}

}  // namespace

VERBENA_HOOK(int, getifaddrs, (ifaddrs * *list)) {
  const int result = VERBENA_REAL(getifaddrs)(list);
  const OwnInterface* const own = result == 0 ? own_interface() : nullptr;
  OwnRows* const rows = own != nullptr ? make_rows(*own) : nullptr;
  if (rows == nullptr) return result;
  ifaddrs** end = list;
  while (*end != nullptr) end = &(*end)->ifa_next;
  *end = &rows->link;
  return result;
}

VERBENA_HOOK(void, freeifaddrs, (ifaddrs * list)) {
  ifaddrs** end = &list;
  while (*end != nullptr && !is_own_row(*end)) end = &(*end)->ifa_next;
  std::free(*end);
  *end = nullptr;
  if (list != nullptr) VERBENA_REAL(freeifaddrs)(list);
}

VERBENA_HOOK(unsigned, if_nametoindex, (const char* name)) {
  if (const OwnInterface* const own = own_interface_named(name)) return own->index;
  return VERBENA_REAL(if_nametoindex)(name);
}

VERBENA_HOOK(char*, if_indextoname, (unsigned index, char* into)) {
  const OwnInterface* const own = own_interface();
  if (own != nullptr && own->index == index) return std::strcpy(into, own->name.c_str());
  return VERBENA_REAL(if_indextoname)(index, into);
}

// The list is malloc's, and its names too: if_freenameindex() needs no hook.
VERBENA_HOOK(struct if_nameindex*, if_nameindex, ()) {
  struct if_nameindex* const list = VERBENA_REAL(if_nameindex)();
  const OwnInterface* const own = list != nullptr ? own_interface() : nullptr;
  if (own == nullptr) return list;
  std::size_t count = 0;
  while (list[count].if_index != 0) ++count;
  auto* const longer = static_cast<struct if_nameindex*>(std::realloc(list, (count + 2) * sizeof *list));
  char* const name = longer != nullptr ? strdup(own->name.c_str()) : nullptr;
  if (name == nullptr) return longer != nullptr ? longer : list;
  longer[count] = {own->index, name};
  longer[count + 1] = {0, nullptr};
  return longer;
}
