#include "verbs-shim/rdma_cm/cm_device.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "emulator/host/os/abstract_name.h"
#include "emulator/host/os/call_state.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/signals_blocked.h"
#include "verbs-shim/verbs/call_faults.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim::rdma_cm {
namespace {

/// Which call of librdmacm gives the command; `any` if no fault names one.
fabric::Verb fault_name(std::uint32_t command) {
  using enum fabric::Verb;
  switch (command) {
    case RDMA_USER_CM_CMD_CREATE_ID:
      return rdma_create_id;
    case RDMA_USER_CM_CMD_DESTROY_ID:
      return rdma_destroy_id;
    case RDMA_USER_CM_CMD_BIND_IP:
    case RDMA_USER_CM_CMD_BIND:
      return rdma_bind_addr;
    case RDMA_USER_CM_CMD_RESOLVE_IP:
    case RDMA_USER_CM_CMD_RESOLVE_ADDR:
      return rdma_resolve_addr;
    case RDMA_USER_CM_CMD_RESOLVE_ROUTE:
      return rdma_resolve_route;
    case RDMA_USER_CM_CMD_CONNECT:
      return rdma_connect;
    case RDMA_USER_CM_CMD_LISTEN:
      return rdma_listen;
    case RDMA_USER_CM_CMD_ACCEPT:
      return rdma_accept;
    case RDMA_USER_CM_CMD_REJECT:
      return rdma_reject;
    case RDMA_USER_CM_CMD_DISCONNECT:
      return rdma_disconnect;
    case RDMA_USER_CM_CMD_GET_EVENT:
      return rdma_get_cm_event;
    case RDMA_USER_CM_CMD_SET_OPTION:
      return rdma_set_option;
    case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
    case RDMA_USER_CM_CMD_JOIN_MCAST:
      return rdma_join_multicast;
    case RDMA_USER_CM_CMD_LEAVE_MCAST:
      return rdma_leave_multicast;
    case RDMA_USER_CM_CMD_MIGRATE_ID:
      return rdma_migrate_id;
    default:
      return any;
  }
}

}  // namespace

CmDevice& CmDevice::instance() {
  static auto* const device = new CmDevice;
  return *device;
}

// -- Channels --------------------------------------------------------------------------------------------------------

int CmDevice::open_channel(int flags) {
  inbox_.lock();
  int descriptor = -1;
  if (!follows_forks_.exchange(true)) {
    // Our lock is held around the calls of Process that take its own.
    Process::install_fork_handlers();
    pthread_atfork(before_fork, [] { after_fork(false); }, [] { after_fork(true); });
  }
  commands_.reap();
  if (all_devices().empty()) {
    errno = ENODEV;
  } else if (auto channel = Channel::open(flags, descriptor)) {
    channels_.add(std::move(channel));
  }
  const int error = errno;
  inbox_.unlock();
  errno = error;
  return descriptor;
}

bool CmDevice::is_channel(ino_t inode) {
  return !EventInbox::is_held_here() && channels_.find(inode) != nullptr;
}

void CmDevice::before_fork() {
  if (host::is_state_lost()) return;
  host::call_state::enter();
  instance().inbox_.before_fork();
  instance().channels_.before_fork();
}

void CmDevice::after_fork(bool in_child) {
  if (host::is_state_lost()) return;
  CmDevice& device = instance();
  device.channels_.after_fork(in_child);
  if (in_child) device.endpoints_.clear();
  device.inbox_.after_fork(in_child);
  host::call_state::leave();
}

/// What a kernel does for a process that ends: the peers are told.
void CmDevice::at_exit() {
  if (!Process::is_whole_at_exit()) return;
  const host::InsideCall inside;
  CmDevice& device = instance();
  // No other thread closes it, but for one that opens it anew. Its thread ends the IDs of all devices.
  host::Engine* const nic = device.endpoints_.devices().any_engine();
  const auto leave = [](void* on) { static_cast<CmDevice*>(on)->disconnect_all(); };
  if (nic != nullptr && !nic->run_at_exit(leave, &device)) host::lose_state();
}

void CmDevice::disconnect_all() {
  const std::scoped_lock lock(inbox_);
  endpoints_.end_all();
}

// -- Devices that come back ------------------------------------------------------------------------------------------

void CmDevice::connection_event(const Device& from, std::uint32_t port, const cm::Event& event) {
  const bool is_removal = event.type == cm::EventType::device_removed;
  inbox_.put(from, port, event);
  // This may be a thread of the engine that is to go. A program that waits for requests gives no command for long.
  if (!is_removal || !follows_forks_) return;
  const host::SignalsBlocked blocked;
  try {
    std::thread([] { instance().device_is_free(); }).detach();
  } catch (const std::system_error&) {
    // The next command does it.
  }
}

void CmDevice::device_is_free() {
  // Whoever holds the lock has closed the device itself, and looks; without a channel nobody listens.
  if (EventInbox::is_held_here() || !follows_forks_) return;
  const host::InsideCall inside;
  if (host::is_state_lost()) return;
  const host::CancellationShield shield;
  const std::scoped_lock lock(inbox_);
  hear_again();
}

void CmDevice::hear_again() {
  endpoints_.devices().let_go_of_removed();
  inbox_.empty();  // what the removed device told is not of the one that is there again
  endpoints_.hear_again();
}

// -- Commands --------------------------------------------------------------------------------------------------------

ssize_t CmDevice::command(int descriptor, ino_t inode, const void* data, std::size_t bytes) {
  rdma_ucm_cmd_hdr header{};
  if (bytes < sizeof header) return errno = EINVAL, -1;
  std::memcpy(&header, data, sizeof header);
  if (!Commands::knows(header.cmd) || header.in + sizeof header > bytes) return errno = EINVAL, -1;
  const auto* const begin = static_cast<const std::byte*>(data) + sizeof header;
  Call call{descriptor, nullptr, {begin, header.in}, header.out};
  int error = 0;
  if (CallFaults* const plan = CallFaults::plan(); plan != nullptr) [[unlikely]]
    if (const int planned = plan->before({.verb = fault_name(header.cmd)}); planned != 0) {
      errno = planned;
      return -1;
    }
  // Who waits in a file of the kernel's has it open until then, whoever closes its descriptor meanwhile (rping does).
  const bool waits = header.cmd == RDMA_USER_CM_CMD_GET_EVENT;
  const host::HeldName own(waits ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1);
  const std::shared_ptr<Channel> waited = waits ? channels_.find(inode) : nullptr;
  std::shared_ptr<Channel> emptied;
  for (;;) {
    // Only GET_EVENT waits, and does so without the lock.
    if (waited != nullptr && !waited->wait(own.held() ? own.descriptor() : descriptor)) return -1;
    const host::CancellationShield shield;
    inbox_.lock();
    hear_again();
    call.channel = channels_.find(inode);
    error = call.channel != nullptr ? commands_.run(header.cmd, call) : EIO;
    if (header.cmd == RDMA_USER_CM_CMD_DESTROY_ID && call.channel != nullptr && call.channel->ids == 0)
      emptied = call.channel;
    call.channel = nullptr;
    // Before Process says the engines' last word.
    if (!tells_at_exit_ && endpoints_.devices().any_engine() != nullptr) tells_at_exit_ = std::atexit(at_exit) == 0;
    inbox_.unlock();
    if (error != EAGAIN) break;
  }
  if (emptied != nullptr) emptied->await_return();
  if (error != 0) return errno = error, -1;
  return static_cast<ssize_t>(bytes);
}

}  // namespace verbena::shim::rdma_cm
