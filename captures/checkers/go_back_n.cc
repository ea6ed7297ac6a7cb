// go-back-n: a requester that sends again begins with the oldest request that is not acknowledged: with the PSN of the
// NAK, if there was one. Beginning behind it would leave out what is missing.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class GoBackN final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    if (flow.selective.is_offered) return not_concerned();
    if (!flow.departs || wire::distance(flow.departing_next, seen.psn) >= 0) return not_concerned();
    if (!flow.acked_known) return unjudged();
    if (wire::distance(flow.acked, seen.psn) <= 0) return holds();
    if (flow.nak == flow.acked) return broken("the NAK asked for psn {}", flow.acked.value());
    return broken("psn {} is not acknowledged and was left out", flow.acked.value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_go_back_n(const RegionTable&) {
  return std::make_unique<GoBackN>();
}

}  // namespace verbena::checkers
