// Small helpers around setsockopt() for the socket links. An option that the kernel lacks is not an error here.
#pragma once

#include <sys/socket.h>

namespace verbena::host {

inline bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

/// The largest buffer that the kernel grants: beyond net.core.rmem_max only with CAP_NET_ADMIN.
inline void enlarge_receive_buffer(int socket, int bytes) {
  if (!set_option(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) set_option(socket, SOL_SOCKET, SO_RCVBUF, bytes);
}
inline void enlarge_send_buffer(int socket, int bytes) {
  if (!set_option(socket, SOL_SOCKET, SO_SNDBUFFORCE, bytes)) set_option(socket, SOL_SOCKET, SO_SNDBUF, bytes);
}

}  // namespace verbena::host
