// uc-order: an unreliable connection sends nothing again.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class UcOrder final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (wire::transport_of(seen.packet.bth().opcode) != wire::Transport::uc) return not_concerned();
    const CheckedStream& flow = *seen.flow;
    if (!flow.departs || wire::distance(flow.departing_next, seen.psn) >= 0) return holds();
    return broken("psn {} was to come: sent again", flow.departing_next.value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_uc_order(const RegionTable&) {
  return std::make_unique<UcOrder>();
}

}  // namespace verbena::checkers
