// AbstractName: names that a process of this machine can hold and every other one can look for.
//
// Solely responsible for abstract unix addresses: every one of ours is made here. The kernel gives a name to one
// process at a time and takes it back when that has ended, however it did, so nothing is ever stale. Which names there
// are is said by those who use them: as mere names (service_directory.h, port_signal.h), through which nothing is
// received, or as addresses of sockets (node_directory.h, fabric_client.h, socket_paths.h, node_forwarder.h). libc
// only: the path shim includes it.
// Tested by: tests/host/os/reception_test.cc
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <utility>

namespace verbena::host {

/// A name that this process holds: movable, given back at the end.
class HeldName {
 public:
  HeldName() = default;
  explicit HeldName(int descriptor) : descriptor_(descriptor) {}
  HeldName(HeldName&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  HeldName& operator=(HeldName&& other) noexcept {
    if (this != &other) {
      release();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }
  ~HeldName() { release(); }
  bool held() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void release() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

 private:
  int descriptor_ = -1;
};

class AbstractName {
 public:
  /// What printf would write. A text that is too long names nothing: it is neither held nor found.
  [[gnu::format(printf, 2, 3)]] explicit AbstractName(const char* format, ...) {
    va_list values;
    va_start(values, format);
    // A leading zero octet makes the name abstract (unix(7)).
    const int length = std::vsnprintf(address_.sun_path + 1, kTextBytesMax + 1, format, values);
    va_end(values);
    address_.sun_family = AF_UNIX;
    if (length > 0 && static_cast<std::size_t>(length) <= kTextBytesMax)
      bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  }
  bool fits() const { return bytes_ != 0; }
  std::string_view text() const { return fits() ? std::string_view(address_.sun_path + 1, text_bytes()) : ""; }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const { return bytes_; }

  /// False, and errno, as bind(2) and connect(2); ENAMETOOLONG: !fits().
  bool bind(int socket) const { return has_address() && ::bind(socket, address(), bytes_) == 0; }
  bool connect(int socket) const { return has_address() && ::connect(socket, address(), bytes_) == 0; }

  /// Not held, and errno: it is taken, or there is no descriptor.
  HeldName hold() const {
    HeldName name(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!name.held()) return name;
    // Nothing is received through it, so nobody shall leave anything there: descriptors would make close() wait.
    ::shutdown(name.descriptor(), SHUT_RD);
    if (bind(name.descriptor())) return name;
    const int error = errno;
    name.release();
    errno = error;
    return name;
  }

  /// Whether somebody holds it: connecting a datagram socket tells, and nobody else of it. `probe` is one.
  bool is_held(int probe) const { return connect(probe); }
  bool is_held() const {
    const HeldName probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    return probe.held() && is_held(probe.descriptor());
  }

 private:
  bool has_address() const {
    if (!fits()) errno = ENAMETOOLONG;
    return fits();
  }
  std::size_t text_bytes() const { return bytes_ - offsetof(sockaddr_un, sun_path) - 1; }

  static constexpr std::size_t kTextBytesMax = sizeof(sockaddr_un::sun_path) - 2;
  sockaddr_un address_{};
  socklen_t bytes_ = 0;
};

}  // namespace verbena::host
