// psn-window: no more than 2^23 PSNs are outstanding, or a duplicate could not be told from a new request.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

constexpr std::uint32_t kWindowPackets = 1 << 23;

class PsnWindow final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    const CheckedStream& flow = *seen.flow;
    if (!flow.acked_known || !flow.started) return unjudged();
    const std::int32_t ahead = wire::distance(flow.next, seen.psn);
    if (ahead < 0) return holds();
    const std::uint32_t before = (flow.next.value() - flow.acked.value()) & wire::Psn::kMask;
    const std::uint64_t outstanding = std::uint64_t{before} + static_cast<std::uint32_t>(ahead) + seen.span;
    if (outstanding <= kWindowPackets) return holds();
    return broken("{} PSNs are outstanding from psn {} on", outstanding, flow.acked.value());
  }
};

}  // namespace

std::unique_ptr<Rule> make_psn_window(const RegionTable&) {
  return std::make_unique<PsnWindow>();
}

}  // namespace verbena::checkers
