// parse_fault(): one word at a time, by the table of all words, which says as well what they mean (fault_words.h).
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
#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"
#include "wire/enumerators.h"

namespace verbena::fabric {
namespace {

using Error = std::optional<std::string>;  // nothing: fine

std::string quote(std::string_view word) {
  return "'" + std::string(word) + "'";
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(kBlank); at != text.npos; at = text.find_first_not_of(kBlank, at)) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

constexpr std::array<Named<PacketKind>, 13> kKinds{{{"any", PacketKind::any},
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
                                                    {"data", PacketKind::data}}};
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

std::optional<std::uint32_t> parse_number_in(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = parse_number(text);
  if (!value || *value < least || *value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

/// `4`, `4-7` or `all`.
std::optional<Range> parse_range(std::string_view text, std::uint64_t least, std::uint64_t most) {
  if (text == "all") return Range{};
  const std::size_t dash = text.find('-');
  const auto first = parse_number_in(text.substr(0, dash), least, most);
  const auto last = dash == text.npos ? first : parse_number_in(text.substr(dash + 1), least, most);
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{*first, *last};
}

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
    FaultActionRow{"duplicate", FaultAction::duplicate, "duplicated", 4, "A second copy goes out behind the packet.",
                   "duplicate 1%"},
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
        "Only packets of this kind. data: sends, writes and read responses, as Lumina calls them; cm: the connection "
        "manager's, on QP1.",
        "drop opcode=ack every=2"},
    FaultWordRow{"every",
                 {},
                 NumberOf{&FaultRule::every, 1, kCountMax},
                 "Of the packets that fit only each so many-th.",
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

constexpr FaultTable kTable{kActions, kWords};

std::vector<std::string_view> names_in(const auto& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

/// What would be right, as errors and the page on faults say it.
struct RightValue {
  std::string operator()(const Probability&) const { return "a probability such as 0.001, 1e-3 or 0.1%"; }
  std::string operator()(const RangeOf& range) const {
    return numbers(range.least, range.most) + ", a range such as 4-7, or all";
  }
  std::string operator()(const NumberOf& number) const { return numbers(number.least, number.most); }
  std::string operator()(const TimeOf&) const { return "a time of at most 60s such as 500ns, 10us or 2ms"; }
  template <class T>
  std::string operator()(const OneOf<T>& one) const {
    return "one of " + names_of(one.names);
  }
  std::string operator()(const YesNo&) const { return "yes or no"; }

  static std::string numbers(std::uint64_t least, std::uint64_t most) {
    return "a number from " + std::to_string(least) + " to " + std::to_string(most);
  }
};

/// The words that a value may be, if it is one of a few.
struct RightWords {
  template <class T>
  std::vector<std::string_view> operator()(const OneOf<T>& one) const {
    return names_in(one.names);
  }
  std::vector<std::string_view> operator()(const auto&) const { return {}; }
};

/// Reads a value into the rule; whether it was right.
struct TakeValue {
  bool operator()(const Probability& value) const { return put(parse_probability(text), rule.*value.into); }
  bool operator()(const RangeOf& value) const {
    return put(parse_range(text, value.least, value.most), rule.*value.into);
  }
  bool operator()(const NumberOf& value) const {
    return put(parse_number_in(text, value.least, value.most), rule.*value.into);
  }
  bool operator()(const TimeOf& value) const { return put(parse_duration(text, kFaultTimeMax), rule.*value.into); }
  template <class T>
  bool operator()(const OneOf<T>& value) const {
    return put(find_named(value.names, text), rule.*value.into);
  }
  bool operator()(const YesNo& value) const {
    rule.*value.into = text == "yes";
    return text == "yes" || text == "no";
  }
  template <class Read, class Into>
  static bool put(const std::optional<Read>& read, Into& into) {
    if (read) into = *read;
    return read.has_value();
  }
  std::string_view text;
  FaultRule& rule;
};

FaultWord explained(const FaultWordRow& row) {
  return {row.name, std::visit(RightValue{}, row.value), row.text, row.example};
}

class Parser {
 public:
  Parser(std::string_view text, const FaultTable& table) : text_(text), table_(table) {}

  Result<FaultRule, std::string> run() {
    const auto words = words_of(text_);
    if (words.empty()) return fail("is empty: begin with one of " + action_names());
    for (const FaultActionRow& row : table_.actions)
      if (row.name == words.front()) action_ = &row;
    if (action_ == nullptr)
      return fail("unknown action " + quote(words.front()) + ": use one of " + action_names() +
                  did_you_mean(words.front(), names_in(table_.actions)));
    rule_.action = action_->value;
    for (std::size_t i = 0; i < words.size(); ++i) {
      rule_.text += (i == 0 ? "" : " ") + std::string(words[i]);
      if (i == 0) continue;
      if (const Error error = take_word(words[i])) return fail(*error);
    }
    if (const Error error = check_whole()) return fail(*error);
    return rule_;
  }

 private:
  Failure<std::string> fail(const std::string& what) const {
    std::string shown(text_.substr(0, 80));
    std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c == 0x7f; }, '?');
    std::string line = "fault " + quote(shown) + ": " + what;
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return Failure<std::string>{std::move(line)};
  }

  Error take_word(std::string_view word) {
    if (word.ends_with(',')) return quote(word) + " ends in a comma: blanks part the words of a fault";
    const std::size_t equals = word.find('=');
    if (equals == word.npos && word.back() == '%') return take(word, "p", word);
    if (equals == word.npos) return quote(word) + " is not understood: write a percentage such as 0.1%, or name=value";
    return take(word, word.substr(0, equals), word.substr(equals + 1));
  }

  Error take(std::string_view word, std::string_view name, std::string_view value) {
    const auto row = std::find_if(table_.words.begin(), table_.words.end(),
                                  [&](const FaultWordRow& entry) { return entry.name == name && belongs(entry); });
    if (row == table_.words.end())
      return quote(name) + " does not belong to " + std::string(action_->name) + ": it takes " + names_taken() +
             did_you_mean(name, names_of_words());
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return quote(name) + " is given twice";
    seen_.push_back(name);
    if (std::visit(TakeValue{value, rule_}, row->value)) return std::nullopt;
    if (std::holds_alternative<Probability>(row->value))
      return quote(word) + " is not a probability: write 0% to 100% or p=0 to p=1, down to one in a billion";
    const std::string right = std::visit(RightValue{}, row->value);
    return quote(word) + " is not understood: " + (right.starts_with("a ") ? "write " : "use ") + right +
           did_you_mean(value, std::visit(RightWords{}, row->value));
  }

  bool belongs(const FaultWordRow& row) const { return !row.action || *row.action == rule_.action; }

  std::vector<std::string_view> names_of_words() const {
    std::vector<std::string_view> names;
    for (const FaultWordRow& row : table_.words)
      if (belongs(row)) names.push_back(row.name);
    return names;
  }

  std::string names_taken() const {
    std::string names;
    for (const std::string_view name : names_of_words()) names += (names.empty() ? "" : ", ") + std::string(name);
    return names;
  }

  std::string action_names() const {
    std::string names;
    for (const FaultActionRow& row : table_.actions) names += (names.empty() ? "" : ", ") + std::string(row.name);
    return names;
  }

  Error check_whole() {
    if (action_->lacks != nullptr)
      if (const std::string_view lacking = action_->lacks(rule_, seen_); !lacking.empty()) return std::string(lacking);
    if (rule_.psns && !rule_.iterations) rule_.iterations = Range{1, 1};
    return std::nullopt;
  }

  std::string_view text_;
  const FaultTable& table_;
  const FaultActionRow* action_ = nullptr;
  FaultRule rule_;
  std::vector<std::string_view> seen_;
};

}  // namespace

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
  return Parser(text, table).run();
}

Result<FaultRule, std::string> parse_fault(std::string_view text) {
  return parse_fault(text, kTable);
}

}  // namespace verbena::fabric
