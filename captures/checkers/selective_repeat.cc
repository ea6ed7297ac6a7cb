// selective-repeat: between QPs that have agreed on it, a requester sends again only what is missing: what it takes for
// acknowledged up to, and behind that only what is before something that has arrived, or was refused; and nothing of
// which it was told that it has arrived. Without being told it waits for its timeout. READs and atomics, whose missing
// responses are asked for, are left to read-response and atomic-once.
// Tested by: tests/captures/checkers/broken_test.cc
#include <algorithm>

#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class SelectiveRepeat final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    const SelectiveStream& selective = flow.selective;
    if (!selective.is_agreed || !flow.departs || wire::distance(flow.next, seen.psn) >= 0) return not_concerned();
    const bool is_oldest = seen.psn == flow.acked;
    State& state = states_.of(flow);
    const Duration waited = seen.time() - std::max(flow.progress_at, flow.outstanding_since);
    const Duration tolerance = seen.options.clock_tolerance + seen.options.departure_delay_max;
    const bool may_have_timed_out = is_oldest && waited + tolerance >= flow.rto_low;
    if (may_have_timed_out || seen.info.takes_resource) state = {true, flow.next};
    if (seen.info.takes_resource) return not_concerned();
    if (!flow.acked_known) return unjudged();
    if (wire::distance(seen.psn, flow.acked) > 0 || may_have_timed_out) return holds();
    const bool is_recovering = state.is_recovering && wire::distance(flow.acked, state.recovery) > 0;
    const bool has_arrived =
        std::find(selective.sacked.begin(), selective.sacked.end(), seen.psn) != selective.sacked.end();
    if (has_arrived && !is_oldest) {  // the oldest may be what a timeout's recovery goes on with
      if (seen.options.departure_delay_max.ns != 0) return unjudged();  // it may have been on its way by then
      return broken("it was told that psn {} has arrived", seen.psn.value());
    }
    if (wire::distance(seen.psn, selective.lost_until) > 0 || (is_oldest && is_recovering)) return holds();
    if (is_oldest)
      return broken("sent again without a NAK, {} ns after the last progress; RTO_low is {} ns", waited.ns,
                    flow.rto_low.ns);
    return broken("psn {} is missing, and nothing says that psn {} is", flow.acked.value(), seen.psn.value());
  }

 private:
  struct State {
    bool is_recovering = false;
    wire::Psn recovery;  // a timeout's recovery goes on up to there: each partial acknowledgement shows a loss
  };

  PerFlow<State> states_;
};

}  // namespace

std::unique_ptr<Rule> make_selective_repeat(const RegionTable&) {
  return std::make_unique<SelectiveRepeat>();
}

}  // namespace verbena::checkers
