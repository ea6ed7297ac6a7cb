#include "verbs-shim/sysfs/umad.h"

#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "emulator/host/config/variables.h"
#include "emulator/host/node/managed_port.h"
#include "emulator/host/subnet_process/umad_layout.h"
#include "verbs-shim/sysfs/own_devices.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/values.h"

namespace {

using verbena::host::UmadHello;
using verbena::host::UmadIoctl;
using verbena::host::UmadIoctlReply;

constexpr char kDevices[] = "/dev/infiniband/";

bool is_message_socket(int fd) {
  struct stat status;
  if (!verbena::path::real_fstat(fd, status) || !S_ISSOCK(status.st_mode)) return false;
  int type = 0;
  socklen_t bytes = sizeof type;
  if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_SEQPACKET) return false;
  sockaddr_un peer{};
  bytes = sizeof peer;
  if (syscall(SYS_getpeername, fd, &peer, &bytes) != 0 || peer.sun_family != AF_UNIX) return false;
  constexpr char kOfFabric[] = "verbena-subnet/";
  if (peer.sun_path[0] == 0) return std::strncmp(peer.sun_path + 1, kOfFabric, sizeof kOfFabric - 1) == 0;
  return std::strstr(peer.sun_path, "/verbena-subnet-") != nullptr;
}

std::size_t argument_bytes(unsigned long request) {
  return request == IB_USER_MAD_ENABLE_PKEY ? 0 : _IOC_SIZE(request);
}

int send_ioctl(int fd, unsigned long request, const void* argument, int reply) {
  const UmadIoctl none;
  const std::uint32_t head[] = {none.mark, static_cast<std::uint32_t>(request)};
  const std::size_t bytes = argument_bytes(request);
  static_assert(offsetof(UmadIoctl, argument) == sizeof head);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
  // The kernel reads the argument: a pointer to nowhere is EFAULT.
  iovec octets[] = {{const_cast<std::uint32_t*>(head), sizeof head},
                    {const_cast<void*>(argument), bytes},
                    {const_cast<std::uint8_t*>(none.argument), sizeof none.argument - bytes}};
  msghdr message{};
  message.msg_iov = octets;
  message.msg_iovlen = 3;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const first = CMSG_FIRSTHDR(&message);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(first), &reply, sizeof reply);
  if (syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL) >= 0) return 0;
  return errno == EFAULT ? EFAULT : EIO;
}

/// What comes is an errno value, and behind it what the argument is now.
int receive_reply(int fd, unsigned long request, void* argument) {
  UmadIoctlReply reply;
  long got = -1;
  do got = syscall(SYS_recvfrom, fd, &reply, sizeof reply, MSG_PEEK, nullptr, nullptr);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<long>(sizeof reply)) return EIO;
  const std::size_t bytes = request == IB_USER_MAD_UNREGISTER_AGENT ? 0 : argument_bytes(request);
  if (reply.error != 0 || bytes == 0) return reply.error;
  iovec octets[] = {{&reply.error, sizeof reply.error}, {argument, bytes}};
  msghdr message{};
  message.msg_iov = octets;
  message.msg_iovlen = 2;
  return syscall(SYS_recvmsg, fd, &message, 0) < 0 ? errno : 0;
}

/// Sends the request with one end of a pair, and waits at the other.
int exchange(int fd, unsigned long request, void* argument) {
  int pair[2];
  if (syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return errno;
  int error = send_ioctl(fd, request, argument, pair[1]);
  syscall(SYS_close, pair[1]);
  if (error == 0) error = receive_reply(pair[0], request, argument);
  syscall(SYS_close, pair[0]);
  return error;
}

int connect_umad(const sockaddr* address, socklen_t bytes, const UmadHello& hello, int flags) {
  const int close_on_exec = (flags & O_CLOEXEC) != 0 ? SOCK_CLOEXEC : 0;
  const auto fd = static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | close_on_exec, 0));
  if (fd < 0) return -1;
  if (syscall(SYS_connect, fd, address, bytes) != 0 ||
      syscall(SYS_sendto, fd, &hello, sizeof hello, MSG_NOSIGNAL, nullptr, 0) != static_cast<long>(sizeof hello)) {
    syscall(SYS_close, fd);
    errno = ENXIO;
    return -1;
  }
  if ((flags & O_NONBLOCK) != 0) syscall(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK);
  return fd;
}

std::atomic<bool> any_device{false};

}  // namespace

