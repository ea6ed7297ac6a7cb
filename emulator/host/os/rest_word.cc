#include "emulator/host/os/rest_word.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace verbena::host {
namespace {
void wake_all(std::uint32_t* word) {
  const int kept = errno;
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);  // not private: others may have mapped it
  errno = kept;
}
}  // namespace

bool RestWord::rest(Duration longest) {
  if (wait_for_change(word_, 1, longest)) return true;
  end();
  return false;
}

bool RestWord::end() {
  if (shared().exchange(0, std::memory_order_acq_rel) == 0) return false;
  wake_all(&word_);
  return true;
}

bool GuardedRest::end() {
  if (!is_resting()) return false;
  of(ended_).fetch_add(1, std::memory_order_acq_rel);
  wake_all(&ended_);
  return true;
}

}  // namespace verbena::host
