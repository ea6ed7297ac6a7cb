// Experiment: an experiment of the literature, as a row of a table: the scenarios that it runs, and which of their
// values stand beside which published ones.
//
// Solely what is compared with what, and where it was found; running it is run_experiment.h's, showing it
// experiment_report.h's. A published value whose source could not be read when it was written down says so, and nothing
// is judged by it. The scenarios lie beside this file; a value is that of the expectation that has its name.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace verbena::scenarios {

/// Bits per second, octets, nanoseconds, a ratio, and how many.
enum class Unit : std::uint8_t { rate, octets, time, times, number };

/// A number, or from where to where it is.
struct Published {
  double least = 0;
  double most = 0;

  static constexpr Published value(double number) { return {number, number}; }
  static constexpr Published at_least(double number) { return {number, std::numeric_limits<double>::infinity()}; }
  static constexpr Published at_most(double number) { return {0, number}; }
  static constexpr Published between(double least, double most) { return {least, most}; }
};

/// Where a value of ours comes from: `name` of the expectation of a run, by another one if `over_run` is not empty, by
/// what arithmetic says if there is that; or arithmetic alone.
struct Measure {
  std::string_view run;
  std::string_view name;
  std::string_view over_run;
  std::string_view over_name;
  double (*computed)() = nullptr;
};

struct ExperimentRow {
  std::string_view what;
  Unit unit{};
  std::optional<Published> published;  // nothing: nobody could be found who says it
  bool is_verified = false;            // the number was read in its source
  std::string_view source;             // where the number is found; or where it was looked for
  Measure ours;
  /// Why it may be elsewhere, as something that can be checked; empty: it may not.
  std::string_view explanation;
};

struct ExperimentRun {
  std::string_view name;
  std::string_view scenario;  // its file, without .yaml
};

struct Experiment {
  std::string_view name;
  std::string_view paper;
  std::string_view what;
  std::string_view parameters;  // where they come from, and what the paper leaves open
  std::span<const ExperimentRun> runs;
  std::span<const ExperimentRow> rows;
  unsigned seconds = 0;  // that it takes, on two cores of 2026
};

/// Ordered as `verbena paper --list` shows them.
std::span<const Experiment* const> all_experiments();
/// Null: there is none of this name.
const Experiment* find_experiment(std::string_view name);

/// How far from the published value one of ours may be.
inline constexpr double kRatioMargin = 0.15;

/// Ours by the published value, or by the nearer end of where that is; inside: 1.
double ratio_of(const Published& published, double ours);
bool is_within(double ratio);

}  // namespace verbena::scenarios
