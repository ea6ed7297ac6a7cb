// region: no access outside of registered memory is executed: what is not within a region with the right is refused.
// Tested by: tests/captures/checkers/broken_test.cc
#include <algorithm>
#include <array>
#include <optional>

#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

constexpr std::size_t kForbiddenKept = 16;

struct Access {
  wire::Rkey rkey;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
};

std::optional<Access> access_of(const Observation& seen) {
  if (seen.info.has_reth) {
    const wire::Reth& reth = seen.packet.reth();
    return Access{reth.rkey, reth.address, reth.length};
  }
  if (!seen.info.has_atomic_eth) return std::nullopt;
  return Access{seen.packet.atomic_eth().rkey, seen.packet.atomic_eth().address, sizeof(std::uint64_t)};
}

bool allows(const CheckedRegion& region, const Access& access, wire::Operation operation) {
  const bool has_right = operation == wire::Operation::write          ? region.remote_write
                         : operation == wire::Operation::atomic_write ? region.remote_write
                         : operation == wire::Operation::read_request ? region.remote_read
                                                                      : region.remote_atomic;
  return has_right && access.address >= region.address && access.length <= region.length &&
         access.address - region.address <= region.length - access.length;
}

class Region final : public Rule {
 public:
  explicit Region(const RegionTable& regions) : regions_(regions) {}

  RuleOutcome judge(const Observation& seen) override {
    return seen.info.is_request ? judge_request(seen) : judge_response(seen);
  }

 private:
  /// Where accesses begin that are to be refused.
  struct Forbidden {
    std::array<wire::Psn, kForbiddenKept> psns{};
    std::size_t count = 0;
  };

  RuleOutcome judge_request(const Observation& seen) {
    const auto access = access_of(seen);
    if (!access) return not_concerned();
    if (!regions_.knows(seen.packet.destination())) return unjudged();
    const CheckedRegion* region = regions_.find(seen.packet.destination(), access->rkey);
    if (access->length == 0 || (region != nullptr && allows(*region, *access, seen.info.operation))) return holds();
    Forbidden& forbidden = forbidden_.of(*seen.flow);
    const auto end = forbidden.psns.begin() + static_cast<std::ptrdiff_t>(forbidden.count);
    if (forbidden.count < kForbiddenKept && std::find(forbidden.psns.begin(), end, seen.psn) == end)
      forbidden.psns[forbidden.count++] = seen.psn;
    return not_concerned();  // whoever answers it is judged
  }

  RuleOutcome judge_response(const Observation& seen) {
    Forbidden& forbidden = forbidden_.of(*seen.flow);
    if (forbidden.count == 0) return not_concerned();
    const auto syndrome = seen.syndrome();
    const bool is_positive = !syndrome || syndrome->kind == wire::Syndrome::Kind::ack;
    for (std::size_t i = 0; i < forbidden.count; ++i) {
      const wire::Psn psn = forbidden.psns[i];
      const std::int32_t past = wire::distance(psn, seen.psn);
      if (past < 0 || (past == 0 && !is_positive)) continue;
      forbidden.psns[i] = forbidden.psns[--forbidden.count];
      return broken("the access at psn {} is outside of the memory that was registered for it, and was executed",
                    psn.value());
    }
    return not_concerned();
  }

  const RegionTable& regions_;
  PerFlow<Forbidden> forbidden_;
};

}  // namespace

std::unique_ptr<Rule> make_region(const RegionTable& regions) {
  return std::make_unique<Region>(regions);
}

}  // namespace verbena::checkers
