// FairTimers: when the NIC's timers may run: neither over a frame that has arrived nor over a request that has not
// left. Whether a peer may still be about to answer is not its own: the NIC asks the link for each ACK timer
// (peer_answers.h).
//
// A thread may be preempted anywhere, with frames in hand or before it looks for any, while the clock goes on: then an
// answer waits in the socket for longer than the timer that waits for it, or a request leaves after its timer has run
// out. Hardware knows neither. Solely responsible for the two rules below; it looks at the NIC's clockwork and asks the
// link (fetch_all, holds_back, has_sent), and costs the way of a packet a comparison or two.
//
// Arrived: a timer that a pass finds due is not run by it, but by a later one that has read the clock, has then taken
// all that had arrived (Look), and has given it to the NIC; and only up to that reading. Frames that come faster than
// they are taken do not put it off for ever: once more of them have passed than any buffer holds, all that had arrived
// at the beginning have.
//
// Left: an ACK timer is started as the request is built. What has been built is closed in batches now and then
// (Nic::close_batch). A timer over a batch that has not left begins anew when it is due, and one over a batch that was
// seen to leave late begins then. When precisely it left is not known: at the look that found it gone, or before.
//
// Everything under the engine's lock, but wants_all().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "emulator/host/link/link.h"
#include "emulator/host/os/clock.h"
#include "emulator/nic/nic.h"
#include "wire/time.h"

namespace verbena::host {

class FairTimers {
 public:
  /// What a pass knows before it takes the engine's lock: all that had arrived by `since` lies in the link's buffers.
  struct Look {
    Time since{};
    bool is_all = false;
  };

  explicit FairTimers(const Clock& clock = real_clock()) : clock_(clock) {}

  /// A timer is due, and waits for a pass with a Look. Any thread.
  bool wants_all() const { return wants_all_.load(std::memory_order_relaxed); }
  /// None is due.
  void rest() {
    if (wants_all()) wants_all_.store(false, std::memory_order_relaxed);
    backlog_frames_ = 0;
  }
  struct Taken {
    std::size_t frames = 0;  // since the look
    bool is_all = false;     // that lay in the link's buffers
  };
  /// One is, at `due`. Returns up to when timers may run now; nothing: not in this pass.
  std::optional<Time> allow(Time due, const Look& look, const Taken& taken);
  /// Whether all that had arrived is with the NIC, as of the last allow().
  bool has_heard_all() const { return backlog_frames_ == 0; }

  /// Frames were built at `now`.
  void built(Time now) {
    if (now < oldest_built_) oldest_built_ = now;
  }
  /// Looks whether they have left, if it is time to.
  void look_after_departures(Time now, nic::Nic& nic, Link& link) {
    if (oldest_built_ <= now - kLookInterval || closed_since_ <= now - kLookInterval) look(nic, link);
  }
  /// At once. Returns when to look again; kNever: all have left.
  Time look(nic::Nic& nic, Link& link);
  /// The last batch of which nothing is on its way any more.
  nic::Nic::Batch left() const { return left_; }

  static constexpr Duration kLookInterval = microseconds(50);
  // A departure within this is prompt. IBTA lets a timer run out anywhere up to four times its length (C9-140): for all
  // but the two shortest ones, which no software answers in time, this is less than that.
  static constexpr Duration kPrompt = microseconds(100);
  static constexpr Duration kLookAgainMin = milliseconds(1);
  static constexpr std::uint64_t kBacklogFramesMax = 64 * 1024;

 private:
  bool has_left(nic::Nic& nic, Link& link);

  const Clock& clock_;
  std::atomic<bool> wants_all_{false};
  Time backlog_since_{};
  std::uint64_t backlog_frames_ = 0;  // taken since then; plus one, 0: none

  Time oldest_built_ = kNever;   // of what is in no closed batch
  Time closed_since_ = kNever;   // of the closed batch that has not left; kNever: there is none
  std::uint64_t published_ = 0;  // with it (Link::published)
  nic::Nic::Batch closed_ = 0;
  nic::Nic::Batch left_ = 0;
};

}  // namespace verbena::host
