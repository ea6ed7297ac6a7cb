#include "emulator/host/os/combining_gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace verbena::host {
namespace {

long futex(void* word, int operation, std::uint32_t value, const timespec* timeout) {
  const int kept = errno;
  const long result = ::syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
  errno = kept;
  return result;
}

}  // namespace

bool CombiningGate::wait_and_enter() {
  static_assert(sizeof state_ == sizeof(std::uint32_t) && std::atomic<State>::is_always_lock_free);
  if (try_enter()) return true;
  State seen = State::busy;
  if (!state_.compare_exchange_strong(seen, State::awaited, std::memory_order_seq_cst) && seen == State::free)
    return try_enter();
  const timespec limit{0, static_cast<long>(kWaitMax.ns)};
  futex(&state_, FUTEX_WAIT, static_cast<std::uint32_t>(State::awaited), &limit);
  return try_enter();
}

void CombiningGate::wake() {
  futex(&state_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace verbena::host
