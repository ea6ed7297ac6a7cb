// VERBENA_ASSERT: a programmer's error ends the process in every build, with the place and the condition.
//
// Never use it on anything that a packet, a peer or an application decides.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace verbena {
[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "verbena: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}
}  // namespace verbena

#define VERBENA_ASSERT(condition) \
  (__builtin_expect(!!(condition), 1) ? (void)0 : ::verbena::assertion_failed(#condition, __FILE__, __LINE__))
