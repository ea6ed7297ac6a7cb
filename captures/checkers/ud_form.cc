// ud-form: a datagram is one packet between two QPs; to QP 1 it carries the well-known Q_Key.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"

namespace verbena::checkers {
namespace {

class UdForm final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    constexpr std::uint32_t kManagementQkey = 0x80010000;  // of QP 1
    const wire::Bth& bth = seen.packet.bth();
    if (!seen.info.has_deth || seen.info.position != wire::Position::only) return broken("not one packet with a DETH");
    if (seen.packet.payload_bytes() > wire::kPayloadBytesMax) return broken("more payload than any path carries");
    if (seen.packet.deth().source_qp == wire::kMulticastQpn) return broken("the source QP is the multicast one");
    if (bth.dest_qp == wire::kGsiQpn && seen.packet.deth().qkey != kManagementQkey)
      return broken("Q_Key {:#x} to QP 1", seen.packet.deth().qkey);
    return holds();
  }
};

}  // namespace

std::unique_ptr<Rule> make_ud_form(const RegionTable&) {
  return std::make_unique<UdForm>();
}

}  // namespace verbena::checkers
