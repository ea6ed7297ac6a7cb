// may_access: whether a process may read, or write, all of a range of its own memory, as the kernel asks before a
// device gets at it.
//
// Solely the question; nothing is kept. What is unmapped or protected afterwards shows at the access (app_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::host {

enum class MemoryUse : std::uint8_t { read, write };

/// Small ranges are populated, as pinning does it: every page is there afterwards, and what is to be written is the
/// process's own copy. Larger ones are looked up in /proc/self/maps, and stay as they are. Where the kernel has neither
/// (Linux before 5.14, no /proc), only that everything is mapped is known. No length: true.
bool may_access(std::uintptr_t address, std::size_t length, MemoryUse use);

}  // namespace verbena::host
