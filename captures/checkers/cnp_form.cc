// cnp-form: a congestion notification packet has BECN set, PSN 0 and 16 octets of zeros behind the BTH.
// Tested by: tests/captures/checkers/broken_test.cc
#include <algorithm>

#include "captures/checkers/rule.h"
#include "wire/counted.h"

namespace verbena::checkers {
namespace {

class CnpForm final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    constexpr std::size_t kReservedBytes = 16;
    const wire::Bth& bth = seen.packet.bth();
    if (!bth.becn) return broken("BECN is not set");
    if (bth.psn != wire::Psn(0)) return broken("psn {} is not 0", bth.psn.value());
    if (seen.packet.payload_bytes() != kReservedBytes)
      return broken("{} behind the BTH, not {}", wire::counted(seen.packet.payload_bytes(), "octet"), kReservedBytes);
    const auto payload = seen.packet.payload();
    const bool is_zero = std::all_of(payload.begin(), payload.end(), [](std::byte b) { return b == std::byte{0}; });
    return holds_unless(!is_zero, "the reserved octets are not zero");
  }
};

}  // namespace

std::unique_ptr<Rule> make_cnp_form(const RegionTable&) {
  return std::make_unique<CnpForm>();
}

}  // namespace verbena::checkers
