#include "scenarios/language/fault_words.h"

#include <array>

#include "wire/enumerators.h"

namespace verbena::scenarios {
namespace {

using Kind = ElementFault::Kind;
using Subject = ElementFaultWord::Subject;
using Change = fabric::ElementChange::Kind;

constexpr bool kAnyClock = false;
constexpr bool kVirtualClock = true;

using Keys = std::string_view;
constexpr Keys kFlapKeys[] = {"down", "up", "times"};
constexpr Keys kRateKeys[] = {"rate"};
constexpr Keys kDelayKeys[] = {"delay", "jitter"};
constexpr Keys kPeerKeys[] = {"peers", "one-way"};
constexpr Keys kClassKeys[] = {"class"};
constexpr Keys kStatusKeys[] = {"status", "times"};
constexpr Keys kTimesKeys[] = {"times"};

constexpr std::array<ElementFaultWord, 22> kWords{{
    {"link-down", Kind::link_down, Subject::links, Change::link_down, Kind::link_up, kAnyClock,
     "The cables are dead: what is on them is lost, ports at their ends go down, switches find other ways. With an end "
     "they are up again.",
     "link-down: n1-s1, at: 1ms, for: 2ms"},
    {"link-up", Kind::link_up, Subject::links, Change::link_up, std::nullopt, kAnyClock, "They are alive again.",
     "link-up: n1-s1, at: 3ms"},
    {"link-flap", Kind::link_flap, Subject::links, Change::link_down, std::nullopt, kAnyClock,
     "Down and up, several times.", "link-flap: n1-s1, down: 1ms, up: 2ms, times: 3", kFlapKeys, false,
     Change::link_up},
    {"link-rate", Kind::link_rate, Subject::links, Change::link_rate, std::nullopt, kAnyClock,
     "Another rate from now on.", "link-rate: n1-s1, rate: 1Gbps, at: 1ms", kRateKeys},
    {"link-delay", Kind::link_delay, Subject::links, Change::link_delay, std::nullopt, kAnyClock,
     "Another delay from now on.", "link-delay: all, delay: 10us, jitter: 5us", kDelayKeys},
    {"partition", Kind::partition, Subject::partition, Change::partition, Kind::heal, kAnyClock,
     "Packets between these nodes and their peers vanish, while all ports stay up.",
     "partition: [n1, n2], peers: n3, at: 1ms, for: 5ms", kPeerKeys},
    {"heal", Kind::heal, Subject::heal, Change::heal, std::nullopt, kAnyClock,
     "Ends every partition (all), or the one that is written the same way.", "heal: all, at: 6ms", kPeerKeys},
    {"switch-crash", Kind::switch_crash, Subject::switches, Change::switch_crash, Kind::switch_restart, kAnyClock,
     "The switches are dead, with all their cables. With an end they restart.", "switch-crash: s1, at: 1ms, for: 4ms"},
    {"switch-restart", Kind::switch_restart, Subject::switches, Change::switch_restart, std::nullopt, kAnyClock,
     "They are alive again.", "switch-restart: s1, at: 5ms"},
    {"node-crash", Kind::node_crash, Subject::hosts, NodeChange::crash, Kind::node_restart, kAnyClock,
     "The node's NIC vanishes without a word; with `clock: real` its programs are killed. With an end it restarts.",
     "node-crash: n2, at: 1ms"},
    {"node-freeze", Kind::node_freeze, Subject::hosts, NodeChange::freeze, Kind::node_thaw, kAnyClock,
     "Nothing runs on the node; frames wait at its port as far as they fit. With an end it thaws.",
     "node-freeze: n2, at: 1ms, for: 3ms"},
    {"node-thaw", Kind::node_thaw, Subject::hosts, NodeChange::thaw, std::nullopt, kAnyClock, "It runs again.",
     "node-thaw: n2, at: 4ms"},
    {"node-restart", Kind::node_restart, Subject::hosts, NodeChange::restart, std::nullopt, kAnyClock,
     "A new NIC with the same address, QPNs and keys; its workloads begin anew.", "node-restart: n2, at: 2ms"},
    {"device-removal", Kind::device_removal, Subject::hosts, SoftwareFault::device_removal, Kind::node_restart,
     kAnyClock,
     "The node's RDMA device goes (IBV_EVENT_DEVICE_FATAL): what is outstanding is flushed, its software lives on. "
     "With an end the node restarts.",
     "device-removal: n2, at: 1ms"},
    {"port-error", Kind::port_error, Subject::hosts, Change::port_error, Kind::port_active, kAnyClock,
     "All cables of the node are dead: its port goes down (IBV_EVENT_PORT_ERR). With an end it is up again.",
     "port-error: n1, at: 1ms, for: 2ms"},
    {"port-active", Kind::port_active, Subject::hosts, Change::port_active, std::nullopt, kAnyClock,
     "All its cables are alive again (IBV_EVENT_PORT_ACTIVE).", "port-active: n1, at: 3ms"},
    {"pause-storm", Kind::pause_storm, Subject::hosts, Change::pause_storm, Kind::pause_calm, kAnyClock,
     "The node's NIC asks for a pause of these traffic classes, or of all, again and again, whatever comes to it. The "
     "topology has qos. With an end it stops.",
     "pause-storm: n3, class: 3, at: 1ms, for: 10ms", kClassKeys},
    {"pause-calm", Kind::pause_calm, Subject::hosts, Change::pause_calm, std::nullopt, kAnyClock, "It no longer does.",
     "pause-calm: n3, at: 11ms", kClassKeys},
    {"rnr-storm",
     Kind::rnr_storm,
     Subject::hosts,
     SoftwareFault::rnr_storm,
     std::nullopt,
     kVirtualClock,
     "The node's targets post no receives for this time.",
     "rnr-storm: n2, at: 1ms, for: 3ms",
     {},
     true},
    {"completion-status", Kind::completion_status, Subject::workload, SoftwareFault::completion_status, std::nullopt,
     kVirtualClock, "The next completions of a workload have this status instead of their own.",
     "completion-status: w, status: remote_access_error, times: 2", kStatusKeys},
    {"registration-failure", Kind::registration_failure, Subject::hosts, SoftwareFault::registration_failure,
     std::nullopt, kVirtualClock, "The next registrations of memory on the node fail.",
     "registration-failure: n1, times: 2", kTimesKeys},
    {"post-failure", Kind::post_failure, Subject::hosts, SoftwareFault::post_failure, std::nullopt, kVirtualClock,
     "The next posts on the node fail.", "post-failure: n1, times: 3, at: 1ms", kTimesKeys},
}};

constexpr bool in_order_of_kinds() {
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (kWords[i].kind != static_cast<Kind>(i)) return false;
  return true;
}
static_assert(in_order_of_kinds() && !wire::is_enumerator<Kind, kWords.size()>, "each kind has its row");

constexpr std::array<FaultKeyWord, 18> kKeys{{
    {"link", "names",
     "Of packet faults: n1 (what leaves it; with dir=rx what enters it), n1-s1 (both ways), n1->s1, hosts, trunks, "
     "all, or a list of these; all if not said. `on` means the same, but YAML 1.1 reads that word as the boolean true: "
     "programs that write files with PyYAML need link."},
    {"at", "TIME", "When it happens; 0s if not said."},
    {"from", "TIME", "The same for packet faults: when it begins."},
    {"until", "TIME", "The time at which it ends."},
    {"for", "TIME", "How long it lasts, instead of until."},
    {"when", "a condition",
     "Instead of a time: {workload: NAME, completed: N}, {link: n1-s1, carried: N} or {fault: TEXT, hits: N}, where "
     "TEXT is that of a packet fault above. With `clock: real` not the first one."},
    {"after", "TIME", "So long after the condition first holds."},
    {"down", "TIME", "How long each flap's link is dead."},
    {"up", "TIME", "How long it is alive in between."},
    {"times", "a number", "How often; 1 if not said."},
    {"rate", "RATE", "Of the link, each way."},
    {"delay", "TIME", "Of the link, each way."},
    {"jitter", "TIME", "Up to so much more, evenly spread; 0 if not said."},
    {"peers", "names of nodes", "The other side of a partition; all other nodes if not said."},
    {"one-way", "true or false", "Only packets to the peers vanish."},
    {"class", "traffic classes", "From 0 to 7, one or a list; all if not said."},
    {"status", "a completion status",
     "Such as remote_access_error or retry_exceeded; docs/scenario.schema.json has them all."},
    {"on", "names", "The same as link."},
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

}  // namespace

std::vector<std::string_view> keys_of(const ElementFaultWord& word) {
  std::vector<std::string_view> keys{word.key};
  keys.insert(keys.end(), word.keys.begin(), word.keys.end());
  keys.push_back("at");
  if (word.lasts) keys.insert(keys.end(), {"until", "for"});
  keys.insert(keys.end(), {"when", "after"});
  return keys;
}

std::span<const ElementFaultWord> element_fault_words() {
  return kWords;
}
const ElementFaultWord& element_fault_word(Kind kind) {
  return kWords[static_cast<std::size_t>(kind)];
}
std::span<const FaultKeyWord> fault_key_words() {
  return kKeys;
}
std::span<const FaultKeyWord> lumina_key_words() {
  return kLuminaKeys;
}

}  // namespace verbena::scenarios
