// ack-timeout: without a NAK a requester does not send again before its local ACK timeout has passed since the last
// progress. READs and atomics, whose missing responses are asked for at once, are left to read-response.
// Tested by: tests/captures/checkers/broken_test.cc
#include <algorithm>

#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class AckTimeout final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    if (flow.selective.is_offered) return not_concerned();  // has timeouts of its own: selective-repeat
    if (!flow.departs || wire::distance(flow.departing_next, seen.psn) >= 0) return not_concerned();
    if (flow.ack_timeout.ns == 0 || flow.has_data_requests || !flow.acked_known) return unjudged();
    if (flow.nak || flow.was_rnr) return holds();
    const Duration waited = seen.time() - std::max(flow.progress_at, flow.outstanding_since);
    if (waited + seen.options.clock_tolerance + seen.options.departure_delay_max >= flow.ack_timeout) return holds();
    return broken("sent again without a NAK, {} ns after the last progress; the timeout is {} ns", waited.ns,
                  flow.ack_timeout.ns);
  }
};

}  // namespace

std::unique_ptr<Rule> make_ack_timeout(const RegionTable&) {
  return std::make_unique<AckTimeout>();
}

}  // namespace verbena::checkers
