// MarkEcho: which of the requests that a responder has not acknowledged yet were marked by a switch (ECN CE).
//
// Solely what BECN in its acknowledgements says under a policy that hears of each mark (CongestionWants::mark_echo):
// whether what an acknowledgement newly acknowledges was marked. Requests that were and requests that were not are
// therefore acknowledged apart, as RFC 8257, section 3.2, has it for TCP. Owned by Responder; null elsewhere.
// Tested by: tests/nic/dctcp_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "wire/types.h"

namespace verbena::nic {

class MarkEcho {
 public:
  /// A marked request, as it was executed. Of SENDs and WRITEs that wait for an acknowledgement, so many were there
  /// before it and are with it.
  struct Marked {
    wire::Psn psn;
    wire::Psn last_psn;  // with what it made executable (selective repeat)
    std::uint32_t msn_before = 0;
    std::uint32_t msn_after = 0;
    std::uint32_t packets_before = 0;
    std::uint32_t packets_after = 0;
  };
  /// What one acknowledgement says.
  struct Part {
    wire::Psn last;  // of what it acknowledges
    std::uint32_t msn = 0;
    bool is_marked = false;
  };

  /// True: those before it that wait were not marked, or there are none.
  bool note(const Marked& marked) {
    const bool goes_on = count_ != 0 && runs_[count_ - 1].last.packets_after == marked.packets_before;
    // With too many runs what lies between the last two counts as marked, too.
    if (!goes_on && count_ < runs_.size()) {
      runs_[count_++] = {marked.psn, marked};
      return true;
    }
    Run& run = runs_[count_ - 1];
    run.last.last_psn = marked.last_psn;
    run.last.msn_after = marked.msn_after;
    run.last.packets_after = marked.packets_after;
    return !goes_on;
  }

  /// The next part of all that is to be acknowledged.
  Part take(const Part& all) {
    if (count_ == 0) return end(all);
    const Run first = runs_[0];
    if (first.last.packets_before > taken_) {
      taken_ = first.last.packets_before;
      return {first.first - 1, first.last.msn_before, false};
    }
    for (std::size_t i = 1; i < count_; ++i) runs_[i - 1] = runs_[i];
    --count_;
    taken_ = first.last.packets_after;
    if (first.last.last_psn == all.last) return end({all.last, all.msn, true});
    return {first.last.last_psn, first.last.msn_after, true};
  }

  /// All is acknowledged at once. Whether there was a mark among it.
  bool forget() {
    taken_ = 0;
    return std::exchange(count_, 0) != 0;
  }

 private:
  /// Marked requests with none between them that was not.
  struct Run {
    wire::Psn first;
    Marked last;  // but for what was before it: that is the first one's
  };

  Part end(const Part& part) {
    forget();
    return part;
  }

  static constexpr std::size_t kRunsMax = 8;
  std::array<Run, kRunsMax> runs_{};
  std::size_t count_ = 0;
  std::uint32_t taken_ = 0;  // packets of those that wait: their part was taken
};

}  // namespace verbena::nic
