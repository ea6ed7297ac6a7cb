// PayloadFreeMemory: memory of a NIC in a world that carries no payload: nothing is read, nothing written, nothing
// faults.
// Tested by: tests/sim/world_test.cc
#pragma once

#include "emulator/nic/memory/memory.h"

namespace verbena::sim {

class PayloadFreeMemory final : public nic::Memory {
 public:
  bool has_octets() const override { return false; }
  bool read(std::uint64_t /*address*/, std::span<std::byte> /*into*/) override { return true; }
  bool write(std::uint64_t /*address*/, std::span<const std::byte> /*from*/) override { return true; }
  std::optional<std::uint64_t> compare_swap(std::uint64_t /*address*/, std::uint64_t /*compare*/,
                                            std::uint64_t /*swap*/) override {
    return 0;
  }
  std::optional<std::uint64_t> fetch_add(std::uint64_t /*address*/, std::uint64_t /*add*/) override { return 0; }
};

}  // namespace verbena::sim
