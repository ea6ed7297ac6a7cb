// Subject: one kind of thing that can fail in a program: the calls of a verb, the packets of an opcode that it sends,
// the completions of its receives. Row: one of these things, and how it fails.
//
// Solely what there is to fail and by which rule of faults (docs/faults.md): how often each thing happens, a clean run
// counts by the same language.
// Tested by: tests/cli/exhaust_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace verbena::cli::exhaust {

enum class Kind : std::uint8_t { verbs, completions, packets, cm };
inline constexpr std::array kKinds{Kind::verbs, Kind::completions, Kind::packets, Kind::cm};
std::string_view to_string(Kind kind);

struct Subject {
  Kind kind{};
  std::string name;        // "ibv_create_cq", "tx write", "completion of send"
  std::string count_rule;  // counts it and changes nothing
  /// How one of them fails, in words and as a rule that lacks its place among them.
  struct Effect {
    std::string name;  // "ENOMEM", "lost"
    std::string rule;
  };
  std::vector<Effect> effects;
  /// It is asked again and again until something is there: how often differs from run to run.
  bool is_polled = false;
};

/// All that a process has, in the order of the report: packets are those that it sends and receives.
std::vector<Subject> all_subjects();
/// Of these the verbs and completions; and the packets as a direction of a cable carries them.
std::vector<Subject> subjects_of_software();
std::vector<Subject> subjects_of_cables();

struct Row {
  Kind kind{};
  std::string subject;
  std::string effect;
  std::vector<std::string> rules;  // one; of a pair two
  /// "ibv_create_cq 2: ENOMEM"; no two rows have one name.
  std::string name;
};

/// The places, from 1, that are tried of `count`: all, or `at_most` of them, spread over the whole, the first and the
/// last among them; of what is polled closer together at the beginning.
std::vector<std::uint64_t> places_of(std::uint64_t count, std::uint64_t at_most, bool is_polled);

/// One for each place and effect.
std::vector<Row> rows_of(const Subject& subject, std::uint64_t count, std::uint64_t at_most);

/// Two faults at one time: `number` of all pairs, drawn from the seed; fewer if there are not so many.
std::vector<Row> pairs_of(std::span<const Row> rows, std::uint64_t number, std::uint64_t seed);

}  // namespace verbena::cli::exhaust
