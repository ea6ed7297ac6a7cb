// The closing lines of a conversation: what each end sent, and what went wrong, in numbers.
// Tested by: tests/captures/conversations/sightings_test.cc, tests/cli/json_test.cc
#pragma once

#include <string>

#include "captures/story/flow_tracker.h"
#include "captures/story/pauses.h"

namespace verbena::captures {

std::string summary(const Conversation& conversation, std::size_t number, const Sums& sums);

/// What the file holds besides conversations.
std::string summary(const Capture& capture);

/// Empty if the file has no pause frames.
std::string summary(const Pauses& pauses);

}  // namespace verbena::captures
