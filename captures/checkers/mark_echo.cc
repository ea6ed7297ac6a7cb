// mark-echo: BECN in an acknowledgement says that a request which it acknowledges was marked (ECN CE) when it arrived.
// Tested by: tests/captures/checkers/congestion_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class MarkEchoRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.info.is_request) {
      note(seen);
      return not_concerned();
    }
    if (!seen.is_acknowledge()) return not_concerned();
    if (!seen.flow->arrives) return unjudged();
    Marks& marks = marks_.of(*seen.flow);
    const bool is_positive = seen.syndrome()->kind == wire::Syndrome::Kind::ack;
    const wire::Psn newest = is_positive ? seen.psn : seen.psn - 1;  // that it acknowledges
    // Its node has kept it back, and a later one has told of what is newer and of what it tells of.
    if (marks.has_told && wire::distance(newest, marks.told) > 0) return unjudged();
    marks.told = newest;
    marks.has_told = true;
    if (!seen.packet.bth().becn) return not_concerned();
    // What a NAK asks for, and more, may have come and been marked before the NAK has left: it tells of all marks.
    const bool has_one = marks.has_any && (!is_positive || wire::distance(marks.first, seen.psn) >= 0);
    marks.has_any = marks.has_any && wire::distance(newest, marks.last) > 0;
    marks.first = marks.has_any ? newest + 1 : marks.first;
    return holds_unless(!has_one, "no request that it acknowledges had arrived with a mark");
  }

 private:
  /// From the first to the last PSN that arrived marked since an acknowledgement told of one.
  struct Marks {
    bool has_any = false;
    wire::Psn first;
    wire::Psn last;
    bool has_told = false;
    wire::Psn told;  // of the newest acknowledgement
  };

  void note(const Observation& seen) {
    if (!seen.packet.network().is_congestion_marked()) return;
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
