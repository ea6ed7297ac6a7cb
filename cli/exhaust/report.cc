#include "cli/exhaust/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli::exhaust {
namespace {

constexpr std::size_t kNamedOfCause = 8;
constexpr std::size_t kOwnErrorsShown = 12;
constexpr std::size_t kMoreLinesShown = 12;

/// Numbers, which differ from run to run, become one sign.
std::string without_numbers(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    plain += is_digit ? '#' : text[i];
    for (++i;
         is_digit && i < text.size() && (std::isxdigit(static_cast<unsigned char>(text[i])) != 0 || text[i] == '.');)
      ++i;
  }
  return plain;
}

struct Cause {
  Outcome outcome{};
  std::string name;
  std::vector<const Judged*> rows;
};

/// A crash is told by its place, all else by what was made to fail.
const std::string& cause_of(const Judged& judged) {
  return judged.verdict.outcome == Outcome::crashed ? judged.verdict.why : judged.row.subject;
}

std::vector<Cause> causes_of(const Results& results) {
  std::vector<Cause> causes;
  for (const Outcome outcome : kOutcomes) {
    if (!is_bad(outcome)) continue;
    std::map<std::string, std::size_t> places;
    for (const Judged& judged : results.all()) {
      if (judged.verdict.outcome != outcome) continue;
      const auto [place, is_new] = places.emplace(cause_of(judged), causes.size());
      if (is_new) causes.push_back({outcome, cause_of(judged), {}});
      causes[place->second].rows.push_back(&judged);
    }
  }
  return causes;
}

/// "ENOMEM, EIO": each once.
std::string effects_of(const Cause& cause) {
  std::vector<std::string_view> effects;
  for (const Judged* const judged : cause.rows)
    if (std::ranges::find(effects, judged->row.effect) == effects.end()) effects.push_back(judged->row.effect);
  std::string text;
  for (const std::string_view effect : effects) text += (text.empty() ? "" : ", ") + std::string(effect);
  return text;
}

std::string indented(const std::string& text, std::string_view indent) {
  std::istringstream lines(text);
  std::string all;
  std::size_t shown = 0;
  for (std::string line; std::getline(lines, line) && shown < kMoreLinesShown; ++shown)
    all += fmt::format("{}{}\n", indent, wire::printable(line));
  return all;
}

}  // namespace

bool is_judged(const Results& results) {
  return std::ranges::any_of(results.all(), [](const Judged& one) { return one.verdict.outcome != Outcome::not_hit; });
}

bool is_any_bad(const Results& results) {
  return std::ranges::any_of(results.all(), [](const Judged& one) { return is_bad(one.verdict.outcome); });
}

std::string table_text(const Results& results) {
  std::map<Kind, std::map<Outcome, std::size_t>> sums;
  for (const Judged& judged : results.all()) ++sums[judged.row.kind][judged.verdict.outcome];
  std::string text = fmt::format("{:12}", "");
  for (const Outcome outcome : kOutcomes) text += fmt::format(" {:>10}", to_string(outcome));
  text += "\n";
  for (const auto& [kind, by_outcome] : sums) {
    text += fmt::format("{:12}", to_string(kind));
    for (const Outcome outcome : kOutcomes) {
      const auto found = by_outcome.find(outcome);
      text += fmt::format(" {:>10}", found == by_outcome.end() ? 0 : found->second);
    }
    text += "\n";
  }
  return text;
}

std::string bad_text(const Results& results) {
  std::string text;
  for (const Cause& cause : causes_of(results)) {
    const Judged& first = *cause.rows.front();
    const std::string effects = cause.outcome == Outcome::crashed ? "" : " (" + effects_of(cause) + ")";
    text += fmt::format("\n{}: {}{}, {}\n", to_string(cause.outcome), wire::printable(cause.name), effects,
                        wire::counted(cause.rows.size(), "row"));
    text += fmt::format("  {}: {}\n", wire::printable(first.row.name), wire::printable(first.verdict.why));
    text += indented(first.verdict.more, "    ");
    text += fmt::format("  {}\n", first.replay);
    if (cause.rows.size() == 1) continue;
    text += "  and";
    for (std::size_t i = 1; i < std::min(cause.rows.size(), 1 + kNamedOfCause); ++i)
      text += fmt::format("{} {}", i == 1 ? "" : ",", wire::printable(cause.rows[i]->row.name));
    text += cause.rows.size() > 1 + kNamedOfCause ? ", ...\n" : "\n";
  }
  return text;
}

std::string own_errors_text(const Results& results) {
  std::map<std::string, std::pair<std::size_t, std::string>> errors;  // by the text without numbers
  for (const Judged& judged : results.all()) {
    if (judged.verdict.outcome != Outcome::own_error) continue;
    auto& [number, first] = errors[without_numbers(judged.verdict.why)];
    if (++number == 1) first = judged.verdict.why;
  }
  std::vector<std::pair<std::size_t, std::string>> most;
  for (const auto& [plain, error] : errors) most.push_back(error);
  std::ranges::sort(most, std::ranges::greater{});
  std::string text;
  for (std::size_t i = 0; i < std::min(most.size(), kOwnErrorsShown); ++i)
    text += fmt::format("{:>6}  {}\n", most[i].first, wire::printable(most[i].second));
  if (most.size() > kOwnErrorsShown) text += fmt::format("        and {} more\n", most.size() - kOwnErrorsShown);
  return text.empty() ? "" : "\nits own errors, and under how many faults\n" + text;
}

std::string json_text(const Results& results) {
  using Json = nlohmann::ordered_json;
  Json json{{"program", results.program()}, {"held", is_judged(results) && !is_any_bad(results)}};
  json["outcomes"] = Json::object();
  for (const Outcome outcome : kOutcomes)
    json["outcomes"][std::string(to_string(outcome))] =
        std::ranges::count_if(results.all(), [&](const Judged& one) { return one.verdict.outcome == outcome; });
  json["rows"] = Json::array();
  for (const Judged& judged : results.all()) json["rows"].push_back(json_of(judged));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

scenarios::JunitSuite junit_of(const Results& results, double seconds) {
  scenarios::JunitSuite suite{.name = results.program(), .seconds = seconds};
  for (const Judged& judged : results.all()) {
    const bool held = !is_bad(judged.verdict.outcome);
    suite.cases.push_back(
        {.name = judged.row.name,
         .held = held,
         .message = held ? "" : fmt::format("{}: {}", to_string(judged.verdict.outcome), judged.verdict.why),
         .text = held ? "" : judged.verdict.more + judged.replay + "\n"});
  }
  return suite;
}

}  // namespace verbena::cli::exhaust
