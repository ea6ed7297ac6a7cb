// AppMemory: nic::Memory over this process's own address space. A copy that faults fails; it never ends the process.
//
// Solely responsible for the copies and for the handler of SIGSEGV and SIGBUS that makes them safe. Bounds and keys are
// checked before (emulator/nic/memory/memory_table.h). The handler takes faults of guarded copies only; every other one
// goes where it would have gone without us.
#pragma once

#include <csignal>
#include <cstddef>

#include "emulator/nic/memory/memory.h"

namespace verbena::host {

/// One per engine, used under its lock.
class AppMemory final : public nic::Memory {
 public:
  bool read(std::uint64_t address, std::span<std::byte> into) override;
  bool write(std::uint64_t address, std::span<const std::byte> from) override;
  std::optional<std::uint64_t> compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) override;
  std::optional<std::uint64_t> fetch_add(std::uint64_t address, std::uint64_t add) override;
};

/// Puts our handler above whatever handles SIGSEGV and SIGBUS now, unless it is ours already.
void install_fault_handler();

/// For whoever interposes sigaction(): call this first from a handler that has replaced ours, with the context that it
/// got. If the fault belongs to a guarded copy it does not return, or returns true, and the handler has to return as
/// well; else it returns false and has done nothing.
bool handle_fault(int signal, siginfo_t* info, void* context);

}  // namespace verbena::host
