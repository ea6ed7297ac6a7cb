// Offers the device to the path shim, where there is one, and hands it the connection manager's events.
// Tested by: tests/shim/rdma_cm/rdma_cm_test.cc
#include <dlfcn.h>

#include "verbs-shim/rdma_cm/cm_device.h"
#include "verbs-shim/sysfs/rdma_cm.h"
#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/connection_device.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

using rdma_cm::CmDevice;

// The boundary of these calls: what boundary.h is for verbs. A write() of whoever does not mean us comes here as well.

int open(int flags) {
  const host::InsideCall inside;
  if (host::is_state_lost()) return errno = kNoDevice, -1;
  return CmDevice::instance().open_channel(flags);
}

/// Nobody can tell any more when the state is lost: what looks like a command is refused then.
bool is_channel(ino_t inode) {
  const host::InsideCall inside;
  return host::is_state_lost() || CmDevice::instance().is_channel(inode);
}

ssize_t command(int fd, ino_t inode, const void* data, std::size_t bytes) {
  const host::InsideCall inside;
  if (host::is_state_lost()) return errno = kNoDevice, -1;
  return CmDevice::instance().command(fd, inode, data, bytes);
}

void leave() {
  Process::instance().leave();
}

}  // namespace

void offer_connection_device() {
  static constexpr path::DeviceFunctions kFunctions{
      .open = open, .is_channel = is_channel, .command = command, .leave = leave};
  void* const found = dlsym(RTLD_DEFAULT, kOfferDeviceName);
  if (found != nullptr) reinterpret_cast<decltype(verbena_path_offer_device)*>(found)(&kFunctions);
}

void deliver(const Device& from, std::uint32_t port, const cm::Event& event) {
  CmDevice::instance().connection_event(from, port, event);
}

void removed_device_is_free() {
  CmDevice::instance().device_is_free();
}

}  // namespace verbena::shim
