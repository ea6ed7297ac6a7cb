#include "emulator/host/os/unwanted_descriptors.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/signals_blocked.h"

namespace verbena::host {
namespace {

constexpr int kPassRights = 83;            // SO_PASSRIGHTS, asm-generic/socket.h
constexpr unsigned kDescriptorsMax = 253;  // with a message: SCM_MAX_FD, include/net/scm.h
constexpr unsigned kLastDescriptor = ~0U;  // close_range(2)

/// What the thread is for, and how the two wait for each other.
struct Errand {
  int socket = -1;
  bool is_message = false;
  bool is_apart = false;  // the thread has its own table
  sem_t is_begun{};       // the caller may let go
  sem_t is_left{};        // it has done so
};

void wait(sem_t& for_it) {
  while (sem_wait(&for_it) != 0 && errno == EINTR) {
  }
}

void close_all_but(unsigned kept) {
  if (kept > 0) syscall(__NR_close_range, 0U, kept - 1, 0U);
  syscall(__NR_close_range, kept + 1, kLastDescriptor, 0U);
}

/// They stay open, in whichever table this thread has.
size_t receive_all(int socket, int (&descriptors)[kDescriptorsMax]) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors) + CMSG_SPACE(sizeof(ucred))];
  msghdr header{};
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  if (syscall(SYS_recvmsg, socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return 0;
  size_t count = 0;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const size_t bytes = item->cmsg_len - CMSG_LEN(0);
    memcpy(descriptors, CMSG_DATA(item), bytes);
    count = bytes / sizeof(int);
  }
  return count;
}

/// In both tables or in one: what is closed here may wait, what this thread's end closes does not.
void* let_go(void* given) {
  auto* const errand = static_cast<Errand*>(given);
  errand->is_apart = syscall(SYS_unshare, CLONE_FILES) == 0;
  const bool is_apart = errand->is_apart;
  const bool is_message = errand->is_message;
  const int socket = errand->socket;
  // The program's own are not to stay open with what may take time.
  if (is_apart) close_all_but(static_cast<unsigned>(socket));
  int descriptors[kDescriptorsMax];
  const size_t count = is_message ? receive_all(socket, descriptors) : 0;
  sem_post(&errand->is_begun);
  wait(errand->is_left);
  free(errand);
  if (is_apart) return nullptr;
  for (size_t i = 0; i < count; ++i) ::close(descriptors[i]);
  if (!is_message) ::close(socket);
  return nullptr;
}

/// Signals are not for it: the program's handlers would see a table that is not theirs.
bool start(Errand* errand) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  bool is_started = false;
  {
    const SignalsBlocked blocked;
    is_started = pthread_create(&thread, &attributes, &let_go, errand) == 0;
  }
  pthread_attr_destroy(&attributes);
  return is_started;
}

/// False: there is no thread to be had, and nothing has been done.
bool run(int socket, bool is_message) {
  const CancellationShield shield;
  auto* const errand = static_cast<Errand*>(calloc(1, sizeof(Errand)));
  if (errand == nullptr) return false;
  errand->socket = socket;
  errand->is_message = is_message;
  sem_init(&errand->is_begun, 0, 0);
  sem_init(&errand->is_left, 0, 0);
  if (!start(errand)) {
    free(errand);
    return false;
  }
  wait(errand->is_begun);
  // The thread still has it: this is not the last.
  if (errand->is_apart && !is_message) ::close(socket);
  sem_post(&errand->is_left);
  return true;
}

}  // namespace

bool bar_descriptors(int socket) {
  const int kept = errno;
  const int none = 0;
  const bool is_barred = detail::kernel_bars_descriptors.load(std::memory_order_relaxed) &&
                         syscall(SYS_setsockopt, socket, SOL_SOCKET, kPassRights, &none, sizeof none) == 0;
  errno = kept;
  return is_barred;
}

bool brings_descriptors(int socket, Credentials credentials) {
  // The kernel puts credentials first. Without room for a descriptor it says that there was one, and takes none.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr header{};
  if (credentials == Credentials::with_each_message) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  const int kept = errno;
  const long got = syscall(SYS_recvmsg, socket, &header, MSG_PEEK | MSG_DONTWAIT);
  errno = kept;
  return got >= 0 && (header.msg_flags & MSG_CTRUNC) != 0;
}

void drop_message_aside(int socket) {
  const int kept = errno;
  char octet = 0;
  if (!run(socket, true)) syscall(SYS_recvfrom, socket, &octet, sizeof octet, MSG_DONTWAIT, nullptr, nullptr);
  errno = kept;
}

void close_aside(int socket) {
  if (socket < 0) return;
  const CancellationShield shield;
  const int kept = errno;
  if (!run(socket, false)) ::close(socket);
  errno = kept;
}

void close_listener(int listener) {
  if (listener < 0) return;
  const CancellationShield shield;
  pollfd callers{listener, POLLIN, 0};
  if (bar_descriptors(listener) && ::poll(&callers, 1, 0) == 0)
    ::close(listener);
  else
    close_aside(listener);
}

}  // namespace verbena::host
