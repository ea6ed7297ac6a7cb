// What came of telling a capture: green is a file of which something was told and which is whole, and nothing else.
//
// Solely responsible for which outcome a file has, and how it is said; the exit status is the command's.
// Tested by: tests/captures/story/story_test.cc
#pragma once

#include <string>
#include <string_view>

#include "captures/read/capture.h"

namespace verbena::captures {

enum class Outcome : std::uint8_t {
  told,
  nothing,  // no packet could be told
  damaged,  // told up to where the file is damaged
};

/// `is_chosen`: packets that were asked for (--qp) are there.
Outcome outcome_of(const Capture& capture, bool is_chosen);

/// For programs: "told", "nothing-to-tell", "damaged".
std::string_view to_string(Outcome outcome);

/// One line for people where the outcome is not good: "Nothing to tell: ...".
std::string words(Outcome outcome, const Capture& capture);

}  // namespace verbena::captures
