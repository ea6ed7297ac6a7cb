// ProgressLine: one line that is written over again and again while something runs, where there is a terminal.
// TimeLeft: how long it will go on, as far as can be told.
// LongWork: both, for work of a known size that is usually done before anybody asks.
//
// Solely the showing; a pipe and --quiet get nothing.
// Tested by: tests/cli/progress_test.cc
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace verbena::cli {

class ProgressLine {
 public:
  /// Nothing is shown unless `stream` is a terminal, nor before `patience` is over.
  explicit ProgressLine(bool quiet, std::FILE* stream = stdout, std::chrono::milliseconds patience = {});
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether it is time for another text: ten times a second, and never where nobody sees it.
  bool is_due() const;
  void show(const std::string& text);
  void clear();

 private:
  std::FILE* stream_;
  bool shown_;
  bool has_text_ = false;
  std::chrono::steady_clock::time_point next_;
};

class TimeLeft {
 public:
  /// `wanted`: how many things there are to do; `limit_seconds`: when it ends although they are not done.
  TimeLeft(std::uint64_t wanted, std::optional<std::uint64_t> limit_seconds)
      : wanted_(wanted), limit_seconds_(limit_seconds) {}

  /// Seconds. Nothing: too little has been done to tell.
  std::optional<double> seconds(std::uint64_t done, double elapsed_seconds) const;
  /// "41 s, about 1 min 20 s left"; a limit is exact and has no "about".
  std::string text(std::uint64_t done, double elapsed_seconds) const;

 private:
  std::uint64_t wanted_;
  std::optional<std::uint64_t> limit_seconds_;
};

/// On standard error, because standard output has the result: "reading lost.pcapng: 37 %  3 s, about 5 s left".
class LongWork {
 public:
  LongWork(bool quiet, std::string what);
  /// Of `total` units `done` are done. Cheap: may be called for each unit.
  void reached(std::uint64_t done, std::uint64_t total);

 private:
  static constexpr std::uint64_t kUnitsBetweenLooks = 1024;  // at the clock

  ProgressLine line_;
  std::string what_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::uint64_t calls_ = 0;
};

/// "8 s", "3 min 20 s", "2 h 5 min".
std::string seconds_text(double seconds);

}  // namespace verbena::cli
