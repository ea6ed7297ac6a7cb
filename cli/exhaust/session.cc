#include "cli/exhaust/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exhaust/report.h"
#include "scenarios/outcome/buffered_file.h"
#include "wire/counted.h"

namespace verbena::cli::exhaust {
namespace {

constexpr int kExitBad = 1;

}  // namespace

Census census_of(const std::vector<Subject>& all, const std::vector<std::uint64_t>& counts) {
  Census census;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (counts[i] == 0) continue;
    census.subjects.push_back(all[i]);
    census.counts.push_back(counts[i]);
  }
  return census;
}

std::string counts_text(const Census& census) {
  std::string text;
  for (const Kind kind : kKinds) {
    std::uint64_t sum = 0, subjects = 0;
    for (std::size_t i = 0; i < census.subjects.size(); ++i) {
      if (census.subjects[i].kind != kind) continue;
      sum += census.counts[i];
      ++subjects;
    }
    constexpr std::array<std::string_view, kKinds.size()> kUnits{"call", "completion", "packet", "message"};
    text += (text.empty() ? "" : ", ") + wire::counted(sum, kUnits[static_cast<std::size_t>(kind)]);
    if (kind == Kind::verbs) text += " of " + wire::counted(subjects, "verb");
    if (kind == Kind::cm) text += " of the CM";
  }
  return text;
}

std::vector<Row> rows_to_run(const Census& census, const Options& options) {
  const auto kinds = kinds_of(options);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < census.subjects.size(); ++i) {
    if (std::ranges::find(kinds, census.subjects[i].kind) == kinds.end()) continue;
    const std::vector<Row> some = rows_of(census.subjects[i], census.counts[i], places_at_most(options));
    rows.insert(rows.end(), some.begin(), some.end());
  }
  const auto seed = parse_number(options.seed, 0, UINT64_MAX).value_or(1);
  const std::vector<Row> pairs = pairs_of(rows, parse_number(options.pairs, 1, UINT64_MAX).value_or(0), seed);
  rows.insert(rows.end(), pairs.begin(), pairs.end());
  const Share share = share_of(options);
  std::erase_if(rows, [&](const Row& row) { return !share.has(row.name); });
  return rows;
}

std::string left_out_text(const Census& census, const Options& options) {
  std::string text;
  const std::uint64_t most = places_at_most(options);
  const auto kinds = kinds_of(options);
  for (std::size_t i = 0; i < census.subjects.size(); ++i) {
    const Subject& subject = census.subjects[i];
    if (census.counts[i] > most && std::ranges::find(kinds, subject.kind) != kinds.end())
      text += fmt::format("  {}: {} of {}\n", subject.name, places_of(census.counts[i], most, subject.is_polled).size(),
                          census.counts[i]);
  }
  return text.empty() ? "" : "not all places are tried (--at-most):\n" + text;
}

std::optional<int> keep_state(const CommandLine& line, const Options& options, Results& results) {
  if (options.state.empty()) return std::nullopt;
  const Share share = share_of(options);
  const std::string path = share.of == 1 ? options.state : fmt::format("{}.{}", options.state, share.number);
  const auto kept = results.keep_in(path);
  return kept ? std::nullopt : std::optional(line.fail(kExitUsage, "--state " + kept.error()));
}

std::optional<int> make_junit(const CommandLine& line, const Options& options) {
  if (options.junit.empty()) return std::nullopt;
  const auto made = scenarios::write_file(options.junit, "");
  if (made) return std::nullopt;
  return line.fail(made.error().is_shortage ? kExitInternal : kExitUsage, "--junit " + made.error().text);
}

int conclude(const CommandLine& line, const Options& options, const Results& results, double seconds) {
  const bool is_bad = is_any_bad(results);
  if (options.reporting.json)
    fmt::print("{}", json_text(results));
  else if (!options.reporting.quiet || is_bad)
    fmt::print("\n{}{}{}", table_text(results), own_errors_text(results), bad_text(results));
  if (!options.junit.empty())
    if (const auto written = scenarios::write_file(options.junit, scenarios::junit_xml({junit_of(results, seconds)}));
        !written)
      return line.fail(written.error().is_shortage ? kExitInternal : kExitUsage, "--junit " + written.error().text);
  if (results.all().empty())
    return line.fail(kExitNothing, "nothing was judged: there is nothing of the kinds that were to fail");
  if (!is_judged(results)) return line.fail(kExitNothing, "nothing was judged: no fault has hit");
  return is_bad ? kExitBad : 0;
}

}  // namespace verbena::cli::exhaust
