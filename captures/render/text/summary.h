// The closing lines of a conversation: what each end sent, and what went wrong, in numbers.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "captures/story/flow_tracker.h"
#include "captures/story/pauses.h"

namespace verbena::captures {

/// One of the sums of each end: in words, and as its member is called.
struct TotalRow {
  std::string_view words;
  std::string_view name;
  std::uint64_t Totals::* value;
  bool always = false;  // shown even if it is 0
};
std::span<const TotalRow> total_rows();

std::string summary(const Conversation& conversation, std::size_t number, const FlowTracker& tracker,
                    const std::array<HeldBack, 2>& held_back = {});

/// What the file holds besides conversations.
std::string summary(const Capture& capture);

/// Empty if the file has no pause frames.
std::string summary(const Pauses& pauses);

}  // namespace verbena::captures
