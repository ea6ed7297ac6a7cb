#include "emulator/host/engine/vain_polls.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>

#include "emulator/host/engine/thread_affinity.h"
#include "emulator/host/os/clock.h"
#include "emulator/host/os/nap.h"

namespace verbena::host {
namespace {
constexpr Duration kNap = microseconds(2);  // where nothing can end a rest
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
VainPolls::Decision VainPolls::decide() {
  const Time now = clock_now();
  using Neighbour = PeerScheduling::Neighbour;
  PeerScheduling* const scheduling = live_.parts().scheduling;
  const Neighbour neighbour = scheduling != nullptr ? scheduling->neighbour() : Neighbour::nobody;
  const bool is_known = neighbour != Neighbour::nobody && neighbour != Neighbour::awake;
  const bool is_core_shared = !is_known && others_need_core(now);
  const PollYield::Kind rest = poll_yield_.of(neighbour, is_core_shared, live_.frames_need_kernel(), now);
  if (neighbour == Neighbour::rests && rest != PollYield::Kind::none) scheduling->wake_neighbour();
  return {.rest = rest};
}

void VainPolls::begin(Decision& decision, Duration until_due) {
  decision.longest = std::min(PollYield::longest(decision.rest), until_due);
  const auto begun = decision.longest > Duration{} ? live_.begin_rest() : std::nullopt;
  if (!begun) {
    decision.rest = PollYield::Kind::none;
    return;
  }
  decision.begun = *begun;
  resting_.fetch_add(1, std::memory_order_relaxed);
  core_share_.restart();
}

bool VainPolls::rest(const Decision& decision) {
  if (decision.rest == PollYield::Kind::none) return false;
  bool was_ended = true;
  if (CoreRest* const core_rest = live_.parts().core_rest; core_rest != nullptr)
    was_ended = core_rest->rest(decision.begun, decision.longest);
  else
    nap(kNap);
  resting_.fetch_sub(1, std::memory_order_relaxed);
  if (!was_ended) poll_yield_.ran_out(decision.rest, clock_now());
  return true;
}

void VainPolls::wake_all() {
  if (CoreRest* const core_rest = live_.parts().core_rest; core_rest != nullptr) core_rest->end_rest();
}

}  // namespace verbena::host
