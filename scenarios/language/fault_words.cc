#include "scenarios/language/fault_words.h"

#include <algorithm>
#include <array>

namespace verbena::scenarios {
namespace {

constexpr FaultKeyWord kOn{"on", "names", "The same as link, or node."};
/// Of every fault, or of packet faults.
constexpr std::array<FaultKeyWord, 8> kKeys{{
    {"link", "names",
     "Of packet faults: n1 (what leaves it; with dir=rx what enters it), n1-s1 (both ways), n1->s1, hosts, trunks, "
     "all, or a list of these; all if not said. `on` means the same, but YAML 1.1 reads that word as the boolean true: "
     "programs that write files with PyYAML need link."},
    {"node", "names", "Of verbs: n1, or a list; all nodes if not said."},
    {"at", "TIME", "When it happens; 0s if not said."},
    {"from", "TIME", "The same for packet faults: when it begins."},
    {"until", "TIME", "The time at which it ends."},
    {"for", "TIME", "How long it lasts, instead of until."},
    {"when", "a condition",
     "Instead of a time: {workload: NAME, completed: N}, {link: n1-s1, carried: N} or {fault: TEXT, hits: N}, where "
     "TEXT is that of a fault of packets or verbs above. With `clock: real` not the first one."},
    {"after", "TIME", "So long after the condition first holds."},
}};

constexpr std::array<FaultKeyWord, 9> kLuminaKeys{{
    {"qpn", "RANGE", "The connection, in the order of their first data packets on the link, from 0."},
    {"psn", "RANGE", "The packet of each message, from 0."},
    {"type", "drop, ecn or bit-error", "What happens to it: drop, mark, or corrupt where=icrc."},
    {"iter", "RANGE", "In which round of the message's transmission, from 1; 1 if not said."},
    {"dir", "tx, rx or both", "Seen from the node that has the fault; tx if not said."},
    {"opcode", "a kind of packet", "data if not said."},
    {"msg", "RANGE", "Only these messages, from 0; every one if not said."},
    {"every", "a number", "Of those that fit each so many-th."},
    {"count", "a number", "At most so many."},
}};

using fabric::Verb;
constexpr std::array kCalled{Verb::alloc_pd,  Verb::create_cq,  Verb::reg_mr,    Verb::dereg_mr,  Verb::create_qp,
                             Verb::modify_qp, Verb::destroy_qp, Verb::create_ah, Verb::post_send, Verb::post_recv};

}  // namespace

bool is_called_by_workloads(fabric::Verb verb) {
  return verb == fabric::Verb::any || std::ranges::find(kCalled, verb) != kCalled.end();
}

std::string verbs_of_workloads() {
  std::string text;
  for (const fabric::Verb verb : kCalled) text += (text.empty() ? "" : ", ") + std::string(fabric::verb_name(verb));
  return text;
}

std::vector<std::string_view> keys_of(const fabric::ElementRow& row) {
  std::vector<std::string_view> keys{row.word};
  keys.insert(keys.end(), row.keys.begin(), row.keys.end());
  keys.push_back("at");
  if (has_end(row)) keys.insert(keys.end(), {"until", "for"});
  keys.insert(keys.end(), {"when", "after"});
  return keys;
}

std::vector<FaultKeyWord> fault_key_words() {
  std::vector<FaultKeyWord> all(kKeys.begin(), kKeys.end());
  for (const fabric::ElementKey& key : fabric::element_keys()) all.push_back({key.key, key.value, key.text});
  all.push_back(kOn);
  return all;
}
std::span<const FaultKeyWord> lumina_key_words() {
  return kLuminaKeys;
}

}  // namespace verbena::scenarios
