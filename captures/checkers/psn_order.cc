// psn-order: a requester gives each request the PSN that follows, and goes on without gaps after it has gone back.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class PsnOrder final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    if (!flow.departs) {
      if (!flow.first_psn) return unjudged();
      return seen.psn == *flow.first_psn
                 ? holds()
                 : broken("the first request of the connection is to have psn {}", flow.first_psn->value());
    }
    const std::int32_t ahead = wire::distance(flow.departing_next, seen.psn);
    if (ahead <= 0) return holds();  // where it may go back to, go-back-n knows
    // Selective repeat passes by what has arrived, and what it does not know to be lost: selective-repeat's to judge.
    if (flow.selective.is_offered && wire::distance(seen.psn, flow.next) >= 0) return holds();
    if (flow.selective.is_offered && !flow.sent_is_sure) return unjudged();
    // What was acknowledged while it was about to be sent again is left out.
    const bool was_sent = wire::distance(flow.next, seen.psn) <= 0;
    if (was_sent && !flow.acked_known) return unjudged();
    if (was_sent && wire::distance(seen.psn, flow.acked) >= 0) return holds();
    return broken("psn {} was to come: {} left out, acknowledged up to psn {}", flow.departing_next.value(), ahead,
                  (flow.acked - 1).value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_psn_order(const RegionTable&) {
  return std::make_unique<PsnOrder>();
}

}  // namespace verbena::checkers
