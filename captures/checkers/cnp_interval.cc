// cnp-interval: a notification point waits between two CNPs, of a QP, to an address, or of the port, as its scope is.
// Tested by: tests/captures/checkers/congestion_test.cc
#include <utility>

#include "captures/checkers/congestion_table.h"
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class CnpInterval final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (!seen.views.departs) return not_concerned();
    const CongestionTable::Entry* const host = seen.congestion.find(seen.packet.source());
    if (host == nullptr || host->congestion.cnp_interval.ns == 0) return unjudged();
    TowardsQp scope{.from = seen.packet.source()};
    if (host->congestion.cnp_scope != CheckedCongestion::CnpScope::port) scope.to = seen.packet.destination();
    // The QP that the CNP is for stands for the one that sends it: they are connected.
    if (host->congestion.cnp_scope == CheckedCongestion::CnpScope::qp) scope.qpn = seen.packet.bth().dest_qp.value();
    const auto [place, is_first] = last_.try_emplace(scope, Last{seen.time(), host->generation});
    const Last last = std::exchange(place->second, Last{seen.time(), host->generation});
    if (is_first || last.generation != host->generation) return holds();
    const Duration waited = seen.time() - last.at;
    if (waited + seen.options.clock_tolerance >= host->congestion.cnp_interval) return holds();
    return broken("{} ns after the last one; the interval is {} ns", waited.ns, host->congestion.cnp_interval.ns);
  }

 private:
  struct Last {
    Time at;
    std::uint32_t generation = 0;
  };
  std::unordered_map<TowardsQp, Last, TowardsQpHash> last_;
};

}  // namespace

std::unique_ptr<Rule> make_cnp_interval(const RegionTable&) {
  return std::make_unique<CnpInterval>();
}

}  // namespace verbena::checkers
