// FaultTable: the rows of packet faults. An action is one row, with what it is called, how grave it is and what must be
// said with it; a word is one row, with where its value goes. Reading, errors, `verbena help fault`, its JSON,
// completion and the comments of captures go by them.
//
// Solely what a row is; the rows are in fault_parse.cc, what an action does is fault_plan.cc's.
// Tested by: tests/fabric/fault_rows_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/fault_words.h"
#include "emulator/fabric/rule_reader.h"

namespace verbena::fabric {

/// What a word's value is, and where it is kept.
namespace fault_value {

using Probability = rule_value::Probability<FaultRule>;
using RangeOf = rule_value::RangeOf<FaultRule>;
using NumberOf = rule_value::NumberOf<FaultRule>;
using TimeOf = rule_value::TimeOf<FaultRule>;
template <class T>
using OneOf = rule_value::OneOf<FaultRule, T>;
using YesNo = rule_value::YesNo<FaultRule>;

}  // namespace fault_value

using FaultValue = std::variant<fault_value::Probability, fault_value::RangeOf, fault_value::NumberOf,
                                fault_value::TimeOf, fault_value::OneOf<PacketKind>, fault_value::OneOf<FaultDirection>,
                                fault_value::OneOf<CorruptPlace>, fault_value::OneOf<MessagePart>, fault_value::YesNo>;

struct FaultActionRow {
  std::string_view name;
  FaultAction value;
  std::string_view past;  // "dropped", for the comments of captures
  int gravity;            // of several that hit a packet the gravest has its comment
  std::string_view text;
  std::string_view example;
  /// What is wrong with the whole, of which these words were given; empty: nothing. Null: nothing can be.
  std::string_view (*lacks)(const FaultRule& rule, std::span<const std::string_view> given) = nullptr;
};

struct FaultWordRow {
  std::string_view name;
  std::optional<FaultAction> action;  // nothing: every action takes it
  FaultValue value;
  std::string_view text;
  std::string_view example;

  bool belongs_to(FaultAction of) const { return !action || *action == of; }
};

struct FaultTable {
  using Rule = FaultRule;
  std::span<const FaultActionRow> actions;  // of fault_table() in the order of FaultAction
  std::span<const FaultWordRow> words;
  void (*complete)(FaultRule& rule) = nullptr;  // what follows from what was said
};

const FaultTable& fault_table();

// As without a table, which is fault_table().
Result<FaultRule, std::string> parse_fault(std::string_view text, const FaultTable& table);
std::vector<FaultActionWords> fault_action_words(const FaultTable& table);

}  // namespace verbena::fabric
