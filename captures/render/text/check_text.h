// Reports of `check` as text: the checkers there are, and what they found in a file.
//
// Solely the lines; the verdict and its words are captures/check's.
// Tested by: tests/cli/check_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "captures/check/checked_file.h"

namespace verbena::captures {

/// Each checker with the clauses it checks, and what it says.
std::string checkers_text();

/// The first `shown_max` violations in full. The verdict's words, which end the report, are left to the caller.
std::string check_text(const CheckedFile& file, std::uint64_t shown_max);

}  // namespace verbena::captures
