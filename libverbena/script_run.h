// ScriptRun: plays a packet script on one connection of a world.
//
// Private to this folder. Solely the matching of packets, as they leave their ends, with the script's lines. It lives
// while World::play() runs; what leaves after the last line, in the instant in which that came true, waits in
// WorldState::rest for the next script.
// Tested by: tests/libverbena/script_test.cc
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "libverbena/script_line.h"
#include "libverbena/state.h"

namespace libverbena {

class ScriptRun {
 public:
  ScriptRun(WorldState& state, std::size_t end, std::vector<ScriptLine> lines);
  ~ScriptRun();
  ScriptRun(const ScriptRun&) = delete;
  ScriptRun& operator=(const ScriptRun&) = delete;

  Result<void> run();
  /// A packet is about to leave on a link; `decision` is what becomes of it.
  void intercept(verbena::Time now, fabric::LinkId link, std::span<std::byte> frame,
                 fabric::Interceptor::Decision& decision);

 private:
  Result<void> check_names() const;
  void watch(bool on);
  const ScriptLine* line() const { return next_ < lines_.size() ? &lines_[next_] : nullptr; }
  /// Goes on behind a line: sends what is to be injected, and begins to wait for the next packet.
  void advance(verbena::Time now);
  void inject(const ScriptLine& line, verbena::Time now);
  void judge(verbena::Time now, const SeenPacket& seen, std::span<std::byte> frame,
             fabric::Interceptor::Decision& decision);
  void act(const ScriptLine& line, std::span<std::byte> frame, fabric::Interceptor::Decision& decision);
  void fail(std::string what);
  /// Every line has come true, and what is to be injected has left.
  bool is_done() const { return error_ || (line() == nullptr && state_.injected.empty()); }
  verbena::Time deadline() const;
  void deadline_is_over();
  const End& end_named(std::string_view name) const;
  wire::Psn first_psn(Opcode opcode, const End& from) const;

  WorldState& state_;
  std::size_t end_;
  std::vector<ScriptLine> lines_;
  std::size_t next_ = 0;
  verbena::Time since_{};  // when the line before came true
  std::vector<std::string> seen_;
  std::optional<Error> error_;
};

}  // namespace libverbena
