// The shim's objects: each is the C structure that applications see, with what the shim keeps behind it.
//
// Solely responsible for layout: which C structure a pointer of the ABI stands for, and what follows it. The NIC's
// objects are owned by the engine's NIC (their handles are kept here); these structures are owned by whoever created
// them through the ABI.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/devices.h"
#include "verbs-shim/verbs/event_file.h"
#include "verbs-shim/verbs/use_count.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/// Marks a definition that libibverbs exports; its version comes from abi/libibverbs.symbols.
#define VERBENA_ABI extern "C" __attribute__((visibility("default")))

namespace verbena::shim {

/// struct ibv_context in its newest layout. Lives until it is closed and its last object is gone, so that objects may
/// be destroyed after it. `engine` is null once the context is closed, or inherited through fork.
struct Context : verbs_context {
  std::atomic<host::Engine*> engine{nullptr};
  std::atomic<std::uint32_t> references{1};
  EventFile async_events;
  /// The file behind cmd_fd: contexts made by ibv_import_device have the same one, and share objects by their handles.
  std::uint64_t device_file = 0;
  /// Attributes are told from here, so that they can be asked for in the child of a fork() as well.
  nic::NicLimits limits;
  std::byte provider_private[512];  // where verbs_context::priv points; never read here
};

struct Pd : ibv_pd {
  nic::PdHandle nic;
  bool imported = false;  // the NIC's object is another context's to end
  UseCount children;      // parent domains made from it
};

struct ThreadDomain : ibv_td {
  UseCount users;
};

/// A parent domain is a Pd that shares the NIC's handle with the one it was made from.
struct ParentDomain : Pd {
  Pd* parent = nullptr;
  ThreadDomain* thread_domain = nullptr;
  UseCount users;  // objects made on it
  // The application's allocator; none: both null.
  decltype(ibv_parent_domain_init_attr::alloc) allocate = nullptr;
  decltype(ibv_parent_domain_init_attr::free) free = nullptr;
  void* allocator_context = nullptr;
};

/// Where the structure of an object lies (domain_memory.h).
struct DomainMemory {
  ParentDomain* domain = nullptr;  // on which the object was made; null: on a plain domain
  bool custom = false;             // in memory of its allocator
};

/// A piece of the device's memory. Every structure of it, imported or not, and every region over it shares it.
struct DeviceMemory {
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> octets;
  std::size_t length = 0;
  UseCount regions;  // registered over it
  ~DeviceMemory();
};
inline constexpr std::size_t kDeviceMemoryBytes = 256 * 1024;

struct Dm : ibv_dm {
  std::shared_ptr<DeviceMemory> memory;
  std::uint32_t made_handle = 0;
};

struct Mr : ibv_mr {
  nic::MrHandle nic;
  unsigned access = 0;
  bool imported = false;
  bool is_null = false;
  std::shared_ptr<DeviceMemory> device_memory;  // only of a region over it
  void* mapping = nullptr;                      // only of a region over a dma-buf
  std::size_t mapping_bytes = 0;
};

struct Mw : ibv_mw {
  nic::MwHandle nic;
};

struct Ah : ibv_ah {
  nic::AhHandle nic;
};

struct Channel : ibv_comp_channel {
  EventFile events;
};

/// An event queue holds pointers to these. `delivered` counts what the application got and must acknowledge; guarded by
/// the queue's lock.
struct Cq : ibv_cq_ex {
  nic::CqHandle nic;
  DomainMemory memory;
  std::uint64_t id = 0;
  EventSource completion_events;
  EventSource async_events;
  // The polling session of the extended interface: the lock is held from start_poll to end_poll.
  std::mutex poll_mutex;
  bool single_threaded = false;
  nic::Completion current;
  std::int64_t wall_clock_offset_ns = 0;
};

struct SharedXrcDomain;

/// A descriptor of an XRC domain (xrc.cc).
struct Xrcd : ibv_xrcd {
  std::shared_ptr<SharedXrcDomain> domain;
  UseCount users;  // SRQs and QPs made through it
};

struct Wq : ibv_wq {
  nic::WorkQueueHandle nic;
  DomainMemory memory;
};

struct IndirectionTable : ibv_rwq_ind_table {
  nic::IndirectionTableHandle nic;
};

struct Flow : ibv_flow {
  nic::FlowHandle nic;
};

struct FlowCounters : ibv_counters {
  static constexpr std::uint32_t kValuesMax = 64;
  enum class Value : std::uint8_t { none, packets, bytes };
  nic::FlowCountersHandle nic;
  std::array<Value, kValuesMax> values{};
  std::uint32_t count = 0;
  std::atomic<bool> bound{false};  // part of a flow: what it counts is settled
};

struct Srq : ibv_srq {
  nic::SrqHandle nic;
  DomainMemory memory;
  Xrcd* xrcd = nullptr;  // of an XRC SRQ
  std::uint64_t id = 0;
  EventSource async_events;
};

struct StagedRequests;

struct Qp : ibv_qp_ex {
  nic::QpHandle nic;
  DomainMemory memory;
  std::uint64_t id = 0;
  std::uint32_t number = UINT32_MAX;  // in the order in which the device's were made; of an opened one none
  EventSource async_events;
  bool signal_all = false;
  nic::QpCapabilities capabilities;
  Xrcd* xrcd = nullptr;                    // of an XRC receive QP
  std::uint64_t send_operations = 0;       // enum ibv_qp_create_send_ops_flags; none: not an extended QP
  std::unique_ptr<StagedRequests> staged;  // only of an extended QP
  ~Qp();
};

inline Context* context_of(const ibv_context* context) {
  auto* bytes = reinterpret_cast<std::byte*>(const_cast<ibv_context*>(context));
  return static_cast<Context*>(reinterpret_cast<verbs_context*>(bytes - offsetof(verbs_context, context)));
}
inline Device* device_of(ibv_device* device) {
  return static_cast<Device*>(reinterpret_cast<VisibleDevice*>(device));
}

/// What the device's kind does not have (look_words.h). 0, or what the verb that asks for it fails with.
inline int refusal_by_device(const ibv_context* context, host::Refusable what) {
  return device_of(context->device)->config.nic.look.refusal(what);
}
inline Cq* cq_of(ibv_cq* cq) {
  return static_cast<Cq*>(reinterpret_cast<ibv_cq_ex*>(cq));
}
inline ibv_cq* cq_base(Cq* cq) {
  return reinterpret_cast<ibv_cq*>(static_cast<ibv_cq_ex*>(cq));
}
inline Qp* qp_of(ibv_qp* qp) {
  return static_cast<Qp*>(reinterpret_cast<ibv_qp_ex*>(qp));
}

/// For the data path, and for giving back what there is. Null: in a child after fork(), or the context is closed.
inline host::Engine* engine_of(const ibv_context* context) {
  return context_of(context)->engine.load(std::memory_order_relaxed);
}
/// For commands that make, change or ask something. Null as well when the device has been removed.
inline host::Engine* working_engine_of(const ibv_context* context) {
  host::Engine* const engine = engine_of(context);
  return engine != nullptr && !engine->is_removed() ? engine : nullptr;
}

/// The errno value of a NIC's refusal.
constexpr int errno_of(nic::VerbsError error) {
  switch (error) {
    case nic::VerbsError::invalid_argument:
      return EINVAL;
    case nic::VerbsError::no_memory:
      return ENOMEM;
    case nic::VerbsError::busy:
      return EBUSY;
    case nic::VerbsError::not_supported:
      return EOPNOTSUPP;
    case nic::VerbsError::fault:
      return EFAULT;
    case nic::VerbsError::not_found:
      return ENOENT;
    case nic::VerbsError::no_device:
      return kNoDevice;
    case nic::VerbsError::not_permitted:
      return EPERM;
  }
  return EINVAL;
}
template <class T>
int errno_of(const Result<T, nic::VerbsError>& result) {
  return result.ok() ? 0 : errno_of(result.error());
}

/// For functions that return a pointer: sets errno and returns null.
inline std::nullptr_t fail(int error) {
  errno = error;
  return nullptr;
}

}  // namespace verbena::shim
