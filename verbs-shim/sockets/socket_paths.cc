#include "verbs-shim/sockets/socket_paths.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "emulator/host/config/variables.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/signals_blocked.h"
#include "emulator/host/os/unwanted_descriptors.h"
#include "verbs-shim/sockets/node_names.h"
#include "verbs-shim/sockets/socket_filter.h"
#include "verbs-shim/sysfs/numbered_entries.h"
#include "verbs-shim/sysfs/real.h"

namespace verbena::path {
namespace {

using host::NodeSet;
using host::SocketNews;

constexpr int kFirstNewsMs = 1000;
constexpr timespec kRetryInterval = {0, 200'000'000};  // where nobody serves the fabric
constexpr timespec kStartInterval = {0, 1'000'000};    // until another thread knows the state
constexpr int kStartIntervals = 2 * kFirstNewsMs;
constexpr std::size_t kStackBytes = 128 * 1024;
constexpr std::size_t kStackBytesMax = 8 * 1024 * 1024;
constexpr int kDescriptorsWithoutProc = 1024;
constexpr int kQuietDescriptors = 200;  // programs count theirs from the bottom

enum class Following : int { not_yet, starting, yes, never };
std::atomic<Following> following{Following::not_yet};

// The newest news, as single words: hooks read them without a lock, and read again when `version` has changed
// meanwhile.
std::atomic<std::uint32_t> deaf_to[NodeSet::kWords];
std::atomic<std::uint32_t> unheard_by[NodeSet::kWords];
std::atomic<std::uint32_t> timeout_ms{0};
std::atomic<std::uint32_t> crashes{0};
std::atomic<std::uint32_t> version{0};
std::atomic<bool> was_ever_cut{false};

// The channel. A program may close descriptors that it has not opened: the number counts only with its inode.
std::atomic<int> channel{-1};
std::atomic<ino_t> channel_inode{0};

bool option(int fd, int level, int name, int& value) {
  socklen_t bytes = sizeof value;
  return syscall(SYS_getsockopt, fd, level, name, &value, &bytes) == 0;
}
void set_option(int fd, int level, int name, const void* value, socklen_t bytes) {
  syscall(SYS_setsockopt, fd, level, name, value, bytes);
}

bool is_internet(int fd) {
  int domain = 0;
  return option(fd, SOL_SOCKET, SO_DOMAIN, domain) && (domain == AF_INET || domain == AF_INET6);
}

// -- One socket ------------------------------------------------------------------------------------------------------

/// Of a connection that is not made yet: the kernel of a machine that cannot be reached does not refuse it.
bool may_connect(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (syscall(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  return info.tcpi_state == TCP_CLOSE || info.tcpi_state == TCP_SYN_SENT;
}

void load(const std::atomic<std::uint32_t> (&from)[NodeSet::kWords], NodeSet& into) {
  for (std::size_t i = 0; i < NodeSet::kWords; ++i) into.words[i] |= from[i].load(std::memory_order_relaxed);
}

void set_timeout(int fd, bool is_cut) {
  const auto wanted = static_cast<int>(timeout_ms.load(std::memory_order_relaxed));
  int present = 0;
  if (wanted == 0 || !option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, present)) return;
  const int next = is_cut ? wanted : 0;  // the program's own stays
  if (present == (is_cut ? 0 : wanted)) set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &next, sizeof next);
}

/// Where the kernel lets only the privileged put a filter on TCP (seen with Linux 6.18): a connection can ask for a TTL
/// that no packet of the loopback interface has, and so hears nothing (IP_MINTTL). A listener still hears everybody;
/// but who may not connect hears no answer. `to`: whom it is about to connect to; 0: not known.
void set_least_ttl(int fd, bool is_wanted, const NodeSet& nodes, unsigned to) {
  constexpr int kNobodysTtl = 255;
  int present = 0;
  if (!option(fd, IPPROTO_IP, IP_MINTTL, present) || (present != 0 && present != kNobodysTtl)) return;
  bool is_cut = is_wanted && present == kNobodysTtl;  // it stays while the peer is not known
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  if (to == 0 && syscall(SYS_getpeername, fd, &name, &bytes) == 0) to = node_of(&name, bytes);
  if (to != 0) is_cut = is_wanted && nodes.has(to);
  const int next = is_cut ? kNobodysTtl : 0;
  if (next != present) set_option(fd, IPPROTO_IP, IP_MINTTL, &next, sizeof next);
}

void make_as_deaf_as_now(int fd, unsigned to) {
  int type = 0;
  int protocol = 0;
  if (!is_internet(fd) || !option(fd, SOL_SOCKET, SO_TYPE, type) || !option(fd, SOL_SOCKET, SO_PROTOCOL, protocol))
    return;
  const bool is_tcp = type == SOCK_STREAM && protocol == IPPROTO_TCP;
  if (!is_tcp && !(type == SOCK_DGRAM && protocol == IPPROTO_UDP)) return;
  NodeSet nodes;
  load(deaf_to, nodes);
  if (is_tcp && may_connect(fd)) load(unheard_by, nodes);
  errno = 0;
  const bool is_forbidden = !make_deaf(fd, nodes) && errno == EPERM;
  if (!is_tcp) return;
  set_least_ttl(fd, is_forbidden, nodes, to);
  set_timeout(fd, !nodes.empty());
  if (crashes.load(std::memory_order_relaxed) == 0) return;
  // A machine that loses power does not say goodbye, and does not send afterwards what waits in its sockets.
  const linger none{.l_onoff = 1, .l_linger = 0};
  set_option(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

// -- All of them -----------------------------------------------------------------------------------------------------

void renew_all() {
  if (!was_ever_cut.load()) return;
  NumberedEntries descriptors("/proc/self/fd");
  if (!descriptors.is_open())
    for (int fd = 0; fd < kDescriptorsWithoutProc; ++fd) renew_deafness(fd);
  for (long fd = descriptors.next(); fd >= 0; fd = descriptors.next()) renew_deafness(static_cast<int>(fd));
}

void store(const SocketNews& news) {
  if (!news.deaf_to.empty() || !news.unheard_by.empty() || news.crashes != 0) was_ever_cut.store(true);
  for (std::size_t i = 0; i < NodeSet::kWords; ++i) {
    deaf_to[i].store(news.deaf_to.words[i], std::memory_order_relaxed);
    unheard_by[i].store(news.unheard_by.words[i], std::memory_order_relaxed);
  }
  // The last one is kept for taking it away again.
  if (news.timeout_ms != 0) timeout_ms.store(news.timeout_ms, std::memory_order_relaxed);
  crashes.store(news.crashes, std::memory_order_relaxed);
  version.fetch_add(1);
}

// -- The channel -----------------------------------------------------------------------------------------------------

bool is_channel(int fd) {
  struct stat status;
  return fd >= 0 && real_fstat(fd, status) && S_ISSOCK(status.st_mode) && status.st_ino == channel_inode.load();
}

void close_channel() {
  const int fd = channel.exchange(-1);
  if (is_channel(fd)) syscall(SYS_close, fd);
}

bool serves_this_user(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && host::is_own_user(peer.uid);
}

/// By system calls: the hooks are not meant.
bool open_channel() {
  const auto at = host::socket_paths_address(host::variable(host::kFabricVariable, host::kFabricDefault));
  const host::SocketHello hello{own_node()};
  const auto fd = static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd < 0) return false;
  host::bar_descriptors(fd);
  if (hello.node == 0 || !at.fits() || syscall(SYS_connect, fd, at.address(), at.bytes()) != 0) {
    syscall(SYS_close, fd);
    return false;
  }
  if (!serves_this_user(fd)) {
    host::close_aside(fd);
    return false;
  }
  struct stat status;
  if (syscall(SYS_sendto, fd, &hello, sizeof hello, MSG_NOSIGNAL, nullptr, 0) != sizeof hello ||
      fcntl(fd, F_SETFL, 0) != 0 || !real_fstat(fd, status)) {
    syscall(SYS_close, fd);
    return false;
  }
  const int quiet = fcntl(fd, F_DUPFD_CLOEXEC, kQuietDescriptors);
  if (quiet >= 0) syscall(SYS_close, fd);
  channel_inode.store(status.st_ino);
  channel.store(quiet >= 0 ? quiet : fd);
  return true;
}

/// Does what the next news says. False: there is no more.
bool on_notice() {
  const int fd = channel.load();
  if (!is_channel(fd)) return false;
  SocketNews news;
  ssize_t got = 0;
  do {
    got = syscall(SYS_recvfrom, fd, &news, sizeof news, 0, nullptr, nullptr);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof news) return false;
  store(news);
  renew_all();
  const host::SocketNewsDone done{news.generation};
  return is_channel(fd) && syscall(SYS_sendto, fd, &done, sizeof done, MSG_NOSIGNAL, nullptr, 0) == sizeof done;
}

// -- The thread ------------------------------------------------------------------------------------------------------

void* follow(void*) {
  prctl(PR_SET_NAME, "verbena-sockets");
  for (bool may_be_back = true;;) {
    while (on_notice()) may_be_back = true;
    close_channel();
    // Without a pause only once: who serves the fabric now may not know this node.
    if (std::exchange(may_be_back, false) && open_channel()) continue;
    store({});  // nobody emulates the network any more
    renew_all();
    do {
      clock_nanosleep(CLOCK_MONOTONIC, 0, &kRetryInterval, nullptr);
    } while (!open_channel());
  }
  return nullptr;
}

bool start_thread() {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  bool started = false;
  {
    const host::SignalsBlocked blocked;
    // A program whose thread-local variables need more has a stack of the usual size.
    started = pthread_create(&thread, &attributes, &follow, nullptr) == 0 ||
              (pthread_attr_setstacksize(&attributes, kStackBytesMax) == 0 &&
               pthread_create(&thread, &attributes, &follow, nullptr) == 0);
  }
  pthread_attr_destroy(&attributes);
  return started;
}

/// A child has its parent's sockets and not its thread. It may read and write them and call nothing of ours.
void follow_in_child() {
  if (following.load() == Following::not_yet || following.load() == Following::never) return;
  const int before = errno;
  close_channel();
  following.store(start_thread() ? Following::yes : Following::never);
  errno = before;
}

void start_following() {
  static std::atomic<bool> is_registered{false};
  if (!is_registered.exchange(true)) pthread_atfork(nullptr, nullptr, &follow_in_child);
  if (open_channel()) {
    pollfd news{channel.load(), POLLIN, 0};
    timespec patience{kFirstNewsMs / 1000, 0};
    if (syscall(SYS_ppoll, &news, 1, &patience, nullptr, 0) == 1) on_notice();
  }
  following.store(start_thread() ? Following::yes : Following::never);
}

}  // namespace

void follow_network(int fd) {
  Following state = following.load(std::memory_order_acquire);
  if (state == Following::yes || state == Following::never || !link_kind().has_fabric_process) return;
  const int before = errno;
  if (own_node() == 0) following.store(Following::never);
  if (own_node() != 0 && is_internet(fd)) {
    if (state == Following::not_yet && following.compare_exchange_strong(state, Following::starting)) start_following();
    for (int i = 0; i < kStartIntervals && following.load() == Following::starting; ++i)
      clock_nanosleep(CLOCK_MONOTONIC, 0, &kStartInterval, nullptr);
  }
  errno = before;
}

void renew_deafness(int fd, unsigned to) {
  if (!was_ever_cut.load()) return;
  const int before = errno;
  std::uint32_t seen = 0;
  do {
    seen = version.load();
    make_as_deaf_as_now(fd, to);
  } while (seen != version.load());
  errno = before;
}

}  // namespace verbena::path
