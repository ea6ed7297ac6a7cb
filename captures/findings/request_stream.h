// RequestStream: one end as a requester: its requests, and the answers to them, judged packet by packet.
//
// Solely responsible for the judgement. It sees what a capture shows, which differs from what either end saw: a packet
// can be lost, copied or overtaken before the capture or behind it. So it keeps the PSNs that went by and, when one
// does not follow, weighs evidence in this order:
//   how it goes on   a retransmission goes on with the PSNs behind it (go-back-N); what comes aside of the stream and
//                    leaves it as it was is a copy, or, if it has not been seen, late
//   what was asked   the PSN of a NAK or RNR NAK, or of a response that a later answer has passed (implied NAK)
//   how long         silence that fits the ACK timer (rhythm.h)
// What nothing explains is said to be just that; and where a requester has sent a packet more than once, a copy and a
// sending that was held back look alike, which is said as well. Requests are judged in request_stream.cc, by what
// evidence.cc weighs, answers in answers.cc.
// Tested by: tests/captures/findings/truth_test.cc, tests/captures/findings/rounds_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "captures/findings/contest.h"
#include "captures/findings/finding.h"
#include "captures/findings/rhythm.h"
#include "captures/findings/seen_psns.h"
#include "captures/findings/timeline.h"
#include "wire/aeth.h"

namespace verbena::captures {

/// A PSN so far off begins a new connection of the same queue pairs.
inline constexpr std::int32_t kRestartPackets = 1 << 16;

struct Judgement {
  std::optional<std::int32_t> relative;  // the PSN, from the requester's first
  bool is_again = false;                 // a retransmission or a repeated response
  bool begins_anew = false;              // a new connection of the same queue pairs
  std::uint32_t acknowledged = 0;        // how many PSNs it acknowledges that were not before
  std::vector<Finding> findings;
};

class RequestStream {
 public:
  /// The survey, if there is one, gets what can be measured.
  RequestStream(const Timeline& timeline, unsigned requester, const Rhythm& rhythm, RhythmSurvey* survey = nullptr)
      : timeline_(&timeline), requester_(requester), rhythm_(rhythm), survey_(survey) {}

  void request(const Moment& moment, Judgement& judgement);
  void answer(const Moment& moment, Judgement& judgement);
  bool has_started() const { return has_started_; }
  wire::Psn first() const { return first_; }
  /// Requests that nobody answers, and that were sent again for it.
  struct Silence {
    bool was_answered = false;   // ever
    Time since;                  // the last answer, or the first request
    Time last_at;                // of the last request
    std::uint32_t attempts = 0;  // how often the ACK timer has run out since
    Duration interval{0};        // the last time
  };
  std::optional<Silence> silence() const;

 private:
  /// What follows a request that does not follow.
  enum class Shape : std::uint8_t {
    run,    // the PSNs behind it, as in go-back-N
    tail,   // it was the last one sent: whatever comes next follows it as well
    aside,  // the stream goes on as if it had not been there
  };
  struct Course {
    Shape shape = Shape::aside;
    std::int32_t steps = 0;  // so many follow in order
  };
  /// A request that is answered with data.
  struct Data {
    wire::Psn first;
    std::uint32_t count = 0;
    std::uint32_t delivered = 0;    // responses that have passed without a gap
    wire::Psn cursor;               // the next response, as it was asked for last
    std::deque<wire::Psn> earlier;  // the same, as it was asked for before: these may be under way
    SeenPsns seen;
    std::deque<wire::Psn> missed;  // told missing in one of these, and may yet come
    unsigned asked = 1;
    unsigned passed_over = 0;  // answers to later requests while it is incomplete
    bool was_told = false;     // that its end is missing
    bool is_guess = false;     // nobody knows how many there are
    bool is_implied = false;   // a later answer has shown that a response is missing
    wire::Psn end() const { return first + count; }
    bool is_complete() const { return delivered == count; }
    /// The passes over the responses, those asked for first before the others: the one in which it is next, and the one
    /// in which it is nearest to that.
    wire::Psn* pass_at(wire::Psn psn);
    wire::Psn* pass_before(wire::Psn psn);
    void keep_pass(wire::Psn next);
    void keep_missed(wire::Psn from, wire::Psn until);
    bool take_missed(wire::Psn psn);
  };
  struct Asked {  // what the requester is to send again, in the order in which it is told
    Cause cause = Cause::unknown;
    wire::Psn psn;
    Time at;
    Duration wait{0};  // RNR
  };
  struct Lost {  // selective repeat: a NAK has named it missing
    wire::Psn psn;
    Time told_at;
    bool came = false;  // again, since
  };
  struct Advance {
    wire::Psn behind;
    Time at;
  };
  struct Answer {
    wire::Psn psn;
    std::uint32_t msn = 0;
    std::uint8_t syndrome = 0;
    bool has_syndrome = false;
    bool was_acknowledge = false;
    Time at;
  };
  struct Sent {
    bool was_found = false;
    bool begins_there = false;  // a packet with this very PSN
    bool is_same = false;       // and with the same content, `same_at` the last of them
    Time same_at;
    Time at;
  };
  /// What speaks for a retransmission.
  struct Evidence {
    Cause cause = Cause::unknown;
    Duration since{0};
    Duration asked{0};
    std::optional<wire::Psn> from;     // where it ought to begin; of a timeout: what nobody has acknowledged
    std::size_t asked_for = SIZE_MAX;  // which of asked_
    /// The timer that counts retries has run out: it begins anew with each answer (IBTA 9.7.6.1.3).
    bool is_attempt() const { return cause == Cause::timeout && from.has_value(); }
  };

