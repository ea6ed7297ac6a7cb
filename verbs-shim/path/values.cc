#include "verbs-shim/path/values.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/host/port_speed.h"
#include "verbs-shim/path/tree.h"

namespace verbena::path {

namespace {

using Octets = std::array<std::uint8_t, 16>;

/// The node's GID. A wrong environment gives node 1: libibverbs tells the user what is wrong with it.
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

const char* network_device_name() {
  const char* link = std::getenv("VERBENA_LINK");
  return link != nullptr && std::strncmp(link, "raw:", 4) == 0 ? link + 4 : "lo";
}

std::size_t write_device_name(char* into, std::size_t size) {
  return finish(std::snprintf(into, size, "%s\n", device_name()), size);
}

std::size_t write_node_guid(char* into, std::size_t size) {
  // EUI-64 of the node's MAC address, 02:56 and the last four octets of its address.
  const Octets gid = node_gid();
  return finish(std::snprintf(into, size, "0056:%02xff:fe%02x:%02x%02x\n", gid[12], gid[13], gid[14], gid[15]), size);
}

std::size_t write_gid(char* into, std::size_t size) {
  const Octets gid = node_gid();
  std::size_t length = 0;
  for (std::size_t i = 0; i < gid.size(); i += 2)
    length +=
        finish(std::snprintf(into + length, size - length, "%02x%02x%c", gid[i], gid[i + 1], i == 14 ? '\n' : ':'),
               size - length);
  return length;
}

std::size_t write_network_device(char* into, std::size_t size) {
  return finish(std::snprintf(into, size, "%s\n", network_device_name()), size);
}

std::size_t write_lid(char* into, std::size_t size) {
  const Octets gid = node_gid();  // a LID for programs that know nothing else: the low half of the address
  return finish(std::snprintf(into, size, "0x%x\n", gid[14] << 8 | gid[15]), size);
}

std::size_t write_rate(char* into, std::size_t size) {
  const host::PortSpeed shown = host::port_speed(port_rate());
  return finish(std::snprintf(into, size, "%s\n", shown.text), size);
}

std::size_t write_node_description(char* into, std::size_t size) {
  char host[65] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  return finish(std::snprintf(into, size, "%s %s\n", host, device_name()), size);
}

std::size_t write_cpu_list(char* into, std::size_t size) {
  return read_online(into, size);
}

std::size_t write_cpu_mask(char* into, std::size_t size) {
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

std::size_t write_verbs_event(char* into, std::size_t size) {
  return finish(std::snprintf(into, size, "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/uverbs0\nDEVMODE=0666\n",
                              kUverbsMajor, kUverbsMinor),
                size);
}

std::size_t write_class_event(char* into, std::size_t size) {
  return finish(std::snprintf(into, size, "NAME=%s\n", device_name()), size);
}

}  // namespace verbena::path
