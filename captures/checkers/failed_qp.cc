// failed-qp: a QP that has sent a NAK other than for a PSN sequence sends nothing more, and one that has got such a NAK
// sends no more requests, until both are connected anew.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class FailedQp final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const auto& failed = seen.connection->failed[seen.sender];
    if (!failed) return holds();
    const Duration delay = seen.options.departure_delay_max;
    const bool may_have_waited = seen.time() - delay <= failed->at && (!failed->by_itself || delay.ns != 0);
    if (may_have_waited) return unjudged();
    if (!seen.info.is_request && !failed->by_itself) return not_concerned();
    return broken("its QP is in error since {} ns", (seen.time() - failed->at).ns);
  }
};

}  // namespace

std::unique_ptr<Rule> make_failed_qp(const RegionTable&) {
  return std::make_unique<FailedQp>();
}

}  // namespace verbena::checkers
