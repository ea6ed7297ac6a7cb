// read-response: the responses to a READ have its PSNs in order, are as many and as large as its length says, and begin
// where they were asked for; a READ that is asked for again asks for the rest of the same memory.
// Tested by: tests/captures/checkers/broken_test.cc
#include <algorithm>
#include <array>

#include "captures/checkers/rule.h"
#include "wire/counted.h"

namespace verbena::checkers {
namespace {

constexpr std::size_t kAskedMax = 64;  // PSNs, more than READs can be outstanding

class ReadResponse final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.info.operation == wire::Operation::read_request) return judge_request(seen);
    if (seen.info.operation != wire::Operation::read_response) return not_concerned();
    const Message* message = seen.message;
    if (message == nullptr) return unjudged();
    if (message->operation == wire::Operation::atomic_write)
      return seen.packet.payload_bytes() == 0 ? holds() : broken("an ATOMIC WRITE is answered with data");
    if (message->operation != wire::Operation::read_request) return broken("its psn is not that of a READ");
    if (RuleOutcome outcome = judge_part(seen, *message); outcome.kind == RuleOutcome::Kind::broken) return outcome;
    return judge_order(seen, *message);
  }

 private:
  struct State {
    bool was_asked(wire::Psn psn) const {
      const auto end = asked.begin() + std::min<std::ptrdiff_t>(asked_count, kAskedMax);
      return std::find(asked.begin(), end, psn) != end;
    }

    std::array<wire::Psn, kAskedMax> asked{};
    std::uint32_t asked_count = 0;
    bool is_open = false;  // responses left, and the last one was not a LAST
    wire::Psn next;
  };

  RuleOutcome judge_request(const Observation& seen) {
    State& state = states_.of(*seen.flow);
    // To a host that stands still a READ is sent again for hundreds of times.
    if (seen.views.arrives && !state.was_asked(seen.psn)) state.asked[state.asked_count++ % kAskedMax] = seen.psn;
    if (!seen.views.content || seen.message == nullptr) return not_concerned();
    const Message& message = *seen.message;
    if (message.operation != wire::Operation::read_request) return not_concerned();  // message-order tells
    const wire::Reth& reth = seen.packet.reth();
    const auto skipped = static_cast<std::uint64_t>(wire::distance(message.first, seen.psn)) * seen.flow->mtu_bytes;
    if (reth.rkey == message.rkey && reth.address == message.address + skipped &&
        std::uint64_t{reth.length} + skipped == message.length)
      return holds();
    return broken("asked for again with va {:#x} length {}, it was va {:#x} length {} from psn {} on", reth.address,
                  reth.length, message.address, message.length, message.first.value());
  }

  static RuleOutcome judge_part(const Observation& seen, const Message& message) {
    const auto offset = static_cast<std::uint32_t>(wire::distance(message.first, seen.psn));
    const bool is_last = offset + 1 == message.packets;
    if (seen.info.ends_message() != is_last)
      return broken("response {} of {} to the READ at psn {}", offset + 1, message.packets, message.first.value());
    const std::size_t payload = seen.packet.payload_bytes();
    const std::uint32_t mtu = seen.flow->mtu_bytes;
    if (mtu == 0) return holds();
    const std::uint64_t expected = is_last ? message.length - std::uint64_t{offset} * mtu : mtu;
    if (payload == expected) return holds();
    return broken("{} in response {} of {}, due: {}", wire::counted(payload, "octet"), offset + 1, message.packets,
                  expected);
  }

  RuleOutcome judge_order(const Observation& seen, const Message& message) {
    if (!seen.views.departs) return holds();
    State& state = states_.of(*seen.flow);
    const bool goes_on = !seen.info.starts_message();
    // A replay for an earlier READ may come between; what was sent before is not left out.
    const auto offset = static_cast<std::uint32_t>(wire::distance(message.first, seen.psn));
    const bool follows = (state.is_open && state.next == seen.psn) || offset <= message.answered;
    const bool is_known = state.is_open;
    state.is_open = !seen.info.ends_message();
    state.next = seen.psn + 1;
    if (goes_on) {
      if (follows) return holds();
      return is_known || seen.flow->first_psn ? broken("it does not follow the response before it") : unjudged();
    }
    if (seen.psn == message.first) return holds();
    if (!seen.flow->arrives) return unjudged();
    if (state.was_asked(seen.psn)) return holds();
    return seen.flow->first_psn ? broken("nobody asked for responses from psn {} on", seen.psn.value()) : unjudged();
  }

  PerFlow<State> states_;
};

}  // namespace

std::unique_ptr<Rule> make_read_response(const RegionTable&) {
  return std::make_unique<ReadResponse>();
}

}  // namespace verbena::checkers
