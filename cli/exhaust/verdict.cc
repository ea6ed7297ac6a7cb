#include "cli/exhaust/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <span>

#include "wire/counted.h"

namespace verbena::cli::exhaust {
namespace {

constexpr int kSignalBase = 128;
constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};

std::string last_line(const std::string& text) {
  std::string_view rest(text);
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  return std::string(rest.substr(rest.rfind('\n') + 1));
}

double seconds_of(Duration time) {
  return static_cast<double>(time.ns) / 1e9;
}

/// The first caller that is the program's, behind those of the C library that ended it.
std::string place_in(const std::string& crash) {
  std::string_view rest(crash);
  for (std::size_t line = 0; !rest.empty(); ++line) {
    const std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const bool is_of_library = one.find("libc.so") != one.npos || one.find("libpthread") != one.npos;
    if (line > 0 && !is_of_library && one.starts_with("  ")) return std::string(one.substr(2));
  }
  return "";
}

std::span<const std::uint64_t> hits_of_faults(const Ended& ended, std::size_t faults) {
  return std::span(ended.hits).first(std::min(faults, ended.hits.size()));
}

std::string crash_line(const Ended& ended) {
  const std::string head = ended.crash.substr(0, ended.crash.find('\n'));
  const std::size_t name = head.find("SIG");
  const std::string place = place_in(ended.crash);
  const std::string signal = name == head.npos ? "a signal" : head.substr(name);
  return (ended.other_crashed ? "the other program: " : "") + signal + (place.empty() ? "" : " in " + place);
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes.size()> kNames{"passed", "own error",  "hung",   "crashed",
                                                                  "leaked", "wrong data", "not hit"};
  return kNames[static_cast<std::size_t>(outcome)];
}

bool has_any_hit(const Ended& ended, std::size_t faults) {
  return std::ranges::any_of(hits_of_faults(ended, faults), [](std::uint64_t hits) { return hits != 0; });
}

Verdict judge(const Ended& ended, std::size_t faults, const Clean& clean) {
  const std::string said = last_line(ended.last_lines);
  const bool has_signal = std::ranges::find(kCrashes, ended.status - kSignalBase) != kCrashes.end();
  if (!ended.crash.empty() || (has_signal && !ended.hung)) {
    const std::string why =
        ended.crash.empty() ? fmt::format("SIG{}", sigabbrev_np(ended.status - kSignalBase)) : crash_line(ended);
    return {Outcome::crashed, why, ended.crash};
  }
  const auto of_faults = hits_of_faults(ended, faults);
  if (std::ranges::find(of_faults, 0u) != of_faults.end()) {
    if (has_any_hit(ended, faults)) return {Outcome::not_hit, "one of the faults did not hit", ""};
    return {Outcome::not_hit, ended.hung ? "it hung before the fault hit" : "the fault did not hit", ""};
  }
  const std::string own_error = fmt::format("status {}{}", ended.status, said.empty() ? "" : ": " + said);
  if (ended.other_hung && ended.status != 0) return {Outcome::own_error, own_error + "; its client hangs", ""};
  if (ended.other_hung) return {Outcome::hung, "status 0, and its client hangs", ended.last_lines};
  if (ended.hung) {
    const std::string how = ended.was_silent ? fmt::format("silent after {:.1f} s", seconds_of(ended.took))
                                             : fmt::format("not done after {:.1f} s", seconds_of(ended.took));
    return {Outcome::hung, how + (said.empty() ? "" : "; its last line: " + said), ended.last_lines};
  }
  if (ended.status != 0) return {Outcome::own_error, own_error, ""};
  if (ended.other_status != 0)
    return {Outcome::own_error, fmt::format("its client ended with status {}", ended.other_status), ""};
  if (clean.prints_same && ended.out != clean.out)
    return {Outcome::wrong_data, "status 0, and standard output is another one than without the fault", ended.out};
  if (ended.left > clean.left)
    return {Outcome::leaked, fmt::format("status 0, {} left", wire::counted(ended.left, "object", "objects")),
            ended.leaks};
  return {Outcome::passed, "", ""};
}

Verdict refused_by_check(const std::string& check, int status) {
  return {Outcome::wrong_data, fmt::format("status 0, and the check ended with status {}", status), check + "\n"};
}

}  // namespace verbena::cli::exhaust
