// RequestStream: requests of a queue pair with selective repeat. It does not go back: a packet that comes again comes
// alone, because a NAK with a SACK has named it missing, or after a silence.
// Tested by: tests/captures/story/story_test.cc
#include <algorithm>

#include "captures/findings/request_stream.h"

namespace verbena::captures {

using wire::distance;
using wire::Psn;

void RequestStream::note_sack(const Moment& moment) {
  is_selective_ = true;
  constexpr std::int32_t kBits = 64;
  std::erase_if(lost_, [&](const Lost& lost) { return distance(lost.psn, moment.psn) > 0; });
  const std::int32_t ahead = distance(moment.psn, moment.sack_highest);
  for (std::int32_t i = ahead; i > 0; --i) {
    const Psn psn = moment.sack_highest - static_cast<std::uint32_t>(i);
    const bool has_arrived = i <= kBits && (moment.sack_below >> (i - 1) & 1) != 0;
    const bool is_known = std::any_of(lost_.begin(), lost_.end(), [&](const Lost& lost) { return lost.psn == psn; });
    if (!has_arrived && !is_known && lost_.size() < kLostKept) lost_.push_back({psn, moment.time, false});
  }
}

void RequestStream::request_selectively(const Moment& moment, Judgement& judgement) {
  const std::int32_t off = distance(seen_.next(), moment.psn);
  if (off >= 0) {
    find_gap(seen_.next(), moment.psn, moment, judgement);
    return follow(moment, judgement);
  }
  const auto lost =
      std::find_if(lost_.begin(), lost_.end(), [&](const Lost& one) { return one.psn == moment.psn && !one.came; });
  const Sent sent = last_sent(moment);
  const bool was_told = lost != lost_.end();
  const bool is_copy = sent.is_same && is_copy_at_once(moment);
  const Duration silence = moment.time - last_answer_at_;
  if (is_copy || (!was_told && sent.is_same && distance(moment.psn, acked_) > 0)) {
    find_repeat_of(moment, is_copy ? FindingKind::duplicate : FindingKind::seen_before, judgement);
  } else if (was_told || sent.is_same) {
    Evidence evidence;
    evidence.cause = was_told ? Cause::sequence_nak : moment.awaits_data ? Cause::unknown : Cause::timeout;
    evidence.since = was_told ? moment.time - lost->told_at : silence;
    find_retransmission(moment, evidence, judgement);
    judgement.findings.back().is_selective = true;
  } else {
    find(judgement, FindingKind::late_or_again, moment.psn);
  }
  if (was_told) lost->came = true;
  behind_at_ = moment.time;
  seen_.add(moment.psn, moment.span);
}

}  // namespace verbena::captures
