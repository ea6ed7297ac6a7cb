// parse_fault(): the grammar of fault_plan.h, one word at a time.
#include <algorithm>
#include <array>
#include <string>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/quantity.h"

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

constexpr std::array<Named<FaultAction>, 8> kActions{{{"drop", FaultAction::drop},
                                                      {"burst-loss", FaultAction::burst_loss},
                                                      {"duplicate", FaultAction::duplicate},
                                                      {"delay", FaultAction::delay},
                                                      {"reorder", FaultAction::reorder},
                                                      {"corrupt", FaultAction::corrupt},
                                                      {"truncate", FaultAction::truncate},
                                                      {"mark", FaultAction::mark}}};
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

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<FaultRule, std::string> run() {
    const auto words = words_of(text_);
    if (words.empty()) return fail("is empty: begin with one of " + names_of(kActions));
    const auto action = find_named(kActions, words.front());
    if (!action) return fail("unknown action " + quote(words.front()) + ": use one of " + names_of(kActions));
    rule_.action = *action;
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
    const std::size_t equals = word.find('=');
    if (equals == word.npos && word.back() == '%')
      return once("p", [&] { return take_probability(word, word, rule_.probability_ppb); });
    if (equals == word.npos) return quote(word) + " is not understood: write a percentage such as 0.1%, or name=value";
    const std::string_view name = word.substr(0, equals);
    std::optional<Error> taken = take_condition(word, name, word.substr(equals + 1));
    if (!taken) taken = take_parameter(word, name, word.substr(equals + 1));
    if (taken) return *taken;
    return quote(name) + " does not belong to " + std::string(to_string(rule_.action)) + ": it takes " + names_taken();
  }

  /// Which packets, whatever happens to them. Nothing: it is no condition's name.
  std::optional<Error> take_condition(std::string_view word, std::string_view name, std::string_view value) {
    if (name == "p") return once(name, [&] { return take_probability(word, value, rule_.probability_ppb); });
    if (name == "qp") return once(name, [&] { return take_range(word, value, 0, 0xffffff, rule_.flows); });
    if (name == "psn") return once(name, [&] { return take_range(word, value, 0, wire::Psn::kMask, rule_.psns); });
    if (name == "iter") return once(name, [&] { return take_range(word, value, 1, 1'000'000, rule_.iterations); });
    if (name == "msg") return once(name, [&] { return take_range(word, value, 0, 1'000'000'000, rule_.messages); });
    if (name == "packet")
      return once(name, [&] { return take_range(word, value, 0, wire::Psn::kMask, rule_.packets_of_message); });
    if (name == "round") return once(name, [&] { return take_range(word, value, 1, 1'000'000, rule_.rounds); });
    if (name == "part") return once(name, [&] { return take_name(word, value, kParts, rule_.part); });
    if (name == "opcode") return once(name, [&] { return take_name(word, value, kKinds, rule_.kind); });
    if (name == "dir") return once(name, [&] { return take_name(word, value, kDirections, rule_.direction); });
    if (name == "every") return once(name, [&] { return take_number(word, value, 1, 1'000'000'000, rule_.every); });
    if (name == "count") return once(name, [&] { return take_number(word, value, 1, 1'000'000'000, rule_.count_max); });
    return std::nullopt;
  }

  /// How the rule's own action is done. Nothing: the action has no such parameter.
  std::optional<Error> take_parameter(std::string_view word, std::string_view name, std::string_view value) {
    const FaultAction action = rule_.action;
    if (action == FaultAction::burst_loss && name == "r")
      return once(name, [&] { return take_probability(word, value, rule_.recovery_ppb); });
    if (action == FaultAction::burst_loss && name == "good")
      return once(name, [&] { return take_probability(word, value, rule_.good_loss_ppb); });
    if (action == FaultAction::burst_loss && name == "bad")
      return once(name, [&] { return take_probability(word, value, rule_.bad_loss_ppb); });
    if (action == FaultAction::delay && name == "by")
      return once(name, [&] { return take_duration(word, value, rule_.delay); });
    if (action == FaultAction::delay && name == "jitter")
      return once(name, [&] { return take_duration(word, value, rule_.jitter); });
    if (action == FaultAction::reorder && name == "by")
      return once(name, [&] { return take_number(word, value, 1, kReorderPacketsMax, rule_.packets); });
    if (action == FaultAction::reorder && name == "within")
      return once(name, [&] { return take_duration(word, value, rule_.hold_max); });
    if (action == FaultAction::corrupt && name == "where")
      return once(name, [&] { return take_name(word, value, kPlaces, rule_.place); });
    if (action == FaultAction::corrupt && name == "repair") return once(name, [&] { return take_repair(word, value); });
    if (action == FaultAction::truncate && name == "to")
      return once(name, [&] { return take_number(word, value, kTruncateBytesMin, 65'535, rule_.truncate_to); });
    return std::nullopt;
  }

  std::string names_taken() const {
    std::string own;
    if (rule_.action == FaultAction::burst_loss) own = "r, good, bad, ";
    if (rule_.action == FaultAction::delay) own = "by, jitter, ";
    if (rule_.action == FaultAction::reorder) own = "by, within, ";
    if (rule_.action == FaultAction::corrupt) own = "where, repair, ";
    if (rule_.action == FaultAction::truncate) own = "to, ";
    return own + "p, qp, psn, iter, msg, packet, round, part, opcode, every, count, dir";
  }

  template <class Take>
  Error once(std::string_view name, Take take) {
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return quote(name) + " is given twice";
    seen_.push_back(name);
    return take();
  }

  static Error take_probability(std::string_view word, std::string_view value, std::uint32_t& into) {
    const auto ppb = parse_probability(value);
    if (!ppb) return quote(word) + " is not a probability: write 0% to 100% or p=0 to p=1, down to one in a billion";
    into = *ppb;
    return std::nullopt;
  }

  static Error take_range(std::string_view word, std::string_view value, std::uint64_t least, std::uint64_t most,
                          std::optional<Range>& into) {
    const auto range = parse_range(value, least, most);
    if (!range)
      return quote(word) + " is not understood: write a number from " + std::to_string(least) + " to " +
             std::to_string(most) + ", a range such as 4-7, or all";
    into = *range;
    return std::nullopt;
  }

  static Error take_number(std::string_view word, std::string_view value, std::uint64_t least, std::uint64_t most,
                           std::uint32_t& into) {
    const auto number = parse_number_in(value, least, most);
    if (!number)
      return quote(word) + " is not understood: write a number from " + std::to_string(least) + " to " +
             std::to_string(most);
    into = *number;
    return std::nullopt;
  }

  static Error take_duration(std::string_view word, std::string_view value, Duration& into) {
    const auto duration = parse_duration(value, kFaultTimeMax);
    if (!duration) return quote(word) + " is not understood: write a time of at most 60s such as 500ns, 10us or 2ms";
    into = *duration;
    return std::nullopt;
  }

  template <class T, std::size_t n>
  static Error take_name(std::string_view word, std::string_view value, const std::array<Named<T>, n>& table, T& into) {
    const auto found = find_named(table, value);
    if (!found) return quote(word) + " is not understood: use one of " + names_of(table);
    into = *found;
    return std::nullopt;
  }

  Error take_repair(std::string_view word, std::string_view value) {
    if (value != "yes" && value != "no") return quote(word) + " is not understood: use yes or no";
    rule_.repair_icrc = value == "yes";
    return std::nullopt;
  }

  Error check_whole() {
    const auto given = [this](std::string_view name) {
      return std::find(seen_.begin(), seen_.end(), name) != seen_.end();
    };
    if (rule_.action == FaultAction::delay && rule_.delay.ns == 0 && rule_.jitter.ns == 0)
      return "delay needs a time: by=10us";
    if (rule_.action == FaultAction::truncate && !given("to")) return "truncate needs a size: to=60";
    if (rule_.action == FaultAction::burst_loss && (!given("p") || !given("r")))
      return "burst-loss needs the probabilities to turn bad and good again: p=0.001 r=0.2";
    if (rule_.repair_icrc && rule_.place == CorruptPlace::icrc) return "repair=yes would undo where=icrc";
    // A bit anywhere may be one of the ICRC itself, which a repair would undo.
    if (rule_.repair_icrc && rule_.place == CorruptPlace::anywhere)
      return "repair=yes needs where=payload or where=header";
    if (rule_.psns && !rule_.iterations) rule_.iterations = Range{1, 1};
    return std::nullopt;
  }

  std::string_view text_;
  FaultRule rule_;
  std::vector<std::string_view> seen_;
};

}  // namespace

Result<FaultRule, std::string> parse_fault(std::string_view text) {
  return Parser(text).run();
}

}  // namespace verbena::fabric