  static constexpr std::int32_t kStepsOfRun = 3;  // so many in order are no copies by chance
  static constexpr std::int32_t kLostInRowMax = 2;
  static constexpr std::int64_t kCopySpacings = 4;
  static constexpr std::size_t kPassesKept = 8;
  static constexpr std::size_t kDataPassesKept = 8;
  static constexpr std::size_t kMissedKept = 32;
  static constexpr std::size_t kAskedKept = 64;
  static constexpr std::size_t kDataKept = 256;
  static constexpr std::size_t kProgressKept = 1024;
  static constexpr std::size_t kAnswersKept = 512;
  static constexpr std::size_t kLookBehindMax = 4096;
  static constexpr std::size_t kLookAheadMax = 4096;
  static constexpr unsigned kPassedOverMax = 64;  // then the capture has missed the responses, not the requester

  // request_stream.cc
  void start(const Moment& moment);
  void follow(const Moment& moment, Judgement& judgement);
  void ahead(const Moment& moment, Judgement& judgement);
  void behind(const Moment& moment, Judgement& judgement);
  bool is_from_before(const Moment& moment) const;
  void from_before(const Moment& moment, Judgement& judgement);
  void find_repeat_of(const Moment& moment, FindingKind kind, Judgement& judgement) const;
  void find_gap(wire::Psn from, wire::Psn until, const Moment& moment, Judgement& judgement) const;
  bool is_hole(wire::Psn from, wire::Psn until, const Moment& moment) const;
  bool is_response_hole(wire::Psn from, wire::Psn until, const Moment& moment) const;
  bool is_passed_over(const Moment& answer) const;
  void find_gap_in_run(wire::Psn from, wire::Psn until, Judgement& judgement) const;
  void find_repeat(const Moment& moment, Course course, Judgement& judgement);
  bool is_copy_at_once(const Moment& moment) const;
  Course course_of(const Moment& moment) const;
  bool goes_on_there(const Moment& again, const Moment& moment) const;
  bool begins_run_at(const Moment& moment) const;
  bool has_passed(wire::Psn psn) const;
  bool is_missing_in_earlier_pass(wire::Psn psn) const;
  bool fill_earlier_pass(wire::Psn psn, std::uint32_t span);
  Sent last_sent(const Moment& moment) const;
  Duration silence_before(const Moment& moment, const Sent& sent) const;
  bool is_too_slow(const Moment& moment, Duration since, Duration silence) const {
    return rhythm_.is_too_slow(since, silence, moment.time - std::max(last_at_, last_answer_at_));
  }
  std::optional<Evidence> evidence_for(const Moment& moment, Course course) const;
  std::optional<Evidence> asked_for(const Moment& moment, Course course, Duration silence) const;
  bool may_react(const Asked& asked, const Moment& moment, bool is_exact, Duration silence) const;
  std::optional<Evidence> implied(const Moment& moment, Shape shape, const Sent& sent, Duration silence) const;
  bool is_unanswered(const Moment& moment, const Sent& sent, Duration silence) const;
  bool may_be_timeout(Shape shape, bool is_seen, bool was_answered, Duration silence, Duration quiet) const;
  bool has_begun_before(const Moment& moment, wire::Psn from, Duration since_cause) const;
  void find_retransmission(const Moment& moment, const Evidence& evidence, Judgement& judgement) const;
  void begin_run(const Moment& moment, const Evidence& evidence, Judgement& judgement);
  void note_data_request(const Moment& moment);
  const Moment& request_at(std::size_t order) const {
    return timeline_->moments()[timeline_->requests(requester_)[order]];
  }
  std::size_t request_count() const { return timeline_->requests(requester_).size(); }
  static void find(Judgement& judgement, FindingKind kind, wire::Psn psn, std::int32_t count = 1) {
    Finding finding;
    finding.kind = kind;
    finding.psn = psn;
    finding.count = static_cast<std::uint32_t>(count);
    judgement.findings.push_back(finding);
  }

