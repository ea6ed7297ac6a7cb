// Pauses: what the pause frames of a capture have stopped, and for how long, as far as a capture shows it.
//
// Solely the sums. A pause frame goes over one cable and says "stop" or "go on" to its other end; how long "stop" lasts
// depends on the rate of the port, which no capture has, so a pause counts until "go on", or until it was last said
// anew. Whom it has held back shows in who is silent meanwhile and goes on right behind it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "captures/conversations/conversations.h"
#include "captures/read/capture.h"

namespace verbena::captures {

using ClassMask = std::uint8_t;  // bit c: traffic class c

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
  /// What each end sends in this conversation, and was not sent while it was stopped.
  std::array<HeldBack, 2> held_back(const Capture& capture, const Conversation& conversation) const;

 private:
  struct Stop {
    std::size_t row = 0;
    Time from;
    Time until;
  };
  std::size_t row_of(const wire::MacAddress& source, bool is_by_class, std::uint8_t traffic_class);
  void say(std::size_t row, Time now, std::uint16_t quanta);
  void end(std::size_t row, Time now);

  std::vector<PauseRow> rows_;
  std::vector<std::size_t> open_;  // by row: in stops_; kGoesOn: none is open
  std::vector<Stop> stops_;        // by their begin
};

/// The classes that a packet may be in: its VLAN tag's, and that of its DSCP's upper three bits (RFC 2474).
ClassMask classes_of(const wire::PacketView& packet);

}  // namespace verbena::captures
