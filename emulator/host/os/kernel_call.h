// The data path's system calls on sockets, straight to the kernel.
//
// Solely responsible for the way past two layers that stand before libc's names for them: libc's own, where each is a
// cancellation point (two atomic operations a call in a process with threads, and a shield around it), and the path
// shim's hooks (verbs-shim/sockets), which are for a program's own sockets and not for the emulated network's. Results
// are as libc has them: -1 and errno. A caller that makes no other call needs no CancellationShield.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <span>

namespace verbena::host {

inline int send_messages(int socket, std::span<mmsghdr> messages, int flags) {
  return static_cast<int>(
      ::syscall(SYS_sendmmsg, socket, messages.data(), static_cast<unsigned>(messages.size()), flags));
}

inline int receive_messages(int socket, std::span<mmsghdr> messages, int flags) {
  return static_cast<int>(
      ::syscall(SYS_recvmmsg, socket, messages.data(), static_cast<unsigned>(messages.size()), flags, nullptr));
}

}  // namespace verbena::host
