#include "cli/run/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace verbena::cli::run {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
/// The first things done take their share of starting everything: their rate is no measure.
constexpr double kSettledSeconds = 1;

}  // namespace

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDOUT_FILENO) == 1) {}

bool ProgressLine::is_due() const {
  return shown_ && std::chrono::steady_clock::now() >= next_;
}

void ProgressLine::show(const std::string& text) {
  if (!is_due()) return;
  next_ = std::chrono::steady_clock::now() + kInterval;
  fmt::print("\r{}\033[K", text);
  std::fflush(stdout);
  has_text_ = true;
}

void ProgressLine::clear() {
  if (!has_text_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  has_text_ = false;
}

std::optional<double> TimeLeft::seconds(std::uint64_t done, double elapsed_seconds) const {
  std::optional<double> left;
  if (limit_seconds_) left = std::max(0.0, static_cast<double>(*limit_seconds_) - elapsed_seconds);
  if (done == 0 || elapsed_seconds < kSettledSeconds) return left;
  const double of_rate =
      elapsed_seconds * static_cast<double>(wanted_ - std::min(wanted_, done)) / static_cast<double>(done);
  return left ? std::min(*left, of_rate) : of_rate;
}

std::string TimeLeft::text(std::uint64_t done, double elapsed_seconds) const {
  std::string text = seconds_text(elapsed_seconds);
  const auto left = seconds(done, elapsed_seconds);
  if (!left) return text;
  const bool is_limit = limit_seconds_ && *left + elapsed_seconds >= static_cast<double>(*limit_seconds_);
  return text + fmt::format(", {}{} left", is_limit ? "" : "about ", seconds_text(*left));
}

std::string seconds_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  constexpr std::uint64_t kMinute = 60;
  constexpr std::uint64_t kHour = 3600;
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
}

}  // namespace verbena::cli::run
