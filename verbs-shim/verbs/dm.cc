// Device memory: ibv_alloc_dm .. ibv_free_dm, the copies to and from it, ibv_import_dm. It lies in the process, as
// everything that the NIC of a process reaches; its size is what the device announces, for each process.
// Tested by: tests/shim/verbs/memory_test.cc
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "verbs-shim/verbs/boundary.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

constexpr std::uint32_t kAlignmentBitsMax = 12;
constexpr std::size_t kAccessBytes = 4;  // offset and length of a copy are multiples of it, as on ConnectX

std::atomic<std::size_t> allocated_bytes{0};

/// 0 or an errno value.
int check_copy(const Dm& dm, std::uint64_t offset, std::size_t length) {
  if (offset > dm.memory->length || length > dm.memory->length - offset) return EFAULT;
  return offset % kAccessBytes == 0 && length % kAccessBytes == 0 ? 0 : EINVAL;
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  const Dm& object = *static_cast<Dm*>(dm);
  const int error = check_copy(object, offset, length);
  if (error == 0) std::memcpy(object.memory->octets.get() + offset, from, length);
  return error;
}

int copy_from(void* into, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  const Dm& object = *static_cast<Dm*>(dm);
  const int error = check_copy(object, offset, length);
  if (error == 0) std::memcpy(into, object.memory->octets.get() + offset, length);
  return error;
}

Dm* make(ibv_context* context, std::shared_ptr<DeviceMemory> memory) {
  auto* const dm = new (std::nothrow) Dm();
  if (dm == nullptr) return fail(ENOMEM);
  dm->context = context;
  dm->memcpy_to_dm = verb<copy_to>;
  dm->memcpy_from_dm = verb<copy_from>;
  dm->comp_mask = IBV_DM_MASK_HANDLE;
  dm->memory = std::move(memory);
  dm->made_handle = static_cast<std::uint32_t>(Process::instance().enlist(Kind::device_memory, dm, context));
  dm->handle = dm->made_handle;
  return dm;
}

void discard(Dm* dm) {
  release(context_of(dm->context));
  delete dm;
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (octets != nullptr) allocated_bytes.fetch_sub(length, std::memory_order_relaxed);
}

// Needs no NIC: the child of a fork() may allocate it too.
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  if (const int error = refusal_by_device(context, host::Refusable::dm); error != 0) return fail(error);
  if (attributes->comp_mask != 0 || attributes->length == 0 || attributes->log_align_req > kAlignmentBitsMax)
    return fail(EINVAL);
  const std::size_t length = attributes->length;
  const std::size_t before = allocated_bytes.fetch_add(length, std::memory_order_relaxed);
  const std::size_t alignment = std::max(std::size_t{1} << attributes->log_align_req, alignof(std::max_align_t));
  void* octets = nullptr;
  const bool fits = length <= kDeviceMemoryBytes && before <= kDeviceMemoryBytes - length;
  auto* const memory = fits ? new (std::nothrow) DeviceMemory() : nullptr;
  if (memory == nullptr || posix_memalign(&octets, alignment, length) != 0) {
    allocated_bytes.fetch_sub(length, std::memory_order_relaxed);
    delete memory;
    return fail(ENOMEM);
  }
  std::memset(octets, 0, length);
  memory->octets.reset(static_cast<std::byte*>(octets));
  memory->length = length;
  return make(context, std::shared_ptr<DeviceMemory>(memory));
}

int free_dm(ibv_dm* dm) {
  auto* const object = static_cast<Dm*>(dm);
  Process& process = Process::instance();
  if (!is_live(dm)) return missing(dm);
  if (object->memory->regions.in_use()) return EBUSY;
  process.withdraw(Kind::device_memory, object);
  discard(object);
  return 0;
}

ibv_dm* import_dm(ibv_context* context, std::uint32_t dm_handle) {
  if (working_engine_of(context) == nullptr) return fail(kNoDevice);
  auto* const original = static_cast<Dm*>(Process::instance().find(Kind::device_memory, [&](void* object) {
    auto* const dm = static_cast<Dm*>(object);
    return dm->made_handle == dm_handle && context_of(dm->context)->device_file == context_of(context)->device_file;
  }));
  if (original == nullptr) return fail(ENOENT);
  Dm* const dm = make(context, original->memory);
  if (dm != nullptr) dm->handle = dm->made_handle = dm_handle;
  return dm;
}

void unimport_dm(ibv_dm* dm) {
  if (is_live(dm) && Process::instance().withdraw(Kind::device_memory, static_cast<Dm*>(dm)))
    discard(static_cast<Dm*>(dm));
}

}  // namespace verbena::shim
