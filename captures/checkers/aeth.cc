// aeth: the syndrome of a response is a defined one that this kind of response may carry.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class AethRule final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const auto syndrome = seen.syndrome();
    if (!syndrome) return not_concerned();
    using Kind = wire::Syndrome::Kind;
    if (syndrome->kind == Kind::reserved) return broken("syndrome {:#04x} is reserved", seen.packet.aeth().syndrome);
    if (!seen.is_acknowledge() && syndrome->kind != Kind::ack) return broken("a response with data that is a NAK");
    if (syndrome->kind == Kind::nak && syndrome->value > static_cast<unsigned>(wire::NakCode::remote_operational_error))
      return broken("NAK code {} is not for a reliable connection", syndrome->value);
    return holds();
  }
};

}  // namespace

std::unique_ptr<Rule> make_aeth(const RegionTable&) {
  return std::make_unique<AethRule>();
}

}  // namespace verbena::checkers
