// TimerTable: the deadlines of one QP, one place a timer.
//
// Solely which timers run and when each is due. What happens then is run_requester_timers and resume_held_back; that
// the NIC's owner comes back in time is TimerHeap's, which NicState::start_timer tells. A time before which something
// may not happen, but at which nothing is to be done (Pace::next, Qp::next_notice), is no timer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/time.h"

namespace verbena::nic {

enum class Timer : std::uint8_t {
  ack,    // of the requester: no answer came to what is outstanding (IBTA 9.7.6.1.3)
  rnr,    // of the requester: the responder's RNR NAK, or a page for a response, holds it back until then (9.7.5.2.8)
  pages,  // pages of an on-demand region that the QP was to send from are there
  pace,   // the rate limit lets the next request go
};
inline constexpr std::size_t kTimers = static_cast<std::size_t>(Timer::pace) + 1;

class TimerTable {
 public:
  constexpr TimerTable() { stop_all(); }

  /// kNever: it does not run.
  constexpr Time deadline(Timer timer) const { return deadlines_[index(timer)]; }
  constexpr bool runs(Timer timer) const { return deadline(timer) != kNever; }

  /// Anew, if it runs already.
  constexpr void start(Timer timer, Time when) { deadlines_[index(timer)] = when; }
  constexpr void stop(Timer timer) { deadlines_[index(timer)] = kNever; }
  constexpr void stop_all() { deadlines_.fill(kNever); }
  /// One that runs is due at `when` at the earliest.
  constexpr void postpone(Timer timer, Time when) {
    if (runs(timer)) deadlines_[index(timer)] = std::max(deadlines_[index(timer)], when);
  }

  constexpr bool is_due(Timer timer, Time now) const { return deadline(timer) <= now; }
  /// Whether it is due; it does not run any more then.
  constexpr bool take_due(Timer timer, Time now) {
    if (!is_due(timer, now)) return false;
    stop(timer);
    return true;
  }

  /// The earliest deadline; kNever: no timer runs.
  constexpr Time next() const { return *std::min_element(deadlines_.begin(), deadlines_.end()); }

 private:
  static constexpr std::size_t index(Timer timer) { return static_cast<std::size_t>(timer); }
  std::array<Time, kTimers> deadlines_{};
};

}  // namespace verbena::nic
