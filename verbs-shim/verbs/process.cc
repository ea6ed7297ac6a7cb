#include "verbs-shim/verbs/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <span>
#include <utility>

#include "emulator/fabric/chance.h"
#include "emulator/host/engine/engine_fork.h"
#include "emulator/host/os/call_state.h"
#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/same_user.h"
#include "emulator/host/os/shortage.h"
#include "verbs-shim/sysfs/rdma_cm.h"
#include "verbs-shim/verbs/connection_device.h"
#include "verbs-shim/verbs/leaks.h"
#include "wire/assert.h"

namespace verbena::shim {
namespace {

bool carries_events(Kind kind) {
  return kind == Kind::qp || kind == Kind::cq || kind == Kind::srq;
}

bool speaks_of_cq(nic::AsyncEventType type) {
  return type == nic::AsyncEventType::cq_error;
}

bool speaks_of_srq(nic::AsyncEventType type) {
  return type == nic::AsyncEventType::srq_error || type == nic::AsyncEventType::srq_limit_reached;
}

bool speaks_of_qp(nic::AsyncEventType type) {
  return !speaks_of_cq(type) && !speaks_of_srq(type);
}

/// Whether the event belongs to the port or the device, and so to every context.
bool speaks_of_device(nic::AsyncEventType type) {
  switch (type) {
    case nic::AsyncEventType::device_fatal:
    case nic::AsyncEventType::port_active:
    case nic::AsyncEventType::port_error:
    case nic::AsyncEventType::lid_change:
    case nic::AsyncEventType::pkey_change:
    case nic::AsyncEventType::sm_change:
    case nic::AsyncEventType::client_reregister:
    case nic::AsyncEventType::gid_change:
      return true;
    case nic::AsyncEventType::cq_error:
    case nic::AsyncEventType::qp_fatal:
    case nic::AsyncEventType::qp_request_error:
    case nic::AsyncEventType::qp_access_error:
    case nic::AsyncEventType::communication_established:
    case nic::AsyncEventType::sq_drained:
    case nic::AsyncEventType::path_migrated:
    case nic::AsyncEventType::path_migration_error:
    case nic::AsyncEventType::srq_error:
    case nic::AsyncEventType::srq_limit_reached:
    case nic::AsyncEventType::qp_last_wqe_reached:
      return false;
  }
  return false;
}

bool is_of(const Context& context, const Device& device) {
  return context.context.device == &device.device;
}

/// Tells the path shim, if the program has it, as which user this process has opened its device.
void tell_user() {
  void* const found = dlsym(RTLD_DEFAULT, kSettleUserName);
  if (found != nullptr) reinterpret_cast<decltype(verbena_path_settle_user)*>(found)(host::own_user());
}

}  // namespace

/// What an engine tells, with the device that it comes from.
class Process::DeviceEvents final : public host::EventSink {
 public:
  explicit DeviceEvents(const Device& device) : device_(device) {}
  void async_event(const nic::AsyncEvent& event) override { instance().async_event(device_, event); }
  void completion_event(const nic::CompletionEvent& event) override { instance().completion_event(event); }
  void connection_event(std::uint32_t port, const cm::Event& event) override { deliver(device_, port, event); }

 private:
  const Device& device_;
};

Process& Process::instance() {
  static Process* const process = new Process;
  return *process;
}

void Process::install_fork_handlers() {
  // After the engines have installed theirs: handlers run last in, first out before a fork, and our lock is held around
  // the closing of an engine, which takes the engine's.
  host::ForkRegistry::install();
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(false); },
                   [] { instance().after_fork(true); });
  });
}

void Process::before_fork() {
  if (host::is_state_lost()) return;
  host::call_state::enter();
  engine_mutex_.lock();
  objects_mutex_.lock();
}

void Process::after_fork(bool in_child) {
  if (host::is_state_lost()) return;
  for (Device* const device : in_child ? all_devices() : std::span<Device* const>()) {
    if (device->opened.engine == nullptr) continue;
    device->opened.engine->abandon_after_fork();
    // What the parent's threads were doing in it is unknown: it is left as it lies, never destroyed here.
    static_cast<void>(device->opened.engine.release());
    static_cast<void>(device->opened.events.release());
    device->opened.contexts = 0;
    for (auto& [address, entry] : by_address_)
      if (entry.kind == Kind::context && is_of(*entry.context, *device))
        entry.context->engine.store(nullptr, std::memory_order_relaxed);
  }
  objects_mutex_.unlock();
  engine_mutex_.unlock();
  host::call_state::leave();
}

