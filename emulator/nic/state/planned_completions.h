// PlannedCompletions: does to completions what a judge decides: they fail, come late, twice or never; and raises the
// events that it plans.
//
// Solely the doing. Which completions, and what, is the judge's (completion_judge.h). A completion that is made to fail
// takes its QP along as a real failure does: reliable QPs go to error and are flushed, the send queue of an unreliable
// one stops; a receive that fails is answered with a NAK (IBTA 10.3.1, 11.6.2). Private to emulator/nic.
// Tested by: tests/nic/planned_completions_test.cc
#pragma once

#include <algorithm>
#include <deque>

#include "emulator/nic/objects/completion_judge.h"
#include "emulator/nic/objects/completion_queue.h"
#include "emulator/nic/objects/counters.h"

namespace verbena::nic {

struct NicState;
struct Qp;

class PlannedCompletions {
 public:
  /// `deadline`: of the NIC, which comes to run() then. Events are known from the beginning.
  PlannedCompletions(CompletionJudge& judge, Time& deadline);

  /// The judge may have others.
  void look_at_events() { come_back_at(judge_.next_event()); }
  /// As NicState::complete(), after the judge's verdict.
  void complete(NicState& nic, CompletionQueue& cq, Completion completion, bool solicited, Counters& of_port);
  /// What is due by now: late completions, planned events.
  void run(NicState& nic, Time now);
  /// Late ones that `is_gone` names never come.
  template <class IsGone>
  void remove_if(IsGone&& is_gone) {
    std::erase_if(late_, [&](const Late& late) { return is_gone(late.completion); });
  }

 private:
  struct Late {
    CqHandle cq;
    Completion completion;
    bool solicited;
    Counters* of_port;
    Time due;
  };
  void take(NicState& nic, CompletionQueue& cq, Late one);

  void come_back_at(Time when) { deadline_ = std::min(deadline_, when); }

  CompletionJudge& judge_;
  Time& deadline_;
  std::deque<Late> late_;  // in the order in which they were made; of a CQ none is due before one ahead of it
};

}  // namespace verbena::nic
