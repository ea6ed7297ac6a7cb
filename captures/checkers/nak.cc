// nak: a NAK names a request that has arrived (an RNR NAK or a refusal) or that is missing while a later one has
// arrived (a sequence error); of a gap it is said once, until what was missing has come.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class Nak final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const auto syndrome = seen.syndrome();
    if (!syndrome || syndrome->kind == wire::Syndrome::Kind::ack) return not_concerned();
    const CheckedStream& flow = *seen.flow;
    if (!flow.arrives) return flow.first_psn ? broken("no request has arrived") : unjudged();
    const bool has_come = wire::distance(seen.psn, flow.highest_arrived) > 0;
    if (syndrome->kind == wire::Syndrome::Kind::rnr_nak || is_fatal(*syndrome))
      return has_come ? holds() : broken("the request that it refuses has not arrived");
    if (!has_come) return broken("nothing behind psn {} has arrived: there is no gap", seen.psn.value());
    if (sack_of(seen.packet)) return holds();  // says each time what else has come
    if (flow.nak_sent == seen.psn)
      return broken("this gap was told of, and psn {} has not come since", seen.psn.value());
    return holds();
  }
};

}  // namespace

std::unique_ptr<Rule> make_nak(const RegionTable&) {
  return std::make_unique<Nak>();
}

}  // namespace verbena::checkers
