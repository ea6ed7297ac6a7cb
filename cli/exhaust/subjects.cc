#include "cli/exhaust/subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>
#include <utility>

#include "emulator/fabric/completion_words.h"
#include "emulator/fabric/fault_plan.h"
#include "emulator/fabric/verb_rule.h"

namespace verbena::cli::exhaust {
namespace {

constexpr std::string_view kLate =
    "20ms";  // others overtake it, and its sender asks for it again at the usual timeouts

Subject subject_of(fabric::Verb verb) {
  const std::string_view name = fabric::verb_name(verb);
  Subject subject{.kind = Kind::verbs,
                  .name = (name.starts_with("rdma_") ? "" : "ibv_") + std::string(name),
                  .count_rule = fmt::format("count verb={}", name),
                  .is_polled = verb == fabric::Verb::poll_cq};
  for (const std::string_view error : fabric::error_names(verb))
    subject.effects.push_back({std::string(error), fmt::format("fail verb={} errno={}", name, error)});
  return subject;
}

Subject subject_of_completions(std::string_view queue) {
  Subject subject{.kind = Kind::completions,
                  .name = fmt::format("completion of {}", queue),
                  .count_rule = fmt::format("count-completions of={}", queue)};
  for (const auto& status : fabric::kCompletionStatuses)
    if (status.value != nic::CompletionStatus::success)
      subject.effects.push_back(
          {std::string(status.name), fmt::format("completion of={} status={}", queue, status.name)});
  return subject;
}

Kind kind_of(std::string_view opcode) {
  return opcode.starts_with("cm-") ? Kind::cm : Kind::packets;
}

struct Direction {
  std::string_view words;  // of a rule
  std::string_view name;
};
constexpr Direction kSent{" dir=tx", "sent "};
constexpr Direction kReceived{" dir=rx", "received "};
constexpr Direction kOnCable{"", ""};

Subject subject_of_packets(std::string_view opcode, const Direction& direction) {
  const std::string which = fmt::format("opcode={}{}", opcode, direction.words);
  return {.kind = kind_of(opcode),
          .name = fmt::format("{}{}", direction.name, opcode),
          .count_rule = "count " + which,
          .effects = {{"lost", "drop " + which},
                      {"late", fmt::format("delay by={} {}", kLate, which)},
                      {"twice", "duplicate " + which},
                      {"damaged", "corrupt " + which}}};
}

/// Messages of the connection manager come last.
void add_packets(std::vector<Subject>& all, std::initializer_list<Direction> directions) {
  for (const Kind kind : {Kind::packets, Kind::cm})
    for (const std::string_view opcode : fabric::disjoint_opcodes())
      for (const Direction& direction : directions)
        if (kind_of(opcode) == kind) all.push_back(subject_of_packets(opcode, direction));
}

/// With the place, from 1, that the fault is to hit.
std::string at_place(const Subject& subject, const std::string& rule, std::uint64_t place) {
  if (subject.kind == Kind::packets || subject.kind == Kind::cm)
    return fmt::format("{} skip={} count=1", rule, place - 1);
  return fmt::format("{} nth={}", rule, place);
}

std::vector<std::uint64_t> growing_places(std::uint64_t count, std::uint64_t at_most) {
  std::vector<std::uint64_t> places;
  for (std::uint64_t place = 1; place <= count && places.size() < at_most;
       place += std::max<std::uint64_t>(1, place / 2))
    places.push_back(place);
  return places;
}

}  // namespace

std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, kKinds.size()> kNames{"verbs", "completions", "packets", "cm"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Subject> subjects_of_software() {
  std::vector<Subject> all;
  for (const fabric::Verb verb : fabric::all_verbs()) all.push_back(subject_of(verb));
  for (const std::string_view queue : {"send", "receive"}) all.push_back(subject_of_completions(queue));
  return all;
}

std::vector<Subject> subjects_of_cables() {
  std::vector<Subject> all;
  add_packets(all, {kOnCable});
  return all;
}

std::vector<Subject> all_subjects() {
  std::vector<Subject> all = subjects_of_software();
  add_packets(all, {kSent, kReceived});
  return all;
}

std::vector<std::uint64_t> places_of(std::uint64_t count, std::uint64_t at_most, bool is_polled) {
  if (count > at_most && is_polled) return growing_places(count, at_most);
  const std::uint64_t number = std::min(count, at_most);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < number; ++i) places.push_back(number == 1 ? 1 : 1 + i * (count - 1) / (number - 1));
  return places;
}

std::vector<Row> rows_of(const Subject& subject, std::uint64_t count, std::uint64_t at_most) {
  std::vector<Row> rows;
  for (const std::uint64_t place : places_of(count, at_most, subject.is_polled))
    for (const Subject::Effect& effect : subject.effects)
      rows.push_back({.kind = subject.kind,
                      .subject = subject.name,
                      .effect = effect.name,
                      .rules = {at_place(subject, effect.rule, place)},
                      .name = fmt::format("{} {}: {}", subject.name, place, effect.name)});
  return rows;
}

std::vector<Row> pairs_of(std::span<const Row> rows, std::uint64_t number, std::uint64_t seed) {
  std::vector<Row> pairs;
  if (rows.size() < 2) return pairs;
  std::mt19937_64 chance(seed);
  const std::uint64_t all = static_cast<std::uint64_t>(rows.size()) * (rows.size() - 1) / 2;
  std::set<std::pair<std::size_t, std::size_t>> drawn;
  while (drawn.size() < std::min(number, all)) {
    auto one = static_cast<std::size_t>(chance() % rows.size());
    auto other = static_cast<std::size_t>(chance() % rows.size());
    if (one == other) continue;
    if (one > other) std::swap(one, other);
    if (!drawn.emplace(one, other).second) continue;
    const Row& first = rows[one];
    const Row& second = rows[other];
    pairs.push_back({.kind = first.kind,
                     .subject = first.subject + " and " + second.subject,
                     .effect = first.effect + " and " + second.effect,
                     .rules = {first.rules.front(), second.rules.front()},
                     .name = first.name + ", and " + second.name});
  }
  return pairs;
}

}  // namespace verbena::cli::exhaust
