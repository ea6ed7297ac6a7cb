// Notes: what is said of one packet, line by line, in the words of a reader.
//
// Solely the order and the choice of words; what is to be said is in the packet's judgement (captures/story).
// Tested by: tests/captures/story/story_test.cc
#pragma once

#include <string>
#include <vector>

#include "captures/read/capture.h"
#include "captures/story/flow_tracker.h"

namespace verbena::captures {

struct Note {
  bool is_problem = false;  // else it is worth knowing
  std::string text;
};

std::vector<Note> notes_of(const Packet& packet, const wire::PacketView& view, const Judged& judged);

}  // namespace verbena::captures
