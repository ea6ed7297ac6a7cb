// What a run under a fault is worth, beside a run without one.
//
// Solely the judgement, a function of what happened (trial.h).
// Tested by: tests/cli/exhaust_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exhaust/trial.h"

namespace verbena::cli::exhaust {

enum class Outcome : std::uint8_t { passed, own_error, hung, crashed, leaked, wrong_data, not_hit };
inline constexpr std::array kOutcomes{Outcome::passed, Outcome::own_error,  Outcome::hung,   Outcome::crashed,
                                      Outcome::leaked, Outcome::wrong_data, Outcome::not_hit};
/// "own error".
std::string_view to_string(Outcome outcome);
/// Somebody is to look at it.
constexpr bool is_bad(Outcome outcome) {
  return outcome != Outcome::passed && outcome != Outcome::own_error && outcome != Outcome::not_hit;
}

/// What the program does without faults.
struct Clean {
  std::uint64_t left = 0;    // objects of verbs
  bool prints_same = false;  // its standard output is the same in each run, and is its data
  std::string out;
};

struct Verdict {
  Outcome outcome = Outcome::passed;
  std::string why;   // one line: "status 1: Failed to create CQ", "silent for 5.2 s", "SIGSEGV in main at prog+0x12"
  std::string more;  // the whole backtrace, or what was left; may be empty
};

/// Whether any of the faults, the first ones of the hits, has hit.
bool has_any_hit(const Ended& ended, std::size_t faults);
/// `faults`: how many of the hits are of faults. All of them have to hit.
Verdict judge(const Ended& ended, std::size_t faults, const Clean& clean);
/// Of one that passed, if the user's check says no.
Verdict refused_by_check(const std::string& check, int status);

}  // namespace verbena::cli::exhaust
