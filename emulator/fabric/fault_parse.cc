// The rows of packet faults, by which parse_fault() reads (rule_reader.h), and which say as well what the words mean
// (fault_words.h).
// Tested by: tests/fabric/fault_plan_test.cc
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rows.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/fault_words.h"
#include "wire/enumerators.h"

namespace verbena::fabric {
namespace {

constexpr std::array<Named<PacketKind>, 24> kKinds{{{"any", PacketKind::any},
                                                    {"write", PacketKind::write},
                                                    {"send", PacketKind::send},
                                                    {"read", PacketKind::read},
                                                    {"read-response", PacketKind::read_response},
                                                    {"ack", PacketKind::acknowledge},
                                                    {"nak", PacketKind::nak},
                                                    {"atomic", PacketKind::atomic},
                                                    {"atomic-response", PacketKind::atomic_response},
                                                    {"cm", PacketKind::cm},
                                                    {"cnp", PacketKind::cnp},
                                                    {"rnr-nak", PacketKind::rnr_nak},
                                                    {"data", PacketKind::data},
                                                    {"cm-req", PacketKind::cm_req},
                                                    {"cm-mra", PacketKind::cm_mra},
                                                    {"cm-rej", PacketKind::cm_rej},
                                                    {"cm-rep", PacketKind::cm_rep},
                                                    {"cm-rtu", PacketKind::cm_rtu},
                                                    {"cm-dreq", PacketKind::cm_dreq},
                                                    {"cm-drep", PacketKind::cm_drep},
                                                    {"cm-sidr-req", PacketKind::cm_sidr_req},
                                                    {"cm-sidr-rep", PacketKind::cm_sidr_rep},
                                                    {"cm-lap", PacketKind::cm_lap},
                                                    {"cm-apr", PacketKind::cm_apr}}};
constexpr std::array<Named<FaultDirection>, 3> kDirections{
    {{"tx", FaultDirection::tx}, {"rx", FaultDirection::rx}, {"both", FaultDirection::both}}};
constexpr std::array<Named<CorruptPlace>, 12> kPlaces{{{"payload", CorruptPlace::payload},
                                                       {"header", CorruptPlace::header},
                                                       {"icrc", CorruptPlace::icrc},
                                                       {"opcode", CorruptPlace::opcode},
                                                       {"pkey", CorruptPlace::pkey},
                                                       {"dest-qp", CorruptPlace::dest_qp},
                                                       {"psn", CorruptPlace::psn},
                                                       {"address", CorruptPlace::address},
                                                       {"rkey", CorruptPlace::rkey},
                                                       {"length", CorruptPlace::length},
                                                       {"syndrome", CorruptPlace::syndrome},
                                                       {"msn", CorruptPlace::msn}}};
constexpr std::array<Named<MessagePart>, 3> kParts{
    {{"first", MessagePart::first}, {"middle", MessagePart::middle}, {"last", MessagePart::last}}};

// -- The table: what may be written, how it is read and what it means (fault_rows.h)

using fault_value::NumberOf;
using fault_value::OneOf;
using fault_value::Probability;
using fault_value::RangeOf;
using fault_value::TimeOf;
using fault_value::YesNo;

using Words = std::span<const std::string_view>;

bool has(Words given, std::string_view name) {
  return std::find(given.begin(), given.end(), name) != given.end();
}

std::string_view lacks_time(const FaultRule& rule, Words) {
  return rule.delay.ns == 0 && rule.jitter.ns == 0 ? "delay needs a time: by=10us" : "";
}
std::string_view lacks_size(const FaultRule&, Words given) {
  return has(given, "to") ? "" : "truncate needs a size: to=60";
}
std::string_view lacks_times(const FaultRule&, Words given) {
  return has(given, "p") && has(given, "r")
             ? ""
             : "burst-loss needs the probabilities to turn bad and good again: p=0.001 r=0.2";
}
/// A bit anywhere may be one of the ICRC itself, which a repair would undo.
std::string_view undoes_itself(const FaultRule& rule, Words) {
  if (rule.repair_icrc && rule.place == CorruptPlace::icrc) return "repair=yes would undo where=icrc";
  if (rule.repair_icrc && rule.place == CorruptPlace::anywhere) return "repair=yes needs where=payload or where=header";
  return "";
}

constexpr std::array kActions{
    FaultActionRow{"drop", FaultAction::drop, "dropped", 7, "The packet is lost.", "drop 0.1%"},
    FaultActionRow{
        "burst-loss", FaultAction::burst_loss, "dropped", 7,
        "Losses come in bursts (Gilbert-Elliott): with each packet of this direction of the link a good time turns "
        "bad with probability p and a bad one good with probability r. Other conditions choose whom it hits, the "
        "times turn with every packet. p and r must be given.",
        "burst-loss p=0.001 r=0.2", lacks_times},
    FaultActionRow{"duplicate", FaultAction::duplicate, "duplicated", 4,
                   "A second copy goes out behind the packet, or as many as copies says.", "duplicate 1%"},
    FaultActionRow{"delay", FaultAction::delay, "delayed", 2,
                   "The packet is late, and later ones of its flow may overtake it. by, jitter or both must be given.",
                   "delay by=10us 1%", lacks_time},
    FaultActionRow{"reorder", FaultAction::reorder, "reordered", 3,
                   "The packet is held until others of its flow have overtaken it, or a time is over.",
                   "reorder by=3 1%"},
    FaultActionRow{"corrupt", FaultAction::corrupt, "corrupted", 5,
                   "One bit is flipped, anywhere behind the UDP header if where is not given. The ICRC tells it to the "
                   "receiver, unless repair=yes.",
                   "corrupt 0.01%", undoes_itself},
    FaultActionRow{"truncate", FaultAction::truncate, "truncated", 6,
                   "Only the frame's first octets arrive. to must be given.", "truncate to=60 1%", lacks_size},
    FaultActionRow{
        "mark", FaultAction::mark, "marked", 1,
        "ECN congestion experienced is set, as a switch with a long queue does: the receiver answers with CNPs.",
        "mark opcode=data every=10"},
    FaultActionRow{"count", FaultAction::count, "counted", 0, "Nothing happens to the packet: it is counted as a hit.",
                   "count opcode=ack dir=rx"},
};

constexpr bool in_order_of_actions() {
  for (std::size_t i = 0; i < kActions.size(); ++i)
    if (kActions[i].value != static_cast<FaultAction>(i)) return false;
  return true;
}
static_assert(in_order_of_actions() && !wire::is_enumerator<FaultAction, kActions.size()>, "each action has its row");

constexpr std::uint64_t kCountMax = 1'000'000'000;
constexpr std::uint64_t kRoundsMax = 1'000'000;

constexpr std::array kWords{
    FaultWordRow{"good", FaultAction::burst_loss, Probability{&FaultRule::good_loss_ppb},
                 "A packet is lost with this probability in a good time; 0 if not said.",
                 "burst-loss p=0.001 r=0.2 good=0.0001"},
    FaultWordRow{"bad", FaultAction::burst_loss, Probability{&FaultRule::bad_loss_ppb},
                 "A packet is lost with this probability in a bad time; 1 if not said.",
                 "burst-loss p=0.001 r=0.2 bad=0.5"},
    FaultWordRow{"r", FaultAction::burst_loss, Probability{&FaultRule::recovery_ppb},
                 "A bad time turns good with this probability, with each packet.", "burst-loss p=0.5% r=20%"},
    FaultWordRow{"copies", FaultAction::duplicate, NumberOf{&FaultRule::copies, 1, kCopiesMax},
                 "So many copies go out behind it; 1 if not said.", "duplicate opcode=cm-dreq copies=100"},
    FaultWordRow{"by", FaultAction::delay, TimeOf{&FaultRule::delay}, "So much later.", "delay by=10us"},
    FaultWordRow{"jitter", FaultAction::delay, TimeOf{&FaultRule::jitter}, "Up to so much later still, evenly spread.",
                 "delay by=10us jitter=5us"},
    FaultWordRow{"by", FaultAction::reorder, NumberOf{&FaultRule::packets, 1, kReorderPacketsMax},
                 "So many packets of its flow overtake it; 1 if not said.", "reorder by=3"},
    FaultWordRow{"within", FaultAction::reorder, TimeOf{&FaultRule::hold_max},
                 "It leaves after this time at the latest; 1ms if not said.", "reorder by=3 within=200us"},
    FaultWordRow{"where", FaultAction::corrupt, OneOf<CorruptPlace>{&FaultRule::place, kPlaces},
                 "In which part of the packet the bit is. A packet without that part is left alone.",
                 "corrupt where=psn repair=yes 1%"},
    FaultWordRow{
        "repair", FaultAction::corrupt, YesNo{&FaultRule::repair_icrc},
        "yes: the ICRC is made to fit again, so that the receiver believes what it reads; no if not said. Needs "
        "where, and not "
        "where=icrc.",
        "corrupt where=payload repair=yes count=1"},
    FaultWordRow{"to", FaultAction::truncate, NumberOf{&FaultRule::truncate_to, kTruncateBytesMin, 65'535},
                 "So many octets arrive, counted from the Ethernet header; a shorter frame is left alone.",
                 "truncate to=60 part=first"},
    FaultWordRow{
        "p",
        {},
        Probability{&FaultRule::probability_ppb},
        "Each packet that fits is hit with this probability; a percentage such as 0.1% may stand alone. 1 if not "
        "said. For burst-loss: a good time turns bad.",
        "drop p=0.001"},
    FaultWordRow{"qp",
                 {},
                 RangeOf{&FaultRule::flows, 0, 0xffffff},
                 "Only the flows with these numbers, counted from 0 in the order in which the link saw them first.",
                 "drop qp=0 psn=4"},
    FaultWordRow{"psn",
                 {},
                 RangeOf{&FaultRule::psns, 0, wire::Psn::kMask},
                 "Only these PSNs, relative to the flow's first. Then iter is 1 if it is not said.",
                 "drop psn=4-7"},
    FaultWordRow{"iter",
                 {},
                 RangeOf{&FaultRule::iterations, 1, kRoundsMax},
                 "Only these transmissions of a PSN, the first being 1.",
                 "drop psn=4 iter=2"},
    FaultWordRow{"msg",
                 {},
                 RangeOf{&FaultRule::messages, 0, kCountMax},
                 "Only these messages of the flow, from 0.",
                 "drop msg=3 packet=0"},
    FaultWordRow{"packet",
                 {},
                 RangeOf{&FaultRule::packets_of_message, 0, wire::Psn::kMask},
                 "Only these packets of a message, from 0.",
                 "corrupt packet=2 round=1"},
    FaultWordRow{
        "round",
        {},
        RangeOf{&FaultRule::rounds, 1, kRoundsMax},
        "Only in these rounds of a message's transmission: each time that its sender goes back begins one, the first "
        "being 1.",
        "drop msg=0 packet=3 round=1-2"},
    FaultWordRow{"part",
                 {},
                 OneOf<MessagePart>{&FaultRule::part, kParts},
                 "Only packets at this place of their message; a message of one packet is first and last.",
                 "drop part=last 5%"},
    FaultWordRow{
        "opcode",
        {},
        OneOf<PacketKind>{&FaultRule::kind, kKinds},
        "Only packets of this kind. data: sends, writes and read responses, as Lumina calls them; cm: all that goes to "
        "QP1; cm-req and the like: this message of the connection manager.",
        "drop opcode=cm-rtu count=1"},
    FaultWordRow{"skip",
                 {},
                 NumberOf{&FaultRule::skip, 0, kCountMax},
                 "Not the first so many of the packets that fit.",
                 "drop opcode=cm-req skip=2"},
    FaultWordRow{"every",
                 {},
                 NumberOf{&FaultRule::every, 1, kCountMax},
                 "Of the packets that fit (behind those that skip lets through) only each so many-th.",
                 "drop every=100"},
    FaultWordRow{"count",
                 {},
                 NumberOf{&FaultRule::count_max, 1, kCountMax},
                 "At most so many packets, then no more.",
                 "drop opcode=cm count=3"},
    FaultWordRow{"dir",
                 {},
                 OneOf<FaultDirection>{&FaultRule::direction, kDirections},
                 "What the node that has the fault sends (tx, if nothing is said), receives (rx), or both.",
                 "drop dir=rx 1%"},
};

/// A PSN means its first transmission.
void complete(FaultRule& rule) {
  if (rule.psns && !rule.iterations) rule.iterations = Range{1, 1};
}

constexpr FaultTable kTable{kActions, kWords, complete};

FaultWord explained(const FaultWordRow& row) {
  return {row.name, std::visit(RightValue{}, row.value), row.text, row.example};
}

}  // namespace

std::vector<std::string_view> disjoint_opcodes() {
  std::vector<std::string_view> names;
  for (const Named<PacketKind>& kind : kKinds)
    if (kind.value != PacketKind::any && kind.value != PacketKind::data && kind.value != PacketKind::cm &&
        kind.value != PacketKind::rnr_nak)
      names.push_back(kind.name);
  return names;
}

std::string_view to_string(HitUnit unit) {
  constexpr std::array<std::string_view, 4> kNames{"packet", "call", "completion", "event"};
  static_assert(!wire::is_enumerator<HitUnit, kNames.size()>);
  return kNames[static_cast<std::size_t>(unit)];
}

const FaultTable& fault_table() {
  return kTable;
}

std::vector<FaultActionWords> fault_action_words(const FaultTable& table) {
  std::vector<FaultActionWords> words;
  for (const FaultActionRow& action : table.actions) {
    words.push_back({{action.name, "", action.text, action.example}, {}});
    for (const FaultWordRow& row : table.words)
      if (row.action == action.value) words.back().parameters.push_back(explained(row));
  }
  return words;
}

std::vector<FaultActionWords> fault_action_words() {
  return fault_action_words(kTable);
}

std::vector<FaultWord> fault_condition_words() {
  std::vector<FaultWord> words;
  for (const FaultWordRow& row : kWords)
    if (!row.action) words.push_back(explained(row));
  return words;
}

Result<FaultRule, std::string> parse_fault(std::string_view text, const FaultTable& table) {
  return RuleReader(text, table).run();
}

Result<FaultRule, std::string> parse_fault(std::string_view text) {
  return parse_fault(text, kTable);
}

}  // namespace verbena::fabric
