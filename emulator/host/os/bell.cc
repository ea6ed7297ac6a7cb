#include "emulator/host/os/bell.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "emulator/host/os/unwanted_descriptors.h"

namespace verbena::host {
namespace {

constexpr int kKind = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
constexpr std::size_t kRingsAtOnce = 16;  // more than wait in a socket, unless its system has other limits

bool is(int descriptor, int option, int wanted) {
  int value = -1;
  socklen_t bytes = sizeof value;
  return ::getsockopt(descriptor, SOL_SOCKET, option, &value, &bytes) == 0 && value == wanted;
}

}  // namespace

bool Bell::open() {
  socket_ = Descriptor(::socket(AF_UNIX, kKind, 0));
  if (!socket_) return false;
  is_barred_ = bar_descriptors(socket_.get());
  name_.sun_family = AF_UNIX;
  // Of this length it asks for a name of the kernel's choice (unix(7), autobind).
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&name_), sizeof name_.sun_family) != 0) return false;
  name_bytes_ = sizeof name_;
  return ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name_), &name_bytes_) == 0;
}

Bell::~Bell() {
  if (!is_barred_) close_aside(std::move(socket_));
}

/// Each ring is looked at before it is taken, by one thread: another would take what has been looked at.
void Bell::acknowledge_warily() {
  if (is_emptied_.exchange(true, std::memory_order_acquire)) return;
  long got = 0;
  for (std::size_t i = 0; got >= 0 && i < kRingsAtOnce; ++i) {
    if (brings_descriptors(socket_.get()))
      drop_message_aside(socket_.get());
    else
      got = ::syscall(SYS_recvfrom, socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
  }
  is_emptied_.store(false, std::memory_order_release);
}

void Bell::acknowledge() {
  std::array<mmsghdr, kRingsAtOnce> rings{};
  const int kept = errno;
  if (is_barred_)
    ::syscall(SYS_recvmmsg, socket_.get(), rings.data(), rings.size(), MSG_DONTWAIT, nullptr);
  else
    acknowledge_warily();
  errno = kept;
}

Descriptor Bell::make_ringer() const {
  Descriptor ringer(::socket(AF_UNIX, kKind, 0));
  if (ringer && ::connect(ringer.get(), reinterpret_cast<const sockaddr*>(&name_), name_bytes_) != 0) ringer.reset();
  return ringer;
}

bool Bell::is_ringer(int descriptor) {
  return is(descriptor, SO_DOMAIN, AF_UNIX) && is(descriptor, SO_TYPE, SOCK_DGRAM);
}

void Bell::ring(int ringer) {
  const int kept = errno;
  ::syscall(SYS_sendto, ringer, nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
  errno = kept;
}

}  // namespace verbena::host