bool Process::is_whole_at_exit() {
  if (host::is_inside_call()) host::lose_state();
  return !host::is_state_lost();
}

/// Hardware has acknowledged by now what the process has received, and sent what it has completed.
void Process::at_exit() {
  if (!is_whole_at_exit()) return;
  const host::InsideCall inside;
  const std::unique_lock lock(engine_mutex_, std::try_to_lock);
  const auto leave = [](void* engine) { static_cast<host::Engine*>(engine)->before_exit(); };
  if (!lock) return;
  for (Device* const device : all_devices()) {
    host::Engine* const engine = device->opened.engine.get();
    if (engine != nullptr && !engine->run_at_exit(leave, engine)) return host::lose_state();
  }
}

void Process::leave() {
  if (getpid() != opened_by_) return;
  at_exit();
  if (Leaks* const leaks = Leaks::watch()) leaks->report();
}

namespace {

/// As a report of leaks calls it.
std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::flow:
      return "flow";
    case Kind::qp:
      return "QP";
    case Kind::ah:
      return "address handle";
    case Kind::mw:
      return "memory window";
    case Kind::mr:
      return "memory region";
    case Kind::device_memory:
      return "device memory";
    case Kind::indirection_table:
      return "indirection table";
    case Kind::work_queue:
      return "work queue";
    case Kind::flow_counters:
      return "counters";
    case Kind::srq:
      return "SRQ";
    case Kind::xrc_domain:
      return "XRC domain";
    case Kind::cq:
      return "CQ";
    case Kind::channel:
      return "completion channel";
    case Kind::thread_domain:
      return "thread domain";
    case Kind::parent_domain:
      return "parent domain";
    case Kind::pd:
      return "PD";
    case Kind::context:
      return "device";
  }
  return "object";
}

void note_birth(Kind kind, const void* object) {
  if (Leaks* const leaks = Leaks::watch()) leaks->born(object, name_of(kind));
}
void note_end(const void* object) {
  if (Leaks* const leaks = Leaks::watch()) leaks->gone(object);
}

}  // namespace

host::Engine* Process::attach(Context& context, Device& device) {
  const host::CancellationShield shield;
  const std::scoped_lock lock(engine_mutex_);
  const auto& engine = device.opened.engine;
  if (engine && engine->is_removed()) return fail(ENODEV);  // it is there again once all have let go of it
  if (!engine && !open(device)) return nullptr;
  ++device.opened.contexts;
  const std::scoped_lock objects_lock(objects_mutex_);
  by_address_[&context] = {Kind::context, &context, ++last_id_};
  note_birth(Kind::context, &context);
  context.engine.store(engine.get(), std::memory_order_relaxed);
  return engine.get();
}

/// False: errno is set.
bool Process::open(Device& device) {
  try {
    device.opened.events = std::make_unique<DeviceEvents>(device);
    // A device that is opened again goes on with other numbers and keys, as hardware does: peers may remember those.
    host::EngineConfig config = device.config;
    if (config.seed && device.opened.times != 0) config.seed = fabric::mix_all({*config.seed, device.opened.times});
    auto opened = host::Engine::open(config, *device.opened.events);
    if (!opened) {
      std::fprintf(stderr, "verbena: %s\n", opened.error().c_str());
      errno = ENODEV;
      return false;
    }
    device.opened.engine = std::move(*opened);
    ++device.opened.times;
    opened_by_ = getpid();
    tell_user();
  } catch (const std::bad_alloc&) {
    host::tell_no_memory("the device cannot be opened");
    errno = ENOMEM;
    return false;
  }
  install_fork_handlers();
  if (!std::exchange(has_exit_handlers_, true)) {
    std::atexit([] { is_whole_at_exit(); });  // the last: another exit() may interrupt the others
    std::atexit([] { instance().at_exit(); });
  }
  return true;
}

bool Process::detach(Context& context) {
  const host::CancellationShield shield;
  const std::scoped_lock lock(engine_mutex_);
  {
    const std::scoped_lock objects_lock(objects_mutex_);
    if (by_address_.erase(&context) == 0) return false;
    note_end(&context);
  }
  if (context.engine.exchange(nullptr, std::memory_order_relaxed) == nullptr) return true;
  Device::Opened& opened = device_of(context.context.device)->opened;
  if (--opened.contexts == 0) opened.engine.reset();
  return true;
}

