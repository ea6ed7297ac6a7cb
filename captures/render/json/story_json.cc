#include "captures/render/json/story_json.h"

#include "captures/render/json/packet_json.h"

namespace verbena::captures {

void StoryJson::tell(const ToldPacket& told) {
  if (lines_of_ == LinesOf::none || (lines_of_ == LinesOf::problems && !told.judged.has_problem())) return;
  out_ += packet_json(told) + "\n";
}

void StoryJson::pause(const PausePacket& packet) {
  if (lines_of_ == LinesOf::all) out_ += pause_json(packet) + "\n";
}

void StoryJson::end(const Conversation& conversation, std::size_t number, const Sums& sums) {
  out_ += conversation_json(conversation, number, sums) + "\n";
}

std::string closing_json(const Story& story, Outcome outcome) {
  return pauses_json(story.pauses()) + file_json(story.capture(), outcome) + "\n";
}

}  // namespace verbena::captures
