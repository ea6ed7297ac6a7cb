#include "captures/render/text/story_text.h"

#include "captures/render/text/summary.h"

namespace verbena::captures {

void StoryText::begin(const Conversation& conversation, std::size_t number) {
  if (options_.only_summary) return;
  ladder_.emplace(options_.ladder, out_);
  ladder_->header(conversation, number);
}

void StoryText::tell(const ToldPacket& told) {
  if (ladder_) ladder_->add(told.packet, told.view, told.judged);
}

void StoryText::pause(const PausePacket& packet) {
  if (ladder_) ladder_->pause(packet);
}

void StoryText::end(const Conversation& conversation, std::size_t number, const Sums& sums) {
  if (ladder_) ladder_->finish();
  out_ += summary(conversation, number, sums) + "\n";
}

std::string closing_text(const Story& story) {
  return summary(story.pauses()) + summary(story.capture());
}

}  // namespace verbena::captures
