#include "emulator/host/os/reception.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "emulator/host/os/same_user.h"
#include "emulator/host/os/shortage.h"
#include "emulator/host/os/unwanted_descriptors.h"

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
  {
    Descriptor turned_away = accept_one(listener);
    caller.is_last = !turned_away;
    if (turned_away && !peer_is_same_user(turned_away.get())) close_aside(std::move(turned_away));
  }
  spare_ = any_descriptor();
  return caller;
}

Reception::Caller Reception::next_of_own_user(int listener, const char* what) {
  Caller caller = next(listener, what);
  if (caller.socket && !peer_is_same_user(caller.socket.get())) close_aside(std::move(caller.socket));
  return caller;
}

}  // namespace verbena::host
