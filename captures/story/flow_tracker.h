// FlowTracker: follows one conversation packet by packet: what each means, where something went wrong, and the sums.
//
// Solely brings the parts together: the judgement is request_stream.h's, one for each end as a requester. Before the
// first packet is judged, the whole conversation is surveyed for its rhythm. Packets with a wrong ICRC are counted, but
// not followed: no receiver takes them. What is said of a packet are values; captures/render has the words.
// Tested by: tests/captures/story/story_test.cc
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "captures/conversations/conversations.h"
#include "captures/findings/finding.h"
#include "captures/findings/request_stream.h"
#include "captures/findings/timeline.h"
#include "captures/read/capture.h"
#include "captures/story/pauses.h"

namespace verbena::captures {

/// What one end did, or what happened to what it sent.
struct Totals {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // of frames
  std::uint64_t payload_bytes = 0;
  std::uint64_t retransmitted_packets = 0;  // requests sent again
  std::uint64_t repeated_responses = 0;     // READ responses sent again
  std::uint64_t go_backs = 0;               // runs of retransmissions, whatever their cause
  std::uint64_t timeouts = 0;               // those without one
  std::uint64_t read_re_requests = 0;
  std::uint64_t unexplained_go_backs = 0;
  std::uint64_t gaps = 0;
  std::uint64_t missing_packets = 0;
  std::uint64_t holes = 0;  // of the capture
  std::uint64_t hole_packets = 0;
  std::uint64_t late_packets = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t seen_before = 0;  // copies, or late
  std::uint64_t repeated_answers = 0;
  std::uint64_t unasked_answers = 0;
  std::uint64_t nak_sequence_errors = 0;
  std::uint64_t other_naks = 0;
  std::uint64_t rnr_naks = 0;
  std::uint64_t bad_icrc = 0;
  std::uint64_t bad_vcrc = 0;  // InfiniBand
  std::uint64_t ecn_marked = 0;
  std::uint64_t cnps = 0;
  std::uint64_t dropped_by_fault = 0;
  std::uint64_t lacking_headers = 0;  // the snap length has left their BTH, and not all behind it
};

/// One packet, judged.
struct Judged {
  unsigned sender = 0;                   // 0 or 1: Conversation::ends
  std::optional<std::int32_t> relative;  // its PSN, from the first PSN of the requester that it belongs to
  wire::Psn first;                       // that PSN
  bool is_again = false;                 // a retransmission or a repeated response
  bool begins_anew = false;              // with it, a new connection of the same queue pairs
  bool is_cnp = false;                   // it tells its receiver to slow down
  bool is_marked = false;                // by ECN
  bool has_comment = false;              // in the file: what a fault of Verbena has done to it, for one
  wire::Integrity integrity = wire::Integrity::unknown;
  std::uint32_t acknowledged = 0;  // how many PSNs it acknowledges that were not before
  std::vector<Finding> findings;

  bool has_problem() const {
    return has_comment || is_marked || is_cnp ||
           std::ranges::any_of(findings, [](const Finding& finding) { return !finding.is_remark(); });
  }
  /// Nothing is said of it.
  bool is_uneventful() const { return !has_comment && !is_marked && !is_cnp && !begins_anew && findings.empty(); }
};

/// A conversation, in numbers.
struct Sums {
  std::array<Totals, 2> totals;  // by end
  std::array<HeldBack, 2> held_back;
  /// What the requests of an end have come to, if nobody answers them.
  std::array<std::optional<RequestStream::Silence>, 2> silences;
  Duration duration{0};
  Duration until_end{0};  // from the conversation's last packet to the capture's
};

class FlowTracker {
 public:
  FlowTracker(const Capture& capture, const Conversation& conversation);

  /// Packets in the order of the capture. The result is valid until the next call.
  const Judged& step(const Packet& packet, const wire::PacketView& view);
  const std::array<Totals, 2>& totals() const { return totals_; }
  /// After the last step, without what pause frames held back.
  Sums sums() const;

 private:
  void learn();
  const Moment& moment_of(const Packet& packet);
  void judge_marks(const Packet& packet, const wire::PacketView& view);
  void judge(const Moment& moment);
  void count(const Finding& finding, Totals& totals);

  Timeline timeline_;
  bool has_headless_;  // packets of the capture without a whole BTH: nobody knows whose they are
  std::array<Rhythm, 2> rhythms_;
  std::vector<RequestStream> streams_;  // one for each end
  std::array<Totals, 2> totals_;
  Judgement judgement_;
  Judged judged_;
  std::size_t next_moment_ = 0;
  bool any_ = false;
  Time end_;  // of the capture
  Time first_time_;
  Time last_time_;
};

}  // namespace verbena::captures
