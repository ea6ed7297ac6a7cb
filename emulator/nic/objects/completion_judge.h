// CompletionJudge: whoever decides that completions go wrong, for tests of programs; and what it can decide.
//
// An interface that the NIC asks (state/planned_completions.h). A NIC without a judge (NicConfig::completion_judge)
// pays a look at a null pointer.
// Tested by: tests/nic/planned_completions_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "emulator/nic/objects/completion.h"
#include "wire/time.h"

namespace verbena::nic {

/// A completion that is about to go to its CQ, in the words of a plan.
struct JudgedCompletion {
  std::uint32_t qp = 0;  // the number that its owner gave it (QpInit::number)
  std::uint32_t cq = 0;  // likewise (Nic::create_cq)
  bool is_receive = false;
  CompletionStatus status = CompletionStatus::success;
};

/// What comes of it. As it stands here: nothing out of the ordinary.
struct CompletionVerdict {
  std::optional<CompletionStatus> status;  // instead of its own; no success
  bool is_report_only = false;             // the QP stays as it is, whatever the status means
  bool is_lost = false;                    // it never comes
  bool comes_twice = false;
  bool overruns = false;  // it does not fit: the CQ fails (IBTA 11.6.3.2)
  /// Of a failed one: what the man page of ibv_poll_cq calls undefined is filled from here. 0: it is not.
  std::uint32_t garbage = 0;
  Duration delay{};  // it comes so much later, and what follows in its CQ comes behind it

  bool changes_nothing() const {
    return !status && !is_lost && !comes_twice && !overruns && garbage == 0 && delay.ns == 0;
  }
};

/// An asynchronous event out of the blue. Of a QP or CQ: of each that `first` to `last` names; of an SRQ: of all.
struct PlannedEvent {
  AsyncEventType type{};
  std::uint32_t first = 0;  // by their owner's numbers; of an event of a port the port
  std::uint32_t last = UINT32_MAX;
  std::size_t rule = 0;  // the judge's own, which it gets back
};

class CompletionJudge {
 public:
  virtual ~CompletionJudge() = default;
  virtual CompletionVerdict judge(const JudgedCompletion& completion, Time now) = 0;
  /// When an event is due; kNever: none is.
  virtual Time next_event() = 0;
  /// One that is due, no more to come of it.
  virtual std::optional<PlannedEvent> take_event(Time now) = 0;
  /// There was something that it is of, and it was told.
  virtual void event_raised(const PlannedEvent& event) = 0;
};

}  // namespace verbena::nic
