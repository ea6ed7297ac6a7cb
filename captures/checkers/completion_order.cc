// completion-order: requests are answered in their order: nothing behind a READ or an atomic is acknowledged before the
// responses to it have been sent.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class CompletionOrder final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (!seen.flow->expected_is_sure) return unjudged();
    State& state = states_.of(*seen.flow);
    const auto syndrome = seen.syndrome();
    const bool includes = seen.is_acknowledge() && syndrome->kind == wire::Syndrome::Kind::ack;
    const wire::Psn behind = includes ? seen.psn + 1 : seen.psn;
    if (!state.is_known) state = {true, seen.flow->first_psn.value_or(behind)};
    const auto messages = seen.flow->log.messages();
    std::size_t i = seen.flow->log.index_from(state.answered);
    for (; i < messages.size(); ++i) {
      const Message& message = messages[i];
      const wire::Psn end = message.first + message.known_packets();
      if (wire::distance(end, behind) < 0) break;
      state.answered = end;
      if (message.awaits_data() && message.answered < message.packets)
        return broken("the {} at psn {} has got {} of {} responses", message.is_atomic() ? "atomic" : "READ",
                      message.first.value(), message.answered, message.packets);
    }
    return holds();
  }

 private:
  struct State {
    bool is_known = false;
    wire::Psn answered;  // all before has been looked at
  };
  PerFlow<State> states_;
};

}  // namespace

std::unique_ptr<Rule> make_completion_order(const RegionTable&) {
  return std::make_unique<CompletionOrder>();
}

}  // namespace verbena::checkers
