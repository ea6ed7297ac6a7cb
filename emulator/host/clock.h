// The real clock, read from user space. Once per batch, not per packet.
#pragma once

#include <ctime>

#include "wire/time.h"

namespace verbena::host {

/// Monotonic; the origin is the machine's, so the time of two processes is comparable.
inline Time clock_now() {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return Time{std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec};
}

}  // namespace verbena::host
