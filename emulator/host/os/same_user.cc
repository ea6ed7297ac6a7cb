#include "emulator/host/os/same_user.h"

#include <sys/socket.h>
#include <unistd.h>

namespace verbena::host {

bool peer_is_same_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == own_user();
}

}  // namespace verbena::host
