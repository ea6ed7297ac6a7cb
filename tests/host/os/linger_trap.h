// LingerTrap: another process that passes us a descriptor whose last close() waits, as a peer does that means ill.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <functional>
#include <span>

#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/descriptor_passing.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/unwanted_descriptors.h"

namespace verbena::host::test {

/// A TCP socket with octets that its peer does not take. Whoever closes it last waits for so long.
class LingeringSocket {
 public:
  explicit LingeringSocket(int seconds) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 2048;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    const linger lingers{.l_onoff = 1, .l_linger = seconds};
    socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    is_set = ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0 &&
             ::bind(listener_.get(), address, bytes) == 0 && ::listen(listener_.get(), 1) == 0 &&
             ::getsockname(listener_.get(), address, &bytes) == 0 && ::connect(socket.get(), address, bytes) == 0 &&
             ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &lingers, sizeof lingers) == 0;
    static const std::array<char, 65536> octets{};
    while (is_set && ::send(socket.get(), octets.data(), octets.size(), MSG_DONTWAIT) > 0) {
    }
  }
  Descriptor socket;
  bool is_set = false;

 private:
  Descriptor listener_;  // nobody accepts
};

inline constexpr int kTrapSeconds = 30;

/// A process with which `pass` is called, and a lingering socket, of which it passes copies to this process: by
/// address, for it has none of our descriptors. When the constructor returns only the copies are left.
class LingerTrap {
 public:
  explicit LingerTrap(const std::function<bool(int lingering)>& pass, int seconds = kTrapSeconds) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const Descriptor reading(ends[0]);
    Descriptor writing(ends[1]);
    process_ = ::fork();
    BOOST_REQUIRE(process_ >= 0);
    if (process_ == 0) live(writing.get(), pass, seconds);
    writing.reset();
    char told = 0;
    BOOST_REQUIRE(::read(reading.get(), &told, 1) == 1);
    BOOST_REQUIRE(told != kNotSetUp);
    is_passed = told == kPassed;
  }
  ~LingerTrap() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  LingerTrap(const LingerTrap&) = delete;
  LingerTrap& operator=(const LingerTrap&) = delete;

  bool is_passed = false;

 private:
  static constexpr char kPassed = 'p', kRefused = 'r', kNotSetUp = 'n';

  [[noreturn]] static void live(int writing, const std::function<bool(int)>& pass, int seconds) {
    constexpr int kKept = STDERR_FILENO + 1;
    ::dup2(writing, kKept);
    for (int descriptor = kKept + 1; descriptor < 1024; ++descriptor) ::close(descriptor);
    LingeringSocket trap(seconds);
    const char told = !trap.is_set ? kNotSetUp : pass(trap.socket.get()) ? kPassed : kRefused;
    const linger none{};
    if (told == kRefused) ::setsockopt(trap.socket.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    trap.socket.reset();
    if (::write(kKept, &told, 1) == 1) ::pause();
    ::_exit(1);
  }
  pid_t process_ = -1;
};

/// One message to a datagram socket, or to whoever listens there, with copies of a descriptor.
struct Address {
  Address() = default;
  /// Of a socket of ours.
  explicit Address(int socket) { ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &bytes); }
  /// The end stays open.
  bool pass(int kind, std::span<const std::byte> message, int descriptor, std::size_t copies = 1) const {
    Descriptor socket(::socket(AF_UNIX, kind, 0));
    const std::array<int, kDescriptorsPassedMax> all{descriptor, descriptor, descriptor, descriptor};
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), bytes) == 0 &&
           send_with_descriptors(socket.release(), message, std::span(all).first(copies));
  }
  sockaddr_un name{};
  socklen_t bytes = sizeof name;
};

/// Whether it returns long before a descriptor of a trap has lingered.
inline bool is_done_at_once(const std::function<void()>& what) {
  const auto begin = std::chrono::steady_clock::now();
  what();
  return std::chrono::steady_clock::now() - begin < std::chrono::seconds(kTrapSeconds / 2);
}

/// Bars nothing, as kernels before 6.16, for as long as it stands.
class OldKernel {
 public:
  explicit OldKernel(bool is_old = true) { host::detail::kernel_bars_descriptors = !is_old; }
  ~OldKernel() { host::detail::kernel_bars_descriptors = true; }
};

/// Everybody else is another user, for as long as it stands.
class AnotherUser {
 public:
  AnotherUser() { settle_user(::geteuid() + 1); }
  ~AnotherUser() { settle_user(::geteuid()); }
};

}  // namespace verbena::host::test
