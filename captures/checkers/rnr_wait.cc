// rnr-wait: after an RNR NAK the request is not sent again before the time in the NAK has passed.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class RnrWaitRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const auto& rnr = seen.flow->rnr;
    if (!rnr || rnr->psn != seen.psn) return not_concerned();
    const CheckerOptions& options = seen.options;
    if (seen.time() - options.departure_delay_max < rnr->since) return unjudged();  // may have been on its way by then
    if (seen.time() + options.clock_tolerance >= rnr->until) return holds();
    return broken("sent again {} ns after an RNR NAK that asked for {} ns", (seen.time() - rnr->since).ns,
                  (rnr->until - rnr->since).ns);
  }
};

}  // namespace

std::unique_ptr<Rule> make_rnr_wait(const RegionTable&) {
  return std::make_unique<RnrWaitRule>();
}

}  // namespace verbena::checkers
