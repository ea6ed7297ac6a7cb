// Which user we are, and whether who is at the other end of a unix socket is the same: nobody else may attach to a
// fabric of ours.
//
// Solely that question (docs/security.md says what rests on it). The effective user ID is the one that counts, in names
// and in comparisons alike: it is what the kernel says of a peer. It is settled when the process first opens its
// device: names and sockets keep the user that made them, so a program that gives up its privileges afterwards stays
// who it was to its peers. libc only: the path shim includes it.
//
// Inside a user namespace the kernel shows every user that the namespace does not map as one number, the overflow user
// ID (/proc/sys/kernel/overflowuid). That number says nothing about who somebody is, so it is nobody's there.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace verbena::host {

namespace detail {
/// The process (upper half) that has settled its user, and that user. A child of fork() settles its own.
inline std::atomic<std::uint64_t> settled_user{0};
inline std::atomic<std::int64_t> overflow_user{-1};  // -1: not read yet

/// A small file of the kernel's, without the hooks of the path shim. False: it cannot be read.
inline bool read_kernel_file(const char* path, char* into, std::size_t room) {
  const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = ::read(static_cast<int>(file), into, room - 1);
  ::syscall(SYS_close, file);
  if (bytes <= 0) return false;
  into[bytes] = '\0';
  return true;
}
}  // namespace detail

/// From now on own_user() is `user`, in this process.
inline void settle_user(unsigned user) {
  detail::settled_user.store(std::uint64_t(::getpid()) << 32 | user, std::memory_order_relaxed);
}
/// As names of sockets and files of ours bear it.
inline unsigned own_user() {
  const std::uint64_t settled = detail::settled_user.load(std::memory_order_relaxed);
  if (settled != 0 && settled >> 32 == std::uint64_t(::getpid())) return static_cast<unsigned>(settled);
  return static_cast<unsigned>(::geteuid());
}
/// The first call in a process decides.
inline unsigned settle_own_user() {
  const unsigned user = own_user();
  settle_user(user);
  return user;
}
/// Whether this process has given up the user that it was when it opened its device.
inline bool has_dropped_user() {
  return own_user() != static_cast<unsigned>(::geteuid());
}

inline unsigned overflow_user() {
  constexpr unsigned kUsual = 65534;
  std::int64_t user = detail::overflow_user.load(std::memory_order_relaxed);
  if (user < 0) {
    const int kept = errno;
    char text[32];
    const bool is_read = detail::read_kernel_file("/proc/sys/kernel/overflowuid", text, sizeof text);
    user = is_read ? static_cast<std::int64_t>(std::strtoul(text, nullptr, 10)) : kUsual;
    detail::overflow_user.store(user, std::memory_order_relaxed);
    errno = kept;
  }
  return static_cast<unsigned>(user);
}

/// What /proc/self/uid_map says: all users of the machine have numbers here (user_namespaces(7)).
inline bool maps_all_users(const char* uid_map) {
  constexpr unsigned long kAll = 4294967295;
  char* at = nullptr;
  const bool begins_at_zero = std::strtoul(uid_map, &at, 10) == 0 && at != uid_map;
  return begins_at_zero && std::strtoul(at, &at, 10) == 0 && std::strtoul(at, nullptr, 10) == kAll;
}

/// Whether that number stands for one user here, and not for all those whom our user namespace does not map.
inline bool names_one_user(unsigned user) {
  if (user != overflow_user()) return true;
  const int kept = errno;
  char map[256];
  errno = 0;
  const bool is_read = detail::read_kernel_file("/proc/self/uid_map", map, sizeof map);
  // A kernel without user namespaces has no such file.
  const bool names_one = is_read ? maps_all_users(map) : errno == ENOENT && ::access("/proc/self", F_OK) == 0;
  errno = kept;
  return names_one;
}

/// Whether a user ID that the kernel has told of somebody is ours, and is known to mean us.
inline bool is_own_user(unsigned user) {
  return user == own_user() && names_one_user(user);
}

/// The kernel's own answer, from when the connection was made (SO_PEERCRED, unix(7)).
bool peer_is_same_user(int socket);

/// Why nobody can attach to this process, in one line; null: somebody can.
const char* why_no_peer_is_trusted();

}  // namespace verbena::host
