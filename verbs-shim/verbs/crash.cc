// What a process says when it crashes: its signal and its callers, to the file that VERBENA_CRASHES names
// (`verbena exhaust`). Without it nothing is done. The program's own handlers go before: they are set later.
// Tested by: tests/programs/exhaust.py
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "emulator/host/config/variables.h"
#include "verbs-shim/verbs/caller_place.h"

namespace verbena::shim {
namespace {

constexpr int kCallersMax = 32;
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
constexpr std::size_t kStackBytes = std::size_t{64} << 10;

char report_path[4096];
alignas(16) char handler_stack[kStackBytes];  // of the main thread, which may have used up its own

void write_all(int file, const char* text, std::size_t size) {
  if (write(file, text, size) < 0) {
    // Then the exit status alone says that it crashed.
  }
}

/// Where the program was.
void* place_in(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<void*>(machine.gregs[REG_RIP]);
#else
  return reinterpret_cast<void*>(machine.pc);
#endif
}

void tell(int signal_number, void* place) {
  const int file = open(report_path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  std::array<char, 512> line{};
  const int head = std::snprintf(line.data(), line.size(), "process %d: SIG%s\n", static_cast<int>(getpid()),
                                 sigabbrev_np(signal_number));
  if (head > 0) write_all(file, line.data(), static_cast<std::size_t>(head));
  std::array<void*, kCallersMax> stack{};
  const int depth = backtrace(stack.data(), kCallersMax);
  int first = 0;  // behind those that handle the signal
  while (first < depth && stack[static_cast<std::size_t>(first)] != place) ++first;
  for (int i = first == depth ? 0 : first; i < depth; ++i) {
    constexpr std::size_t kIndent = 2;
    line.fill(' ');
    std::size_t size = kIndent + write_caller_place(stack[static_cast<std::size_t>(i)],
                                                    std::span(line).subspan(kIndent, line.size() - kIndent - 1));
    line[size++] = '\n';
    write_all(file, line.data(), size);
  }
  close(file);
}

void crashed(int signal_number, siginfo_t*, void* context) {
  tell(signal_number, place_in(context));
  raise(signal_number);  // held back until this returns; its action is the usual one again
}

[[gnu::constructor]] void listen_for_crashes() {
  const char* const path = host::variable(host::kCrashesVariable);
  if (path == nullptr || std::strlen(path) >= sizeof report_path) return;
  std::strcpy(report_path, path);
  void* first = nullptr;
  backtrace(&first, 1);  // loads what it needs, which a handler must not
  const stack_t stack{.ss_sp = handler_stack, .ss_flags = 0, .ss_size = kStackBytes};
  sigaltstack(&stack, nullptr);
  for (const int one : kCrashes) {
    struct sigaction action{};
    action.sa_sigaction = crashed;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_ONSTACK | SA_SIGINFO;
    sigaction(one, &action, nullptr);
  }
}

}  // namespace
}  // namespace verbena::shim
