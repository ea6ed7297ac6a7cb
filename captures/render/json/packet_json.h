// A capture for programs: each packet with all its headers and what is said of it, each conversation with its sums.
//
// Solely the JSON. Headers and their fields are those of the layouts in wire/, called as they are there; judgement
// comes from captures/story, sentences from captures/render/words.
// Tested by: tests/cli/json_test.cc
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "captures/read/capture.h"
#include "captures/story/outcome.h"
#include "captures/story/story.h"

namespace verbena::captures {

/// {"kind": "packet", "number": 13, ..., "headers": {"ethernet": {...}, "ipv4": {...}, ...}}, without a line feed.
std::string packet_json(const ToldPacket& told);

/// {"kind": "conversation", "number": 1, ..., "ends": [{...}, {...}]}: what each end sent, and what went wrong.
std::string conversation_json(const Conversation& conversation, std::size_t number, const Sums& sums);

/// {"kind": "pause", "number": 7, ..., "classes": [{"class": 3, "quanta": 65535}]}: a pause frame.
std::string pause_json(const PausePacket& packet);

/// {"kind": "pauses", "source": ..., "class": 3, ...}: what a port has said of a class, a line for each.
std::string pauses_json(const Pauses& pauses);

/// {"kind": "file", ...}: what the file holds besides conversations, and where it is damaged.
std::string file_json(const Capture& capture, Outcome outcome);

/// {"ARP": 3, ...}
nlohmann::ordered_json kinds_json(const std::vector<Kind>& kinds);

}  // namespace verbena::captures
