// parse_fault(): the grammar of fault_plan.h, one word at a time.
#include <algorithm>
#include <array>
#include <string>

#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/fault_rule.h"

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

template <class T>
struct Named {
  std::string_view name;
  T value;
};

template <class T, std::size_t n>
std::optional<T> find_named(const std::array<Named<T>, n>& table, std::string_view name) {
  for (const Named<T>& entry : table)
    if (entry.name == name) return entry.value;
  return std::nullopt;
}

template <class T, std::size_t n>
std::string names_of(const std::array<Named<T>, n>& table) {
  std::string names;
  for (const Named<T>& entry : table) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

constexpr std::array<Named<FaultAction>, 5> kActions{{{"drop", FaultAction::drop},
                                                      {"duplicate", FaultAction::duplicate},
                                                      {"delay", FaultAction::delay},
                                                      {"reorder", FaultAction::reorder},
                                                      {"corrupt", FaultAction::corrupt}}};
constexpr std::array<Named<PacketKind>, 10> kKinds{{{"any", PacketKind::any},
                                                    {"write", PacketKind::write},
                                                    {"send", PacketKind::send},
                                                    {"read", PacketKind::read},
                                                    {"read-response", PacketKind::read_response},
                                                    {"ack", PacketKind::acknowledge},
                                                    {"nak", PacketKind::nak},
                                                    {"atomic", PacketKind::atomic},
                                                    {"atomic-response", PacketKind::atomic_response},
                                                    {"cm", PacketKind::cm}}};
constexpr std::array<Named<FaultDirection>, 3> kDirections{
    {{"tx", FaultDirection::tx}, {"rx", FaultDirection::rx}, {"both", FaultDirection::both}}};
constexpr std::array<Named<CorruptPlace>, 3> kPlaces{
    {{"payload", CorruptPlace::payload}, {"header", CorruptPlace::header}, {"icrc", CorruptPlace::icrc}}};
constexpr std::array<Named<std::int64_t>, 4> kTimeUnits{
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A whole decimal number of at most 10 digits.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty() || text.size() > 10 || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

std::optional<std::uint32_t> parse_number_in(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const auto value = parse_number(text);
  if (!value || *value < least || *value > most) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

/// A decimal fraction times 10^scale_digits as an integer: "0.1" at 9 is 100000000. Digits beyond that are refused,
/// because they would be lost; so is what does not fit.
std::optional<std::uint64_t> parse_scaled(std::string_view text, int scale_digits) {
  const std::size_t exponent_at = text.find_first_of("eE");
  if (exponent_at != text.npos) {
    std::string_view exponent = text.substr(exponent_at + 1);
    const bool negative = !exponent.empty() && exponent.front() == '-';
    if (negative) exponent.remove_prefix(1);
    const auto digits = parse_number_in(exponent, 0, 9);
    if (!digits) return std::nullopt;
    scale_digits += negative ? -static_cast<int>(*digits) : static_cast<int>(*digits);
    text = text.substr(0, exponent_at);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  std::string_view fraction = point < text.size() ? text.substr(point + 1) : std::string_view{};
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  if (digits.empty() && fraction.empty()) return std::nullopt;
  if (scale_digits < 0 || fraction.size() > static_cast<std::size_t>(scale_digits)) return std::nullopt;
  digits += fraction;
  digits.append(static_cast<std::size_t>(scale_digits) - fraction.size(), '0');
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return digits.empty() ? 0 : parse_number(digits);
}

std::optional<Duration> parse_duration(std::string_view text) {
  const auto unit_at = static_cast<std::size_t>(
      std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c); }) - text.begin());
  const auto value = parse_number(text.substr(0, unit_at));
  const auto unit = find_named(kTimeUnits, text.substr(unit_at));
  if (!value || !unit || *value > static_cast<std::uint64_t>(kFaultTimeMax.ns / *unit)) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(*value) * *unit);
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
    if (word.back() == '%')
      return once("p", [&] { return take_probability(word, word.substr(0, word.size() - 1), 7); });
    const std::size_t equals = word.find('=');
    if (equals == word.npos) return quote(word) + " is not understood: write a percentage such as 0.1%, or name=value";
    return take_value(word, word.substr(0, equals), word.substr(equals + 1));
  }

  Error take_value(std::string_view word, std::string_view name, std::string_view value) {
    if (name == "p") return once(name, [&] { return take_probability(word, value, 9); });
    if (name == "qp") return once(name, [&] { return take_range(word, value, 0, 0xffffff, rule_.flows); });
    if (name == "psn") return once(name, [&] { return take_range(word, value, 0, wire::Psn::kMask, rule_.psns); });
    if (name == "iter") return once(name, [&] { return take_range(word, value, 1, 1'000'000, rule_.iterations); });
    if (name == "opcode") return once(name, [&] { return take_name(word, value, kKinds, rule_.kind); });
    if (name == "dir") return once(name, [&] { return take_name(word, value, kDirections, rule_.direction); });
    if (name == "every") return once(name, [&] { return take_number(word, value, 1, 1'000'000'000, rule_.every); });
    if (name == "count") return once(name, [&] { return take_number(word, value, 1, 1'000'000'000, rule_.count_max); });
    if (name == "by" && rule_.action == FaultAction::delay)
      return once(name, [&] { return take_duration(word, value, rule_.delay); });
    if (name == "by" && rule_.action == FaultAction::reorder)
      return once(name, [&] { return take_number(word, value, 1, kReorderPacketsMax, rule_.packets); });
    if (name == "within" && rule_.action == FaultAction::reorder)
      return once(name, [&] { return take_duration(word, value, rule_.hold_max); });
    if (name == "where" && rule_.action == FaultAction::corrupt)
      return once(name, [&] { return take_name(word, value, kPlaces, rule_.place); });
    if (name == "repair" && rule_.action == FaultAction::corrupt)
      return once(name, [&] { return take_repair(word, value); });
    return quote(name) + " does not belong to " + std::string(to_string(rule_.action)) + ": it takes " + names_taken();
  }

  std::string names_taken() const {
    std::string own;
    if (rule_.action == FaultAction::delay) own = "by, ";
    if (rule_.action == FaultAction::reorder) own = "by, within, ";
    if (rule_.action == FaultAction::corrupt) own = "where, repair, ";
    return own + "p, qp, psn, iter, opcode, every, count, dir";
  }

  template <class Take>
  Error once(std::string_view name, Take take) {
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return quote(name) + " is given twice";
    seen_.push_back(name);
    return take();
  }

  Error take_probability(std::string_view word, std::string_view value, int scale_digits) {
    const auto ppb = parse_scaled(value, scale_digits);
    if (!ppb || *ppb > kCertainPpb)
      return quote(word) + " is not a probability: write 0% to 100% or p=0 to p=1, down to one in a billion";
    rule_.probability_ppb = static_cast<std::uint32_t>(*ppb);
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
    const auto duration = parse_duration(value);
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
    if (rule_.action == FaultAction::delay && rule_.delay.ns == 0) return "delay needs a time: by=10us";
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
