// ack-bounds: a responder acknowledges only what has arrived, in order and without gaps.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class AckBounds final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    if (!flow.expected_is_sure) return unjudged();
    const auto syndrome = seen.syndrome();
    const bool is_nak = syndrome && syndrome->kind != wire::Syndrome::Kind::ack;
    const wire::Psn behind = is_nak ? seen.psn : seen.psn + 1;
    if (wire::distance(flow.expected, behind) <= 0) return holds();
    return broken("it acknowledges psn {}, and psn {} has not arrived", (behind - 1).value(), flow.expected.value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_ack_bounds(const RegionTable&) {
  return std::make_unique<AckBounds>();
}

}  // namespace verbena::checkers
