// RuleReader: reads a rule of faults, an action and its words, by a table.
//
// Solely the reading and its errors: a rule is a plain value, what may be said with it are rows of a table, and what a
// word's value is and where it goes stands in its row. FaultRule (packets, fault_parse.cc) and VerbRule (calls of
// verbs, verb_rows.cc) are read by it. A rule has `action` and `text`, and is default-constructible.
//
// A table has `actions` (rows with `name`, `value`, and `lacks`: what is wrong with the whole; null: nothing can be),
// `words` (rows with `name`, `value`, and belongs_to(action)) and `complete` (what follows from what was said; null:
// nothing).
// Tested by: tests/fabric/fault_plan_test.cc, tests/fabric/verb_rule_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"
#include "wire/result.h"

namespace verbena::fabric {

/// What a word's value is, and where it is kept.
namespace rule_value {

template <class Rule>
struct Probability {
  std::uint32_t Rule::* into;
};
template <class Rule>
struct RangeOf {
  std::optional<Range> Rule::* into;
  std::uint64_t least;
  std::uint64_t most;
};
template <class Rule>
struct NumberOf {
  std::uint32_t Rule::* into;
  std::uint64_t least;
  std::uint64_t most;
};
template <class Rule>
struct TimeOf {
  Duration Rule::* into;
};
template <class Rule, class T>
struct OneOf {
  T Rule::* into;
  std::span<const Named<T>> names;
};
template <class Rule>
struct YesNo {
  bool Rule::* into;
};

}  // namespace rule_value

namespace rule_text {

std::string quote(std::string_view word);
std::vector<std::string_view> words_of(std::string_view text);
std::string names_joined(std::span<const std::string_view> names);
std::optional<std::uint32_t> parse_number_in(std::string_view text, std::uint64_t least, std::uint64_t most);
/// `4`, `4-7` or `all`.
std::optional<Range> parse_range(std::string_view text, std::uint64_t least, std::uint64_t most);
/// "fault 'drop 1', column 6: '1' ...", one line, whatever the text is. `column`: from 1; 0: it is of the whole.
std::string failure(std::string_view text, std::string_view what, std::size_t column = 0);

}  // namespace rule_text

/// What would be right, as errors and the page on faults say it.
struct RightValue {
  template <class Rule>
  std::string operator()(const rule_value::Probability<Rule>&) const {
    return "a probability such as 0.001, 1e-3 or 0.1%";
  }
  template <class Rule>
  std::string operator()(const rule_value::RangeOf<Rule>& range) const {
    return numbers(range.least, range.most) + ", a range such as 4-7, or all";
  }
  template <class Rule>
  std::string operator()(const rule_value::NumberOf<Rule>& number) const {
    return numbers(number.least, number.most);
  }
  template <class Rule>
  std::string operator()(const rule_value::TimeOf<Rule>&) const {
    return "a time of at most 60s such as 500ns, 10us or 2ms";
  }
  template <class Rule, class T>
  std::string operator()(const rule_value::OneOf<Rule, T>& one) const {
    return "one of " + names_of(one.names);
  }
  template <class Rule>
  std::string operator()(const rule_value::YesNo<Rule>&) const {
    return "yes or no";
  }

  static std::string numbers(std::uint64_t least, std::uint64_t most) {
    return "a number from " + std::to_string(least) + " to " + std::to_string(most);
  }
};

template <class Table>
class RuleReader {
 public:
  using ActionRow = typename decltype(Table::actions)::value_type;
  using WordRow = typename decltype(Table::words)::value_type;
  using Rule = typename Table::Rule;

  RuleReader(std::string_view text, const Table& table) : text_(text), table_(table) {}

  /// The error is one line.
  Result<Rule, std::string> run() {
    const auto words = rule_text::words_of(text_);
    if (words.empty()) return fail("is empty: begin with one of " + action_names());
    for (const ActionRow& row : table_.actions)
      if (row.name == words.front()) action_ = &row;
    if (action_ == nullptr)
      return fail("unknown action " + rule_text::quote(words.front()) + ": use one of " + action_names() +
                      did_you_mean(words.front(), names_in(table_.actions)),
                  column_of(words.front()));
    rule_.action = action_->value;
    for (std::size_t i = 0; i < words.size(); ++i) {
      rule_.text += (i == 0 ? "" : " ") + std::string(words[i]);
      if (i == 0) continue;
      if (const Error error = take_word(words[i])) return fail(*error, column_of(words[i]));
    }
    if (action_->lacks != nullptr)
      if (const std::string_view lacking = action_->lacks(rule_, seen_); !lacking.empty())
        return fail(std::string(lacking));
    if (table_.complete != nullptr) table_.complete(rule_);
    return rule_;
  }

