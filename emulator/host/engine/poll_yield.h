// PollYield: whether an application that polls in vain lets go of its core.
//
// Who spins on the core of the very process that is to answer it keeps that one from answering until its time slice is
// over, some milliseconds. Where peers run is known (PeerScheduling::neighbour), so that a poll on a core of one's
// own never enters the kernel. The question takes cache lines from a peer's core: it is put only after a wait that is
// long against an answer from another core, and soon again where it has found somebody. A yield to a peer that has
// frames to take is always worth it. One to a peer that is merely awake, or to whoever else shares the only core that
// there is, may give that core away for a whole slice for nothing: after such a one there is none for a while. Solely
// that decision; pure, so that every order of events is a test. Under the engine's lock, but for yielded().
#pragma once

#include <atomic>
#include <cstdint>

#include "emulator/host/link/peer_scheduling.h"
#include "wire/time.h"

namespace verbena::host {

class PollYield {
 public:
  using Neighbour = PeerScheduling::Neighbour;
  enum class Kind : std::uint8_t { none, sure, tentative };

  /// A poll has found nothing. True: it is time to ask who shares the core.
  bool is_due() {
    if (++vain_polls_ < polls_to_ask_) return false;
    vain_polls_ = 0;
    ++asks_;
    return true;
  }
  /// Now and then it is also time to ask how many cores the caller may run on.
  bool is_due_for_cores() const { return asks_ % kAsksToAskForCores == 1; }
  /// One has found something. If it was the first after a yield, that was worth it, however long it lasted: two that
  /// both rest on one core would take turns of a time slice each.
  void found() {
    if (yields_in_vain_ != 0) not_before_ns_.store(0, std::memory_order_relaxed);
    vain_polls_ = 0;
    yields_in_vain_ = 0;
  }
  /// Whether to yield now. A peer that has not come after so many yields is stopped, or is not where it was seen.
  Kind of(Neighbour neighbour, Time now) {
    polls_to_ask_ = neighbour == Neighbour::nobody ? kPollsAlone : kPollsBeside;
    if (neighbour == Neighbour::nobody) return Kind::none;
    const bool is_sure = neighbour == Neighbour::has_our_frames && yields_in_vain_ < kSureYields;
    if (!is_sure && now.ns < not_before_ns_.load(std::memory_order_relaxed)) return Kind::none;
    ++yields_in_vain_;
    return is_sure ? Kind::sure : Kind::tentative;
  }
  /// The yield began and ended at these times. Any thread. True: nobody has run for many yields. Whoever shares the
  /// core belongs to another session or control group, which gets no part of it by a yield: nap, to let everybody run.
  bool yielded(Kind kind, Time began, Time ended) {
    const Duration took = ended - began;
    if (kind == Kind::tentative && took >= kLong)
      not_before_ns_.store((ended + took * kRestsAfterLong).ns, std::memory_order_relaxed);
    const std::uint32_t alone = took > kNobodyRan ? 0 : yields_alone_.load(std::memory_order_relaxed) + 1;
    const bool naps = alone == kYieldsBeforeNap;
    yields_alone_.store(naps ? 0 : alone, std::memory_order_relaxed);
    return naps;
  }

  static constexpr std::uint32_t kPollsAlone = 256;  // about ten microseconds over shared memory
  static constexpr std::uint32_t kPollsBeside = 8;
  static constexpr std::uint32_t kAsksToAskForCores = 4096;
  static constexpr std::uint32_t kSureYields = 1000;
  static constexpr Duration kLong = microseconds(200);  // longer than peers need that poll in vain themselves
  static constexpr std::int64_t kRestsAfterLong = 8;
  static constexpr Duration kNobodyRan = microseconds(2);  // to another process and back takes longer
  static constexpr std::uint32_t kYieldsBeforeNap = 32;    // most schedulers switch by then, between groups as well
  static constexpr Duration kNap = microseconds(2);        // and some more for the kernel

 private:
  std::uint32_t vain_polls_ = 0;  // in a row, since the last question
  std::uint32_t polls_to_ask_ = kPollsAlone;
  std::uint32_t asks_ = 0;
  std::uint32_t yields_in_vain_ = 0;  // since something was found
  std::atomic<std::int64_t> not_before_ns_{0};
  std::atomic<std::uint32_t> yields_alone_{0};  // in a row
};

}  // namespace verbena::host
