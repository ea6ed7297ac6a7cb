#include "emulator/host/os/reception.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "emulator/host/os/shortage.h"

namespace verbena::host {
namespace {

Descriptor accept_one(int listener) {
  return Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}
Descriptor any_descriptor() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

}  // namespace

Reception::Reception() : spare_(any_descriptor()) {}

Reception::Caller Reception::next(int listener, const char* what) {
  Caller caller{.socket = accept_one(listener)};
  if (caller.socket) return caller;
  caller.is_last = !tell_if_no_descriptors(what);
  if (caller.is_last) return caller;
  spare_.reset();
  caller.is_last = !accept_one(listener);
  spare_ = any_descriptor();
  return caller;
}

}  // namespace verbena::host
