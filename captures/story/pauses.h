// Pauses: what the pause frames of a capture have stopped, and for how long, as far as a capture shows it.
//
// Solely the sums. A pause frame goes over one cable and says "stop" or "go on" to its other end; how long "stop" lasts
// depends on the rate of the port, which no capture has, so a pause counts until "go on", or until it was last said
// anew. Whom it has held back shows in who is silent meanwhile and goes on right behind it.
// Tested by: tests/captures/conversations/sightings_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"

namespace verbena::captures {

/// What one port has said of one class; of all classes, if it was PAUSE.
struct PauseRow {
  wire::MacAddress source;
  bool is_by_class = true;
  std::uint8_t traffic_class = 0;
  std::uint64_t stops = 0;
  std::uint64_t resumes = 0;
  Duration stopped{0};
};

/// A direction of a conversation.
struct HeldBack {
  std::uint64_t times = 0;
  Duration time{0};
};

class Pauses {
 public:
  explicit Pauses(const Capture& capture);

  /// By source, then class.
  std::span<const PauseRow> rows() const { return rows_; }
  struct Stop {
    std::size_t row = 0;
    Time from;
    Time until;
  };
  /// By their begin.
  std::span<const Stop> stops() const { return stops_; }

 private:
  std::size_t row_of(const wire::MacAddress& source, bool is_by_class, std::uint8_t traffic_class);
  void say(std::size_t row, Time now, std::uint16_t quanta);
  void end(std::size_t row, Time now);

  std::vector<PauseRow> rows_;
  std::vector<std::size_t> open_;  // by row: in stops_; kGoesOn: none is open
  std::vector<Stop> stops_;
};

/// What each end of one conversation sends, and did not send while it was stopped.
class HeldBackCount {
 public:
  explicit HeldBackCount(const Pauses& pauses) : pauses_(&pauses) {}

  /// The packets of the conversation, in order.
  void add(const Packet& packet, const wire::PacketView& view, unsigned sender);
  const std::array<HeldBack, 2>& held_back() const { return held_; }

 private:
  const Pauses* pauses_;
  std::array<HeldBack, 2> held_;
  std::array<std::optional<Time>, 2> last_;
  std::array<std::size_t, 2> nexts_{};  // the first stop that may end behind the last packet
};

}  // namespace verbena::captures
