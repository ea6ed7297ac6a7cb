// Rhythm: how long things take in one requester's conversation, learned from the conversation itself.
//
// Solely the learning. What is far too long here is usual elsewhere: thresholds are multiples of these times, and a
// timer is known by its own length.
// Tested by: tests/captures/findings/rounds_test.cc
#pragma once

#include <optional>
#include <vector>

#include "wire/time.h"

namespace verbena::captures {

struct Rhythm {
  Duration round{0};     // from a request to its answer and to the next request, as the capture sees it; 0: not known
  Duration reaction{0};  // from a NAK to what is sent again; 0: not known
  Duration soonest{0};   // the same, when it is quick; 0: not known
  Duration spacing{0};   // between a request and the next; 0: not known, or the capture's clock is too slow
  std::optional<Duration> timeout;  // of the ACK timer

  /// Whether so much silence is one that this requester's ACK timer ends. `was_answered`: the capture has the answer,
  /// so it would have to be lost behind it as well, and a copy made by the network is as likely. `quiet`: nothing at
  /// all has passed; some requesters begin their timer anew with whatever they send.
  bool may_be_timeout(Duration silence, Duration quiet, bool was_answered) const;
  /// Whether a requester that got a NAK would have acted upon it long before. `quiet`: nothing at all has passed.
  bool is_too_slow(Duration since_nak, Duration silence, Duration quiet) const;
  bool is_prompt(Duration since) const;
  /// Longer than anything but a timer, as far as is known.
  bool is_long(Duration silence) const;
  bool is_soon(Duration since) const;
};

/// Whether it is 4.096 us x 2^n, within a twentieth (IBTA 9.7.6.1.3; Linux and Verbena keep to it, hardware may take up
/// to four times as long).
bool fits_ack_timer(Duration silence);

class RhythmSurvey {
 public:
  void round_trip(Duration time) { add(round_trips_, time); }
  void next_request(Duration time) { add(next_requests_, time); }
  void spacing(Duration time) { add(spacings_, time); }
  void reaction(Duration time) { add(reactions_, time); }
  void timeout(Duration time) { add(timeouts_, time); }
  Rhythm learn() const;

 private:
  static constexpr std::size_t kSamplesMax = 4096;
  static void add(std::vector<Duration>& samples, Duration time) {
    if (samples.size() < kSamplesMax) samples.push_back(time);
  }
  std::vector<Duration> round_trips_, next_requests_, spacings_, reactions_, timeouts_;
};

}  // namespace verbena::captures
