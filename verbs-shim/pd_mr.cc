// Protection domains, parent and thread domains, memory regions: ibv_alloc_pd .. ibv_dereg_mr.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "verbs-shim/context_ops.h"
#include "verbs-shim/objects.h"
#include "verbs-shim/process.h"

namespace verbena::shim {
namespace {

constexpr unsigned kAccessKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                                  IBV_ACCESS_HUGETLB;

/// Whether every page of the range is mapped, as a NIC finds when it pins them.
bool is_mapped(std::uintptr_t address, std::size_t length) {
  constexpr std::size_t kPagesAtOnce = 4096;
  unsigned char resident[kPagesAtOnce];
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t end = address + length;
  for (std::uintptr_t at = address & ~(page_bytes - 1); at < end;) {
    const std::size_t bytes = std::min<std::uintptr_t>(end - at, kPagesAtOnce * page_bytes);
    if (mincore(reinterpret_cast<void*>(at), bytes, resident) != 0 && errno == ENOMEM) return false;
    at += kPagesAtOnce * page_bytes;
  }
  return true;
}

ibv_mr* register_memory(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  host::Engine* const engine = engine_of(pd->context);
  if (engine == nullptr) return fail(kNoDevice);
  access &= ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};  // hints, which a device may ignore
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return fail(EOPNOTSUPP);
  if ((access & ~kAccessKnown) != 0) return fail(EINVAL);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (start + length < start) return fail(EINVAL);
  if (length > 0 && !is_mapped(start, length)) return fail(EFAULT);
  auto* const mr = new (std::nothrow) Mr();
  if (mr == nullptr) return fail(ENOMEM);
  const nic::MemoryRegionInit init{.pd = static_cast<Pd*>(pd)->nic,
                                   .address = start,
                                   .length = length,
                                   .iova = iova,
                                   .access = access & ~unsigned{IBV_ACCESS_HUGETLB}};
  const auto made = engine->run([&init](nic::Nic& nic, Time) { return nic.register_memory(init); });
  if (!made) {
    delete mr;
    return fail(errno_of(made));
  }
  mr->nic = made->handle;
  mr->context = pd->context;
  mr->pd = pd;
  mr->addr = address;
  mr->length = length;
  mr->handle = made->handle.index;
  mr->lkey = made->lkey;
  mr->rkey = made->rkey;
  Process::instance().enlist(Kind::mr, mr, pd->context);
  return mr;
}

int dealloc_parent_domain(ParentDomain* domain) {
  if (!Process::instance().withdraw(Kind::parent_domain, static_cast<Pd*>(domain))) return EINVAL;
  domain->parent->children.fetch_sub(1, std::memory_order_relaxed);
  if (domain->thread_domain != nullptr) domain->thread_domain->users.fetch_sub(1, std::memory_order_relaxed);
  release(context_of(domain->context));
  delete domain;
  return 0;
}

}  // namespace

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
  if (attributes->comp_mask != 0) return fail(EINVAL);
  auto* const domain = new (std::nothrow) ThreadDomain();
  if (domain == nullptr) return fail(ENOMEM);
  domain->context = context;
  Process::instance().enlist(Kind::thread_domain, domain, context);
  return domain;
}

int dealloc_td(ibv_td* thread_domain) {
  auto* const domain = static_cast<ThreadDomain*>(thread_domain);
  if (!Process::instance().is_live(Kind::thread_domain, domain)) return EINVAL;
  if (domain->users.load(std::memory_order_relaxed) != 0) return EBUSY;
  Process::instance().withdraw(Kind::thread_domain, domain);
  release(context_of(domain->context));
  delete domain;
  return 0;
}

// The allocators that an application may pass are for a provider's buffers; there are none here to allocate.
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  constexpr std::uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (attributes->pd == nullptr || (attributes->comp_mask & ~kKnown) != 0) return fail(EINVAL);
  auto* const domain = new (std::nothrow) ParentDomain();
  if (domain == nullptr) return fail(ENOMEM);
  domain->parent = static_cast<Pd*>(attributes->pd);
  domain->thread_domain = static_cast<ThreadDomain*>(attributes->td);
  domain->nic = domain->parent->nic;
  domain->context = context;
  domain->handle = domain->parent->handle;
  domain->parent->children.fetch_add(1, std::memory_order_relaxed);
  if (domain->thread_domain != nullptr) domain->thread_domain->users.fetch_add(1, std::memory_order_relaxed);
  Process::instance().enlist(Kind::parent_domain, static_cast<Pd*>(domain), context);
  return domain;
}

}  // namespace verbena::shim

using namespace verbena::shim;

VERBENA_ABI ibv_pd* ibv_alloc_pd(ibv_context* context) {
  verbena::host::Engine* const engine = engine_of(context);
  if (engine == nullptr) return fail(kNoDevice);
  auto* const pd = new (std::nothrow) Pd();
  if (pd == nullptr) return fail(ENOMEM);
  const auto made = engine->run([](verbena::nic::Nic& nic, verbena::Time) { return nic.allocate_pd(); });
  if (!made) {
    delete pd;
    return fail(errno_of(made));
  }
  pd->nic = *made;
  pd->context = context;
  pd->handle = made->index;
  Process::instance().enlist(Kind::pd, pd, context);
  return pd;
}

VERBENA_ABI int ibv_dealloc_pd(ibv_pd* pd) {
  auto* const object = static_cast<Pd*>(pd);
  Process& process = Process::instance();
  if (process.is_live(Kind::parent_domain, object)) return dealloc_parent_domain(static_cast<ParentDomain*>(object));
  if (!process.is_live(Kind::pd, object)) return EINVAL;
  if (object->children.load(std::memory_order_relaxed) != 0) return EBUSY;
  if (verbena::host::Engine* const engine = engine_of(pd->context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.deallocate_pd(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::pd, object);
  release(context_of(pd->context));
  delete object;
  return 0;
}

VERBENA_ABI ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, std::size_t length, int access) {
  const bool zero_based = (access & IBV_ACCESS_ZERO_BASED) != 0;
  return register_memory(pd, addr, length, zero_based ? 0 : reinterpret_cast<std::uintptr_t>(addr),
                         static_cast<unsigned>(access));
}

VERBENA_ABI ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, int access) {
  return register_memory(pd, addr, length, iova, static_cast<unsigned>(access));
}

VERBENA_ABI ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, std::size_t length, std::uint64_t iova, unsigned access) {
  // ibv_reg_mr is a macro that comes here when its access flags are not constant.
  if ((access & IBV_ACCESS_ZERO_BASED) != 0 && iova == reinterpret_cast<std::uintptr_t>(addr)) iova = 0;
  return register_memory(pd, addr, length, iova, access);
}

VERBENA_ABI int ibv_dereg_mr(ibv_mr* mr) {
  auto* const object = static_cast<Mr*>(mr);
  Process& process = Process::instance();
  if (!process.is_live(Kind::mr, object)) return EINVAL;
  if (verbena::host::Engine* const engine = engine_of(mr->context)) {
    const auto gone =
        engine->run([object](verbena::nic::Nic& nic, verbena::Time) { return nic.deregister_memory(object->nic); });
    if (!gone) return errno_of(gone);
  }
  process.withdraw(Kind::mr, object);
  release(context_of(mr->context));
  delete object;
  return 0;
}