std::uint64_t Process::enlist(Kind kind, void* object, ibv_context* context) {
  Context* const owner = context_of(context);
  owner->references.fetch_add(1, std::memory_order_relaxed);
  const std::scoped_lock lock(objects_mutex_);
  const std::uint64_t id = ++last_id_;
  by_address_[object] = {kind, owner, id};
  note_birth(kind, object);
  if (carries_events(kind)) by_id_[id] = object;
  return id;
}

const Context* Process::owner_of(Kind kind, const void* object) {
  const std::scoped_lock lock(objects_mutex_);
  const auto found = by_address_.find(object);
  return found != by_address_.end() && found->second.kind == kind ? found->second.context : nullptr;
}

void* Process::find(Kind kind, const std::function<bool(void*)>& is_wanted) {
  const std::scoped_lock lock(objects_mutex_);
  for (const auto& [address, entry] : by_address_)
    if (entry.kind == kind && is_wanted(const_cast<void*>(address))) return const_cast<void*>(address);
  return nullptr;
}

bool Process::withdraw(Kind kind, const void* object) {
  const std::scoped_lock lock(objects_mutex_);
  const auto found = by_address_.find(object);
  if (found == by_address_.end() || found->second.kind != kind) return false;
  by_id_.erase(found->second.id);
  by_address_.erase(found);
  note_end(object);
  return true;
}

std::vector<Process::LiveObject> Process::objects_of(const Context& context) {
  std::vector<LiveObject> objects;
  {
    const std::scoped_lock lock(objects_mutex_);
    for (const auto& [address, entry] : by_address_)
      if (entry.context == &context && entry.kind != Kind::context)
        objects.push_back({entry.kind, const_cast<void*>(address), entry.id});
  }
  std::ranges::sort(objects, [](const LiveObject& a, const LiveObject& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.id < b.id;
  });
  return objects;
}

/// An XRC receive QP may have been opened more than once: all who hold it hear of it. False: it is none.
bool Process::tell_holders(const Device& device, const nic::AsyncEvent& event) {
  bool found = false;
  for (auto& [address, entry] : by_address_) {
    if (entry.kind != Kind::qp || !is_of(*entry.context, device)) continue;
    auto* const qp = static_cast<Qp*>(const_cast<void*>(address));
    if (qp->xrcd == nullptr || qp->nic.index != event.object) continue;
    found = true;
    entry.context->async_events.push({.source = &qp->async_events, .object = qp, .type = static_cast<int>(event.type)});
  }
  return found;
}

void Process::async_event(const Device& device, const nic::AsyncEvent& event) {
  const std::scoped_lock lock(objects_mutex_);
  QueuedEvent queued{.type = static_cast<int>(event.type)};
  if (speaks_of_device(event.type)) {
    if (event.type != nic::AsyncEventType::device_fatal) queued.port = static_cast<int>(event.object);
    for (auto& [address, entry] : by_address_)
      if (entry.kind == Kind::context && is_of(*entry.context, device) &&
          entry.context->engine.load(std::memory_order_relaxed) != nullptr)
        entry.context->async_events.push(queued);
    return;
  }
  const auto found = by_id_.find(event.context);
  const auto may_have_holders = [&] {
    return found == by_id_.end() || static_cast<Qp*>(found->second)->xrcd != nullptr;
  };
  if (speaks_of_qp(event.type) && may_have_holders() && tell_holders(device, event)) return;
  if (found == by_id_.end()) return;
  queued.object = found->second;
  ibv_context* context = nullptr;
  if (speaks_of_cq(event.type)) {
    auto* const cq = static_cast<Cq*>(queued.object);
    queued.source = &cq->async_events;
    context = cq->context;
  } else if (speaks_of_srq(event.type)) {
    auto* const srq = static_cast<Srq*>(queued.object);
    queued.source = &srq->async_events;
    context = srq->context;
  } else {
    auto* const qp = static_cast<Qp*>(queued.object);
    queued.source = &qp->async_events;
    context = qp->qp_base.context;
  }
  context_of(context)->async_events.push(queued);
}

void Process::completion_event(const nic::CompletionEvent& event) {
  const std::scoped_lock lock(objects_mutex_);
  const auto found = by_id_.find(event.context);
  if (found == by_id_.end()) return;
  auto* const cq = static_cast<Cq*>(found->second);
  if (cq->channel == nullptr) return;
  static_cast<Channel*>(cq->channel)->events.push({.source = &cq->completion_events, .object = cq});
}

void release(Context* context) {
  const std::uint32_t before = context->references.fetch_sub(1, std::memory_order_acq_rel);
  VERBENA_ASSERT(before != 0);
  if (before != 1) return;
  delete context;
}

}  // namespace verbena::shim
