// ProcessPage: what a process tells all its peers without being asked, in a page of its own that they map and cannot
// write to. WakePage: the few words about it that its peers do write.
//
// Solely responsible for the words of these pages: OwnPage writes those of this process, ShmChannel (shm_channel.h)
// reads those of a peer. A process that lies in its own page only slows itself down. What stands in a WakePage is a
// hint: whoever writes nonsense there makes its process wake in vain, or its peers run a timer a little early or late.
// Under the engine's lock.
// Tested by: tests/host/link/shm/answered_by_test.cc
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulator/host/link/shm/doorbell.h"
#include "emulator/host/node/identity.h"
#include "emulator/host/os/rest_word.h"
#include "wire/time.h"

namespace verbena::host {

struct ProcessPage {
  /// Odd: nobody polls, ring the doorbell after publishing (doorbell.h).
  alignas(64) std::uint32_t asleep;
  /// The cores, plus one, that it last served its rings on, and that the thread which the doorbell wakes sleeps on. 0:
  /// it does not say.
  std::uint32_t core;
  std::uint32_t thread_core;
  /// 1: `asleep` comes and goes with each message.
  std::uint32_t sleeps_per_message;
  /// Of a fabric process. 1: it is short of a core. Frames may wait in its rings without a doorbell for some time, and
  /// who polls in vain on its core is to yield it.
  std::uint32_t wants_core;
  /// GuardedRest: threads of the application that rest over a poll (CoreRest).
  std::uint32_t resting;
  /// Grows while the application polls or posts.
  alignas(64) std::uint64_t polls;
  /// Times in nanoseconds. A fabric process has handed on all that had been handed to it by then, and was due; another
  /// process has answered it (PeerAnswers).
  alignas(64) std::int64_t looked_at;
  /// 0: it is awake, or frames may wait without a doorbell, or it owes answers. Else nothing is due before then, if it
  /// is asleep still.
  std::int64_t rests_until;
  /// Of a fabric process, by NIC (held_place): bit D is set while frames with DSCP D are to wait in it, for their class
  /// is paused and its port has as many as it takes.
  alignas(64) std::uint64_t held_dscps[kDevicesMax * (kNodesMax + 1)];
};
inline constexpr std::size_t kProcessPageBytes = 9 * 4096;  // only fabrics with rails touch more than the first 4096
static_assert(sizeof(ProcessPage) <= kProcessPageBytes);

struct WakePage {
  /// `asleep` of the last sleep that somebody has rung for: it has something to do from then on.
  alignas(64) std::uint32_t rung;
  /// RestWord: an application that polls has yielded its core to a fabric process that wants it (directed_yield.h).
  std::uint32_t yielded;
  /// Of ProcessPage::resting: changes with each ring.
  std::uint32_t rests_ended;
};
inline constexpr std::size_t kWakePageBytes = 4096;
static_assert(sizeof(WakePage) <= kWakePageBytes);

/// Of one process.
struct ProcessPages {
  ProcessPage* told = nullptr;
  WakePage* wake = nullptr;
};

inline SharedDoorbell doorbell_of(ProcessPage& page) {
  return SharedDoorbell(std::atomic_ref<std::uint32_t>(page.asleep));
}
inline std::atomic_ref<std::uint32_t> wants_core_of(ProcessPage& page) {
  return std::atomic_ref<std::uint32_t>(page.wants_core);
}
inline RestWord yielded_of(WakePage& page) {
  return RestWord(page.yielded);
}
inline GuardedRest rest_of(const ProcessPages& pages) {
  return {pages.told->resting, pages.wake->rests_ended};
}
/// Says that its process is rung for the sleep `asleep`.
void note_rung(WakePage& page, std::uint32_t asleep);
/// What had been handed to the fabric process of these pages by then has been handed on (Relay). Later than now: it
/// rests. Zero: it has not said anything yet.
Time relayed_by(const ProcessPages& pages);
/// What it had been given by then it has answered. `has_taken_all`: it has just been seen to have taken all that was
/// handed to it; kNever, if it rests over that.
Time answered_by(ProcessPage& page, bool has_taken_all);
/// With a process that stands still (StandStill); then it counts as a dead network. A thread that the machine does not
/// run waits for less.
inline constexpr Duration kRelayPatience = seconds(1);
/// Where a NIC's word is in held_dscps. 0: it has none.
constexpr std::size_t held_place(const wire::Gid& address) {
  const auto place = device_place(address);
  return place ? place->device * std::size_t{kNodesMax + 1} + place->node : 0;
}
inline std::uint64_t held_dscps_of(ProcessPage& page, std::size_t place) {
  return std::atomic_ref(page.held_dscps[place]).load(std::memory_order_relaxed);
}
/// The core that the caller runs on, as pages name it: plus one. 0: the kernel does not say.
std::uint32_t present_core();

class OwnPage {
 public:
  OwnPage(ProcessPage& page, WakePage& wake) : page_(page), wake_(wake) {}

  /// Rings are served here and now: processes and their threads may have to share a core.
  void serves();
  /// The application polls, or calls and will poll.
  void polls();
  /// It polls: nobody needs to ring.
  void disarm();
  void stops_polling();
  /// The thread that the doorbell wakes is about to sleep, here.
  void thread_sleeps();
  /// ProcessPage::looked_at, rests_until.
  void has_looked(Time at);
  void rests(Time until);
  void is_awake();
  void hold(const wire::Gid& nic, std::uint64_t dscps) const;
  SharedDoorbell doorbell() const { return doorbell_of(page_); }
  ProcessPage& words() const { return page_; }
  WakePage& wake() const { return wake_; }

  /// Polls without a sleep in between, after which `asleep` no longer comes and goes with each message.
  static constexpr std::uint32_t kPollsOfOneAwake = 100'000;  // some milliseconds

 private:
  ProcessPage& page_;
  WakePage& wake_;
  std::uint32_t polls_since_sleep_ = 0;
};

}  // namespace verbena::host
