#include "verbs-shim/rdma_cm/cm_device.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "emulator/host/os/call_state.h"
#include "emulator/host/os/cancellation_shield.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"
#include "wire/assert.h"

namespace verbena::shim::rdma_cm {
namespace {

/// What tidies up behind a device that has gone.
bool does_without_device(std::uint32_t command) {
  return command == RDMA_USER_CM_CMD_GET_EVENT || command == RDMA_USER_CM_CMD_DESTROY_ID ||
         command == RDMA_USER_CM_CMD_CREATE_ID || command == RDMA_USER_CM_CMD_MIGRATE_ID;
}

// Set while this thread holds the lock: it finds the inbox itself before it lets go.
thread_local bool holds_lock = false;

}  // namespace

// By RDMA_USER_CM_CMD_*. The kernel's own table has holes as well (GET_OPTION).
const CmDevice::Handler CmDevice::kHandlers[] = {
    &CmDevice::create_id,
    &CmDevice::destroy_id,
    &CmDevice::bind_ip,
    &CmDevice::resolve_ip,
    &CmDevice::resolve_route,
    &CmDevice::query_route,
    &CmDevice::connect,
    &CmDevice::listen,
    &CmDevice::accept,
    &CmDevice::reject,
    &CmDevice::disconnect,
    &CmDevice::init_qp_attributes,
    &CmDevice::get_event,
    &CmDevice::not_offered,
    &CmDevice::set_option,
    &CmDevice::notify,
    &CmDevice::join_ip_multicast,
    &CmDevice::leave_multicast,
    &CmDevice::migrate_id,
    &CmDevice::query,
    &CmDevice::bind,
    &CmDevice::resolve_address,
    &CmDevice::join_multicast,
};

CmDevice& CmDevice::instance() {
  static auto* const device = new CmDevice;
  return *device;
}

// -- The lock and the inbox ------------------------------------------------------------------------------------------

void CmDevice::lock() {
  mutex_.lock();
  holds_lock = true;
}

void CmDevice::unlock() {
  // What arrives between the last look and the unlocking finds the lock held, and is looked for once more.
  for (;;) {
    empty_inbox();
    holds_lock = false;
    mutex_.unlock();
    {
      const std::scoped_lock guard(inbox_mutex_);
      if (inbox_.empty()) return;
    }
    if (!mutex_.try_lock()) return;
    holds_lock = true;
  }
}

void CmDevice::empty_inbox() {
  for (;;) {
    std::deque<cm::Event> events;
    {
      const std::scoped_lock guard(inbox_mutex_);
      events.swap(inbox_);
    }
    if (events.empty()) return;
    for (const cm::Event& event : events) take_event(event);
  }
}

void CmDevice::connection_event(const cm::Event& event) {
  {
    const std::scoped_lock guard(inbox_mutex_);
    inbox_.push_back(event);
  }
  if (holds_lock || !mutex_.try_lock()) return;
  holds_lock = true;
  unlock();
}

// -- Channels --------------------------------------------------------------------------------------------------------

host::Engine* CmDevice::engine() const {
  return context_ != nullptr ? engine_of(context_) : nullptr;
}

/// Opens the device again where it has become another one. Not from the engine's threads: it may end there.
bool CmDevice::has_device() {
  if (engine() != nullptr && !engine()->is_removed()) return true;
  // The one of before a fork() is the parent's: it is left as it lies. A removed one is back when nobody holds it.
  if (engine() != nullptr) close_device(context_);
  ibv_device** const list = get_device_list(nullptr);
  context_ = list != nullptr && list[0] != nullptr ? open_device(list[0]) : nullptr;
  free_device_list(list);
  return engine() != nullptr;
}

int CmDevice::open_channel(int flags) {
  lock();
  int descriptor = -1;
  // A device that has been here once may have been removed since: channels can be opened all the same.
  const bool may_open = prepared_ || has_device();
  if (may_open && !std::exchange(prepared_, true)) {
    // After the engine has installed its own: handlers run last in, first out before a fork, and our lock is held
    // around the calls that take the engine's.
    pthread_atfork(before_fork, [] { after_fork(false); }, [] { after_fork(true); });
    std::atexit(at_exit);
  }
  reap();
  if (!may_open) {
    errno = ENODEV;
  } else if (auto channel = Channel::open(flags, descriptor)) {
    const std::scoped_lock guard(channels_mutex_);
    channels_[channel->inode()] = std::move(channel);
  }
  const int error = errno;
  unlock();
  errno = error;
  return descriptor;
}

bool CmDevice::is_channel(ino_t inode) {
  return !holds_lock && channel_of(inode) != nullptr;
}

std::shared_ptr<Channel> CmDevice::channel_of(ino_t inode) {
  const std::scoped_lock guard(channels_mutex_);
  const auto found = channels_.find(inode);
  return found != channels_.end() ? found->second : nullptr;
}

/// The channels that nobody holds any more end as the kernel's file would: with all that is theirs.
void CmDevice::reap() {
  std::vector<std::shared_ptr<Channel>> over;
  for (const auto& [inode, channel] : channels_)
    if (channel->is_over()) over.push_back(channel);
  for (const auto& channel : over) close_channel(channel);
}

void CmDevice::close_channel(const std::shared_ptr<Channel>& channel) {
  for (auto& id : ids_)
    if (id && id->channel == channel) drop_id(*id);
  const std::scoped_lock guard(channels_mutex_);
  channels_.erase(channel->inode());
}

void CmDevice::before_fork() {
  if (host::is_state_lost()) return;
  host::call_state::enter();
  instance().lock();
  instance().inbox_mutex_.lock();
  instance().channels_mutex_.lock();
}

void CmDevice::after_fork(bool in_child) {
  if (host::is_state_lost()) return;
  CmDevice& device = instance();
  if (in_child) {
    for (auto& [inode, channel] : device.channels_) channel->abandon();
    device.channels_.clear();
    device.ids_.clear();
    device.handles_.clear();
    device.claims_.clear();
    device.inbox_.clear();
  }
  device.channels_mutex_.unlock();
  device.inbox_mutex_.unlock();
  holds_lock = false;
  device.mutex_.unlock();
  host::call_state::leave();
}

/// What a kernel does for a process that ends: the peers are told.
void CmDevice::at_exit() {
  if (!Process::is_whole_at_exit()) return;
  const host::InsideCall inside;
  CmDevice& device = instance();
  host::Engine* const nic = device.engine();  // no other thread closes it, but for one that opens it anew
  const auto leave = [](void* on) { static_cast<CmDevice*>(on)->disconnect_all(); };
  if (nic != nullptr && !nic->run_at_exit(leave, &device)) host::lose_state();
}

void CmDevice::disconnect_all() {
  lock();
  // The channels stay: a thread of the application may sleep in one of them to the very end.
  for (const auto& id : ids_)
    if (id) drop_id(*id);
  if (engine() != nullptr) engine()->disconnect_all();
  unlock();
}

// -- Commands --------------------------------------------------------------------------------------------------------

ssize_t CmDevice::command(int descriptor, ino_t inode, const void* data, std::size_t bytes) {
  rdma_ucm_cmd_hdr header{};
  if (bytes < sizeof header) return errno = EINVAL, -1;
  std::memcpy(&header, data, sizeof header);
  if (header.cmd >= std::size(kHandlers) || header.in + sizeof header > bytes) return errno = EINVAL, -1;
  const auto* const begin = static_cast<const std::byte*>(data) + sizeof header;
  Call call{descriptor, nullptr, {begin, header.in}, header.out};
  int error = 0;
  // Who waits in a file of the kernel's has it open until then, whoever closes its descriptor meanwhile (rping does).
  const bool waits = header.cmd == RDMA_USER_CM_CMD_GET_EVENT;
  const host::HeldName own(waits ? ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0) : -1);
  const std::shared_ptr<Channel> waited = waits ? channel_of(inode) : nullptr;
  std::shared_ptr<Channel> emptied;
  for (;;) {
    // Only GET_EVENT waits, and does so without the lock.
    if (waited != nullptr && !waited->wait(own.held() ? own.descriptor() : descriptor)) return -1;
    const host::CancellationShield shield;
    lock();
    call.channel = channel_of(inode);
    if (call.channel == nullptr)
      error = EIO;
    else
      error = does_without_device(header.cmd) || has_device() ? (this->*kHandlers[header.cmd])(call) : ENODEV;
    if (header.cmd == RDMA_USER_CM_CMD_DESTROY_ID && call.channel != nullptr && call.channel->ids == 0)
      emptied = call.channel;
    call.channel = nullptr;
    unlock();
    if (error != EAGAIN) break;
  }
  if (emptied != nullptr) emptied->await_return();
  if (error != 0) return errno = error, -1;
  return static_cast<ssize_t>(bytes);
}

