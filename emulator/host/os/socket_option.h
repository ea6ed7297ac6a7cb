// Small helpers around setsockopt() for the socket links. An option that the kernel lacks is not an error here.
// Tested by: tests/host/link/udp/udp_link_test.cc
#pragma once

#include <sys/socket.h>

#include <cstdint>

namespace verbena::host {

inline bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

/// The largest buffer that the kernel grants: beyond net.core.rmem_max only with CAP_NET_ADMIN.
inline void enlarge_receive_buffer(int socket, int bytes) {
  if (!set_option(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) set_option(socket, SOL_SOCKET, SO_RCVBUF, bytes);
}
/// As the kernel counts: twice what was asked for, each frame's overhead included. 0: the kernel does not say.
inline std::uint32_t receive_buffer_bytes(int socket) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  return ::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &size) == 0 ? static_cast<std::uint32_t>(bytes) : 0;
}
inline void enlarge_send_buffer(int socket, int bytes) {
  if (!set_option(socket, SOL_SOCKET, SO_SNDBUFFORCE, bytes)) set_option(socket, SOL_SOCKET, SO_SNDBUF, bytes);
}

}  // namespace verbena::host
