// Hooks: getifaddrs() and the if_*() family: the node's own interfaces (own_addresses.h) stand among the machine's.
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

using verbena::host::DeviceIdentity;
using verbena::host::OwnInterface;

namespace {

/// What is added at the end of libc's list for one interface; those of all are one piece of memory, as libc's own.
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

void fill_rows(const DeviceIdentity& of, OwnRows& rows) {
  const OwnInterface& own = *of.own_interface;
  char* const name = const_cast<char*>(own.name.c_str());
  const unsigned flags = verbena::path::interface_flags(of);
  rows.mac = verbena::path::link_name(own, of.mac);
  rows.broadcast_mac = verbena::path::link_name(own, verbena::path::kBroadcastMac);
  rows.address = verbena::path::socket_name(verbena::path::interface_address(of));
  rows.netmask = verbena::path::socket_name(verbena::path::interface_netmask());
  rows.broadcast = verbena::path::socket_name(verbena::path::interface_broadcast(of));
  rows.link.ifa_next = &rows.internet;
  rows.link.ifa_name = rows.internet.ifa_name = name;
  rows.link.ifa_flags = rows.internet.ifa_flags = flags;
  rows.link.ifa_addr = as_name(rows.mac);
  rows.link.ifa_broadaddr = as_name(rows.broadcast_mac);
  rows.link.ifa_data = &rows.statistics;
  rows.internet.ifa_addr = as_name(rows.address);
  rows.internet.ifa_netmask = as_name(rows.netmask);
  rows.internet.ifa_broadaddr = as_name(rows.broadcast);
}

/// Null: there are none, or no memory.
OwnRows* make_rows() {
  std::size_t count = 0;
  verbena::path::for_each_own_interface([&](const DeviceIdentity&) { ++count; });
  auto* const rows = count != 0 ? static_cast<OwnRows*>(std::calloc(count, sizeof(OwnRows))) : nullptr;
  std::size_t filled = 0;
  verbena::path::for_each_own_interface([&](const DeviceIdentity& of) {
    if (rows == nullptr || filled == count) return;
    fill_rows(of, rows[filled]);
    if (filled != 0) rows[filled - 1].internet.ifa_next = &rows[filled].link;
    ++filled;
  });
  return rows;
}

/// By where the name lies: libc's lies in its own memory.
bool is_own_row(const ifaddrs* row) {
  for (const auto& of_device : verbena::host::kOwnInterfaces.of)
    for (const OwnInterface& own : of_device)
      if (row->ifa_name == own.name.c_str()) return true;
  return false;
}

}  // namespace

VERBENA_HOOK(int, getifaddrs, (ifaddrs * *list)) {
  const int result = VERBENA_REAL(getifaddrs)(list);
  OwnRows* const rows = result == 0 ? make_rows() : nullptr;
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
  if (name != nullptr)
    if (const auto of = verbena::path::own_interface_named(name)) return of->own_interface->index;
  return VERBENA_REAL(if_nametoindex)(name);
}

VERBENA_HOOK(char*, if_indextoname, (unsigned index, char* into)) {
  if (const auto of = verbena::path::own_interface_at(index)) return std::strcpy(into, of->own_interface->name.c_str());
  return VERBENA_REAL(if_indextoname)(index, into);
}

// The list is malloc's, and its names too: if_freenameindex() needs no hook.
VERBENA_HOOK(struct if_nameindex*, if_nameindex, ()) {
  struct if_nameindex* list = VERBENA_REAL(if_nameindex)();
  if (list == nullptr) return nullptr;
  std::size_t count = 0;
  while (list[count].if_index != 0) ++count;
  verbena::path::for_each_own_interface([&](const DeviceIdentity& of) {
    auto* const longer = static_cast<struct if_nameindex*>(std::realloc(list, (count + 2) * sizeof *list));
    if (longer != nullptr) list = longer;
    char* const name = longer != nullptr ? strdup(of.own_interface->name.c_str()) : nullptr;
    if (name == nullptr) return;
    list[count] = {of.own_interface->index, name};
    list[++count] = {0, nullptr};
  });
  return list;
}
