#include "emulator/fabric/element_rows.h"

#include <algorithm>
#include <array>

#include "wire/assert.h"
#include "wire/enumerators.h"

namespace verbena::fabric {
namespace {

using Change = ElementChange::Kind;
using Node = NodeChange::Kind;
using Software = SoftwareFault::Kind;
using Subject = ElementRow::Subject;
using namespace element_value;

constexpr std::array<ElementKey, 10> kKeys{{
    {"down", "TIME", "How long each flap's link is dead.", TimeOf{&ElementDetails::down, true}, "1ms"},
    {"up", "TIME", "How long it is alive in between.", TimeOf{&ElementDetails::up, true}, "1ms"},
    {"times", "a number", "How often; 1 if not said.", NumberOf{&ElementDetails::times}},
    {"rate",
     "RATE",
     "Of the link, each way.",
     RateOf{&ElementDetails::rate_bits_per_second},
     "1Gbps",
     "RATE",
     {"rate_bits_per_second", "bps"}},
    {"delay", "TIME", "Of the link, each way.", TimeOf{&ElementDetails::delay}, "10us", "TIME", {"delay_ns", "ns"}},
    {"jitter",
     "TIME",
     "Up to so much more, evenly spread; 0 if not said.",
     TimeOf{&ElementDetails::jitter},
     "",
     "[JITTER]",
     {"jitter_ns", "ns"}},
    {"peers", "names of nodes", "The other side of a partition; all other nodes if not said.", Peers{}, "", "NODE,..."},
    {"one-way", "true or false", "Only packets to the peers vanish.", OneWay{}, "", "[one-way]"},
    {"class", "traffic classes", "From 0 to 7, one or a list; all if not said.", ClassesOf{&ElementDetails::classes},
     "", "[CLASS,...]"},
    {"status", "a completion status",
     "Such as remote_access_error or retry_exceeded; docs/scenario.schema.json has them all.",
     StatusOf{&ElementDetails::status}, "remote_access_error"},
}};

using Keys = std::string_view;
constexpr Keys kFlapKeys[] = {"down", "up", "times"};
constexpr Keys kRateKeys[] = {"rate"};
constexpr Keys kDelayKeys[] = {"delay", "jitter"};
constexpr Keys kPairKeys[] = {"peers", "one-way"};
constexpr Keys kClassKeys[] = {"class"};
constexpr Keys kStatusKeys[] = {"status", "times"};
constexpr Keys kTimesKeys[] = {"times"};

constexpr std::array<ElementRow, 22> kRows{{
    {.word = "link-down",
     .kind = Change::link_down,
     .subject = Subject::links,
     .undo = "link-up",
     .in_scenario = {"The cables are dead: what is on them is lost, ports at their ends go down, switches find other "
                     "ways. With an end they are up again.",
                     "link-down: n1-s1, at: 1ms, for: 2ms"},
     .on_fabric = {"The cable is dead: what is on it is lost, ports at its ends go down, switches find other ways.",
                   "link-down n1-s1"}},
    {.word = "link-up",
     .kind = Change::link_up,
     .subject = Subject::links,
     .in_scenario = {"They are alive again.", "link-up: n1-s1, at: 3ms"},
     .on_fabric = {"It is alive again.", "link-up n1-s1"}},
    {.word = "link-flap",
     .kind = Change::link_down,
     .subject = Subject::links,
     .keys = kFlapKeys,
     .in_between = Change::link_up,
     .in_scenario = {"Down and up, several times.", "link-flap: n1-s1, down: 1ms, up: 2ms, times: 3"}},
    {.word = "link-rate",
     .kind = Change::link_rate,
     .subject = Subject::links,
     .keys = kRateKeys,
     .in_scenario = {"Another rate from now on.", "link-rate: n1-s1, rate: 1Gbps, at: 1ms"},
     .on_fabric = {"Another rate from now on; 0: frames take no time.", "link-rate n1-s1 10Gbps"}},
    {.word = "link-delay",
     .kind = Change::link_delay,
     .subject = Subject::links,
     .keys = kDelayKeys,
     .in_scenario = {"Another delay from now on.", "link-delay: all, delay: 10us, jitter: 5us"},
     .on_fabric = {"Another delay from now on, and up to JITTER more, evenly spread.", "link-delay all 5us 1us"}},
    {.word = "partition",
     .kind = Change::partition,
     .subject = Subject::pairs,
     .keys = kPairKeys,
     .undo = "heal",
     .in_scenario = {"Packets between these nodes and their peers vanish, while all ports stay up.",
                     "partition: [n1, n2], peers: n3, at: 1ms, for: 5ms"},
     .on_fabric = {"Packets between nodes of the first list and nodes of the second vanish, while all ports stay up; "
                   "one-way: only those from the first to the second.",
                   "partition n1,n2 n3 one-way"}},
    {.word = "heal",
     .kind = Change::heal,
     .subject = Subject::pairs_or_all,
     .keys = kPairKeys,
     .in_scenario = {"Ends every partition (all), or the one that is written the same way.", "heal: all, at: 6ms"},
     .on_fabric = {"Ends all partitions, or the latest that was said with the same words. A pair stays cut as long as "
                   "another partition cuts it.",
                   "heal"}},
    {.word = "switch-crash",
     .kind = Change::switch_crash,
     .subject = Subject::switches,
     .undo = "switch-restart",
     .in_scenario = {"The switches are dead, with all their cables. With an end they restart.",
                     "switch-crash: s1, at: 1ms, for: 4ms"},
     .on_fabric = {"The switches are dead, with all their cables.", "switch-crash s1,s2"}},
    {.word = "switch-restart",
     .kind = Change::switch_restart,
     .subject = Subject::switches,
     .in_scenario = {"They are alive again.", "switch-restart: s1, at: 5ms"},
     .on_fabric = {"They are alive again.", "switch-restart s1,s2"}},
    {.word = "node-crash",
     .kind = Node::crash,
     .subject = Subject::hosts,
     .undo = "node-restart",
     .in_scenario = {"The node's NIC vanishes without a word; with `clock: real` its programs are killed. With an end "
                     "it restarts.",
                     "node-crash: n2, at: 1ms"}},
    {.word = "node-freeze",
     .kind = Node::freeze,
     .subject = Subject::hosts,
     .undo = "node-thaw",
     .in_scenario = {"Nothing runs on the node; frames wait at its port as far as they fit. With an end it thaws.",
                     "node-freeze: n2, at: 1ms, for: 3ms"}},
    {.word = "node-thaw",
     .kind = Node::thaw,
     .subject = Subject::hosts,
     .in_scenario = {"It runs again.", "node-thaw: n2, at: 4ms"}},
    {.word = "node-restart",
     .kind = Node::restart,
     .subject = Subject::hosts,
     .in_scenario = {"A new NIC with the same address, QPNs and keys; its workloads begin anew.",
                     "node-restart: n2, at: 2ms"}},
    {.word = "device-removal",
     .kind = Software::device_removal,
     .subject = Subject::hosts,
     .undo = "node-restart",
     .in_scenario = {"The node's RDMA device goes (IBV_EVENT_DEVICE_FATAL): what is outstanding is flushed, its "
                     "software lives on. With an end the node restarts.",
                     "device-removal: n2, at: 1ms"},
     .on_fabric = {"The RDMA device of the processes that run there now goes (IBV_EVENT_DEVICE_FATAL); who opens it "
                   "later has a new one.",
                   "device-removal n1"}},
    {.word = "port-error",
     .kind = Change::port_error,
     .subject = Subject::hosts,
     .undo = "port-active",
     .in_scenario = {"All cables of the node are dead: its port goes down (IBV_EVENT_PORT_ERR). With an end it is up "
                     "again.",
                     "port-error: n1, at: 1ms, for: 2ms"},
     .on_fabric = {"All cables of the nodes are dead: their ports go down (IBV_EVENT_PORT_ERR).", "port-error n1,n2"}},
    {.word = "port-active",
     .kind = Change::port_active,
     .subject = Subject::hosts,
     .in_scenario = {"All its cables are alive again (IBV_EVENT_PORT_ACTIVE).", "port-active: n1, at: 3ms"},
     .on_fabric = {"All their cables are alive again (IBV_EVENT_PORT_ACTIVE).", "port-active n1,n2"}},
    {.word = "pause-storm",
     .kind = Change::pause_storm,
     .subject = Subject::hosts,
     .keys = kClassKeys,
     .undo = "pause-calm",
     .in_scenario = {"The node's NIC asks for a pause of these traffic classes, or of all, again and again, whatever "
                     "comes to it. The topology has qos. With an end it stops.",
                     "pause-storm: n3, class: 3, at: 1ms, for: 10ms"},
     .on_fabric = {"The nodes' NICs ask for a pause of these traffic classes, or of all, again and again, whatever "
                   "comes to them, as a broken one does. In a fabric with traffic classes (--qos).",
                   "pause-storm n3 3"}},
    {.word = "pause-calm",
     .kind = Change::pause_calm,
     .subject = Subject::hosts,
     .keys = kClassKeys,
     .in_scenario = {"It no longer does.", "pause-calm: n3, at: 11ms"},
     .on_fabric = {"They no longer do.", "pause-calm n3"}},
    {.word = "rnr-storm",
     .kind = Software::rnr_storm,
     .subject = Subject::hosts,
     .ends_by_itself = true,
     .needs_virtual_clock = true,
     .in_scenario = {"The node's targets post no receives for this time.", "rnr-storm: n2, at: 1ms, for: 3ms"}},
    {.word = "completion-status",
     .kind = Software::completion_status,
     .subject = Subject::workload,
     .keys = kStatusKeys,
     .needs_virtual_clock = true,
     .in_scenario = {"The next completions of a workload have this status instead of their own.",
                     "completion-status: w, status: remote_access_error, times: 2"}},
    {.word = "registration-failure",
     .kind = Software::registration_failure,
     .subject = Subject::hosts,
     .keys = kTimesKeys,
     .in_scenario = {"The next registrations of memory on the node fail, as with verbs: 'fail verb=reg_mr count=N'; of "
                     "programs in each process.",
                     "registration-failure: n1, times: 2"}},
    {.word = "post-failure",
     .kind = Software::post_failure,
     .subject = Subject::hosts,
     .keys = kTimesKeys,
     .in_scenario = {"The next posts on the node fail, as with verbs: 'fail verb=post_send count=N'; of programs in "
                     "each process.",
                     "post-failure: n1, times: 3, at: 1ms"}},
}};

constexpr const ElementRow* row_of_word(std::string_view word, std::span<const ElementRow> rows) {
  for (const ElementRow& row : rows)
    if (row.word == word) return &row;
  return nullptr;
}
/// A row that comes and goes has the kind of the one that comes.
constexpr const ElementRow* row_of_kind(FaultKind kind) {
  for (const ElementRow& row : kRows)
    if (row.kind == kind && !row.in_between) return &row;
  return nullptr;
}
constexpr const ElementKey* row_of_key(std::string_view key) {
  for (const ElementKey& row : kKeys)
    if (row.key == key) return &row;
  return nullptr;
}

template <class Kind>
constexpr bool each_has_a_row() {
  for (std::size_t i = 0; i < wire::enumerators<Kind>(); ++i)
    if (row_of_kind(static_cast<Kind>(i)) == nullptr) return false;
  return true;
}
static_assert(each_has_a_row<Change>() && each_has_a_row<Node>() && each_has_a_row<Software>());

constexpr bool names_only_rows() {
  for (const ElementRow& row : kRows) {
    if (!row.undo.empty() && row_of_word(row.undo, kRows) == nullptr) return false;
    for (const std::string_view key : row.keys)
      if (row_of_key(key) == nullptr) return false;
  }
  return true;
}
static_assert(names_only_rows(), "what undoes a fault is a fault, and each key is in the table of keys");

}  // namespace

std::span<const ElementRow> element_rows() {
  return kRows;
}
std::span<const ElementKey> element_keys() {
  return kKeys;
}

const ElementRow* find_element(std::string_view word, std::span<const ElementRow> rows) {
  return row_of_word(word, rows);
}

const ElementRow& element_row(FaultKind kind) {
  const ElementRow* const row = row_of_kind(kind);
  VERBENA_ASSERT(row != nullptr);
  return *row;
}

const ElementKey& element_key(std::string_view key) {
  const ElementKey* const row = row_of_key(key);
  VERBENA_ASSERT(row != nullptr);
  return *row;
}

namespace {

const ElementRow* row_of_value(const PacketRule&) {
  return nullptr;
}
const ElementRow* row_of_value(const HostVerbRule&) {
  return nullptr;
}
template <class Value>
const ElementRow* row_of_value(const Value& value) {
  return &element_row(value.kind);
}

Fault made(Change kind, const ElementDetails& said) {
  ElementChange change = static_cast<const ElementChange&>(said);
  change.kind = kind;
  return change;
}
Fault made(Node kind, const ElementDetails& said) {
  return NodeChange{kind, said.hosts};
}
Fault made(Software kind, const ElementDetails& said) {
  return SoftwareFault{kind, said.hosts, said.workload, said.down, said.times, said.status};
}

}  // namespace

const ElementRow* row_of(const Fault& fault) {
  return std::visit([](const auto& value) { return row_of_value(value); }, fault);
}

Fault fault_of(FaultKind kind, const ElementDetails& said) {
  return std::visit([&said](auto known) { return made(known, said); }, kind);
}

}  // namespace verbena::fabric
