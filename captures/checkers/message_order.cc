// message-order: FIRST, MIDDLE and LAST follow each other within one message, and a PSN always stands for the same part
// of the same message, however often it is sent.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

bool may_follow(const wire::OpcodeInfo& before, const wire::OpcodeInfo& after) {
  if (before.ends_message()) return after.starts_message();
  return !after.starts_message() && before.operation == after.operation;
}

class MessageOrder final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    bool judged = false;
    if (seen.message != nullptr) {
      if (RuleOutcome outcome = same_as_before(seen, *seen.message); outcome.kind == RuleOutcome::Kind::broken)
        return outcome;
      judged = true;
    }
    if (flow.last_info == nullptr) return judged ? holds() : unjudged();
    const bool repeats_read = seen.message != nullptr && seen.message->first != seen.psn;
    if (seen.psn != flow.last_psn + flow.last_span || repeats_read) return judged ? holds() : unjudged();
    if (!may_follow(*flow.last_info, seen.info))
      return broken("it follows {} at psn {}", flow.last_info->name, flow.last_psn.value());
    return holds();
  }

 private:
  static RuleOutcome same_as_before(const Observation& seen, const Message& message) {
    const auto offset = static_cast<std::uint32_t>(wire::distance(message.first, seen.psn));
    const bool is_start = offset == 0 || message.operation == wire::Operation::read_request;
    const bool ends = message.packets != 0 && offset + 1 == message.packets;
    const bool fits = seen.info.operation == message.operation && seen.info.starts_message() == is_start &&
                      (message.packets == 0 || message.awaits_data() || seen.info.ends_message() == ends);
    if (fits) return holds();
    return broken("psn {} is packet {} of a message of {} that began at psn {} with another operation or length",
                  seen.psn.value(), offset + 1, message.packets, message.first.value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_message_order(const RegionTable&) {
  return std::make_unique<MessageOrder>();
}

}  // namespace verbena::checkers
