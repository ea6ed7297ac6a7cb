#include "emulator/nic/memory/memory.h"

#include <atomic>
#include <cstring>

namespace verbena::nic {
namespace {
std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}
std::atomic_ref<std::uint64_t> word(std::uint64_t address) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(address)));
}
}  // namespace

bool PlainMemory::read(std::uint64_t address, std::span<std::byte> into) {
  if (!into.empty()) std::memcpy(into.data(), pointer(address), into.size());
  return true;
}

bool PlainMemory::write(std::uint64_t address, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(pointer(address), from.data(), from.size());
  return true;
}

std::optional<std::uint64_t> PlainMemory::compare_swap(std::uint64_t address, std::uint64_t compare,
                                                       std::uint64_t swap) {
  word(address).compare_exchange_strong(compare, swap);
  return compare;
}

std::optional<std::uint64_t> PlainMemory::fetch_add(std::uint64_t address, std::uint64_t add) {
  return word(address).fetch_add(add);
}

}  // namespace verbena::nic
