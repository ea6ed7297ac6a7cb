// payload-size: every packet of a message but its last carries the path MTU, and a WRITE's packets carry together what
// its RETH announced.
// Tested by: tests/captures/checkers/broken_test.cc
#include "captures/checkers/rule.h"
#include "wire/counted.h"

namespace verbena::checkers {
namespace {

constexpr std::uint32_t kMtuLeastBytes = 256;

bool is_mtu(std::size_t bytes) {
  return bytes >= kMtuLeastBytes && bytes <= wire::kPayloadBytesMax && (bytes & (bytes - 1)) == 0;
}

class PayloadSize final : public Rule {
 public:
  RuleOutcome judge(const Observation& seen) override {
    if (!seen.info.has_payload) return not_concerned();
    const std::size_t payload = seen.packet.payload_bytes();
    const std::uint32_t mtu = seen.flow->mtu_bytes;
    if (!seen.info.ends_message()) {
      if (mtu != 0 ? payload != mtu : !is_mtu(payload))
        return broken("payload {} is not the path MTU {}", payload, mtu);
    } else if (payload > (mtu != 0 ? mtu : wire::kPayloadBytesMax)) {
      return broken("payload {} is more than the path MTU {}", payload, mtu);
    } else if (payload == 0 && seen.info.position == wire::Position::last) {
      return broken("a LAST without payload");
    }
    return seen.info.operation == wire::Operation::write ? judge_length(seen, payload) : holds();
  }

 private:
  static RuleOutcome judge_length(const Observation& seen, std::size_t payload) {
    if (seen.info.has_reth) {
      const std::uint32_t length = seen.packet.reth().length;
      const bool fits = seen.info.ends_message() ? length == payload : length > payload;
      return fits ? holds()
                  : broken("the RETH announces {}, the packet carries {}", wire::counted(length, "octet"), payload);
    }
    const Message* message = seen.message != nullptr ? seen.message : seen.flow->log.find(seen.psn - 1);
    if (message == nullptr || message->operation != wire::Operation::write) return unjudged();
    if (!seen.info.ends_message()) return holds();
    const auto before = static_cast<std::uint64_t>(wire::distance(message->first, seen.psn)) * seen.flow->mtu_bytes;
    if (seen.flow->mtu_bytes == 0 || before + payload == message->length) return holds();
    return broken("the RETH at psn {} announces {}, the message has {}", message->first.value(),
                  wire::counted(message->length, "octet"), before + payload);
  }
};

}  // namespace

std::unique_ptr<Rule> make_payload_size(const RegionTable&) {
  return std::make_unique<PayloadSize>();
}

}  // namespace verbena::checkers
