// What the kernel knows of an interface of the machine: its speed, and the NUMA node of its device.
//
// Solely these two. Allocates nothing, takes no lock, and calls the kernel itself: the path shim includes it, which
// stands in front of libc's open() and ioctl() and may be called in a signal handler. errno stays. The interface is
// that of the process's network namespace, whatever namespace the files below /sys/class/net are of.
// Tested by: tests/host/config/own_devices_test.cc, tests/host/link/raw/raw_link_test.cc
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

namespace verbena::host {

namespace detail {
/// SIOCETHTOOL (linux/ethtool.h) with `settings`, whose first word says what is asked. False: the driver does not say.
inline bool ask_interface(std::string_view interface, void* settings) {
  ifreq request{};
  if (interface.empty() || interface.size() >= sizeof request.ifr_name) return false;
  interface.copy(request.ifr_name, interface.size());
  request.ifr_data = static_cast<char*>(settings);
  const int before = errno;
  const long probe = syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool is_told = probe >= 0 && syscall(SYS_ioctl, probe, SIOCETHTOOL, &request) == 0;
  if (probe >= 0) syscall(SYS_close, probe);
  errno = before;
  return is_told;
}

/// ETHTOOL_GLINKSETTINGS, with masks of so many words as `settings` says, which follow the structure.
inline bool ask_link(std::string_view interface, ethtool_link_settings& settings) {
  alignas(ethtool_link_settings) std::byte asked[sizeof settings + 3 * SCHAR_MAX * sizeof(std::uint32_t)] = {};
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  std::memcpy(asked, &settings, sizeof settings);
  if (!ask_interface(interface, asked)) return false;
  std::memcpy(&settings, asked, sizeof settings);
  return true;
}

/// The number in a file. Nothing: it is not there.
inline std::optional<long> read_number(const char* path) {
  constexpr int kDecimal = 10;
  const int before = errno;
  char text[24] = {};
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  const long got = file < 0 ? -1 : syscall(SYS_read, file, text, sizeof text - 1);
  if (file >= 0) syscall(SYS_close, file);
  errno = before;
  return got > 0 ? std::optional(std::strtol(text, nullptr, kDecimal)) : std::nullopt;
}
}  // namespace detail

/// Bits per second. Nothing: the driver knows none, as of an interface that has no carrier.
inline std::optional<std::uint64_t> speed_of_interface(std::string_view interface) {
  constexpr std::uint64_t kMega = 1'000'000;
  // The first answer says how long the masks are, as a negative number; what does not know that is told nothing else.
  ethtool_link_settings told{};
  if (!detail::ask_link(interface, told) || told.link_mode_masks_nwords >= 0) return std::nullopt;
  told.link_mode_masks_nwords = static_cast<std::int8_t>(-told.link_mode_masks_nwords);
  if (!detail::ask_link(interface, told)) return std::nullopt;
  const std::uint32_t megabits = told.speed;
  if (megabits == 0 || megabits == static_cast<std::uint32_t>(SPEED_UNKNOWN)) return std::nullopt;
  return megabits * kMega;
}

/// Nothing: it is no PCI device, or that device is at no node.
inline std::optional<std::uint32_t> numa_node_of_interface(std::string_view interface) {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  if (!detail::ask_interface(interface, &driver)) return std::nullopt;
  driver.bus_info[sizeof driver.bus_info - 1] = 0;
  if (driver.bus_info[0] == 0 || std::strchr(driver.bus_info, '/') != nullptr) return std::nullopt;
  char path[96];
  std::snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", driver.bus_info);
  const auto node = detail::read_number(path);
  return node && *node >= 0 ? std::optional(static_cast<std::uint32_t>(*node)) : std::nullopt;
}

}  // namespace verbena::host
