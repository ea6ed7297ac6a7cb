// Memory regions: ibv_reg_mr .. ibv_dereg_mr, with what they can lie over besides the application's mappings: nothing
// (null), a part of the device's memory, a dma-buf. Advice for on-demand regions.
// Tested by: tests/shim/verbs/memory_test.cc
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "emulator/host/os/memory_access.h"
#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

constexpr unsigned kAccessRights =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr unsigned kAccessKnown =
    kAccessRights | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;
constexpr unsigned kAccessFlush = nic::kFlushGlobal | nic::kFlushPersistent;  // newer than the distribution's header
constexpr unsigned kAccessDeviceMemory = kAccessRights | IBV_ACCESS_ZERO_BASED;

std::uintptr_t page_bytes() {
  return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
}

/// What ib_access_writable in ib_verbs.h says: the pages of a region with one of these are pinned for writing.
constexpr unsigned kAccessWrites =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

/// What ib_umem_get says of the range (umem.c): 0 or an errno value. Pages of an on-demand region are asked for when
/// the NIC meets them.
int refusal_of_range(std::uintptr_t start, std::size_t length, unsigned access) {
  const std::uintptr_t last_page = ~(page_bytes() - 1);
  const bool is_empty = length == 0 && (start & ~last_page) == 0;  // not even a page
  if (is_empty || start + length < start || start + length > last_page) return EINVAL;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return 0;
  const auto use = (access & kAccessWrites) != 0 ? host::MemoryUse::write : host::MemoryUse::read;
  return host::may_access(start, length, use) ? 0 : EFAULT;
}

/// Hints may be ignored; what is left is the NIC's to judge.
unsigned rights_of(unsigned access) {
  return access & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE} & ~unsigned{IBV_ACCESS_HUGETLB};
}

/// Makes the region on the NIC and its structure; its domain is `pd`. `shown`: the address that the application sees.
Mr* create(ibv_pd* pd, nic::MemoryRegionInit init, void* shown) {
  const auto found = live_engine(pd);
  if (!found) return fail(found.error());
  host::Engine* const engine = *found;
  init.pd = static_cast<Pd*>(pd)->nic;
  auto* const mr = new (std::nothrow) Mr();
  if (mr == nullptr) return fail(ENOMEM);
  const auto made = engine->run([&init](nic::Nic& nic, Time) { return nic.register_memory(init); });
  if (!made) {
    delete mr;
    return fail(errno_of(made));
  }
  mr->nic = made->handle;
  mr->access = init.access;
  mr->is_null = init.is_null;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = shown;
  mr->length = init.length;
  mr->handle = made->handle.index;
  mr->lkey = made->lkey;
  mr->rkey = made->rkey;
  Process::instance().enlist(Kind::mr, mr, pd->context);
  return mr;
}

/// In the order of uverbs: the place in the page, the domain, the rights, the range.
ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (((start ^ iova) & (page_bytes() - 1)) != 0 && (access & IBV_ACCESS_ZERO_BASED) == 0) return fail(EINVAL);
  if (!is_live(pd)) return fail(missing(pd));
  const bool is_remote_only =
      (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0;
  if (is_remote_only || (access & ~kAccessKnown & ~kAccessFlush & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE}) != 0)
    return fail(EINVAL);
  for (const auto& [right, what] : {std::pair(IBV_ACCESS_ON_DEMAND, host::Refusable::odp),
                                    std::pair(IBV_ACCESS_REMOTE_ATOMIC, host::Refusable::atomics)})
    if (const int error = refusal_by_device(pd->context, what); (access & right) != 0 && error != 0) return fail(error);
  if ((access & kAccessFlush) != 0) return fail(EOPNOTSUPP);  // the device has no FLUSH (ib_check_mr_access)
  const bool is_everything = length == SIZE_MAX && start == 0 && iova == 0 && (access & IBV_ACCESS_ON_DEMAND) != 0;
  if (!is_everything)
    if (const int error = refusal_of_range(start, length, access); error != 0) return fail(error);
  return create(pd, {.address = start, .length = length, .iova = iova, .access = rights_of(access)}, address);
}

/// What the descriptor must be, and where the region lies in it. 0 or an errno value.
int check_dmabuf(int descriptor, std::uint64_t offset, std::size_t length) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size < 0 && errno == EBADF) return EBADF;
  char name[64] = {};
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  constexpr const char* kDmabuf = "/dmabuf:";
  if (readlink(link, name, sizeof name - 1) < 0 || std::strncmp(name, kDmabuf, std::strlen(kDmabuf)) != 0)
    return EINVAL;
  if (size < 0 || offset + length < offset || offset + length > static_cast<std::uint64_t>(size)) return EINVAL;
  return 0;
}

