#include "emulator/host/os/rest_word.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace verbena::host {
namespace {
// Not private to a process: others may have mapped the word.
long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* limit) {
  return ::syscall(SYS_futex, word, operation, value, limit, nullptr, 0);
}
/// As long as the word has that value, at most so long. False: it has all the time.
bool wait_for_change(std::uint32_t* word, std::uint32_t value, Duration longest) {
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  const timespec limit{.tv_sec = longest.ns / kNsPerS, .tv_nsec = longest.ns % kNsPerS};
  const int kept = errno;
  const bool ran_out = futex(word, FUTEX_WAIT, value, &limit) != 0 && errno == ETIMEDOUT;
  errno = kept;
  return !ran_out;
}

void wake_all(std::uint32_t* word) {
  const int kept = errno;
  futex(word, FUTEX_WAKE, INT_MAX, nullptr);
  errno = kept;
}
}  // namespace

bool RestWord::rest(Duration longest) {
  if (wait_for_change(&word_, 1, longest)) return true;
  end();
  return false;
}

bool RestWord::end() {
  if (shared().exchange(0, std::memory_order_acq_rel) == 0) return false;
  wake_all(&word_);
  return true;
}

bool GuardedRest::rest(std::uint32_t ended, Duration longest) {
  const bool was_ended = wait_for_change(&ended_, ended, longest);
  of(resting_).fetch_sub(1, std::memory_order_relaxed);
  return was_ended;
}

bool GuardedRest::end() {
  if (!is_resting()) return false;
  of(ended_).fetch_add(1, std::memory_order_acq_rel);
  wake_all(&ended_);
  return true;
}

}  // namespace verbena::host
