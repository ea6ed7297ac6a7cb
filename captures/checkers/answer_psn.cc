// answer-psn: an acknowledgement, a NAK or a response with data names a PSN that was sent. One of an older PSN may be a
// copy, or late, and is legal; one of a PSN that no request has had yet was made up: by a responder that miscounts, by
// a stale one, or by somebody else.
//
// Judged where the requests were seen as they left, so that all of them are known: from the first one, or, where the
// stream began before us, from when an answer has acknowledged just what was seen.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class AnswerPsn final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    if (!flow.departs || !flow.sent_is_sure) {
      // Not one request has left, and where the first one begins is known.
      return flow.first_psn && seen.connection->sees_departs[1 - seen.sender] && !flow.departs && !flow.started
                 ? broken("no request has been sent")
                 : unjudged();
    }
    const std::int32_t ahead = wire::distance(flow.next, seen.psn);
    if (ahead >= 0)
      return broken("psn {} was never sent, the last one is psn {}", seen.psn.value(), (flow.next - 1).value());
    // Before the first one, as long as the numbers have not come around.
    if (flow.first_psn && wire::distance(*flow.first_psn, flow.next) > 0 &&
        wire::distance(*flow.first_psn, seen.psn) < 0 && !flow.has_come_around)
      return broken("psn {} was never sent, the first one was psn {}", seen.psn.value(), flow.first_psn->value());
    return holds();
  }
};

}  // namespace

std::unique_ptr<Rule> make_answer_psn(const RegionTable&) {
  return std::make_unique<AnswerPsn>();
}

}  // namespace verbena::checkers
