#include "captures/check/capture_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "captures/conversations/conversations.h"
#include "wire/packet_text.h"

namespace verbena::captures {

namespace {

using checkers::Seen;

/// Timers of the sender and the capture's clock are read at different moments.
constexpr Duration kClockTolerance = microseconds(5);

wire::Direction direction_of(const Packet& packet, const wire::PacketView& view, const Vantage& vantage) {
  if (!vantage.host) return packet.captured.direction;
  if (view.source() == view.destination()) return wire::Direction::unknown;
  if (view.source() == *vantage.host) return wire::Direction::outbound;
  return view.destination() == *vantage.host ? wire::Direction::inbound : wire::Direction::unknown;
}

bool says(const Packet& packet, std::string_view word) {
  return packet.captured.comment.find(word) != std::string_view::npos;
}

/// A fault of ours has hit it here: what it looks like is nobody's fault.
bool is_hit(const Packet& packet) {
  return packet.captured.comment.starts_with(wire::kNotePrefix);
}

constexpr checkers::CheckerRow kFormRow{
    "packet-form", "IBTA 9.2, A17",
    "a packet has whole headers, the length that they say, and defined opcode and padding"};

class CaptureCheck {
 public:
  CaptureCheck(const Capture& capture, const Vantage& vantage)
      : capture_(capture),
        vantage_(vantage),
        checkers_({.trusts_cut_packets = vantage.trusts_cut_packets,
                   .knows_all_damage = true,
                   .clock_tolerance = kClockTolerance}) {}

  CaptureFindings run(const Reached& reached) {
    for (const Conversation& conversation : find_conversations(capture_)) connect(conversation);
    look_for_faults();
    std::uint64_t count = 0;
    for (const Packet& packet : capture_.packets()) {
      if (!packet.lacks_headers) observe(packet, packet.view());
      if (reached) reached(++count, capture_.packets().size());
    }
    checkers_.finish();
    findings_.totals = checkers_.totals();
    findings_.violations.assign(checkers_.violations().begin(), checkers_.violations().end());
    findings_.violation_count = checkers_.violation_count();
    findings_.ignored_count += checkers_.ignored_count();
    add_malformed();
    return std::move(findings_);
  }

 private:
  void connect(const Conversation& conversation) {
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
    for (const Packet& packet : capture_.packets()) {
      if (packet.captured.comment.empty()) continue;
      const bool is_disturbed = says(packet, "duplicated") || says(packet, "reordered") || says(packet, "delayed") ||
                                says(packet, "corrupted");
      if (!is_disturbed || packet.lacks_headers) continue;
      const wire::Direction direction = direction_of(packet, packet.view(), vantage_);
      if (direction != wire::Direction::inbound) findings_.departures_disturbed = true;
      if (direction != wire::Direction::outbound) findings_.arrivals_disturbed = true;
    }
  }

  /// What is no packet at all breaks a rule of its own, unless a fault of ours has made it so.
  void add_malformed() {
    for (const MalformedPacket& packet : capture_.malformed())
      if (!packet.is_hit)
        malformed_.push_back({packet.time, packet.number, kFormRow.name, kFormRow.clause,
                              fmt::format("malformed: {}", wire::to_string(packet.error))});
    const std::uint64_t count = short_count_ + capture_.malformed_count() - capture_.hit_malformed_count();
    findings_.totals.push_back({kFormRow, count, 0, count});
    findings_.violation_count += count;
    // Each goes behind those of the same packet. What is of no packet was found at the end.
    const auto place = [](const checkers::Violation& one) { return one.number == 0 ? UINT64_MAX : one.number; };
    auto& all = findings_.violations;
    for (const checkers::Violation& one : malformed_)
      all.insert(std::ranges::upper_bound(all, place(one), {}, place), one);
    if (all.size() > checkers::kViolationsKept) all.resize(checkers::kViolationsKept);
  }

  /// A frame that leaves its sender with less than its headers say.
  void note_short(const Packet& packet, const wire::PacketView& view) {
    ++short_count_;
    if (malformed_.size() < checkers::kViolationsKept)
      malformed_.push_back(
          {packet.time, packet.number, kFormRow.name, kFormRow.clause,
           fmt::format("{} -> {}: {}: malformed: {} octets, less than its headers say", wire::to_text(view.source()),
                       wire::to_text(view.destination()), wire::to_text(view), packet.captured.bytes.size())});
  }

  void observe(const Packet& packet, const wire::PacketView& view) {
    const wire::Direction direction = direction_of(packet, view, vantage_);
    // What was shorter than its headers say on the wire already is no receiver's packet. Where no fault of ours says so
    // and its sender is not near, a mirror port has cut it, as a snap length does.
    const bool is_short = packet.is_whole() && !view.is_whole();
    const bool is_sent_short = is_short && !is_hit(packet) && direction == wire::Direction::outbound;
    if (is_sent_short) note_short(packet, view);
    const bool is_corrupted =
        (is_short && is_hit(packet)) || is_sent_short || says(packet, "corrupted") ||
        (is_hit(packet) && direction != wire::Direction::outbound && view.integrity() == wire::Integrity::wrong);
    if (!view.is_whole() && !is_corrupted) ++findings_.cut_count;
    // Recorded as it came; what the node got had a wrong ICRC.
    if (is_corrupted && direction == wire::Direction::inbound && !says(packet, "repair")) {
      ++findings_.ignored_count;
      return;
    }
    Seen seen = Seen::passing;
    // Where packets are missing because the snap length has left too little of them, nobody's order is complete.
    const bool is_complete = capture_.headless_count() + capture_.lacking_headers_count() == 0;
    if (is_complete && direction == wire::Direction::outbound && !findings_.departures_disturbed)
      seen = packet.was_dropped() ? Seen::lost : Seen::sent;
    else if (is_complete && direction == wire::Direction::inbound && !findings_.arrivals_disturbed &&
             !packet.was_dropped())
      seen = Seen::delivered;
    ++(seen == Seen::passing ? findings_.passing_count
                             : (seen == Seen::delivered ? findings_.delivered_count : findings_.sent_count));
    checkers_.observe(
        {.time = packet.time, .packet = view, .seen = seen, .corrupted = is_corrupted, .number = packet.number});
  }

  const Capture& capture_;
  const Vantage& vantage_;
  checkers::Checkers checkers_;
  CaptureFindings findings_;
  std::vector<checkers::Violation> malformed_;
  std::uint64_t short_count_ = 0;
};

}  // namespace

std::vector<checkers::CheckerRow> all_rows() {
  std::vector<checkers::CheckerRow> rows = checkers::all_checkers();
  rows.push_back(kFormRow);
  return rows;
}

CaptureFindings check_capture(const Capture& capture, const Vantage& vantage, const Reached& reached) {
  return CaptureCheck(capture, vantage).run(reached);
}

}  // namespace verbena::captures