  // selective_stream.cc
  static constexpr std::size_t kLostKept = 1024;
  void note_sack(const Moment& moment);
  void request_selectively(const Moment& moment, Judgement& judgement);

  // answers.cc
  void cut_answer(const Moment& moment, Judgement& judgement);
  void acknowledge_packet(const Moment& moment, Judgement& judgement);
  void data(const Moment& moment, Judgement& judgement);
  bool is_from_before(const Moment& moment, Data& data) const;
  void data_in_order(const Moment& moment, Data& data, Judgement& judgement);
  void data_from_before(const Moment& moment, Data& data, bool was_missed, Judgement& judgement) const;
  void data_held_back(const Moment& moment, const Data& data, Judgement& judgement) const;
  void data_behind(const Moment& moment, Data& data, Judgement& judgement);
  bool begins_answer_at(const Moment& moment, const Data& data) const;
  void find_repeated_data(const Moment& moment, bool was_asked_once, Judgement& judgement) const;
  static bool is_older_than(const Moment& moment, const Moment& other);
  void negative(const Moment& moment, const wire::Syndrome& syndrome, Judgement& judgement);
  void tell_skipped(wire::Psn behind, bool is_data, const Moment& moment, Judgement& judgement);
  void find_response_gap(wire::Psn from, wire::Psn until, const Moment& moment, Judgement& judgement) const;
  void acknowledge(wire::Psn behind, Time now, Judgement& judgement);
  void note_asked(Cause cause, wire::Psn psn, Time now, Duration wait = {});
  bool has_come_before(const Moment& moment) const;
  void remember(const Moment& moment);
  Data* data_at(wire::Psn psn);
  const Data* data_at(wire::Psn psn) const { return const_cast<RequestStream*>(this)->data_at(psn); }

  const Timeline* timeline_;
  unsigned requester_;
  Rhythm rhythm_;
  RhythmSurvey* survey_;

  bool has_started_ = false;
  wire::Psn first_;
  SeenPsns seen_;
  SeenPsns pass_;  // since the last retransmission began, with what it left out because it was acknowledged
  std::deque<SeenPsns> passes_;             // those before
  wire::Psn cursor_;                        // what is to come next; behind seen_.next() within a retransmission
  Time newest_at_;                          // when the last new request passed
  Time last_at_;                            // when the last request passed
  Time run_at_;                             // when the last retransmission began
  std::optional<std::uint32_t> run_order_;  // with which request
  Time behind_at_{-1};                      // when a request last passed that may draw an answer that was given before
  std::deque<Asked> asked_;
  std::deque<Data> data_;

  wire::Psn acked_;         // all before it are acknowledged
  bool knows_all_ = false;  // an answer has acknowledged just what has been seen
  bool any_answer_ = false;
  std::uint32_t attempts_ = 0;  // timeouts since the last answer
  Duration interval_{0};        // before the last of them
  Time first_at_;
  bool any_guess_ = false;       // how many PSNs a request takes
  bool any_cut_answer_ = false;  // one of which nobody knows what it says
  wire::Psn highest_answer_;     // one behind
  wire::Psn highest_data_;       // the same, of responses with data
  Time last_answer_at_;
  bool is_selective_ = false;  // from its first header of selective repeat on
  std::vector<Lost> lost_;
  std::deque<Advance> progress_;
  std::deque<Answer> answers_;
};

}  // namespace verbena::captures
