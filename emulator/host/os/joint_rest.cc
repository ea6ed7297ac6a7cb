#include "emulator/host/os/joint_rest.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <ctime>

#include "emulator/host/os/clock.h"
#include "emulator/host/os/nap.h"

namespace verbena::host {
namespace {

// futex_waitv(2), which the headers have from Linux 5.16 on; the number is the same on every machine.
constexpr long kFutexWaitvCall = 449;
constexpr std::uint32_t kWordOf32Bits = 2;
struct WaitedWord {
  std::uint64_t value = 0;
  std::uint64_t address = 0;
  std::uint32_t flags = kWordOf32Bits;
  std::uint32_t reserved = 0;
};

timespec timespec_of(std::int64_t ns) {
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  return {.tv_sec = ns / kNsPerS, .tv_nsec = ns % kNsPerS};
}

/// The call leaves errno as it was.
class KeptErrno {
 public:
  ~KeptErrno() { errno = kept_; }

 private:
  const int kept_ = errno;
};

bool nap_instead(Duration longest) {
  nap(std::min(JointRest::kNap, longest));
  return true;
}

bool rest_on_descriptors(std::span<const int> descriptors, Duration longest) {
  std::array<pollfd, RestSet::kDescriptorsMax> polled;
  for (std::size_t i = 0; i < descriptors.size(); ++i) polled[i] = {descriptors[i], POLLIN, 0};
  timespec limit = timespec_of(longest.ns);  // which the kernel writes to
  const KeptErrno kept;
  return ::syscall(SYS_ppoll, polled.data(), descriptors.size(), &limit, nullptr, 0) != 0;
}

// A filter of system calls may refuse one that it does not know by EPERM (seccomp profiles of containers).
std::atomic<bool> g_lacks_waitv{false};

}  // namespace

bool wait_for_change(std::uint32_t& word, std::uint32_t value, Duration longest) {
  const timespec limit = timespec_of(longest.ns);
  const KeptErrno kept;
  // Not private to a process: others may have mapped the word.
  return ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0) == 0 || errno != ETIMEDOUT;
}

bool JointRest::rest_on_words(std::span<const RestSet::Word> words, Duration longest) const {
  if (words.size() == 1) return wait_for_change(*words[0].at, words[0].value, longest);
  if (kernel_ == Kernel::old || g_lacks_waitv.load(std::memory_order_relaxed)) return nap_instead(longest);
  std::array<WaitedWord, RestSet::kWordsMax> waited;
  for (std::size_t i = 0; i < words.size(); ++i)
    waited[i] = {.value = words[i].value, .address = reinterpret_cast<std::uintptr_t>(words[i].at)};
  const timespec until = timespec_of((clock_now() + longest).ns);
  const KeptErrno kept;
  if (::syscall(kFutexWaitvCall, waited.data(), words.size(), 0, &until, CLOCK_MONOTONIC) >= 0) return true;
  if (errno != ENOSYS && errno != EPERM) return errno != ETIMEDOUT;
  g_lacks_waitv.store(true, std::memory_order_relaxed);
  return nap_instead(longest);
}

bool JointRest::rest(const RestSet& by, Duration longest) const {
  const bool has_words = !by.words().empty();
  const bool has_descriptors = !by.descriptors().empty();
  if (by.is_blind() || has_words == has_descriptors) return nap_instead(longest);
  return has_words ? rest_on_words(by.words(), longest) : rest_on_descriptors(by.descriptors(), longest);
}

}  // namespace verbena::host
