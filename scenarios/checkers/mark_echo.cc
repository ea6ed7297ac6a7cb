// mark-echo: BECN in an acknowledgement says that a request which it acknowledges was marked (ECN CE) when it arrived.
#include "scenarios/checkers/rule.h"

namespace verbena::checkers {
namespace {

class MarkEchoRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.info.is_request) {
      note(seen);
      return not_concerned();
    }
    if (!seen.is_acknowledge() || !seen.packet.bth().becn) return not_concerned();
    if (!seen.flow->arrives) return unjudged();
    Marks& marks = marks_.of(*seen.flow);
    const bool has_one = marks.has_any && wire::distance(marks.first, seen.psn) >= 0;
    marks.has_any = marks.has_any && wire::distance(seen.psn, marks.last) > 0;
    marks.first = marks.has_any ? seen.psn + 1 : marks.first;
    return holds_unless(!has_one, "no request that it acknowledges had arrived with a mark");
  }

 private:
  /// From the first to the last PSN that arrived marked since an acknowledgement told of one.
  struct Marks {
    bool has_any = false;
    wire::Psn first;
    wire::Psn last;
  };

  void note(const Observation& seen) {
    if ((seen.packet.ip().traffic_class() & wire::kEcnMask) != wire::kEcnCongestionExperienced) return;
    Marks& marks = marks_.of(*seen.flow);
    if (!marks.has_any || wire::distance(seen.psn, marks.first) > 0) marks.first = seen.psn;
    if (!marks.has_any || wire::distance(marks.last, seen.psn) > 0) marks.last = seen.psn;
    marks.has_any = true;
  }

  PerFlow<Marks> marks_;
};

}  // namespace

std::unique_ptr<Rule> make_mark_echo(const RegionTable&) {
  return std::make_unique<MarkEchoRule>();
}

}  // namespace verbena::checkers