/// Frees the structure and what belongs to it.
void discard(Mr* mr) {
  if (mr->mapping != nullptr) munmap(mr->mapping, mr->mapping_bytes);
  if (mr->device_memory) mr->device_memory->regions.drop();
  release(context_of(mr->context));
  delete mr;
}

}  // namespace

ibv_mr* alloc_null_mr(ibv_pd* pd) {
  return create(pd, {.access = IBV_ACCESS_LOCAL_WRITE, .is_null = true}, nullptr);
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access) {
  auto* const object = static_cast<Dm*>(dm);
  if (!is_live(pd)) return fail(missing(pd));
  if (const int error = missing_in(pd->context, dm); error != 0) return fail(error);
  DeviceMemory& memory = *object->memory;
  if ((access & ~kAccessDeviceMemory & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE}) != 0 ||
      (access & IBV_ACCESS_ZERO_BASED) == 0 || offset > memory.length || length > memory.length - offset)
    return fail(EINVAL);
  Mr* const mr = create(pd,
                        {.address = reinterpret_cast<std::uintptr_t>(memory.octets.get()) + offset,
                         .length = length,
                         .iova = 0,
                         .access = rights_of(access),
                         .is_pinned = false},
                        nullptr);
  if (mr == nullptr) return nullptr;
  mr->device_memory = object->memory;
  memory.regions.add();
  return mr;
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* sges, std::uint32_t sge_count) {
  const auto behind = live_engine(pd);
  if (!behind) return behind.error();
  host::Engine* const engine = *behind;
  if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
      advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
    return EOPNOTSUPP;
  if ((flags & ~std::uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0 || sge_count == 0) return EINVAL;
  const bool for_writing = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  for (std::uint32_t i = 0; i < sge_count; ++i) {
    const nic::Sge range{sges[i].addr, sges[i].length, sges[i].lkey};
    const auto found = engine->run(
        [&](nic::Nic& nic, Time) { return nic.prefetch_memory(static_cast<Pd*>(pd)->nic, range, for_writing); });
    const bool waits = (flags & IBV_ADVISE_MR_FLAG_FLUSH) != 0;
    // What is not waited for is checked later by nobody but the access itself.
    if (!found && (waits || found.error() != nic::VerbsError::fault)) return errno_of(found);
    const auto use = for_writing ? host::MemoryUse::write : host::MemoryUse::read;
    if (found && waits && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
        !host::may_access(*found, range.length, use))
      return EFAULT;
  }
  return 0;
}

ibv_mr* reg_mr(ibv_pd* pd, void* addr, std::size_t length, int access) {
  const bool zero_based = (access & IBV_ACCESS_ZERO_BASED) != 0;
  return register_memory(pd, addr, length, zero_based ? 0 : reinterpret_cast<std::uintptr_t>(addr),
                         static_cast<unsigned>(access));
}

ibv_mr* reg_mr_iova(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access) {
  return register_memory(pd, addr, length, iova, static_cast<unsigned>(access));
}

ibv_mr* reg_mr_iova2(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, unsigned access) {
  // ibv_reg_mr is a macro that comes here when its access flags are not constant.
  if ((access & IBV_ACCESS_ZERO_BASED) != 0 && iova == reinterpret_cast<std::uintptr_t>(addr)) iova = 0;
  return register_memory(pd, addr, length, iova, access);
}

ibv_mr* reg_dmabuf_mr(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova, int fd, int access) {
  if (!is_live(pd)) return fail(missing(pd));
  const auto rights = static_cast<unsigned>(access);
  if ((rights & ~kAccessRights & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE}) != 0) return fail(EOPNOTSUPP);
  const std::uint64_t in_page = offset & (page_bytes() - 1);
  if (in_page != (iova & (page_bytes() - 1)) || length == 0) return fail(EINVAL);
  if (const int error = check_dmabuf(fd, offset, length); error != 0) return fail(error);
  const int protection = PROT_READ | ((rights & IBV_ACCESS_LOCAL_WRITE) != 0 ? PROT_WRITE : 0);
  const std::size_t bytes = length + in_page;
  void* const mapping = mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset - in_page));
  if (mapping == MAP_FAILED) return fail(errno);
  Mr* const mr = create(pd,
                        {.address = reinterpret_cast<std::uintptr_t>(mapping) + in_page,
                         .length = length,
                         .iova = iova,
                         .access = rights_of(rights),
                         .is_pinned = false},
                        nullptr);
  if (mr == nullptr) {
    const int error = errno;
    munmap(mapping, bytes);
    return fail(error);
  }
  mr->mapping = mapping;
  mr->mapping_bytes = bytes;
  return mr;
}

int rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, std::size_t length, int access) {
  auto* const object = static_cast<Mr*>(mr);
  const auto refuse = [](int error, int where) {
    errno = error;
    return where;
  };
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool changes_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  const auto rights = static_cast<unsigned>(access);
  const bool is_found = is_live(mr);
  // rdma-core knows three kinds that lie over no memory of the application's, and hands on no command about them.
  if (is_found && (object->is_null || object->imported || object->mapping != nullptr))
    return refuse(EINVAL, IBV_REREG_MR_ERR_INPUT);
  if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || (moves && (length == 0 || addr == nullptr)) ||
      (access != 0 && !changes_access))
    return refuse(EINVAL, IBV_REREG_MR_ERR_INPUT);
  if (!is_found) return refuse(missing(mr), IBV_REREG_MR_ERR_CMD);
  if (changes_pd && !is_live_of(mr->context, pd)) return refuse(missing(pd), IBV_REREG_MR_ERR_CMD);
  if (flags == 0 || object->device_memory ||
      (changes_access && (rights & ~kAccessKnown & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE}) != 0))
    return refuse(EINVAL, IBV_REREG_MR_ERR_CMD);
  verbena::host::Engine* const engine = working_engine_of(mr->context);
  if (engine == nullptr) return refuse(kNoDevice, IBV_REREG_MR_ERR_CMD);
  verbena::nic::MemoryRegionChange wanted;
  const unsigned after = changes_access ? rights_of(rights) : object->access;
  if (changes_access) wanted.access = after;
  if (changes_pd) wanted.pd = static_cast<Pd*>(pd)->nic;
  const auto start = reinterpret_cast<std::uintptr_t>(moves ? addr : mr->addr);
  const bool is_written_now = (object->access & kAccessWrites) == 0 && (after & kAccessWrites) != 0;
  if (moves || is_written_now)
    if (const int error = refusal_of_range(start, moves ? length : mr->length, after); error != 0)
      return refuse(error, IBV_REREG_MR_ERR_CMD);
  if (moves) {
    wanted.translation = {.address = start, .length = length, .iova = (after & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : start};
  }
  const auto changed =
      engine->run([&](verbena::nic::Nic& nic, verbena::Time) { return nic.reregister_memory(object->nic, wanted); });
  if (!changed) return refuse(errno_of(changed), IBV_REREG_MR_ERR_CMD);
  object->access = after;
  if (moves) {
    mr->addr = addr;
    mr->length = length;
  }
  if (changes_pd) mr->pd = pd;
  return 0;
}

int dereg_mr(ibv_mr* mr) {
  auto* const object = static_cast<Mr*>(mr);
  Process& process = Process::instance();
  if (!is_live(mr)) return missing(mr);
  if (verbena::host::Engine* const engine = engine_of(mr->context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.deregister_memory(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::mr, object);
  discard(object);
  return 0;
}

ibv_mr* import_mr(ibv_pd* pd, std::uint32_t mr_handle) {
  if (const auto engine = live_engine(pd); !engine) return fail(engine.error());
  auto* const original = static_cast<Mr*>(Process::instance().find(Kind::mr, [&](void* object) {
    auto* const mr = static_cast<Mr*>(object);
    return mr->nic.index == mr_handle && !mr->imported && static_cast<Pd*>(mr->pd)->nic == static_cast<Pd*>(pd)->nic &&
           context_of(mr->context)->device_file == context_of(pd->context)->device_file;
  }));
  if (original == nullptr) return fail(ENOENT);
  auto* const mr = new (std::nothrow) Mr();
  if (mr == nullptr) return fail(ENOMEM);
  mr->nic = original->nic;
  mr->access = original->access;
  mr->imported = true;
  mr->context = pd->context;
  mr->pd = pd;
  mr->length = original->length;
  mr->handle = mr_handle;
  mr->lkey = original->lkey;
  mr->rkey = original->rkey;
  Process::instance().enlist(Kind::mr, mr, pd->context);
  return mr;
}

void unimport_mr(ibv_mr* mr) {
  if (is_live(mr) && Process::instance().withdraw(Kind::mr, static_cast<Mr*>(mr))) discard(static_cast<Mr*>(mr));
}

}  // namespace verbena::shim
