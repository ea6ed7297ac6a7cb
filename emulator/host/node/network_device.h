// Which network interface has a node's address: what the verbs (query_gid_ex) and the files below /sys/class/infiniband
// both show. Needs nothing, allocates nothing, takes no lock: the path shim may be called in a signal handler.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "emulator/host/node/identity.h"

namespace verbena::host {

inline constexpr std::size_t kInterfacesMax = 128;

/// `address`: four octets in network order. Every address of 127.0.0.0/8 is the loopback interface's.
inline bool find_ipv4_device(const std::uint8_t* address, char (&name)[IF_NAMESIZE]) {
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  ifreq rows[kInterfacesMax];
  ifconf all{};
  all.ifc_len = sizeof rows;
  all.ifc_req = rows;
  bool found = false;
  if (ioctl(probe, SIOCGIFCONF, &all) == 0) {
    const std::size_t count = static_cast<std::size_t>(all.ifc_len) / sizeof(ifreq);
    for (std::size_t i = 0; i < count && !found; ++i) {
      sockaddr_in own{};
      std::memcpy(&own, &rows[i].ifr_addr, sizeof own);
      std::uint8_t octets[4];
      std::memcpy(octets, &own.sin_addr, sizeof octets);
      found = std::memcmp(octets, address, sizeof octets) == 0 || (address[0] == 127 && octets[0] == 127);
      if (found) std::snprintf(name, sizeof name, "%s", rows[i].ifr_name);
    }
  }
  close(probe);
  return found;
}

/// From /proc/net/if_inet6: address, index, prefix length, scope, flags, name in each line.
inline bool find_ipv6_device(const std::uint8_t* address, char (&name)[IF_NAMESIZE]) {
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/net/if_inet6", O_RDONLY | O_CLOEXEC));
  if (fd < 0) return false;
  char text[16384];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return false;
  text[got] = 0;
  char wanted[33];
  for (int i = 0; i < 16; ++i) std::snprintf(wanted + 2 * i, 3, "%02x", address[i]);
  const char* const line = std::strstr(text, wanted);
  return line != nullptr && std::sscanf(line, "%*s %*s %*s %*s %*s %15s", name) == 1;
}

/// The interface with this GID's address. False: none has it.
inline bool find_network_device(const std::array<std::uint8_t, 16>& gid, char (&name)[IF_NAMESIZE]) {
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(gid.data(), kMapped, sizeof kMapped) == 0) return find_ipv4_device(gid.data() + 12, name);
  return find_ipv6_device(gid.data(), name);
}

/// Whether an interface of the machine is up and has a carrier: what the kernel takes for the state of a RoCE port
/// (ib_query_port of Linux). True as well if it cannot be asked.
inline bool is_running(const char* interface) {
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  ifreq row{};
  std::snprintf(row.ifr_name, sizeof row.ifr_name, "%s", interface);
  const bool is_told = ioctl(probe, SIOCGIFFLAGS, &row) == 0;
  close(probe);
  constexpr int kActive = IFF_UP | IFF_RUNNING;
  return !is_told || (row.ifr_flags & kActive) == kActive;
}

/// The interface of a port's entry `gid`: the link's or the port's own, else the machine's that has the address, else
/// the loopback interface. May use `buffer`.
inline const char* network_device_of(const DeviceIdentity& identity, const wire::Gid& gid,
                                     char (&buffer)[IF_NAMESIZE]) {
  if (identity.own_interface != nullptr) return identity.own_interface->name.c_str();
  if (!identity.interface.empty()) return identity.interface.c_str();
  return find_network_device(gid.octets, buffer) ? buffer : "lo";
}

}  // namespace verbena::host
