// Protection domains, parent and thread domains: ibv_alloc_pd .. ibv_dealloc_pd.
// Tested by: tests/shim/verbs/objects_test.cc
#include <new>

#include "verbs-shim/verbs/context_ops.h"
#include "verbs-shim/verbs/domain_memory.h"
#include "verbs-shim/verbs/live.h"
#include "verbs-shim/verbs/objects.h"
#include "verbs-shim/verbs/process.h"

namespace verbena::shim {
namespace {

constexpr std::uint64_t kObjectMemory = 0;  // the one type of resource that allocators are asked for

int dealloc_parent_domain(ParentDomain* domain) {
  if (domain->users.in_use()) return EBUSY;
  if (!Process::instance().withdraw(Kind::parent_domain, static_cast<Pd*>(domain))) return EINVAL;
  domain->parent->children.drop();
  if (domain->thread_domain != nullptr) domain->thread_domain->users.drop();
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
  if (!is_live(thread_domain)) return missing(thread_domain);
  if (domain->users.in_use()) return EBUSY;
  Process::instance().withdraw(Kind::thread_domain, domain);
  release(context_of(domain->context));
  delete domain;
  return 0;
}

ParentDomain* parent_domain_of(ibv_pd* pd) {
  auto* const domain = static_cast<Pd*>(pd);
  return pd != nullptr && Process::instance().is_live(Kind::parent_domain, domain) ? static_cast<ParentDomain*>(domain)
                                                                                   : nullptr;
}

void* allocate_on(ParentDomain& domain, std::size_t bytes, std::size_t alignment, bool& custom) {
  custom = false;
  if (domain.allocate == nullptr) return nullptr;
  const host::OutsideCall application;
  void* const memory = domain.allocate(&domain, domain.allocator_context, bytes, alignment, kObjectMemory);
  custom = memory != IBV_ALLOCATOR_USE_DEFAULT;
  return custom ? memory : nullptr;
}

void free_on(ParentDomain& domain, void* memory) {
  const host::OutsideCall application;
  domain.free(&domain, domain.allocator_context, memory, kObjectMemory);
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
  constexpr std::uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  auto* const thread_domain = static_cast<ThreadDomain*>(attributes->td);
  if ((attributes->comp_mask & ~kKnown) != 0) return fail(EINVAL);
  if (const int error = missing_in(context, attributes->pd); error != 0) return fail(error);
  if (attributes->td != nullptr && !is_live_of(context, attributes->td)) return fail(ENOENT);
  const bool has_allocators = (attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0;
  if (has_allocators && (attributes->alloc == nullptr || attributes->free == nullptr)) return fail(EINVAL);
  auto* const domain = new (std::nothrow) ParentDomain();
  if (domain == nullptr) return fail(ENOMEM);
  domain->parent = static_cast<Pd*>(attributes->pd);
  domain->thread_domain = thread_domain;
  if (has_allocators) {
    domain->allocate = attributes->alloc;
    domain->free = attributes->free;
  }
  if ((attributes->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0)
    domain->allocator_context = attributes->pd_context;
  domain->nic = domain->parent->nic;
  domain->context = context;
  domain->handle = domain->parent->handle;
  domain->parent->children.add();
  if (domain->thread_domain != nullptr) domain->thread_domain->users.add();
  Process::instance().enlist(Kind::parent_domain, static_cast<Pd*>(domain), context);
  return domain;
}

ibv_pd* alloc_pd(ibv_context* context) {
  verbena::host::Engine* const engine = working_engine_of(context);
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

ibv_pd* import_pd(ibv_context* context, std::uint32_t pd_handle) {
  if (working_engine_of(context) == nullptr) return fail(kNoDevice);
  auto* const original = static_cast<Pd*>(Process::instance().find(Kind::pd, [&](void* object) {
    auto* const pd = static_cast<Pd*>(object);
    return pd->nic.index == pd_handle && context_of(pd->context)->device_file == context_of(context)->device_file;
  }));
  if (original == nullptr) return fail(ENOENT);
  auto* const pd = new (std::nothrow) Pd();
  if (pd == nullptr) return fail(ENOMEM);
  pd->nic = original->nic;
  pd->imported = true;
  pd->context = context;
  pd->handle = pd_handle;
  Process::instance().enlist(Kind::pd, pd, context);
  return pd;
}

// Forgets the structure; the NIC's object stays for whoever else knows it.
void unimport_pd(ibv_pd* pd) {
  auto* const object = static_cast<Pd*>(pd);
  if (!is_live(pd) || !Process::instance().withdraw(Kind::pd, object)) return;
  release(context_of(pd->context));
  delete object;
}

int dealloc_pd(ibv_pd* pd) {
  auto* const object = static_cast<Pd*>(pd);
  Process& process = Process::instance();
  if (!is_live(pd)) return missing(pd);
  if (process.is_live(Kind::parent_domain, object)) return dealloc_parent_domain(static_cast<ParentDomain*>(object));
  if (object->children.in_use()) return EBUSY;
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

}  // namespace verbena::shim
