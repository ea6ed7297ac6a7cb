#include "verbs-shim/path/values.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/host/node/network_device.h"
#include "emulator/host/node/port_signal.h"
#include "emulator/host/node/port_speed.h"
#include "verbs-shim/path/tree.h"

namespace verbena::path {

Octets node_gid() {
  Octets gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 47, 91, 1};
  const char* text = std::getenv("VERBENA_NODE");
  if (text == nullptr) return gid;
  if (inet_pton(AF_INET, text, &gid[12]) == 1) return gid;
  Octets ipv6;
  if (inet_pton(AF_INET6, text, ipv6.data()) == 1) return ipv6;
  const long node = std::strtol(text, nullptr, 10);
  if (node >= 1 && node <= 254) gid[15] = static_cast<std::uint8_t>(node);
  return gid;
}

namespace {

/// The speed= of VERBENA_NIC; libibverbs tells the user of a wrong one.
std::uint64_t port_rate() {
  constexpr const char* kSpeed = "speed=";
  const char* words = std::getenv("VERBENA_NIC");
  while (words != nullptr && *words != 0) {
    if (std::strncmp(words, kSpeed, std::strlen(kSpeed)) == 0) {
      char* unit = nullptr;
      const double number = std::strtod(words + std::strlen(kSpeed), &unit);
      const double factor = *unit == 'K' ? 1e3 : *unit == 'M' ? 1e6 : *unit == 'G' ? 1e9 : *unit == 'T' ? 1e12 : 1;
      const double rate = number * factor;
      return rate > 0 && rate < 1e18 ? static_cast<std::uint64_t>(rate) : host::kPortRateDefault;
    }
    words = std::strchr(words, ' ');
    if (words != nullptr) ++words;
  }
  return host::kPortRateDefault;
}

std::size_t finish(int written, std::size_t size) {
  if (written < 0) return 0;
  return static_cast<std::size_t>(written) < size ? static_cast<std::size_t>(written) : size - 1;
}

/// "0-3,8" as it is in the kernel's list of CPUs that are online.
std::size_t read_online(char* into, std::size_t size) {
  const int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : read(fd, into, size - 1);
  if (fd >= 0) close(fd);
  if (got <= 0) return finish(std::snprintf(into, size, "0\n"), size);
  into[got] = 0;
  return static_cast<std::size_t>(got);
}

}  // namespace

const char* device_name() {
  const char* name = std::getenv("VERBENA_DEVICE_NAME");
  return name != nullptr && *name != 0 && std::strchr(name, '/') == nullptr ? name : "verbena0";
}

std::size_t write_device_name(char* into, std::size_t size, unsigned) {
  return finish(std::snprintf(into, size, "%s\n", device_name()), size);
}

std::size_t write_node_guid(char* into, std::size_t size, unsigned) {
  // EUI-64 of the node's MAC address, 02:56 and the last four octets of its address.
  const Octets gid = node_gid();
  return finish(std::snprintf(into, size, "0056:%02xff:fe%02x:%02x%02x\n", gid[12], gid[13], gid[14], gid[15]), size);
}

namespace {

/// As the engine fills the NIC's table: the node's address, and over links that carry it the link-local one.
Octets gid_at(unsigned index) {
  const Octets gid = node_gid();
  if (index == 0) return gid;
  const char* link = std::getenv("VERBENA_LINK");
  const bool carried =
      link == nullptr || *link == 0 || std::strcmp(link, "shm") == 0 || std::strcmp(link, "fabric") == 0;
  constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (index != 1 || !carried || std::memcmp(gid.data(), kMapped, sizeof kMapped) != 0) return {};
  return {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x56, gid[12], 0xff, 0xfe, gid[13], gid[14], gid[15]};
}

}  // namespace

bool has_gid(unsigned index) {
  return gid_at(index) != Octets{};
}

std::size_t write_gid_type(char* into, std::size_t size, unsigned) {
  return finish(std::snprintf(into, size, "RoCE v2\n"), size);
}

