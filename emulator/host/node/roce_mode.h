// What the connection manager takes by default on a port: the version of RoCE, and the type of service. An
// administrator changes it in configfs (rdma_cm/DEVICE/ports/N), and it holds for all processes of the node.
//
// Solely where this lies: in a file of its own in shared memory for each value that is not what it was at first, as the
// kernel has them in its memory. Whoever sets a value back removes its file. libc only: the path shim includes it.
// Tested by: tests/host/node/roce_mode_test.cc
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "emulator/host/node/identity.h"
#include "emulator/host/os/fixed_text.h"
#include "wire/roce_version.h"

namespace verbena::host {

enum class PortDefault : std::uint8_t { roce_mode, roce_tos, folder };

namespace detail {

inline constexpr std::size_t kDefaultBytesMax = 64;
using DefaultPath = FixedText<256>;

/// Of a port; the folder is of the device: its first port.
inline DefaultPath default_path(std::string_view fabric, const DeviceIdentity& of, PortDefault what) {
  constexpr std::string_view kWords[] = {"mode", "tos", "folder"};
  DefaultPath path;
  path.append("/dev/shm/verbena-").append_number(getuid()).append("-roce-").append(fabric).append("-");
  for (const std::uint8_t octet : of.address.octets) path.append_hex_octet(octet);
  return path.append(".").append(kWords[static_cast<std::size_t>(what)]);
}

/// Nothing: there is no file, or it is another user's. Leaves errno alone.
inline std::optional<FixedText<kDefaultBytesMax>> read_default(const DefaultPath& path) {
  const int before = errno;
  std::optional<FixedText<kDefaultBytesMax>> text;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status{};
  char octets[kDefaultBytesMax];
  if (file >= 0 && ::fstat(file, &status) == 0 && status.st_uid == getuid() && S_ISREG(status.st_mode)) {
    const ssize_t bytes = ::pread(file, octets, sizeof octets - 1, 0);
    if (bytes >= 0) text.emplace().append(std::string_view(octets, static_cast<std::size_t>(bytes)));
  }
  if (file >= 0) ::close(file);
  errno = before;
  return text;
}

/// 0, or an errno value.
inline int write_default(const DefaultPath& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0) return errno;
  struct stat status{};
  const bool is_ours = ::fstat(file, &status) == 0 && status.st_uid == getuid() && S_ISREG(status.st_mode);
  const auto bytes = static_cast<ssize_t>(text.size());
  const bool is_done = is_ours && ::pwrite(file, text.data(), text.size(), 0) == bytes && ::ftruncate(file, bytes) == 0;
  const int error = is_done ? 0 : EIO;
  ::close(file);
  return error;
}

/// Up to the first end of a line: what was written over a longer text has some of that behind it.
inline std::string_view first_line(std::string_view text) {
  return {text.data(), std::min(text.find('\n'), text.size())};
}

}  // namespace detail

/// Whether some GID of the port is of this version.
constexpr bool has_version(const DeviceIdentity& of, wire::RoceVersion version) {
  for (std::size_t i = 0; i < of.gid_count(); ++i)
    if (of.gids[i].version == version) return true;
  return false;
}

/// Of connections that begin on the port: what an administrator has set, else RoCE v2 where the port has it
/// (CMA_PREFERRED_ROCE_GID_TYPE of the kernel's cma.c).
inline wire::RoceVersion default_roce_mode(std::string_view fabric, const DeviceIdentity& of) {
  using enum wire::RoceVersion;
  const wire::RoceVersion preferred = has_version(of, v2) ? v2 : v1;
  const auto text = detail::read_default(detail::default_path(fabric, of, PortDefault::roce_mode));
  if (!text) return preferred;
  for (const wire::RoceVersion version : {v1, v2})
    if (detail::first_line(text->view()) == wire::gid_type_text(version) && has_version(of, version)) return version;
  return preferred;
}

/// 0; EINVAL: no such version, or no GID of it, as the kernel's configfs says; else why it could not be kept.
inline int set_default_roce_mode(std::string_view fabric, const DeviceIdentity& of, std::string_view text) {
  using enum wire::RoceVersion;
  text = detail::first_line(text);
  const auto path = detail::default_path(fabric, of, PortDefault::roce_mode);
  for (const wire::RoceVersion version : {v1, v2}) {
    if (text != wire::gid_type_text(version) || !has_version(of, version)) continue;
    const bool is_preferred = version == v2 || !has_version(of, v2);
    if (!is_preferred) return detail::write_default(path, text);
    ::unlink(path.c_str());
    return 0;
  }
  return EINVAL;
}

/// Of IDs that were given none.
inline std::uint8_t default_roce_tos(std::string_view fabric, const DeviceIdentity& of) {
  const auto text = detail::read_default(detail::default_path(fabric, of, PortDefault::roce_tos));
  std::uint32_t value = 0;
  if (!text) return 0;
  for (const char digit : detail::first_line(text->view()))
    value = digit >= '0' && digit <= '9' ? value * 10 + static_cast<std::uint32_t>(digit - '0') : 0;
  return static_cast<std::uint8_t>(value);
}

/// As set_default_roce_mode(): a number from 0 to 255, also as 0x1f or 017 (kstrtou8).
inline int set_default_roce_tos(std::string_view fabric, const DeviceIdentity& of, std::string_view text) {
  text = detail::first_line(text);
  constexpr std::uint32_t kMost = 255;
  std::uint32_t base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const bool is_hex = text[1] == 'x' || text[1] == 'X';
    base = is_hex ? 16 : 8;
    text.remove_prefix(is_hex ? 2 : 1);
  }
  std::uint32_t value = 0;
  if (text.empty()) return EINVAL;
  for (const char c : text) {
    const std::uint32_t digit = c >= '0' && c <= '9'   ? static_cast<std::uint32_t>(c - '0')
                                : c >= 'a' && c <= 'f' ? static_cast<std::uint32_t>(c - 'a' + 10)
                                : c >= 'A' && c <= 'F' ? static_cast<std::uint32_t>(c - 'A' + 10)
                                                       : base;
    if (digit >= base) return EINVAL;
    value = value * base + digit;
    if (value > kMost) return ERANGE;
  }
  const auto path = detail::default_path(fabric, of, PortDefault::roce_tos);
  if (value == 0) {
    ::unlink(path.c_str());
    return 0;
  }
  FixedText<detail::kDefaultBytesMax> number;
  number.append_number(value);
  return detail::write_default(path, number.view());
}

/// Whether the device's folder has been made in configfs.
inline bool has_config_folder(std::string_view fabric, const DeviceIdentity& of) {
  return detail::read_default(detail::default_path(fabric, of, PortDefault::folder)).has_value();
}
/// 0, or an errno value.
inline int make_config_folder(std::string_view fabric, const DeviceIdentity& of) {
  if (has_config_folder(fabric, of)) return EEXIST;
  return detail::write_default(detail::default_path(fabric, of, PortDefault::folder), "");
}
inline int remove_config_folder(std::string_view fabric, const DeviceIdentity& of) {
  if (!has_config_folder(fabric, of)) return ENOENT;
  return ::unlink(detail::default_path(fabric, of, PortDefault::folder).c_str()) == 0 ? 0 : errno;
}

}  // namespace verbena::host
