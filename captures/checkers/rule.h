// Rule: one checker. What it is asked about, what it answers, and the table that it stands in.
//
// A new one is a file of its own with a class and a make function, and a row in rules.cc. A rule reads the state of the
// flow as it was before the packet (flow.h) and may keep more of its own per flow (PerFlow).
// Tested by: tests/captures/checkers/broken_test.cc
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "captures/checkers/flow.h"
#include "captures/checkers/region_table.h"

namespace verbena::checkers {

/// Which packets a rule is asked about, by what they are and how they were seen; the bits of several may be joined.
enum Interest : std::uint32_t {
  kRequestContent = 1,  // requests of connections, at the first sighting
  kRequestDeparts = 2,
  kRequestArrives = 4,
  kResponseContent = 8,
  kResponseDeparts = 16,
  kResponseArrives = 32,
  kDatagram = 64,
  kCongestion = 128,  // CNPs
  kIcrc = 256,        // any at its first sighting whose ICRC was looked at (Observation::icrc_is_right)
};

struct RuleOutcome {
  enum class Kind : std::uint8_t { not_concerned, holds, unjudged, broken };
  Kind kind = Kind::not_concerned;
  std::string text;  // broken: what is wrong
};
inline RuleOutcome not_concerned() {
  return {};
}
inline RuleOutcome holds() {
  return {RuleOutcome::Kind::holds, {}};
}
inline RuleOutcome unjudged() {
  return {RuleOutcome::Kind::unjudged, {}};
}
template <class... Arguments>
RuleOutcome broken(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {RuleOutcome::Kind::broken, fmt::format(text, std::forward<Arguments>(arguments)...)};
}
inline RuleOutcome holds_unless(bool is_broken, std::string_view text) {
  return is_broken ? broken("{}", text) : holds();
}

class Rule {
 public:
  virtual ~Rule() = default;
  virtual RuleOutcome judge(const Observation& seen) = 0;
  /// At the end of the stream; one outcome per thing that was followed until then.
  virtual std::vector<RuleOutcome> finish() { return {}; }
};

struct RuleRow {
  CheckerRow row;
  std::uint32_t interest = 0;  // of Interest
  std::unique_ptr<Rule> (*make)(const RegionTable& regions);
};
std::span<const RuleRow> rule_table();

/// A rule's own state for each flow, empty again when the flow begins anew.
template <class T>
class PerFlow {
 public:
  T& of(const CheckedStream& flow) {
    if (flow.index >= entries_.size()) entries_.resize(flow.index + 1);
    Entry& entry = entries_[flow.index];
    if (entry.generation != flow.generation) entry = {flow.generation, T{}};
    return entry.value;
  }

 private:
  struct Entry {
    std::uint32_t generation = 0;
    T value;
  };
  std::vector<Entry> entries_;
};

}  // namespace verbena::checkers
