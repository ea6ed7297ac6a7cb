// Reports of `check` for programs: a file, and what the checkers found in it.
//
// Solely the JSON.
// Tested by: tests/cli/check_test.cc
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "captures/check/checked_file.h"

namespace verbena::captures {

/// {"file": ..., "verdict": "held", ..., "checkers": [{...}], "found": [{...}]}.
nlohmann::ordered_json check_json(const CheckedFile& file);

}  // namespace verbena::captures
