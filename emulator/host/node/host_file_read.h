// Reading a HostFile (host_file.h): a file in shared memory with a record for each host of a fabric.
//
// Solely where it lies, what it begins with and whether it is in use: its maker holds a lock on it, so that what a
// killed process has left says nothing. Readers hold nothing open. libc only: the path shim includes it.
// Tested by: tests/host/node/managed_port_test.cc, tests/host/node/port_rate_test.cc
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emulator/host/node/identity.h"
#include "emulator/host/os/fixed_text.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {

struct HostFileKind {
  std::uint32_t magic;
  std::uint32_t record_bytes;
};

/// In front of the records, which stand in the order of the fabric's hosts.
struct HostFileHeader {
  std::uint32_t magic = 0;
  std::uint32_t record_bytes = 0;
  std::uint32_t hosts = 0;
  std::uint32_t rails = 1;
};

/// What there are such files of; those that a killed process has left are removed by it (HostFile::remove_left()).
enum class HostFileOf : std::uint8_t { subnet, rates, faults };
inline constexpr std::array<std::string_view, 3> kHostFiles{"subnet", "rates", "faults"};

using HostFilePath = FixedText<256>;
/// "/dev/shm/verbena-UID-subnet-FABRIC".
inline HostFilePath host_file_path(HostFileOf what, std::string_view fabric) {
  HostFilePath path;
  path.append("/dev/shm/verbena-").append_number(own_user()).append("-");
  path.append(kHostFiles[static_cast<std::size_t>(what)]).append("-").append(fabric);
  return path;
}

inline off_t host_file_offset(HostFileKind kind, std::uint32_t host) {
  return static_cast<off_t>(sizeof(HostFileHeader) + std::size_t{host} * kind.record_bytes);
}

namespace detail {
/// Of a file that is open. Nothing: it is none of this kind, or another user's.
inline std::optional<HostFileHeader> header_of(int file, HostFileKind kind) {
  struct stat status{};
  HostFileHeader header;
  const bool is_one = ::fstat(file, &status) == 0 && status.st_uid == own_user() && S_ISREG(status.st_mode) &&
                      ::pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header) &&
                      header.magic == kind.magic && header.record_bytes == kind.record_bytes;
  return is_one ? std::optional(header) : std::nullopt;
}

/// Which host of its fabric has the address (DeviceIdentity::address), by the file that is open. Nothing: none has.
inline std::optional<std::uint32_t> find_host_of_file(int file, const wire::Gid& address, HostFileKind kind) {
  const auto place = device_place(address);
  const auto header = header_of(file, kind);
  if (!place || !header || place->device >= header->rails) return std::nullopt;
  const std::uint32_t host = (place->node - 1) * header->rails + place->device;
  return host < header->hosts ? std::optional(host) : std::nullopt;
}

/// Its maker holds a lock on it. A process that was killed leaves the file, and no lock.
inline bool is_held(int file) {
  return ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/// What `read` makes of the open file; nothing: there is none. Leaves errno alone.
template <class Read>
auto with_host_file(const HostFilePath& path, const Read& read) -> decltype(read(0)) {
  const int before = errno;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  auto found = file >= 0 && is_held(file) ? read(file) : decltype(read(0)){};
  if (file >= 0) ::close(file);
  errno = before;
  return found;
}
}  // namespace detail

}  // namespace verbena::host
