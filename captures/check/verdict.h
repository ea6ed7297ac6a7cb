// What came of checking a capture, as one word: green is what was judged and held, no other.
//
// Solely responsible for which outcome a file has, which of several is the worst, and how it is said; the exit status
// is the command's. capture_check.h says what was judged.
// Tested by: tests/cli/check_test.cc, tests/cli/verdict_test.cc
#pragma once

#include <string>
#include <string_view>

#include "captures/check/capture_check.h"

namespace verbena::captures {

/// From the best to the worst.
enum class Verdict : std::uint8_t {
  held,     // rules judged packets, and all held
  nothing,  // no rule could judge anything
  damaged,  // the file is damaged; no rule is broken up to there
  broken,   // rules are broken
};

/// The file's outcome.
Verdict verdict_of(const Capture& capture, const CaptureFindings& findings);

/// For programs: "held", "nothing-to-judge", "damaged", "broken".
std::string_view to_string(Verdict verdict);

/// One line for people: "No violations.", "Nothing to judge: ...", "Damaged: ...", "3 violations."
std::string words(Verdict verdict, const Capture& capture, const CaptureFindings& findings);

}  // namespace verbena::captures
