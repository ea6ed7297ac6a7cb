// A story as text: each conversation as a ladder with its summary, then what the file holds besides.
//
// Solely puts ladders and summaries together; the lines are theirs.
// Tested by: tests/captures/story/story_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "captures/render/text/ladder.h"
#include "captures/story/story.h"

namespace verbena::captures {

struct StoryTextOptions {
  LadderOptions ladder;
  bool only_summary = false;
};

/// Told by conversation. Between two calls `out` has whole lines, and may be emptied.
class StoryText : public Renderer {
 public:
  StoryText(const StoryTextOptions& options, std::string& out) : options_(options), out_(out) {}

  void begin(const Conversation& conversation, std::size_t number) override;
  void tell(const ToldPacket& told) override;
  void pause(const PausePacket& packet) override;
  void end(const Conversation& conversation, std::size_t number, const Sums& sums) override;

 private:
  StoryTextOptions options_;
  std::string& out_;
  std::optional<Ladder> ladder_;  // of the conversation that is told
};

/// Behind the conversations: the pause frames, and what the file holds besides.
std::string closing_text(const Story& story);

}  // namespace verbena::captures
