#include "verbs-shim/sockets/listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace verbena::path {
namespace {

constexpr std::size_t kAddressDigits = 8;
constexpr std::size_t kMappedDigits = 32;

struct Heard {
  bool at_wanted = false;
  bool at_first = false;
  bool at_all = false;
};

/// A line of either file: "  12: 075B2F7F:1389 00000000:0000 07 ...". An address is its words in the machine's order;
/// of one that is mapped into IPv6 the last word is the IPv4 address.
void look_at_line(const char* line, in_addr wanted, in_addr first, in_port_t port, Heard& heard) {
  const char* at = std::strchr(line, ':');
  if (at == nullptr) return;
  at += std::strspn(at, ": ");
  const std::size_t digits = std::strcspn(at, ":");
  if ((digits != kAddressDigits && digits != kMappedDigits) || at[digits] != ':') return;
  if (std::strtoul(at + digits + 1, nullptr, 16) != ntohs(port)) return;
  char* end = nullptr;
  const auto address = static_cast<in_addr_t>(std::strtoul(at + digits - kAddressDigits, &end, 16));
  heard.at_wanted = heard.at_wanted || address == wanted.s_addr;
  heard.at_first = heard.at_first || address == first.s_addr;
  heard.at_all = heard.at_all || address == INADDR_ANY;
}

void look_at_file(const char* path, in_addr wanted, in_addr first, in_port_t port, Heard& heard) {
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (fd < 0) return;
  char text[4096];
  std::size_t bytes = 0;
  for (;;) {
    const long got = syscall(SYS_read, fd, text + bytes, sizeof text - 1 - bytes);
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
    text[bytes] = 0;
    char* line = text;
    for (char* end = nullptr; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = 0;
      look_at_line(line, wanted, first, port, heard);
    }
    bytes -= static_cast<std::size_t>(line - text);
    if (bytes == sizeof text - 1) bytes = 0;  // no line is as long
    std::memmove(text, line, bytes);
  }
  syscall(SYS_close, fd);
}

}  // namespace

bool is_heard_at_first(in_addr wanted, in_addr first, in_port_t port) {
  const int before = errno;
  Heard heard;
  look_at_file("/proc/net/udp", wanted, first, port, heard);
  look_at_file("/proc/net/udp6", wanted, first, port, heard);
  errno = before;
  return !heard.at_wanted && (heard.at_first || !heard.at_all);
}

}  // namespace verbena::path
