// atomic-once: an atomic is executed once: a request that is sent again is the same one, and is answered with the same
// value.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class AtomicOnce final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (seen.info.has_atomic_eth) return judge_request(seen);
    if (!seen.info.has_atomic_ack_eth) return not_concerned();
    const Message* message = seen.message;
    if (message == nullptr) return unjudged();
    if (!message->is_atomic()) return broken("its psn is not that of an atomic");
    const std::uint64_t original = seen.packet.atomic_ack_eth().original;
    if (!message->has_original || message->original == original) return holds();
    return broken("answered with {:#x} now and with {:#x} before", original, message->original);
  }

 private:
  static RuleOutcome judge_request(const Observation& seen) {
    if (seen.message == nullptr || !seen.message->is_atomic()) return not_concerned();
    const wire::AtomicEth& atomic = seen.packet.atomic_eth();
    const bool is_same = atomic.address == seen.message->address && atomic.rkey == seen.message->rkey &&
                         atomic.swap_or_add == seen.message->operand;
    return holds_unless(!is_same, "sent again with another address, key or operand");
  }
};

}  // namespace

std::unique_ptr<Rule> make_atomic_once(const RegionTable&) {
  return std::make_unique<AtomicOnce>();
}

}  // namespace verbena::checkers
