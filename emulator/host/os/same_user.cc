#include "emulator/host/os/same_user.h"

#include <sys/socket.h>
#include <unistd.h>

namespace verbena::host {

bool peer_is_same_user(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && is_own_user(peer.uid);
}

const char* why_no_peer_is_trusted() {
  if (names_one_user(own_user())) return nullptr;
  return "this program's user ID is the overflow user ID of its user namespace (nobody, /proc/sys/kernel/overflowuid), "
         "which every user from outside has here too, so its peers cannot be told from strangers: run it as another "
         "user";
}

}  // namespace verbena::host
