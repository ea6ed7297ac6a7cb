// icrc: the invariant CRC of every packet is right where it leaves its sender. One that is wrong later was damaged on
// the way, which is nobody's fault; no receiver takes it.
#include "scenarios/checkers/rule.h"

namespace verbena::checkers {
namespace {

class IcrcRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.icrc_is_right) return holds();
    return seen.views.departs ? broken("ICRC {:#010x} is wrong", seen.packet.icrc()) : unjudged();
  }
};

}  // namespace

std::unique_ptr<Rule> make_icrc(const RegionTable&) {
  return std::make_unique<IcrcRule>();
}

}  // namespace verbena::checkers
