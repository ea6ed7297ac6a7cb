#include "emulator/host/core_share.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cstring>
#include <utility>

#include "emulator/host/clock.h"

namespace verbena::host {

CoreShare::CoreShare() {
  std::memset(&allowed_, 0xff, sizeof allowed_);
  sched_setaffinity(0, sizeof allowed_, &allowed_);  // the kernel leaves out what it does not have or may not give
  if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
}

Duration CoreShare::spin(Time now) const {
  const bool useless = crowded(now) && misses_ % kMissesForgotten >= kMissesMax;
  return useless ? Duration{} : kSpin;
}

long CoreShare::switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

void CoreShare::offer(Time now) {
  if (crowded(now)) return;
  const Time before = clock_now();
  sched_yield();
  const Time after = clock_now();
  note_gap(after - before, after);
}

void CoreShare::note_gap(Duration away, Time now) {
  if (away < kAwayAlone) return;
  // The host of a virtual machine may have taken the processor away: that says nothing about who else wants it.
  const long switches_now = switches();
  if (switches_now != switches_) crowded_until_ = now + kCrowdedFor;
  switches_ = switches_now;
}

CoreShare::Caller CoreShare::this_caller() {
  __attribute__((tls_model("initial-exec"))) thread_local clockid_t cpu_clock = 0;
  if (cpu_clock == 0) pthread_getcpuclockid(pthread_self(), &cpu_clock);
  return {sched_getcpu(), cpu_clock};  // reads memory of the thread: no system call
}

bool CoreShare::computes(Time now, const Caller& application) {
  timespec used{};
  if (application.cpu_clock == 0 || clock_gettime(application.cpu_clock, &used) != 0) return false;
  const Time cpu_time{std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec};
  const Duration wall = now - std::exchange(seen_at_, now);
  const Duration busy = cpu_time - std::exchange(seen_cpu_time_, cpu_time);
  return busy * 4 > wall;
}

void CoreShare::choose_core(Time now, const Caller& application) {
  int avoid = -1;
  if (crowded(now)) {
    const bool in_its_way = application.core == sched_getcpu() || application.core == avoided_;
    if (computes(now, application) && in_its_way) avoid = application.core;
  }
  if (avoid == avoided_ || CPU_COUNT(&allowed_) < 2) return;
  cpu_set_t cores = allowed_;
  if (avoid >= 0) CPU_CLR(static_cast<unsigned>(avoid), &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) == 0) avoided_ = avoid;
}

}  // namespace verbena::host
