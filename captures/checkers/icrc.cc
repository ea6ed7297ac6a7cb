// icrc: the invariant CRC of every packet is right where it leaves its sender. One that is wrong later was damaged on
// the way, which is nobody's fault; no receiver takes it. Who has to tell that a capture holds wrong packets
// (CheckerOptions::knows_all_damage) hears of those as well.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class IcrcRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.icrc_is_right) return holds();
    if (seen.views.departs) return broken("ICRC {:#010x} is wrong", seen.packet.icrc());
    if (!seen.options.knows_all_damage) return unjudged();
    return broken("ICRC {:#010x} is wrong: its sender computed another, or it was damaged on the way",
                  seen.packet.icrc());
  }
};

}  // namespace

std::unique_ptr<Rule> make_icrc(const RegionTable&) {
  return std::make_unique<IcrcRule>();
}

}  // namespace verbena::checkers