int CmDevice::respond(const Call& call, std::uint64_t pointer, const void* data, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(pointer), data, std::min(bytes, call.out_bytes));
  return 0;
}

int CmDevice::not_offered(const Call&) {
  return ENOSYS;
}

Id* CmDevice::of_channel(const Call& call, std::uint32_t handle) {
  Id* const id = handle < ids_.size() ? ids_[handle].get() : nullptr;
  return id != nullptr && id->channel == call.channel ? id : nullptr;
}

Result<Id*, int> CmDevice::find(const Call& call, std::uint32_t handle) {
  Id* const id = of_channel(call, handle);
  if (id == nullptr) return Failure{ENOENT};
  if (id->state == IdState::device_removed) return Failure{ENXIO};
  return id;
}

Id* CmDevice::by_serial(std::uint64_t serial) {
  const auto found = handles_.find(serial);
  return found == handles_.end() ? nullptr : ids_[found->second].get();
}

Id* CmDevice::make_id(std::shared_ptr<Channel> channel, std::uint16_t port_space, std::uint8_t qp_type) {
  auto place = std::find(ids_.begin(), ids_.end(), nullptr);
  if (place == ids_.end()) {
    if (ids_.size() >= kIdsMax) return nullptr;
    ids_.emplace_back();
    place = ids_.end() - 1;
  }
  *place = std::make_unique<Id>();
  Id& id = **place;
  id.handle = static_cast<std::uint32_t>(place - ids_.begin());
  id.serial = ++last_serial_;
  id.channel = std::move(channel);
  ++id.channel->ids;
  id.starting_psn = wire::Psn(static_cast<std::uint32_t>(psns_())).value();
  id.port_space = port_space;
  id.qp_type = qp_type;
  handles_[id.serial] = id.handle;
  return &id;
}

