// The sums of each end of a conversation as rows of a table: in words, and as their members are called.
// Tested by: tests/cli/json_test.cc
#pragma once

#include <span>
#include <string_view>

#include "captures/story/flow_tracker.h"

namespace verbena::captures {

struct TotalRow {
  std::string_view words;
  std::string_view name;
  std::uint64_t Totals::* value;
  bool always = false;  // shown even if it is 0
};
std::span<const TotalRow> total_rows();

}  // namespace verbena::captures
