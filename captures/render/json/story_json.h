// A story as lines of JSON: the packets in the file's order, then the conversations, then the file.
//
// Solely which lines there are; what is in a line is packet_json.h's.
// Tested by: tests/cli/json_test.cc
#pragma once

#include <cstddef>
#include <string>

#include "captures/story/outcome.h"
#include "captures/story/story.h"

namespace verbena::captures {

/// Which packets have a line.
enum class LinesOf : std::uint8_t { all, problems, none };

/// Told by file. Between two calls `out` has whole lines, and may be emptied.
class StoryJson : public Renderer {
 public:
  StoryJson(LinesOf lines_of, std::string& out) : lines_of_(lines_of), out_(out) {}

  void begin(const Conversation& /*conversation*/, std::size_t /*number*/) override {}
  void tell(const ToldPacket& told) override;
  void pause(const PausePacket& packet) override;
  void end(const Conversation& conversation, std::size_t number, const Sums& sums) override;

 private:
  LinesOf lines_of_;
  std::string& out_;
};

/// Behind the conversations: the pause frames, and the file.
std::string closing_json(const Story& story, Outcome outcome);

}  // namespace verbena::captures
