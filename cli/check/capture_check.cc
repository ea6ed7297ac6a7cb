#include "cli/check/capture_check.h"

#include "cli/explain/conversations.h"

namespace verbena::check {

namespace {

using checkers::Seen;

/// Timers of the sender and the capture's clock are read at different moments.
constexpr Duration kClockTolerance = microseconds(5);

wire::Direction direction_of(const explain::Packet& packet, const wire::PacketView& view, const Vantage& vantage) {
  if (!vantage.host) return packet.captured.direction;
  if (view.source() == view.destination()) return wire::Direction::unknown;
  if (view.source() == *vantage.host) return wire::Direction::outbound;
  return view.destination() == *vantage.host ? wire::Direction::inbound : wire::Direction::unknown;
}

bool says(const explain::Packet& packet, std::string_view word) {
  return packet.captured.comment.find(word) != std::string_view::npos;
}

class CaptureCheck {
 public:
  CaptureCheck(const explain::Capture& capture, const Vantage& vantage)
      : capture_(capture),
        vantage_(vantage),
        checkers_({.trusts_cut_packets = vantage.trusts_cut_packets, .clock_tolerance = kClockTolerance}) {}

  CaptureVerdict run(const explain::Reached& reached) {
    for (const explain::Conversation& conversation : explain::find_conversations(capture_)) connect(conversation);
    look_for_faults();
    std::uint64_t count = 0;
    for (const explain::Packet& packet : capture_.packets()) {
      if (const auto view = wire::parse_captured(packet.captured)) observe(packet, *view);
      if (reached) reached(++count, capture_.packets().size());
    }
    checkers_.finish();
    verdict_.totals = checkers_.totals();
    verdict_.violations.assign(checkers_.violations().begin(), checkers_.violations().end());
    verdict_.violation_count = checkers_.violation_count();
    verdict_.ignored_count += checkers_.ignored_count();
    return std::move(verdict_);
  }

 private:
  void connect(const explain::Conversation& conversation) {
    checkers::CheckedConnection connection;
    connection.path_mtu_bytes = conversation.path_mtu_bytes;
    for (unsigned end = 0; end < 2; ++end) {
      connection.ends[end].address = conversation.ends[end].address;
      connection.ends[end].qpn = conversation.ends[end].qpn;
    }
    checkers_.connect(connection);
  }

  /// Faults stand between a node and its capture: what they copy or hold is not captured as the node sent or got it.
  void look_for_faults() {
    for (const explain::Packet& packet : capture_.packets()) {
      if (packet.captured.comment.empty()) continue;
      const bool is_disturbed = says(packet, "duplicated") || says(packet, "reordered") || says(packet, "delayed") ||
                                says(packet, "corrupted");
      const auto view = wire::parse_captured(packet.captured);
      if (!is_disturbed || !view) continue;
      const wire::Direction direction = direction_of(packet, *view, vantage_);
      if (direction != wire::Direction::inbound) verdict_.departures_disturbed = true;
      if (direction != wire::Direction::outbound) verdict_.arrivals_disturbed = true;
    }
  }

  void observe(const explain::Packet& packet, const wire::PacketView& view) {
    const wire::Direction direction = direction_of(packet, view, vantage_);
    // What was shorter than its headers say on the wire already is no receiver's packet.
    const bool is_truncated = packet.is_whole() && !view.is_whole();
    const bool is_corrupted = is_truncated || says(packet, "corrupted");
    if (!view.is_whole() && !is_truncated) ++verdict_.cut_count;
    // Recorded as it came; what the node got had a wrong ICRC.
    if (is_corrupted && direction == wire::Direction::inbound && !says(packet, "repair")) {
      ++verdict_.ignored_count;
      return;
    }
    Seen seen = Seen::passing;
    // Where packets are missing because the snap length has left too little of them, nobody's order is complete.
    const bool is_complete = capture_.headless_count() + capture_.lacking_headers_count() == 0;
    if (is_complete && direction == wire::Direction::outbound && !verdict_.departures_disturbed)
      seen = packet.was_dropped() ? Seen::lost : Seen::sent;
    else if (is_complete && direction == wire::Direction::inbound && !verdict_.arrivals_disturbed &&
             !packet.was_dropped())
      seen = Seen::delivered;
    ++(seen == Seen::passing ? verdict_.passing_count
                             : (seen == Seen::delivered ? verdict_.delivered_count : verdict_.sent_count));
    checkers_.observe(
        {.time = packet.time, .packet = view, .seen = seen, .corrupted = is_corrupted, .number = packet.number});
  }

  const explain::Capture& capture_;
  const Vantage& vantage_;
  checkers::Checkers checkers_;
  CaptureVerdict verdict_;
};

}  // namespace

CaptureVerdict check_capture(const explain::Capture& capture, const Vantage& vantage, const explain::Reached& reached) {
  return CaptureCheck(capture, vantage).run(reached);
}

}  // namespace verbena::check
