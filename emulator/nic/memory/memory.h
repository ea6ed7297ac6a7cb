// Memory: the only way in which the NIC touches the bytes that a memory region covers.
//
// The host implements it over the application's address space (faults are caught), a simulated node over an arena, a
// payload-free run over nothing. A region is told its memory when it is registered; most are in the NIC's own. Bounds,
// keys and access are checked before (memory_table.h), not here.
// Tested by: tests/nic/responder_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace verbena::nic {

class Memory {
 public:
  virtual ~Memory() = default;
  /// False: nothing lies behind the addresses (a simulation without payload). read() is not called then, frames carry
  /// whatever lay in their place, and their ICRC leaves it out. Asked once.
  virtual bool has_octets() const { return true; }
  /// Copies into.size() octets at `address`, each read once. False: the range faults.
  virtual bool read(std::uint64_t address, std::span<std::byte> into) = 0;
  /// Copies to `address` in increasing address order, the last octet last: applications poll for it. False: faults.
  virtual bool write(std::uint64_t address, std::span<const std::byte> from) = 0;
  /// Eight octets, aligned, in host order, atomic towards the CPU. Returns the value before; nothing: the address
  /// faults.
  virtual std::optional<std::uint64_t> compare_swap(std::uint64_t address, std::uint64_t compare,
                                                    std::uint64_t swap) = 0;
  virtual std::optional<std::uint64_t> fetch_add(std::uint64_t address, std::uint64_t add) = 0;
};

/// Where octets are, and in which memory. False: nowhere.
struct Translation {
  Memory* memory = nullptr;
  std::uint64_t address = 0;
  explicit operator bool() const { return memory != nullptr; }
};

/// Memory for tests and simulated nodes that live in this process's own heap: addresses are pointers and never fault.
class PlainMemory final : public Memory {
 public:
  bool read(std::uint64_t address, std::span<std::byte> into) override;
  bool write(std::uint64_t address, std::span<const std::byte> from) override;
  std::optional<std::uint64_t> compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) override;
  std::optional<std::uint64_t> fetch_add(std::uint64_t address, std::uint64_t add) override;
};

}  // namespace verbena::nic
