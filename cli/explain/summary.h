// The closing lines of a conversation: what each end sent, and what went wrong, in numbers.
#pragma once

#include <string>

#include "cli/explain/flow_tracker.h"

namespace verbena::explain {

std::string summary(const Conversation& conversation, std::size_t number, const FlowTracker& tracker);

/// What the file holds besides conversations.
std::string summary(const Capture& capture);

}  // namespace verbena::explain
