#include "emulator/host/os/sleeper.h"

#include <time.h>

#include <algorithm>

#include "emulator/host/os/clock.h"

namespace verbena::host {
namespace {

timespec timespec_of(Duration length) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ns = std::max<std::int64_t>(length.ns, 0);
  return {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
}

class RealSleeper final : public Sleeper {
 public:
  int wait(std::span<pollfd> descriptors, Time until) override {
    const timespec timeout = until == kNever ? timespec{} : timespec_of(until - clock_now());
    return ppoll(descriptors.data(), descriptors.size(), until == kNever ? nullptr : &timeout, nullptr);
  }
  void pause(Duration length) override {
    const timespec pause = timespec_of(length);
    nanosleep(&pause, nullptr);
  }
};

}  // namespace

Sleeper& real_sleeper() {
  static RealSleeper sleeper;
  return sleeper;
}

}  // namespace verbena::host
