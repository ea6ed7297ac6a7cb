// PeerWaker: whether a peer that has frames of ours to take has to be rung although it did not say that it sleeps.
//
// Solely responsible for that decision, for one peer. Who publishes rings a peer that says it sleeps (doorbell.h), and
// none that polls. An application that polls may stop without a word, and frames then wait for ever; so whoever has
// published looks later whether the peer moves: it takes frames, or polls. Who does neither for as long as its patience
// lasts is rung, and again at growing intervals. Pure: it reads no clock, no shared memory and no core; what was seen
// and the time are arguments, so that every order of events is a test (tests/host/link/shm/peer_waker_test.cc). The
// list of those that are watched is peer_watch.h's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/time.h"

namespace verbena::host {

class PeerWaker {
 public:
  /// What one look at the peer shows.
  struct Sight {
    std::uint64_t tail = 0;      // what it has taken, in octets since the start
    bool has_taken_all = false;  // that was published
    std::uint64_t polls = 0;     // grows while its application polls or posts
  };
  enum class Found : std::uint8_t {
    has_taken_all,     // it needs no more looks
    moves,             // look again
    stuck,             // ring it
    stuck_on_our_cpu,  // ring it and let go of the core: the thread that the doorbell wakes sleeps there
  };

  /// Frames were published; `rung`: the peer says that it sleeps, and has been rung for them. `sleeps_on_our_cpu()`:
  /// whether the thread that the doorbell wakes sleeps on our core. Returns whether to watch it from now on; else it is
  /// watched already.
  template <class SleepsOnOurCpu>
  bool published(bool rung, SleepsOnOurCpu&& sleeps_on_our_cpu) {
    is_rung_ = rung;
    if (is_watched_) return false;
    is_watched_ = true;
    look_at_ = Time{};
    backs_off_ = rung;
    if (patience_ == Duration{} || rung) patience_ = rung && !sleeps_on_our_cpu() ? kBackoffMin : kPatienceMin;
    return true;
  }
  /// It was rung later for what was published.
  void was_rung() { is_rung_ = true; }

  bool is_watched() const { return is_watched_; }
  /// With what was published last: its thread looks, whatever its application does.
  bool is_rung() const { return is_rung_; }
  /// It has taken all.
  void needs_no_look() { is_watched_ = false; }

  /// Whether it is time for look(). The first time begins when it is first asked, for who publishes reads no clock.
  bool is_due(Time now) {
    if (look_at_ != Time{}) return now >= look_at_;
    look_at_ = now + patience_;
    return false;
  }
  /// When it will be, if it was last asked at `asked_at`.
  Time due(Time asked_at) const { return look_at_ == Time{} ? asked_at + patience_ : look_at_; }

  template <class SleepsOnOurCpu>
  Found look(Time now, const Sight& sight, SleepsOnOurCpu&& sleeps_on_our_cpu) {
    // Who was rung is its thread's care: that its application polls says nothing.
    const bool moves = sight.tail != tail_seen_ || (!is_rung_ && sight.polls != polls_seen_);
    tail_seen_ = sight.tail;
    if (sight.has_taken_all) {
      patience_ = std::min(std::max(patience_, kPatienceMin) * 2, kPatienceMax);
      is_watched_ = false;
      return Found::has_taken_all;
    }
    polls_seen_ = sight.polls;
    Found found = Found::moves;
    if (moves) {
      patience_ = std::clamp(patience_, kPatienceMin, kPatienceMax);
      backs_off_ = false;
    } else {
      const bool is_on_our_cpu = sleeps_on_our_cpu();
      found = is_on_our_cpu ? Found::stuck_on_our_cpu : Found::stuck;
      patience_ = backs_off_ || is_on_our_cpu ? std::min(patience_ * 2, kBackoffMax) : kBackoffMin;
      backs_off_ = true;
    }
    look_at_ = now + patience_;
    return found;
  }

  static constexpr Duration kPatienceMin = microseconds(10);
  static constexpr Duration kPatienceMax = microseconds(100);
  static constexpr Duration kBackoffMin = microseconds(200);
  static constexpr Duration kBackoffMax = milliseconds(10);

 private:
  bool is_watched_ = false;  // published, not seen taken
  bool is_rung_ = false;
  bool backs_off_ = false;        // rung already, and it still does not take anything
  Time look_at_{};                // zero: not known yet
  Duration patience_{};           // how long it may take until we ring
  std::uint64_t tail_seen_ = 0;   // when we last looked
  std::uint64_t polls_seen_ = 0;  // as well
};

}  // namespace verbena::host
