// vcrc: the variant CRC of every packet of InfiniBand is right. Each port makes it anew, so that one which is wrong was
// damaged on this very link, or made wrong by the port that sent it there; the receiver drops it either way.
// Tested by: tests/captures/checkers/vcrc_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class VcrcRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (&seen.packet.network().encapsulation() != &wire::kInfiniBand) return not_concerned();
    switch (wire::trailer_integrity(seen.packet)) {
      case wire::Integrity::right:
        return holds();
      case wire::Integrity::unknown:
        return unjudged();
      case wire::Integrity::wrong:
        break;
    }
    if (!seen.views.departs && !seen.options.knows_all_damage) return unjudged();
    const auto octets = wire::trailer_of(seen.packet);
    return broken("VCRC {:02x} {:02x} is wrong: its port computed another, or it was damaged on this link",
                  std::to_integer<unsigned>(octets[0]), std::to_integer<unsigned>(octets[1]));
  }
};

}  // namespace

std::unique_ptr<Rule> make_vcrc(const RegionTable&) {
  return std::make_unique<VcrcRule>();
}

}  // namespace verbena::checkers
