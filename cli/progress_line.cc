#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "wire/printable.h"

namespace verbena::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
/// What is over sooner needs no line.
constexpr auto kLongWork = std::chrono::seconds(1);
/// The first things done take their share of starting everything: their rate is no measure.
constexpr double kSettledSeconds = 1;

}  // namespace

ProgressLine::ProgressLine(bool quiet, std::FILE* stream, std::chrono::milliseconds patience)
    : stream_(stream),
      shown_(!quiet && isatty(fileno(stream)) == 1),
      next_(std::chrono::steady_clock::now() + patience) {}

bool ProgressLine::is_due() const {
  return shown_ && std::chrono::steady_clock::now() >= next_;
}

void ProgressLine::show(const std::string& text) {
  if (!is_due()) return;
  next_ = std::chrono::steady_clock::now() + kInterval;
  fmt::print(stream_, "\r{}\033[K", wire::printable(text));
  std::fflush(stream_);
  has_text_ = true;
}

void ProgressLine::clear() {
  if (!has_text_) return;
  fmt::print(stream_, "\r\033[K");
  std::fflush(stream_);
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

LongWork::LongWork(bool quiet, std::string what) : line_(quiet, stderr, kLongWork), what_(std::move(what)) {}

void LongWork::reached(std::uint64_t done, std::uint64_t total) {
  if (calls_++ % kUnitsBetweenLooks != 0 || !line_.is_due()) return;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  line_.show(fmt::format("{}: {} %  {}", what_, total == 0 ? 100 : std::min(done, total) * 100 / total,
                         TimeLeft(total, std::nullopt).text(done, elapsed)));
}

std::string seconds_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  constexpr std::uint64_t kMinute = 60;
  constexpr std::uint64_t kHour = 3600;
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
}

}  // namespace verbena::cli