/// The ID ends; its connection ends as the manager sees fit.
void CmDevice::drop_id(Id& id) {
  if (engine() != nullptr) {
    engine()->run_connections([&](cm::ConnectionManager& manager, Time now) {
      if (id.state == IdState::listen) manager.listeners().remove(service_id(id, id.source.port), id.serial);
      if (id.connection != 0) manager.destroy(now, id.connection);
      return true;
    });
  }
  if (Id* const listener = by_serial(id.listener)) ++listener->backlog;
  const std::size_t erased = handles_.erase(id.serial);
  VERBENA_ASSERT(erased == 1 && id.channel->ids != 0 && ids_[id.handle].get() == &id);
  --id.channel->ids;
  if (id.owns_port()) release_port(id);
  ids_[id.handle] = nullptr;
}

int CmDevice::create_id(const Call& call) {
  const auto command = arguments<rdma_ucm_create_id>(call.in);
  rdma_ucm_create_id_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  switch (command.ps) {
    case RDMA_PS_TCP:
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
    case RDMA_PS_IB:
      break;
    default:
      return EINVAL;
  }
  const bool is_datagram = command.ps == RDMA_PS_UDP || command.ps == RDMA_PS_IPOIB;
  std::uint8_t qp_type = command.qp_type;
  if (is_datagram) qp_type = IBV_QPT_UD;
  if (command.ps == RDMA_PS_TCP) qp_type = IBV_QPT_RC;
  reap();
  Id* const id = make_id(call.channel, command.ps, qp_type);
  if (id == nullptr) return ENOMEM;
  id->uid = command.uid;
  response.id = id->handle;
  return respond(call, command.response, &response, sizeof response);
}

int CmDevice::destroy_id(const Call& call) {
  const auto command = arguments<rdma_ucm_destroy_id>(call.in);
  rdma_ucm_destroy_id_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  Id* const id = of_channel(call, command.id);
  if (id == nullptr) return ENOENT;
  empty_inbox();  // a request may be on its way to a listener
  const auto waiting = call.channel->withdraw(id->serial, call.descriptor);
  const bool listens = id->state == IdState::listen;
  response.events_reported = id->events_reported;
  drop_id(*id);
  if (listens) {
    // The requests that wait unheard are refused with it.
    for (const ChannelEvent& event : waiting)
      if (event.response.event == static_cast<std::uint32_t>(UserEvent::connect_request))
        if (Id* const request = of_channel(call, event.response.id)) drop_id(*request);
  }
  return respond(call, command.response, &response, sizeof response);
}

int CmDevice::get_event(const Call& call) {
  const auto command = arguments<rdma_ucm_get_event>(call.in);
  constexpr std::size_t kOldestBytes = offsetof(rdma_ucm_event_resp, reserved);
  if (call.out_bytes < kOldestBytes) return ENOSPC;
  const auto event = call.channel->pop();
  if (!event) return EAGAIN;  // its event was withdrawn: wait for another
  if (Id* const id = by_serial(event->reporter)) {
    ++id->events_reported;
    for (MulticastGroup& group : id->groups)
      if (group.uid == event->response.uid) ++group.events_reported;
  }
  return respond(call, command.response, &event->response, sizeof event->response);
}

int CmDevice::migrate_id(const Call& call) {
  const auto command = arguments<rdma_ucm_migrate_id>(call.in);
  rdma_ucm_migrate_resp response{};
  if (call.out_bytes < sizeof response) return ENOSPC;
  Id* const id = command.id < ids_.size() ? ids_[command.id].get() : nullptr;
  if (id == nullptr) return ENOENT;
  if (id->channel != call.channel) {
    const auto waiting = id->channel->withdraw(id->serial, static_cast<int>(command.fd));
    VERBENA_ASSERT(id->channel->ids != 0);
    --id->channel->ids;
    id->channel = call.channel;
    ++id->channel->ids;
    for (const ChannelEvent& event : waiting) call.channel->push(event);
  }
  response.events_reported = id->events_reported;
  return respond(call, command.response, &response, sizeof response);
}

void CmDevice::report(Id& id, UserEvent type, std::int32_t status) {
  rdma_ucm_event_resp response{};
  response.event = static_cast<std::uint32_t>(type);
  response.status = static_cast<std::uint32_t>(status);
  response.uid = id.uid;
  response.id = id.handle;
  report(id, response);
}

void CmDevice::report(Id& reporter, rdma_ucm_event_resp& response) {
  reporter.channel->push({reporter.serial, response});
}

}  // namespace verbena::shim::rdma_cm