std::size_t write_gid(char* into, std::size_t size, unsigned index) {
  const Octets gid = gid_at(index);
  std::size_t length = 0;
  for (std::size_t i = 0; i < gid.size(); i += 2)
    length +=
        finish(std::snprintf(into + length, size - length, "%02x%02x%c", gid[i], gid[i + 1], i == 14 ? '\n' : ':'),
               size - length);
  return length;
}

const char* network_device(char (&buffer)[IF_NAMESIZE]) {
  const char* link = std::getenv("VERBENA_LINK");
  if (link != nullptr && std::strncmp(link, "raw:", 4) == 0) return link + 4;
  return host::find_network_device(node_gid(), buffer) ? buffer : "lo";
}

std::size_t write_network_device(char* into, std::size_t size, unsigned) {
  char name[IF_NAMESIZE];
  return finish(std::snprintf(into, size, "%s\n", network_device(name)), size);
}

std::size_t write_lid(char* into, std::size_t size, unsigned) {
  const Octets gid = node_gid();  // a LID for programs that know nothing else: the low half of the address
  return finish(std::snprintf(into, size, "0x%x\n", gid[14] << 8 | gid[15]), size);
}

namespace {

/// Only a fabric process can take the signal away.
bool port_is_up() {
  const char* const link = std::getenv("VERBENA_LINK");
  if (link == nullptr || std::strcmp(link, "fabric") != 0) return true;
  const char* const fabric = std::getenv("VERBENA_FABRIC");
  const char* const name = fabric != nullptr && *fabric != 0 ? fabric : "default";
  const int before = errno;
  const bool up = host::served_fabric_name(name).is_held() && !host::dead_port_name(name, node_gid()).is_held();
  errno = before;
  return up;
}

}  // namespace

// The words of drivers/infiniband/core/sysfs.c; a port whose interface is up but hears nothing polls (ibv_query_port).
std::size_t write_port_state(char* into, std::size_t size, unsigned) {
  return finish(std::snprintf(into, size, "%s\n", port_is_up() ? "4: ACTIVE" : "1: DOWN"), size);
}
std::size_t write_physical_state(char* into, std::size_t size, unsigned) {
  return finish(std::snprintf(into, size, "%s\n", port_is_up() ? "5: LinkUp" : "2: Polling"), size);
}

std::size_t write_rate(char* into, std::size_t size, unsigned) {
  const host::PortSpeed shown = host::port_speed(port_rate());
  return finish(std::snprintf(into, size, "%s\n", shown.text), size);
}

std::size_t write_node_description(char* into, std::size_t size, unsigned) {
  char host[65] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  return finish(std::snprintf(into, size, "%s %s\n", host, device_name()), size);
}

std::size_t write_cpu_list(char* into, std::size_t size, unsigned) {
  return read_online(into, size);
}

std::size_t write_cpu_mask(char* into, std::size_t size, unsigned) {
  constexpr std::size_t kWords = 64;  // 2048 CPUs
  std::array<std::uint32_t, kWords> mask{};
  char list[1024];
  read_online(list, sizeof list);
  std::size_t words = 1;
  for (char* at = list; *at >= '0' && *at <= '9';) {
    std::size_t first = std::strtoul(at, &at, 10);
    const std::size_t last = *at == '-' ? std::strtoul(at + 1, &at, 10) : first;
    for (; first <= last && first < kWords * 32; ++first) {
      mask[first / 32] |= std::uint32_t{1} << first % 32;
      if (first / 32 + 1 > words) words = first / 32 + 1;
    }
    if (*at == ',') ++at;
  }
  std::size_t length = 0;
  for (std::size_t i = words; i-- > 0;)
    length += finish(
        std::snprintf(into + length, size - length, words == 1 ? "%x%c" : "%08x%c", mask[i], i == 0 ? '\n' : ','),
        size - length);
  return length;
}

std::size_t write_verbs_event(char* into, std::size_t size, unsigned) {
  return finish(std::snprintf(into, size, "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/uverbs0\nDEVMODE=0666\n",
                              kUverbsMajor, kUverbsMinor),
                size);
}

std::size_t write_class_event(char* into, std::size_t size, unsigned) {
  return finish(std::snprintf(into, size, "NAME=%s\n", device_name()), size);
}

}  // namespace verbena::path
