// Ladder: the packets of one conversation as rungs between its two ends, left and right.
//
// Solely responsible for the drawing: columns, folding of long runs, leaving out what is uneventful. Judgement comes
// from captures/story, words from captures/render/words.
//
//        0.001368   #36  |<-- Acknowledge  psn 16191916 (+15)  ACK, msn 1 ------------|
//                         ! what went wrong
//                         . what is worth knowing
// Tested by: tests/captures/story/kernel_captures_test.cc
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "captures/story/flow_tracker.h"
#include "captures/story/pauses.h"

namespace verbena::captures {

struct LadderOptions {
  std::size_t width = 110;
  bool fold = true;            // runs of middle packets become one rung
  bool only_problems = false;  // with kContextRungs before and after
};

/// Packets that may become one rung.
struct Run {
  std::string name;
  unsigned sender = 0;
  bool is_again = false;
  std::string rungs;  // as they are if the run stays short
  std::size_t packets = 0;
  std::size_t payload_bytes = 0;
  const Packet* first = nullptr;
  Time last_time;
  wire::Psn first_psn;
  wire::Psn last_psn;
  std::optional<std::int32_t> first_relative;
};

/// What a rung stands for.
struct Counts {
  std::size_t packets = 0;
  std::size_t pauses = 0;
};

class Ladder {
 public:
  static constexpr std::size_t kContextRungs = 2;
  static constexpr std::size_t kFoldMin = 3;
  static constexpr std::int64_t kPause = 20;  // so many times the usual space between the packets of a run ends it

  Ladder(const LadderOptions& options, std::string& out) : options_(options), out_(out) {}

  void header(const Conversation& conversation, std::size_t number);
  /// The packet outlives the ladder.
  void add(const Packet& packet, const wire::PacketView& view, const Judged& judged);
  /// Drawn as one line before the next rung, with those beside it.
  void pause(const PausePacket& packet);
  /// Writes what is held back.
  void finish();

 private:
  static bool has_paused(const Run& run, Time now);
  bool join_run(const Packet& packet, const wire::PacketView& view, const Judged& judged);
  void end_run();
  std::string draw(const Packet& packet, unsigned sender, const std::string& text) const;
  void emit(std::string rung, bool has_problem, const Counts& counts);
  void leave_out(const Counts& counts);
  void draw_left_out();
  void draw_pauses();

  LadderOptions options_;
  std::string& out_;
  std::optional<Run> run_;
  std::vector<PausePacket> pauses_;
  std::deque<std::pair<std::string, Counts>> context_;
  std::size_t context_left_ = 0;
  Counts left_out_;
};

}  // namespace verbena::captures
