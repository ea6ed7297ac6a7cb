// A finding in words: one line of a ladder.
// Tested by: tests/captures/story/story_test.cc
#pragma once

#include <string>

#include "captures/findings/finding.h"
#include "wire/time.h"

namespace verbena::captures {

/// "67.1 ms", with the unit that fits.
std::string to_text(Duration duration);

/// `first`: the PSN from which others are counted.
std::string words(const Finding& finding, wire::Psn first);

}  // namespace verbena::captures
