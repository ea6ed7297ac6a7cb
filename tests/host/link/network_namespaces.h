// Two network namespaces with a veth pair between them, for tests of links that need a real interface.
//
// Needs CAP_NET_ADMIN: root, or a kernel that gives it inside a user namespace. Uses ip(8) of iproute2. The namespaces
// vanish with the process; nothing is named.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace verbena::host::test {

/// A has va with 10.47.0.1/24 and fd47::1/64, B has vb with 10.47.0.2/24 and fd47::2/64.
class NetworkNamespaces {
 public:
  static NetworkNamespaces& instance() {
    static NetworkNamespaces namespaces;
    return namespaces;
  }
  ~NetworkNamespaces() {
    if (holder_ > 0) {
      ::kill(holder_, SIGKILL);
      ::waitpid(holder_, nullptr, 0);
    }
  }
  /// Empty: they are there.
  const std::string& problem() const { return problem_; }
  /// May we go on without them? Only where the user has no right to make any.
  bool may_be_missing() const { return no_permission_; }

  void enter_a() { enter(a_); }
  void enter_b() { enter(b_); }

 private:
  NetworkNamespaces() { set_up(); }

  void set_up() {
    const auto uid = ::getuid();
    const auto gid = ::getgid();
    if (uid != 0) {
      if (::unshare(CLONE_NEWUSER) != 0) return fail("cannot make a user namespace");
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
      std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
    }
    // A process stands in A, so that ip(8) can name it.
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return fail("cannot make a pipe");
    holder_ = ::fork();
    if (holder_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char result = ::unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      [[maybe_unused]] const ssize_t told = ::write(ready[1], &result, 1);
      for (;;) ::pause();
    }
    char result = 'n';
    const bool answered = ::read(ready[0], &result, 1) == 1;
    ::close(ready[0]);
    ::close(ready[1]);
    if (!answered || result != 'y' || ::unshare(CLONE_NEWNET) != 0) return fail("cannot make a network namespace");
    const std::string holder = std::to_string(holder_);
    a_ = ::open(("/proc/" + holder + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
    b_ = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    run("ip link set lo up");
    run("ip link add vb mtu 9000 type veth peer name va mtu 9000 netns " + holder);
    run("ip addr add 10.47.0.2/24 dev vb");
    run("ip addr add fd47::2/64 dev vb nodad");
    run("ip link set vb up");
    enter_a();
    run("ip link set lo up");
    run("ip addr add 10.47.0.1/24 dev va");
    run("ip addr add fd47::1/64 dev va nodad");
    run("ip link set va up");
    if (problem_.empty() && !(carries(a_, b_, kAddressB) && carries(b_, a_, kAddressA)))
      problem_ = "the veth pair carries nothing";
  }

  /// A new interface drops what it is given until the kernel has attached its queue.
  bool carries(int from, int to, std::uint32_t address) {
    enter(to);
    const int receiver = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    enter(from);
    const int sender = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(9);
    at.sin_addr.s_addr = htonl(address);
    bool arrived = ::bind(receiver, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    if (arrived) {
      arrived = false;
      for (int attempt = 0; attempt < 500 && !arrived; ++attempt) {
        ::sendto(sender, "", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&at), sizeof at);
        pollfd wait{receiver, POLLIN, 0};
        arrived = ::poll(&wait, 1, 20) == 1;
      }
    }
    ::close(receiver);
    ::close(sender);
    return arrived;
  }

  void enter(int descriptor) {
    if (::setns(descriptor, CLONE_NEWNET) != 0) std::abort();
  }
  void run(const std::string& command) {
    if (problem_.empty() && std::system(command.c_str()) != 0)
      problem_ = "'" + command + "' failed: this test needs CAP_NET_ADMIN and iproute2";
  }
  void fail(const char* what) {
    no_permission_ = errno == EPERM && ::getuid() != 0;
    problem_ = std::string(what) + " (" + std::strerror(errno) + "): this test needs CAP_NET_ADMIN";
  }

  static constexpr std::uint32_t kAddressA = 0x0a2f0001;
  static constexpr std::uint32_t kAddressB = 0x0a2f0002;

  pid_t holder_ = -1;
  int a_ = -1;
  int b_ = -1;
  std::string problem_;
  bool no_permission_ = false;
};

}  // namespace verbena::host::test
