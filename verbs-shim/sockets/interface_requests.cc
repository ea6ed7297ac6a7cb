// Hooks: ioctl() about the node's own interfaces (own_addresses.h): SIOCGIFCONF and the other SIOCGIF*, and what
// ethtool asks of its driver and speed.
// Tested by: tests/shim/sockets/own_interface_test.cc
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "verbs-shim/sockets/own_addresses.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/umad.h"

using verbena::host::DeviceIdentity;

namespace {

constexpr unsigned long kFirstRequest = SIOCGIFNAME;
constexpr unsigned long kLastRequest = SIOCSIFMAP;
constexpr int kQueueLength = 1000;
constexpr std::int8_t kLinkModeWords = 3;

int fail(int error) {
  errno = error;
  return -1;
}

void set_name(sockaddr& into, in_addr address) {
  const sockaddr_in name = verbena::path::socket_name(address);
  std::memcpy(&into, &name, sizeof into);
}

void set_mac(sockaddr& into, const verbena::wire::MacAddress& mac) {
  into = {};
  into.sa_family = ARPHRD_ETHER;
  std::memcpy(into.sa_data, mac.octets.data(), mac.octets.size());
}

std::uint32_t speed_mbps(const DeviceIdentity& of) {
  return static_cast<std::uint32_t>(verbena::path::rate_of_port(of) / 1'000'000);
}

int tell_link_settings(const DeviceIdentity& of, void* at) {
  ethtool_link_settings settings{};
  std::memcpy(&settings, at, sizeof settings);
  const bool is_agreed = settings.link_mode_masks_nwords == kLinkModeWords;
  settings = {};
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  // Who does not know how long the masks are is told (linux/ethtool.h).
  settings.link_mode_masks_nwords = is_agreed ? kLinkModeWords : static_cast<std::int8_t>(-kLinkModeWords);
  if (is_agreed) {
    settings.speed = speed_mbps(of);
    settings.duplex = DUPLEX_FULL;
    settings.port = PORT_DA;
    std::memset(static_cast<char*>(at) + sizeof settings, 0, 3 * kLinkModeWords * sizeof(std::uint32_t));
  }
  std::memcpy(at, &settings, sizeof settings);
  return 0;
}

int tell_settings(const DeviceIdentity& of, void* at) {
  ethtool_cmd settings{};
  settings.cmd = ETHTOOL_GSET;
  ethtool_cmd_speed_set(&settings, speed_mbps(of));
  settings.duplex = DUPLEX_FULL;
  settings.port = PORT_DA;
  std::memcpy(at, &settings, sizeof settings);
  return 0;
}

int tell_driver(const DeviceIdentity& of, void* at) {
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  std::snprintf(driver.driver, sizeof driver.driver, "verbena");
  std::snprintf(driver.version, sizeof driver.version, "%s", VERBENA_VERSION);
  std::snprintf(driver.fw_version, sizeof driver.fw_version, "%s", VERBENA_VERSION);
  std::snprintf(driver.bus_info, sizeof driver.bus_info, "%s", of.pci_address.c_str());
  std::memcpy(at, &driver, sizeof driver);
  return 0;
}

int tell_ethtool(const DeviceIdentity& of, void* at) {
  std::uint32_t command = 0;
  if (at == nullptr) return fail(EFAULT);
  std::memcpy(&command, at, sizeof command);
  switch (command) {
    case ETHTOOL_GDRVINFO:
      return tell_driver(of, at);
    case ETHTOOL_GSET:
      return tell_settings(of, at);
    case ETHTOOL_GLINKSETTINGS:
      return tell_link_settings(of, at);
    case ETHTOOL_GLINK: {
      const ethtool_value value{command, verbena::path::port_is_up(of) ? 1u : 0u};
      std::memcpy(at, &value, sizeof value);
      return 0;
    }
    default:
      return fail(EOPNOTSUPP);
  }
}

int tell(const DeviceIdentity& of, unsigned long request, ifreq& row) {
  switch (request) {
    case SIOCGIFINDEX:
      row.ifr_ifindex = static_cast<int>(of.own_interface->index);
      return 0;
    case SIOCGIFFLAGS:
      row.ifr_flags = static_cast<short>(verbena::path::interface_flags(of));
      return 0;
    case SIOCGIFADDR:
    case SIOCGIFDSTADDR:
      set_name(row.ifr_addr, verbena::path::interface_address(of));
      return 0;
    case SIOCGIFNETMASK:
      set_name(row.ifr_netmask, verbena::path::interface_netmask());
      return 0;
    case SIOCGIFBRDADDR:
      set_name(row.ifr_broadaddr, verbena::path::interface_broadcast(of));
      return 0;
    case SIOCGIFHWADDR:
      set_mac(row.ifr_hwaddr, of.mac);
      return 0;
    case SIOCGIFMTU:
      row.ifr_mtu = verbena::host::kOwnMtuBytes;
      return 0;
    case SIOCGIFTXQLEN:
      row.ifr_qlen = kQueueLength;
      return 0;
    case SIOCGIFMETRIC:
      row.ifr_metric = 0;
      return 0;
    case SIOCGIFMAP:
      row.ifr_map = {};
      return 0;
    case SIOCETHTOOL:
      return tell_ethtool(of, row.ifr_data);
    default:
      return fail(EPERM);  // to change it takes more than a program has
  }
}

/// Behind the machine's; `room` octets were there for all of them. Without room the kernel says how much it takes.
void add_row(const DeviceIdentity& of, ifconf& all, int room) {
  const auto own_bytes = static_cast<int>(sizeof(ifreq));
  if (all.ifc_buf != nullptr) {
    if (room - all.ifc_len < own_bytes) return;
    ifreq row{};
    std::strcpy(row.ifr_name, of.own_interface->name.c_str());
    set_name(row.ifr_addr, verbena::path::interface_address(of));
    std::memcpy(all.ifc_buf + all.ifc_len, &row, sizeof row);
  }
  all.ifc_len += own_bytes;
}

std::optional<DeviceIdentity> asked_about(unsigned long request, const ifreq& row) {
  return request == SIOCGIFNAME ? verbena::path::own_interface_at(static_cast<std::uint32_t>(row.ifr_ifindex))
                                : verbena::path::own_interface_named(row.ifr_name);
}

}  // namespace

VERBENA_HOOK(int, ioctl, (int fd, unsigned long request, ...)) {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  int of_umad = 0;
  if (verbena::path::umad_ioctl(fd, request, argument, of_umad)) return of_umad;
  if (request < kFirstRequest || request > kLastRequest || argument == nullptr)
    return VERBENA_REAL(ioctl)(fd, request, argument);
  if (request == SIOCGIFCONF) {
    auto& all = *static_cast<ifconf*>(argument);
    const int room = all.ifc_len;
    const int result = VERBENA_REAL(ioctl)(fd, request, argument);
    if (result == 0) verbena::path::for_each_own_interface([&](const DeviceIdentity& of) { add_row(of, all, room); });
    return result;
  }
  auto& row = *static_cast<ifreq*>(argument);
  const auto of = asked_about(request, row);
  if (!of) return VERBENA_REAL(ioctl)(fd, request, argument);
  if (request != SIOCGIFNAME) return tell(*of, request, row);
  std::strcpy(row.ifr_name, of->own_interface->name.c_str());
  return 0;
}
