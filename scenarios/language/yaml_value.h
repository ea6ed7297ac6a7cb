// Values of a YAML text with their places: strictly typed, and every complaint says where, what, and what would be
// right.
//
// Solely responsible for YAML: nothing else in the language includes yaml-cpp. What the keys mean is the readers' work.
// Complaints are thrown as ReadError and caught in read_scenario(); they do not leave the language.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#pragma once

#include <yaml-cpp/yaml.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/fabric/quantity.h"
#include "scenarios/language/read_scenario.h"

namespace verbena::scenarios {

[[noreturn]] void complain(Place place, const std::string& text);

/// A node of the text under the name that messages call it by.
class Value {
 public:
  Value(const YAML::Node& node, std::string name, Place place) : node_(node), name_(std::move(name)), place_(place) {}

  const std::string& name() const { return name_; }
  Place place() const { return place_; }
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_word() const { return node_.IsScalar(); }

  const YAML::Node& node() const { return node_; }

  // Each complains about anything else than what it gives.
  std::string word() const;   // not empty
  std::string label() const;  // a word that is shown and looked up: as printable() has it
  std::string text() const;   // may be empty and may have several lines
  bool yes_no() const;
  std::uint64_t number(std::uint64_t least, std::uint64_t most) const;
  double percentile() const;
  double decimal() const;                                             // up to three digits behind the point
  std::uint32_t probability() const;                                  // parts per billion
  Duration duration() const;                                          // up to kScenarioTimeMax
  std::uint64_t rate() const;                                         // bits per second, not 0
  std::uint64_t size(std::uint64_t least, std::uint64_t most) const;  // octets
  /// A list's members; anything else is a list of itself. Not empty.
  std::vector<Value> items() const;
  template <class T>
  T choice(std::span<const fabric::Named<T>> table) const {
    const std::string given = word();
    if (const auto found = fabric::find_named(table, given)) return *found;
    std::vector<std::string_view> names;
    for (const fabric::Named<T>& row : table) names.push_back(row.name);
    wrong_choice(names);
  }
  template <class T, std::size_t n>
  T choice(const std::array<fabric::Named<T>, n>& table) const {
    return choice(std::span<const fabric::Named<T>>(table));
  }
  /// "NAME 'what is written' is not understood: HELP" at this place.
  [[noreturn]] void wrong(const std::string& help) const;

 private:
  friend class Section;
  std::string shown() const;
  [[noreturn]] void wrong_choice(std::span<const std::string_view> known) const;

  YAML::Node node_;
  std::string name_;
  Place place_;
};

/// A map all of whose keys are known (keys.h) and written once.
class Section {
 public:
  Section(const Value& map, std::string_view section);
  /// With keys of its own; they outlive it.
  Section(const Value& map, std::string_view section, std::span<const std::string_view> known);

  const std::string& section() const { return section_; }
  Place place() const { return place_; }
  bool may_have(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }
  std::optional<Value> find(std::string_view key) const;
  /// Complains if it is not there; `example` is what could be written.
  Value need(std::string_view key, std::string_view example) const;
  /// At most one of these: names the second's place.
  void exclude(std::string_view one, std::string_view other) const;

 private:
  std::string section_;
  std::span<const std::string_view> keys_;
  Place place_;
  std::vector<std::pair<std::string, Value>> entries_;
};

/// The keys of a map as they are written, for sections that are known by one of their keys. Empty: not a map.
std::vector<std::string> keys_written(const Value& map);
/// The members of a map whose keys are names: `nics`.
std::vector<std::pair<std::string, Value>> members(const Value& map);

/// The one document in the text; complains about anything else.
Value parse_text(std::string_view text);

}  // namespace verbena::scenarios
