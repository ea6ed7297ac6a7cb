// ElementRows: the words of faults of elements (links, switches, ports, nodes and their software) as one table. A fault
// is one row, a key beside it is one row. `verbena fault`, scenarios, `verbena help fault` with its JSON, completion
// and what undoes a fault go by them.
//
// Solely the words and the value that they mean. What it does is element_faults.h's, for the network, and the clocks'
// own for nodes and their software. How a command spells a row is host/fabric_process/element_words.h's, when a fault
// of a scenario happens is scenarios/language's.
// Tested by: tests/fabric/element_rows_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "emulator/fabric/fault.h"

namespace verbena::fabric {

using FaultKind = std::variant<ElementChange::Kind, NodeChange::Kind, SoftwareFault::Kind>;

/// What has been said of a fault: its subject and its keys.
struct ElementDetails : ElementChange {
  std::string workload{};
  Duration down{};
  Duration up{};
  std::uint32_t times = 1;
  std::uint8_t status = 0;  // nic::CompletionStatus
  bool is_one_way = false;
};

/// What a key's value is, and where it is kept.
namespace element_value {
struct TimeOf {
  Duration ElementDetails::* into;
  bool is_positive = false;
};
struct RateOf {
  std::uint64_t ElementDetails::* into;
};
struct ClassesOf {
  ClassMask ElementDetails::* into;
};
struct NumberOf {
  std::uint32_t ElementDetails::* into;
};
struct StatusOf {
  std::uint8_t ElementDetails::* into;
};
/// Of pairs: their other side, and whether only one way is meant. Whoever reads the subject reads them.
struct Peers {};
struct OneWay {};
}  // namespace element_value

using ElementValue =
    std::variant<element_value::TimeOf, element_value::RateOf, element_value::ClassesOf, element_value::NumberOf,
                 element_value::StatusOf, element_value::Peers, element_value::OneWay>;

/// What `verbena stat` says of a link, as a word of the change that brings it back.
struct LinkValue {
  std::string_view key;
  std::string_view unit;
};

struct ElementKey {
  std::string_view key;
  std::string_view value;  // what it may be, in words
  std::string_view text;
  ElementValue into;
  std::string_view example{};  // of one that must be there; empty: it need not be
  std::string_view usage{};    // how `verbena fault` shows its place; empty: there it has none
  LinkValue restores{};
};

struct ElementRow {
  /// What is named behind the word. `pairs` are hosts and their peers, `pairs_or_all` may be all that there are.
  enum class Subject : std::uint8_t { links, switches, hosts, pairs, pairs_or_all, workload };
  struct Explained {
    std::string_view text;
    std::string_view example;
  };
  std::string_view word;
  FaultKind kind;
  Subject subject;
  std::span<const std::string_view> keys{};         // of its own, in the order in which a command has them
  std::string_view undo{};                          // the word that ends it, with the same subject; empty: none does
  std::optional<ElementChange::Kind> in_between{};  // it comes and goes, with this in between
  bool ends_by_itself = false;                      // how long it lasts belongs to it
  bool needs_virtual_clock = false;                 // programs and their NICs run on their own
  Explained in_scenario;
  Explained on_fabric{};  // of `verbena fault`; without a text: a running fabric cannot do it
};

/// In the order in which scenarios list them; each kind has one, and what undoes a row is one.
std::span<const ElementRow> element_rows();
/// In the order in which they are explained; each key of a row has one.
std::span<const ElementKey> element_keys();

/// Null: there is none of this word.
const ElementRow* find_element(std::string_view word, std::span<const ElementRow> rows = element_rows());
const ElementRow& element_row(FaultKind kind);
/// The key is listed.
const ElementKey& element_key(std::string_view key);
/// Null: it is one of packets or verbs.
const ElementRow* row_of(const Fault& fault);

/// It has an end that can be said beforehand.
inline bool has_end(const ElementRow& row) {
  return !row.undo.empty() || row.ends_by_itself;
}
inline bool is_on_fabric(const ElementRow& row) {
  return !row.on_fabric.text.empty();
}

Fault fault_of(FaultKind kind, const ElementDetails& said);

}  // namespace verbena::fabric
