// Short copies that may fault, of which only the signal handler knows.
//
// Solely responsible for the instructions that copy a few octets from or to memory of the application, and for the
// table that says where they go on when one of them faults. Nothing is noted down before such a copy and nothing
// cleared behind it, as the kernel's own copies from and to user memory do it (Linux, Documentation/arch/x86/
// exception-tables.rst): a guard that setjmp() sets up costs more than copying 64 octets.
// Tested by: tests/host/engine/app_memory_test.cc
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace verbena::host {

#if defined(__x86_64__)
/// Copies of up to so many octets go this way; 0: none does, on this machine there is no such code.
inline constexpr std::size_t kFaultableCopyBytes = 256;

/// Copies in increasing address order, the last octet last, eight octets at once where so many are left; each octet is
/// read once. `bytes` is at most kFaultableCopyBytes. False: it faulted and was left in the middle; whose octets they
/// were is not told.
[[gnu::always_inline]] inline bool faultable_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::uint64_t word;
  asm volatile goto(
      "1:\n\t"
      "sub $32, %[bytes]\n\t"
      "jb 3f\n"
      "2:\n\t"
      "mov (%[from]), %[word]\n\t"
      "mov %[word], (%[to])\n\t"
      "mov 8(%[from]), %[word]\n\t"
      "mov %[word], 8(%[to])\n\t"
      "mov 16(%[from]), %[word]\n\t"
      "mov %[word], 16(%[to])\n\t"
      "mov 24(%[from]), %[word]\n\t"
      "mov %[word], 24(%[to])\n\t"
      "add $32, %[from]\n\t"
      "add $32, %[to]\n\t"
      "sub $32, %[bytes]\n\t"
      "jae 2b\n"
      "3:\n\t"
      "add $24, %[bytes]\n\t"
      "js 5f\n"
      "4:\n\t"
      "mov (%[from]), %[word]\n\t"
      "mov %[word], (%[to])\n\t"
      "add $8, %[from]\n\t"
      "add $8, %[to]\n\t"
      "sub $8, %[bytes]\n\t"
      "jns 4b\n"
      "5:\n\t"
      "add $8, %[bytes]\n\t"
      "jz 7f\n"
      "6:\n\t"
      "movzbl (%[from]), %k[word]\n\t"
      "movb %b[word], (%[to])\n\t"
      "inc %[from]\n\t"
      "inc %[to]\n\t"
      "dec %[bytes]\n\t"
      "jnz 6b\n"
      "7:\n\t"
      ".pushsection verbena_copies, \"a\"\n\t"
      ".balign 4\n\t"
      ".long 1b - .\n\t"
      ".long 7b - .\n\t"
      ".long %l[faulted] - .\n\t"
      ".popsection"
      : [to] "+r"(to), [from] "+r"(from), [bytes] "+r"(bytes), [word] "=&r"(word)
      :
      : "memory", "cc"
      : faulted);
  return true;
faulted:
  return false;
}
#else
inline constexpr std::size_t kFaultableCopyBytes = 0;
inline bool faultable_copy(std::byte*, const std::byte*, std::size_t) {
  return false;
}
#endif

/// For a handler of SIGSEGV and SIGBUS. If the signal came from a short copy, returning from the handler goes on where
/// faultable_copy() returns false. False: it did not, and nothing is changed. Async-signal-safe.
bool leave_faultable_copy(ucontext_t& interrupted);

}  // namespace verbena::host
