// msn: the message sequence number of an answer is the number of messages that were completed: one more for each.
// Tested by: tests/captures/checkers/broken_test.cc
#include <optional>

#include "captures/checkers/rule.h"
#include "wire/counted.h"

namespace verbena::checkers {
namespace {

std::string complete(std::uint32_t messages) {
  return wire::counted(messages, "message") + (messages == 1 ? " is complete" : " are complete");
}

/// How many messages end in [from, to); nothing: not all PSNs there are known.
std::optional<std::uint32_t> messages_ended(const MessageLog& log, wire::Psn from, wire::Psn to) {
  std::uint32_t count = 0;
  const auto messages = log.messages();
  wire::Psn at = from;
  for (std::size_t i = log.index_from(from); wire::distance(at, to) > 0; ++i) {
    if (i == messages.size() || wire::distance(messages[i].first, at) < 0) return std::nullopt;
    const wire::Psn end = messages[i].first + messages[i].known_packets();
    if (messages[i].packets != 0 && wire::distance(end, to) >= 0) ++count;
    if (messages[i].packets == 0 && wire::distance(end, to) > 0) return std::nullopt;
    at = end;
  }
  return count;
}

class Msn final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const auto syndrome = seen.syndrome();
    if (!syndrome) return not_concerned();
    const CheckedStream& flow = *seen.flow;
    Anchor& anchor = anchors_.of(flow);
    if (!anchor.is_known && flow.first_psn) anchor = {true, *flow.first_psn, 0};
    const std::uint32_t msn = seen.packet.aeth().msn;
    const bool is_exact = seen.is_acknowledge() && syndrome->kind == wire::Syndrome::Kind::ack;
    const wire::Psn behind = is_exact ? seen.psn + 1 : seen.psn;
    const auto expected = expected_at(flow, anchor, behind);
    const bool is_ahead = !anchor.is_known || wire::distance(anchor.behind, behind) > 0;
    if (is_exact && is_ahead) anchor = {true, behind, msn};
    if (!expected) return unjudged();
    const std::uint32_t more = (msn - *expected) & wire::Psn::kMask;
    if (more == 0) return holds();
    if (is_exact) return broken("msn {} where {}", msn, complete(*expected));
    // What it says of messages is as of now, and more may have been executed than it answers.
    constexpr std::uint32_t kBackwards = 1 << 23;
    if (more >= kBackwards) return broken("msn {} where {}", msn, complete(*expected));
    // More may have been sent than was seen: also a READ that left while nobody knew how many PSNs it takes.
    const bool counts_arrivals = flow.arrives && !seen.connection->sees_departs[1 - seen.sender];
    if (!flow.departs && !counts_arrivals) return unjudged();
    const auto outstanding = messages_ended(flow.log, behind, flow.next);
    if (!outstanding) return unjudged();
    if (more <= *outstanding) return holds();
    return broken("msn {} where {} to {} messages are complete", msn, *expected, *expected + *outstanding);
  }

 private:
  /// An answer whose PSN and MSN belong together.
  struct Anchor {
    bool is_known = false;
    wire::Psn behind;
    std::uint32_t msn = 0;
  };

  static std::optional<std::uint32_t> expected_at(const CheckedStream& flow, const Anchor& anchor, wire::Psn behind) {
    if (!anchor.is_known) return std::nullopt;
    const bool is_ahead = wire::distance(anchor.behind, behind) >= 0;
    const auto count =
        is_ahead ? messages_ended(flow.log, anchor.behind, behind) : messages_ended(flow.log, behind, anchor.behind);
    if (!count) return std::nullopt;
    return (is_ahead ? anchor.msn + *count : anchor.msn - *count) & wire::Psn::kMask;
  }

  PerFlow<Anchor> anchors_;
};

}  // namespace

std::unique_ptr<Rule> make_msn(const RegionTable&) {
  return std::make_unique<Msn>();
}

}  // namespace verbena::checkers
