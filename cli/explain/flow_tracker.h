// FlowTracker: follows one conversation packet by packet and says what each means and where something went wrong.
//
// Solely responsible for the judgement. It sees what a capture shows, which may differ from what either end saw (a
// packet can be lost before or behind the capture), so some judgements are heuristic:
//   gap             the PSN is ahead of the highest one seen in this direction: lost before the capture, or overtaken
//   retransmission  a request PSN that is not ahead. Its cause is, in this order: a NAK sequence error or RNR NAK that
//   is not
//                   answered yet; a gap in READ responses; else nothing was said, and after kTimeoutMin it is a timeout
//                   (a NAK that is followed by a silence of more than kNakReactionMax was lost behind the capture)
//   late            it fills a gap, nobody asked for it, and less than kLateMax has passed since the packet before it
//   duplicate       the same PSN as the packet just before it within kDuplicateMax: a copy made by the network
//   new connection  the PSN jumps by more than kRestartPackets: the QP numbers are used again
// Packets with a wrong ICRC are counted, but not followed: no receiver takes them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/explain/capture.h"
#include "cli/explain/conversations.h"
#include "wire/aeth.h"

namespace verbena::explain {

inline constexpr Duration kLateMax = microseconds(100);
inline constexpr Duration kTimeoutMin = microseconds(100);
inline constexpr Duration kNakReactionMax = milliseconds(10);
inline constexpr Duration kDuplicateMax = microseconds(100);
inline constexpr std::int32_t kRestartPackets = 1 << 16;

struct Note {
  bool is_problem = false;
  std::string text;
};

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
  std::uint64_t gaps = 0;
  std::uint64_t missing_packets = 0;
  std::uint64_t late_packets = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t nak_sequence_errors = 0;
  std::uint64_t other_naks = 0;
  std::uint64_t rnr_naks = 0;
  std::uint64_t bad_icrc = 0;
  std::uint64_t ecn_marked = 0;
  std::uint64_t cnps = 0;
  std::uint64_t dropped_by_fault = 0;
};

/// One packet, judged.
struct Step {
  unsigned sender = 0;                   // 0 or 1: Conversation::ends
  std::optional<std::int32_t> relative;  // its PSN, from the first PSN of the requester that it belongs to
  bool is_again = false;                 // a retransmission or a repeated response
  std::uint32_t acknowledged = 0;        // how many PSNs it acknowledges that were not before
  std::vector<Note> notes;
};

class FlowTracker {
 public:
  explicit FlowTracker(const Conversation& conversation) : conversation_(conversation) {}

  /// Packets in the order of the capture. The result is valid until the next call.
  const Step& step(const Packet& packet, const wire::PacketView& view);
  const std::array<Totals, 2>& totals() const { return totals_; }
  Duration duration() const { return last_time_ - first_time_; }

 private:
  struct Range {
    wire::Psn first;
    std::uint32_t count = 0;
  };
  struct Read {
    wire::Psn first;
    std::uint32_t count = 0;
    wire::Psn next;     // response
    wire::Psn highest;  // one behind the highest response seen
    bool has_gap = false;
  };
  struct Request {  // what a NAK asked for and has not got yet
    wire::Psn psn;
    Time at;
    Duration wait;  // RNR
  };
  /// One end as a requester.
  struct Requester {
    bool started = false;
    wire::Psn first;
    wire::Psn next;   // one behind the highest seen
    wire::Psn acked;  // all before it are acknowledged
    wire::Psn previous;
    Time previous_at;
    Time heard_at;  // the last answer
    std::vector<Range> missing;
    std::optional<wire::Psn> resending;  // the next PSN of a run of retransmissions
    std::optional<Request> nak;
    std::optional<Request> rnr;
    std::deque<Read> reads;
  };

  void judge_marks(const Packet& packet, const wire::PacketView& view);
  void request(Requester& requester, Totals& totals, const Packet& packet, const wire::PacketView& view);
  void start(Requester& requester, wire::Psn psn, std::uint32_t span);
  void gap(Requester& requester, Totals& totals, wire::Psn from, std::uint32_t count, std::string_view where);
  void behind(Requester& requester, Totals& totals, const Packet& packet, const wire::PacketView& view,
              std::uint32_t span);
  void begin_run(Requester& requester, Totals& totals, Time now, const wire::PacketView& view);
  void remember_missing(Requester& requester, wire::Psn first, std::uint32_t count);
  bool take_missing(Requester& requester, wire::Psn psn, std::uint32_t span);
  void note_read(Requester& requester, wire::Psn psn, std::uint32_t span);
  void response(Requester& requester, Totals& totals, const Packet& packet, const wire::PacketView& view);
  void lose_response(Requester& requester, wire::Psn psn);
  /// Whether nothing is missing before it.
  bool read_response(Requester& requester, Totals& totals, wire::Psn psn, bool ends);
  void negative(Requester& requester, Totals& totals, Time now, const wire::PacketView& view,
                const wire::Syndrome& syndrome);
  void acknowledge(Requester& requester, wire::Psn psn);
  std::uint32_t span_of(const wire::PacketView& view) const;
  std::string name(const Requester& requester, wire::Psn psn) const;
  std::string name(const Requester& requester, wire::Psn from, std::uint32_t count) const;
  void problem(std::string text) { step_.notes.push_back({true, std::move(text)}); }
  void remark(std::string text) { step_.notes.push_back({false, std::move(text)}); }

  const Conversation& conversation_;
  std::array<Requester, 2> requesters_;
  std::array<Totals, 2> totals_;
  Step step_;
  bool any_ = false;
  Time first_time_;
  Time last_time_;
};

/// "67.1 ms", with the unit that fits.
std::string to_text(Duration duration);

}  // namespace verbena::explain
