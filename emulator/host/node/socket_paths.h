// SocketPaths: what a fabric process tells the processes of its nodes about the programs' own TCP and UDP sockets:
// which nodes the network has cut off from theirs.
//
// Solely responsible for the name (verbena-sockets/UID/FABRIC, a SOCK_SEQPACKET socket in the abstract namespace) and
// the three messages. A process says on which node it stands, is told the present state and then every new one, and
// says when it has done what it was told; there is never more than one message that it has not answered. libc only: the
// path shim includes it. Who is cut off is found by fabric::Network, told by fabric_sockets.h and done by
// verbs-shim/sockets/socket_paths.h.
// Tested by: tests/host/fabric_process/fabric_sockets_test.cc
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "emulator/host/os/abstract_name.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {

/// A set of nodes by their numbers, 1 to 254: K stands for 127.47.91.K.
struct NodeSet {
  static constexpr std::size_t kWords = 8;
  std::array<std::uint32_t, kWords> words{};

  constexpr bool has(unsigned node) const { return (words[node / 32 % kWords] >> node % 32 & 1) != 0; }
  constexpr void add(unsigned node) { words[node / 32 % kWords] |= std::uint32_t{1} << node % 32; }
  constexpr bool empty() const {
    for (const std::uint32_t word : words)
      if (word != 0) return false;
    return true;
  }
  constexpr bool operator==(const NodeSet&) const = default;
};

/// From a process, first.
struct SocketHello {
  std::uint32_t node = 0;
};

/// To a process. What it says holds until the next one.
struct SocketNews {
  std::uint32_t generation = 0;  // grows
  /// Not 0: the node is about to crash. What its sockets have not sent must not be sent when its processes are killed.
  std::uint32_t crashes = 0;
  std::uint32_t timeout_ms =
      0;               // how long TCP goes on to repeat what a dead cable loses; 0: as long as the kernel does
  NodeSet deaf_to;     // what these nodes send does not arrive here
  NodeSet unheard_by;  // what is sent from here does not arrive there
};

/// From a process: it has done what the news of this generation said.
struct SocketNewsDone {
  std::uint32_t generation = 0;
};

inline AbstractName socket_paths_address(const char* fabric) {
  return AbstractName("verbena-sockets/%u/%s", own_user(), fabric);
}

}  // namespace verbena::host
