// The memory of objects that are made on a parent domain: from the allocator that the application gave it, if it did.
//
// Solely responsible for where the structure of a QP, CQ, SRQ or WQ lies, and for a parent domain's not going before
// them. The entries of their queues are the NIC's.
// Tested by: tests/shim/verbs/objects_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include "verbs-shim/verbs/objects.h"

namespace verbena::shim {

/// The parent domain that `pd` is; null: it is a plain domain, or none.
ParentDomain* parent_domain_of(ibv_pd* pd);
/// Of the domain's allocator; null: it has no memory. `custom` is false where it leaves the memory to us.
void* allocate_on(ParentDomain& domain, std::size_t bytes, std::size_t alignment, bool& custom);
void free_on(ParentDomain& domain, void* memory);

/// A new object on `pd`; null: no memory. release_made() ends it.
template <class Object>
Object* make_on(ibv_pd* pd) {
  constexpr std::size_t kLine = 64;
  ParentDomain* const domain = parent_domain_of(pd);
  bool custom = false;
  void* memory = nullptr;
  if (domain != nullptr) {
    memory = allocate_on(*domain, sizeof(Object), std::max(alignof(Object), kLine), custom);
    if (custom && memory == nullptr) return nullptr;
  }
  Object* const object = custom ? new (memory) Object() : new (std::nothrow) Object();
  if (object == nullptr || domain == nullptr) return object;
  object->memory = {domain, custom};
  domain->users.add();
  return object;
}

template <class Object>
void release_made(Object* object) {
  const DomainMemory memory = object->memory;
  if (memory.custom) {
    object->~Object();
    free_on(*memory.domain, object);
  } else {
    delete object;
  }
  if (memory.domain != nullptr) memory.domain->users.drop();
}

}  // namespace verbena::shim
