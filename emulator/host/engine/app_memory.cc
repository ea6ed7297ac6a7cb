#include "emulator/host/engine/app_memory.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "emulator/host/engine/faultable_copy.h"

namespace verbena::host {
namespace {

/// The range of application memory that a copy under way may touch, and where to go if it faults.
struct Guard {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::jmp_buf escape;
};

// initial-exec: the first use in a thread must not allocate, it may happen in a signal handler.
__attribute__((tls_model("initial-exec"))) thread_local Guard* volatile current_guard = nullptr;

/// Runs `copy` guarded. False: it faulted within the range and was left in the middle.
template <class Copy>
__attribute__((noinline)) bool guarded(std::uint64_t address, std::size_t bytes, Copy&& copy) {
  Guard guard;
  guard.begin = static_cast<std::uintptr_t>(address);
  guard.end = guard.begin + bytes;
  if (guard.end < guard.begin) return false;
  if (_setjmp(guard.escape) != 0) {
    current_guard = nullptr;
    return false;
  }
  current_guard = &guard;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  current_guard = nullptr;
  return true;
}

/// A copy to or from application memory. To the application this is DMA, not a thread of the program: it synchronises
/// by polling and by completions, which the thread sanitizer cannot know, and may fault, which the address sanitizer
/// would report before our handler sees it. So they are not shown these accesses.
inline void raw_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if (defined(VERBENA_THREAD_SANITIZER) || defined(VERBENA_ADDRESS_SANITIZER)) && defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  std::memcpy(to, from, bytes);
#endif
}

// clang's no_sanitize goes on instrumenting atomics, whose fault would leave the sanitizer's own locks held.
#if defined(VERBENA_THREAD_SANITIZER) && defined(__clang__)
#define VERBENA_UNSEEN __attribute__((noinline, disable_sanitizer_instrumentation))
#elif defined(VERBENA_THREAD_SANITIZER)
#define VERBENA_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#else
#define VERBENA_UNSEEN inline
#endif
VERBENA_UNSEEN void raw_compare_swap(std::uint64_t* cell, std::uint64_t& before, std::uint64_t swap) {
  __atomic_compare_exchange_n(cell, &before, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
VERBENA_UNSEEN std::uint64_t raw_fetch_add(std::uint64_t* cell, std::uint64_t add) {
  return __atomic_fetch_add(cell, add, __ATOMIC_SEQ_CST);
}

/// Keeps the stores before it before the stores behind it, for whoever polls the last octet.
inline void store_fence() {
#if defined(__x86_64__) || defined(__i386__)
  asm volatile("" ::: "memory");  // the CPU keeps stores in order
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// One store.
inline void copy_word(std::byte* to, const std::byte* from) {
  raw_copy(to, from, sizeof(std::uint64_t));
  store_fence();
}

constexpr std::size_t kTailBytes = 64;

/// A library memcpy may store the tail before the head. The head goes through it, the tail in order. Not inline: where
/// setjmp is called, variables live in memory.
__attribute__((noinline)) void copy_ascending(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > kTailBytes) {
    const std::size_t head = bytes - kTailBytes;
    raw_copy(to, from, head);
    to += head;
    from += head;
    bytes = kTailBytes;
    store_fence();
  }
  constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
  for (; bytes >= 4 * kWordBytes; bytes -= 4 * kWordBytes, to += 4 * kWordBytes, from += 4 * kWordBytes) {
    copy_word(to, from);
    copy_word(to + kWordBytes, from + kWordBytes);
    copy_word(to + 2 * kWordBytes, from + 2 * kWordBytes);
    copy_word(to + 3 * kWordBytes, from + 3 * kWordBytes);
  }
  for (; bytes >= kWordBytes; bytes -= kWordBytes, to += kWordBytes, from += kWordBytes) copy_word(to, from);
  for (; bytes != 0; --bytes) {
    raw_copy(to++, from++, 1);
    store_fence();
  }
}

std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

struct sigaction previous_segv;
struct sigaction previous_bus;
struct sigaction& previous_of(int signal) {
  return signal == SIGSEGV ? previous_segv : previous_bus;
}

/// The signal that the previous handler got last, and from which depth: one that hands it on to us in turn must not go
/// round in circles. A handler may also never return (longjmp), so that this cannot be a flag.
__attribute__((tls_model("initial-exec"))) thread_local const siginfo_t* volatile passed_info = nullptr;
__attribute__((tls_model("initial-exec"))) thread_local std::uintptr_t volatile passed_depth = 0;

/// What would have happened without us.
void pass_on(int signal, siginfo_t* info, void* context) {
  struct sigaction& previous = previous_of(signal);
  const bool is_fault = info->si_code > 0;  // the kernel's, not kill(2)
  if ((previous.sa_flags & SA_SIGINFO) == 0 && previous.sa_handler == SIG_IGN && !is_fault) return;
  const bool has_none =
      (previous.sa_flags & SA_SIGINFO) == 0 && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN);
  const auto depth = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool in_circles = passed_info == info && depth < passed_depth;
  if (has_none || in_circles) {
    // Returning runs the faulting instruction again: the process ends as it would have, core and address included.
    struct sigaction normal{};
    normal.sa_handler = SIG_DFL;
    sigaction(signal, &normal, nullptr);
    if (!is_fault) syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info);
    return;
  }
  struct sigaction chosen = previous;
  if ((chosen.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    previous.sa_flags = 0;
    previous.sa_handler = SIG_DFL;
  }
  sigset_t before;
  sigset_t during = chosen.sa_mask;
  if ((chosen.sa_flags & SA_NODEFER) == 0) sigaddset(&during, signal);
  pthread_sigmask(SIG_BLOCK, &during, &before);
  passed_info = info;
  passed_depth = depth;
  if ((chosen.sa_flags & SA_SIGINFO) != 0)
    chosen.sa_sigaction(signal, info, context);
  else
    chosen.sa_handler(signal);
  passed_info = nullptr;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  if (!handle_fault(signal, info, context)) pass_on(signal, info, context);
}

}  // namespace

bool handle_fault(int signal, siginfo_t* info, void* context) {
  if (context != nullptr && info->si_code > 0 && leave_faultable_copy(*static_cast<ucontext_t*>(context))) return true;
  Guard* const guard = current_guard;
  if (guard == nullptr || info->si_code <= 0) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  // x86 does not tell the address of an access outside the canonical range.
  const bool ours = info->si_code == SI_KERNEL || (address >= guard->begin && address < guard->end);
  if (!ours) return false;
  // Ours does not block the signal, but the handler that calls us may.
  if (context != nullptr) {
    pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
  } else {
    sigset_t fault;
    sigemptyset(&fault);
    sigaddset(&fault, signal);
    pthread_sigmask(SIG_UNBLOCK, &fault, nullptr);
  }
  std::longjmp(guard->escape, 1);
}

void install_fault_handler() {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  for (const int signal : {SIGSEGV, SIGBUS}) {
    struct sigaction present{};
    sigaction(signal, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == on_fault) continue;
    previous_of(signal) = present;
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    // NODEFER: longjmp leaves the mask as it is, so the signal must not be in it.
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

bool AppMemory::read(std::uint64_t address, std::span<std::byte> into) {
  if (into.size() <= kFaultableCopyBytes) return faultable_copy(into.data(), pointer(address), into.size());
  return guarded(address, into.size(), [&] { raw_copy(into.data(), pointer(address), into.size()); });
}

bool AppMemory::write(std::uint64_t address, std::span<const std::byte> from) {
  if (from.size() <= kFaultableCopyBytes) return faultable_copy(pointer(address), from.data(), from.size());
  return guarded(address, from.size(), [&] { copy_ascending(pointer(address), from.data(), from.size()); });
}

std::optional<std::uint64_t> AppMemory::compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
  if (address % alignof(std::uint64_t) != 0) return std::nullopt;
  std::uint64_t before = compare;
  const bool done = guarded(address, sizeof before, [&] {
    raw_compare_swap(reinterpret_cast<std::uint64_t*>(pointer(address)), before, swap);
  });
  if (!done) return std::nullopt;
  return before;
}

std::optional<std::uint64_t> AppMemory::fetch_add(std::uint64_t address, std::uint64_t add) {
  if (address % alignof(std::uint64_t) != 0) return std::nullopt;
  std::uint64_t before = 0;
  const bool done = guarded(address, sizeof before,
                            [&] { before = raw_fetch_add(reinterpret_cast<std::uint64_t*>(pointer(address)), add); });
  if (!done) return std::nullopt;
  return before;
}

}  // namespace verbena::host
