// Hooking a libc function, and calling the one that was hooked.
//
//   VERBENA_HOOK(int, access, (const char* path, int mode)) {
//     ...
//     return VERBENA_REAL(access)(path, mode);
//   }
//
// Each hook is defined under a name of its own with libc's symbol, since libc's headers declare the same functions with
// attributes that differ between versions. The real function is looked up at the first call, not in a constructor.
// Tested by: tests/shim/sysfs/path_test.cc
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace verbena::path {

/// The next definition of `name` after ours. Two threads may look it up at once and find the same.
template <class Function>
Function* next_function(std::atomic<Function*>& slot, const char* name) {
  Function* function = slot.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  slot.store(function, std::memory_order_relaxed);
  return function;
}

/// Past all hooks, ours included.
inline bool real_fstat(int fd, struct stat& status) {
  return syscall(SYS_fstat, fd, &status) == 0;
}

}  // namespace verbena::path

#define VERBENA_HOOK(result, name, parameters)                                                            \
  extern "C" __attribute__((visibility("default"))) result verbena_hook_##name parameters __asm__(#name); \
  namespace {                                                                                             \
  [[maybe_unused]] std::atomic<decltype(verbena_hook_##name)*> verbena_real_##name{nullptr};              \
  }                                                                                                       \
  result verbena_hook_##name parameters

#define VERBENA_REAL(name) (*verbena::path::next_function(verbena_real_##name, #name))
