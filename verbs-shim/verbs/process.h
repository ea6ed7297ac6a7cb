// Process: what all contexts of a process share: the table of live objects, and the way of events to them.
//
// Solely responsible for when a device's engine is opened, closed and forgotten (fork), and for finding the object an
// event speaks of. It does not know what the objects do. One instance per process, made at first use and never
// destroyed: threads of the application may outlive static destruction.
// Tested by: tests/shim/verbs/leaving_test.cc, tests/shim/verbs/fork_test.cc
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "emulator/host/engine/engine.h"
#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {

/// In the order in which a context that is closed gives its objects back to the NIC.
enum class Kind : std::uint8_t {
  flow,
  qp,
  ah,
  mw,
  mr,
  device_memory,
  indirection_table,
  work_queue,
  flow_counters,
  srq,
  xrc_domain,
  cq,
  channel,
  thread_domain,
  parent_domain,
  pd,
  context
};

class Process final {
 public:
  static Process& instance();

  /// Opens the device's engine if this is its first context. Null: errno is set, the reason stands on stderr.
  host::Engine* attach(Context& context, Device& device);
  /// Withdraws the context from its device's engine, which is closed with the last one. False: it is not an open
  /// context.
  bool detach(Context& context);

  /// Enters an object of a context into the table and gives it the number by which events name it.
  std::uint64_t enlist(Kind kind, void* object, ibv_context* context);
  /// The context of the live object of that kind that the pointer is; null: it is none. Never looks behind the pointer.
  const Context* owner_of(Kind kind, const void* object);
  bool is_live(Kind kind, const void* object) { return owner_of(kind, object) != nullptr; }
  /// A live object of the kind for which `is_wanted` holds, or null.
  void* find(Kind kind, const std::function<bool(void*)>& is_wanted);
  /// After this no event reaches the object. False: it was not in the table.
  bool withdraw(Kind kind, const void* object);

  struct LiveObject {
    Kind kind;
    void* object;
    std::uint64_t id;
  };
  /// The objects of a context by kind, oldest first.
  std::vector<LiveObject> objects_of(const Context& context);

  /// What has to happen before a fork, and after, happens from here on; handlers that are installed later run before
  /// it, and may take a lock that is held around calls of ours. Once is enough.
  static void install_fork_handlers();
  /// In exit(): whether our state may be asked for anything still. It is not where exit() was called in a handler of a
  /// signal that has interrupted a call of ours; then every verb refuses from here on.
  static bool is_whole_at_exit();

  /// The process ends by _exit(), or another one that borrows its memory does (vfork(2)), which is none of ours.
  void leave();

 private:
  class DeviceEvents;
  bool open(Device& device);
  void async_event(const Device& device, const nic::AsyncEvent& event);
  void completion_event(const nic::CompletionEvent& event);
  bool tell_holders(const Device& device, const nic::AsyncEvent& event);
  struct Entry {
    Kind kind;
    Context* context;
    std::uint64_t id;
  };
  Process() = default;
  void before_fork();
  void after_fork(bool in_child);
  void at_exit();

  std::mutex engine_mutex_;          // guards Device::opened; taken before objects_mutex_
  std::atomic<pid_t> opened_by_{0};  // the process whose engines they are
  bool has_exit_handlers_ = false;

  std::mutex objects_mutex_;
  std::unordered_map<const void*, Entry> by_address_;
  std::unordered_map<std::uint64_t, void*> by_id_;
  std::uint64_t last_id_ = 0;
};

/// Gives a reference to the context back; the last one frees it.
void release(Context* context);

}  // namespace verbena::shim
