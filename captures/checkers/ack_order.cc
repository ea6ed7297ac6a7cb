// ack-order: acknowledgements are cumulative and never go backwards.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class AckOrder final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (!seen.is_acknowledge()) return not_concerned();
    const CheckedStream& flow = *seen.flow;
    if (!flow.has_answered) return holds();
    const bool is_positive = seen.syndrome()->kind == wire::Syndrome::Kind::ack;
    const wire::Psn behind = is_positive ? seen.psn + 1 : seen.psn;
    if (wire::distance(flow.answered, behind) >= 0) return holds();
    if (!is_positive && seen.options.departure_delay_max.ns != 0) return unjudged();  // held longer than others
    return broken("psn {} was acknowledged before", (flow.answered - 1).value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_ack_order(const RegionTable&) {
  return std::make_unique<AckOrder>();
}

}  // namespace verbena::checkers
