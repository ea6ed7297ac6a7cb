#include "emulator/host/engine/vain_polls.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>

#include "emulator/host/engine/thread_affinity.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/nap.h"

namespace verbena::host {
namespace {
constexpr std::uint32_t kLooksToAskForCores = 4096;

/// Of the calling thread (clock_gettime(2)).
Duration cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}
}  // namespace

bool VainPolls::others_need_core(Time now) {
  using Others = CoreShare::Others;
  Others others = Others::time_slice;
  if (live_.parts().relay != nullptr) {
    if (looks_beside_relay_++ % kLooksToAskForCores == 0) has_choice_of_cores_ = !is_bound_to_one_core();
    if (has_choice_of_cores_) others = Others::several_time_slices;
  }
  return core_share_.look({.at = now, .cpu = cpu_time(), .thread = pthread_self()}, others);
}

/// Who shares the core is known of peers over shared memory; of others only that they have some of its time. All of
/// this is about the machine's processors, so the time is the machine's, whatever clock the engine was given.
PollYield::Kind VainPolls::decide() {
  const Time now = clock_now();
  using Neighbour = PeerScheduling::Neighbour;
  PeerScheduling* const scheduling = live_.parts().scheduling;
  const Neighbour neighbour = scheduling != nullptr ? scheduling->neighbour() : Neighbour::nobody;
  const bool is_known = neighbour != Neighbour::nobody && neighbour != Neighbour::awake;
  const bool is_core_shared = !is_known && others_need_core(now);
  const PollYield::Kind rest = poll_yield_.of(neighbour, is_core_shared, live_.frames_need_kernel(), now);
  if (neighbour == Neighbour::rests && rest != PollYield::Kind::none) scheduling->wake_neighbour();
  return rest;
}

bool VainPolls::begin(Decision& decision, Duration longest) {
  if (longest <= Duration{} || !live_.begin_rest(decision.by)) return false;
  decision.longest = longest;
  resting_.fetch_add(1, std::memory_order_relaxed);
  core_share_.restart();
  return true;
}

void VainPolls::rest(const Decision& decision) {
  if (!JointRest().rest(decision.by, decision.longest)) poll_yield_.ran_out(decision.rest, clock_now());
}

void VainPolls::finish() {
  live_.finish_rest();
  resting_.fetch_sub(1, std::memory_order_release);
}

void VainPolls::await_all() {
  while (resting_.load(std::memory_order_acquire) != 0) {
    wake_all();
    nap(JointRest::kNap);
  }
}

void VainPolls::wake_all() {
  if (CoreRest* const core_rest = live_.parts().core_rest; core_rest != nullptr) core_rest->end_rest();
}

}  // namespace verbena::host