 private:
  using Error = std::optional<std::string>;  // nothing: fine

  Failure<std::string> fail(const std::string& what, std::size_t column = 0) const {
    return Failure<std::string>{rule_text::failure(text_, what, column)};
  }
  std::size_t column_of(std::string_view word) const {
    return static_cast<std::size_t>(word.data() - text_.data()) + 1;
  }

  Error take_word(std::string_view word) {
    if (word.ends_with(',')) return rule_text::quote(word) + " ends in a comma: blanks part the words of a fault";
    const std::size_t equals = word.find('=');
    if (equals == word.npos && word.back() == '%') return take(word, "p", word);
    if (equals == word.npos)
      return rule_text::quote(word) + " is not understood: write a percentage such as 0.1%, or name=value";
    return take(word, word.substr(0, equals), word.substr(equals + 1));
  }

  Error take(std::string_view word, std::string_view name, std::string_view value) {
    const auto row = std::find_if(table_.words.begin(), table_.words.end(),
                                  [&](const WordRow& entry) { return entry.name == name && belongs(entry); });
    if (row == table_.words.end())
      return rule_text::quote(name) + " does not belong to " + std::string(action_->name) + ": it takes " +
             rule_text::names_joined(names_of_words()) + did_you_mean(name, names_of_words());
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) return rule_text::quote(name) + " is given twice";
    seen_.push_back(name);
    if (std::visit(TakeValue{value, rule_}, row->value)) return std::nullopt;
    if (std::holds_alternative<rule_value::Probability<Rule>>(row->value))
      return rule_text::quote(word) + " is not a probability: write 0% to 100% or p=0 to p=1, down to one in a billion";
    const std::string right = std::visit(RightValue{}, row->value);
    return rule_text::quote(word) + " is not understood: " + (right.starts_with("a ") ? "write " : "use ") + right +
           did_you_mean(value, std::visit(RightWords{}, row->value));
  }

  bool belongs(const WordRow& row) const { return row.belongs_to(rule_.action); }

  template <class Rows>
  static std::vector<std::string_view> names_in(const Rows& rows) {
    std::vector<std::string_view> names;
    for (const auto& row : rows) names.push_back(row.name);
    return names;
  }
  std::vector<std::string_view> names_of_words() const {
    std::vector<std::string_view> names;
    for (const WordRow& row : table_.words)
      if (belongs(row)) names.push_back(row.name);
    return names;
  }
  std::string action_names() const { return rule_text::names_joined(names_in(table_.actions)); }

  /// The words that a value may be, if it is one of a few.
  struct RightWords {
    template <class T>
    std::vector<std::string_view> operator()(const rule_value::OneOf<Rule, T>& one) const {
      return names_in(one.names);
    }
    std::vector<std::string_view> operator()(const auto&) const { return {}; }
  };

  /// Reads a value into the rule; whether it was right.
  struct TakeValue {
    bool operator()(const rule_value::Probability<Rule>& value) const {
      return put(parse_probability(text), rule.*value.into);
    }
    bool operator()(const rule_value::RangeOf<Rule>& value) const {
      return put(rule_text::parse_range(text, value.least, value.most), rule.*value.into);
    }
    bool operator()(const rule_value::NumberOf<Rule>& value) const {
      return put(rule_text::parse_number_in(text, value.least, value.most), rule.*value.into);
    }
    bool operator()(const rule_value::TimeOf<Rule>& value) const {
      return put(parse_duration(text, kFaultTimeMax), rule.*value.into);
    }
    template <class T>
    bool operator()(const rule_value::OneOf<Rule, T>& value) const {
      return put(find_named(value.names, text), rule.*value.into);
    }
    bool operator()(const rule_value::YesNo<Rule>& value) const {
      rule.*value.into = text == "yes";
      return text == "yes" || text == "no";
    }
    template <class Read, class Into>
    static bool put(const std::optional<Read>& read, Into& into) {
      if (read) into = *read;
      return read.has_value();
    }
    std::string_view text;
    Rule& rule;
  };

  std::string_view text_;
  const Table& table_;
  const ActionRow* action_ = nullptr;
  Rule rule_;
  std::vector<std::string_view> seen_;
};

}  // namespace verbena::fabric