namespace verbena::path {

const char* subnet_folder() {
  const char* const folder = getenv(host::kSubnetVariable);
  return folder != nullptr && *folder == '/' ? folder : nullptr;
}

bool in_subnet_folder(const char* path, char* into, std::size_t size) {
  constexpr char kClass[] = "/sys/class/infiniband";
  const bool is_one =
      std::strncmp(path, kClass, sizeof kClass - 1) == 0 || std::strncmp(path, kDevices, sizeof kDevices - 2) == 0;
  const char* const folder = is_one ? subnet_folder() : nullptr;
  if (folder == nullptr) return false;
  const int length = std::snprintf(into, size, "%s%s", folder, path);
  return length > 0 && static_cast<std::size_t>(length) < size;
}

bool is_umad(const char* path) {
  const char* const folder = subnet_folder();
  if (folder == nullptr) return false;
  const std::size_t length = std::strlen(folder);
  if (std::strncmp(path, folder, length) != 0 || std::strncmp(path + length, kDevices, sizeof kDevices - 1) != 0)
    return false;
  const char* const name = path + length + sizeof kDevices - 1;
  return std::strncmp(name, "umad", 4) == 0 || std::strncmp(name, "issm", 4) == 0;
}

int open_umad(const char* path, int flags) {
  struct stat status;
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0) return -1;
  // FOLDER/hosts/NODE/dev/infiniband/umadN
  const char* const folder = subnet_folder();
  const char* const node = std::strrchr(folder, '/') + 1;
  const char* const name = std::strrchr(path, '/') + 1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto bytes = static_cast<int>(node - folder) - static_cast<int>(sizeof "/hosts/" - 1);
  if (bytes <= 0 || std::snprintf(address.sun_path, sizeof address.sun_path, "%.*s%s", bytes, folder,
                                  host::kSubnetSocket) >= static_cast<int>(sizeof address.sun_path)) {
    errno = ENXIO;
    return -1;
  }
  const UmadHello hello{static_cast<std::uint32_t>(strtoul(node, nullptr, 10)),
                        static_cast<std::uint32_t>(strtoul(name + 4, nullptr, 10)) + 1, name[0] == 'i' ? 1u : 0u};
  const int fd = connect_umad(reinterpret_cast<const sockaddr*>(&address), sizeof address, hello, flags);
  if (fd >= 0) any_device.store(true, std::memory_order_relaxed);
  return fd;
}

bool is_managed(const host::DeviceIdentity& of, unsigned) {
  const char* const fabric = host::variable(host::kFabricVariable, host::kFabricDefault);
  return own_port_count() != 0 && link_kind().has_fabric_process && host::managed_host(fabric, of.address).has_value();
}

int open_umad(const host::DeviceIdentity& of, int flags, bool is_issm) {
  const char* const fabric = host::variable(host::kFabricVariable, host::kFabricDefault);
  const auto host = host::managed_host(fabric, of.address);
  const host::AbstractName address = host::umad_address(fabric);
  if (!host || !address.fits()) {
    errno = ENXIO;
    return -1;
  }
  const int fd = connect_umad(address.address(), address.bytes(), {*host, 1, is_issm ? 1u : 0u}, flags);
  if (fd >= 0) any_device.store(true, std::memory_order_relaxed);
  return fd;
}

bool umad_ioctl(int fd, unsigned long word, void* argument, int& result) {
  if (!any_device.load(std::memory_order_relaxed)) return false;
  const unsigned long request = static_cast<unsigned>(word);  // all that the kernel looks at: it may have been an int
  const bool is_one = request == IB_USER_MAD_REGISTER_AGENT || request == IB_USER_MAD_UNREGISTER_AGENT ||
                      request == IB_USER_MAD_ENABLE_PKEY || request == IB_USER_MAD_REGISTER_AGENT2;
  const int before = errno;
  if (!is_one || !is_message_socket(fd)) {
    errno = before;
    return false;
  }
  const int error = exchange(fd, request, argument);
  errno = error != 0 ? error : before;
  result = error != 0 ? -1 : 0;
  return true;
}

}  // namespace verbena::path

// A datagram that is longer than the room stays where it is, and its header says how long it is (ib_umad_read()).
VERBENA_HOOK(ssize_t, read, (int fd, void* into, std::size_t bytes)) {
  if (!any_device.load(std::memory_order_relaxed) || !is_message_socket(fd)) return VERBENA_REAL(read)(fd, into, bytes);
  ib_user_mad_hdr header{};
  iovec octets{&header, sizeof header};
  msghdr message{};
  message.msg_iov = &octets;
  message.msg_iovlen = 1;
  if (syscall(SYS_recvmsg, fd, &message, MSG_PEEK) < 0) return -1;
  if (header.length > bytes) {
    if (bytes < sizeof header) {
      errno = EINVAL;
      return -1;
    }
    // The header and the first segment.
    syscall(SYS_recvfrom, fd, into, bytes, MSG_PEEK, nullptr, nullptr);
    errno = ENOSPC;
    return -1;
  }
  const auto got = static_cast<ssize_t>(syscall(SYS_recvfrom, fd, into, bytes, 0, nullptr, nullptr));
  if (got != 0) return got;
  // The fabric has ended. A program that only tries again is not to do so a million times a minute: opensm, which opens
  // the device with O_NONBLOCK, would fill its log.
  constexpr timespec kPause{.tv_sec = 1, .tv_nsec = 0};
  nanosleep(&kPause, nullptr);
  errno = EIO;
  return -1;
}
