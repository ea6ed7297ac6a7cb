// PollYield: whether an application that polls in vain lets go of its core, and for how long at most.
//
// Who spins on the core of the very process that is to answer it keeps that one from answering until its time slice is
// over, some milliseconds. So it rests until frames come (CoreRest). Where peers run is known
// (PeerScheduling::neighbour), so that a poll on a core of one's own never enters the kernel. The question takes cache
// lines from a peer's core: it is put only after a wait that is long against an answer from another core, and soon
// again where it has found somebody. A rest for a peer that has frames to take, or for one that hands the core back, is
// always worth it. One for a peer that is merely awake may be for somebody who has gone to another core: after such a
// one that nothing has ended there is none for a while. Solely that decision; pure, so that every order of events is a
// test. Under the engine's lock, but for ran_out().
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/host/link/peer_scheduling.h"
#include "wire/time.h"

namespace verbena::host {

class PollYield {
 public:
  using Neighbour = PeerScheduling::Neighbour;
  /// tentative: perhaps for nobody. shared_core: for whoever else runs on the caller's core (CoreShare).
  enum class Kind : std::uint8_t { none, sure, tentative, shared_core };

  /// A poll has found nothing. True: it is time to ask who shares the core.
  bool is_due() {
    if (++vain_polls_ < polls_to_ask_) return false;
    vain_polls_ = 0;
    return true;
  }
  /// One has found something. If it was the first after a rest, that was worth it, however long it lasted.
  void found() {
    if (ran_out_.load(std::memory_order_relaxed) != 0) {
      ran_out_.store(0, std::memory_order_relaxed);
      not_before_ns_.store(0, std::memory_order_relaxed);
    }
    vain_polls_ = 0;
  }
  /// Whether to rest now. A peer that has not ended so many rests is stopped, or is not where it was seen.
  /// `polls_enter_kernel`: each takes as long as a dozen others.
  Kind of(Neighbour neighbour, bool is_core_shared, bool polls_enter_kernel, Time now) {
    const bool is_alone = neighbour == Neighbour::nobody;
    polls_to_ask_ = !is_alone ? kPollsBeside : is_core_shared && polls_enter_kernel ? kPollsOfKernel : kPollsAlone;
    if (!is_alone && neighbour != Neighbour::awake && ran_out_.load(std::memory_order_relaxed) < kSureRests)
      return Kind::sure;
    if (is_core_shared) return Kind::shared_core;
    if (is_alone) return Kind::none;
    return now.ns < not_before_ns_.load(std::memory_order_relaxed) ? Kind::none : Kind::tentative;
  }
  /// The other sources of an application that polls wait meanwhile, such as sockets.
  static constexpr Duration longest(Kind kind) { return kind == Kind::sure ? kSure : kUnsure; }
  /// Nothing has ended the rest, which is over now. Any thread.
  void ran_out(Kind kind, Time now) {
    ran_out_.fetch_add(1, std::memory_order_relaxed);
    if (kind == Kind::tentative) not_before_ns_.store((now + kUnsure * kPausesAfter).ns, std::memory_order_relaxed);
  }

  static constexpr std::uint32_t kPollsAlone = 256;    // about ten microseconds over shared memory
  static constexpr std::uint32_t kPollsOfKernel = 16;  // as long, over sockets
  static constexpr std::uint32_t kPollsBeside = 8;
  static constexpr std::uint32_t kSureRests = 16;
  static constexpr Duration kSure = microseconds(500);  // the thread takes who rests longer to have stopped polling
  static constexpr Duration kUnsure = microseconds(50);
  static constexpr std::int64_t kPausesAfter = 8;

 private:
  std::uint32_t vain_polls_ = 0;  // in a row, since the last question
  std::uint32_t polls_to_ask_ = kPollsAlone;
  Time in_vain_since_{};                   // as far as anybody has asked
  std::atomic<std::uint32_t> ran_out_{0};  // since something was found
  std::atomic<std::int64_t> not_before_ns_{0};
};

}  // namespace verbena::host
