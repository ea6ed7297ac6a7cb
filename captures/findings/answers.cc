// RequestStream's other half: what the answers say.
// Tested by: tests/captures/story/story_test.cc, tests/captures/findings/truth_test.cc
#include <algorithm>

#include "captures/findings/request_stream.h"

namespace verbena::captures {

using wire::distance;
using wire::Psn;

void RequestStream::answer(const Moment& moment, Judgement& judgement) {
  if (!has_started_) return;  // the capture begins in the middle
  judgement.relative = distance(first_, moment.psn);
  if (distance(seen_.next(), moment.psn) >= 0) {
    find(judgement, FindingKind::unasked_answer, moment.psn, distance(seen_.next(), moment.psn) + 1);
    judgement.findings.back().is_sure = knows_all_ && !any_guess_ && !is_passed_over(moment);
    return;
  }
  if (survey_ != nullptr && moment.psn + 1 == seen_.next() && !moment.is_dropped)
    survey_->round_trip(moment.time - std::max(newest_at_, run_at_));
  if (moment.kind == Moment::Kind::acknowledge && !moment.has_syndrome)
    cut_answer(moment, judgement);
  else if (moment.kind == Moment::Kind::acknowledge)
    acknowledge_packet(moment, judgement);
  else
    data(moment, judgement);
  if (moment.is_dropped) return;
  remember(moment);
  any_answer_ = true;
  attempts_ = 0;
  last_answer_at_ = moment.time;
}

void RequestStream::remember(const Moment& moment) {
  if (answers_.size() == kAnswersKept) answers_.pop_front();
  answers_.push_back({moment.psn, moment.msn, moment.syndrome, moment.has_syndrome,
                      moment.kind == Moment::Kind::acknowledge, moment.time});
}

/// The very same, and no request since that may have drawn it once more.
bool RequestStream::has_come_before(const Moment& moment) const {
  const auto same = std::find_if(answers_.rbegin(), answers_.rend(), [&](const Answer& before) {
    return before.was_acknowledge && before.psn == moment.psn && before.msn == moment.msn &&
           before.syndrome == moment.syndrome;
  });
  return same != answers_.rend() && behind_at_ < same->at;
}

/// An acknowledgement or a NAK: either has all before its PSN.
void RequestStream::cut_answer(const Moment& moment, Judgement& judgement) {
  any_cut_answer_ = true;
  tell_skipped(moment.psn, false, moment, judgement);
  if (distance(highest_answer_, moment.psn) > 0) highest_answer_ = moment.psn;
  if (moment.is_dropped) return;
  acknowledge(moment.psn, moment.time, judgement);
}

void RequestStream::acknowledge_packet(const Moment& moment, Judgement& judgement) {
  const wire::Syndrome syndrome = wire::Syndrome::decode(moment.syndrome);
  const bool is_positive = syndrome.kind == wire::Syndrome::Kind::ack;
  const Psn behind = is_positive ? moment.psn + 1 : moment.psn;
  tell_skipped(behind, false, moment, judgement);
  if (!moment.has_recovery_header && has_come_before(moment))  // a SACK says something new each time
    find(judgement, FindingKind::repeated_answer, moment.psn);
  else if (is_positive && distance(behind, highest_answer_) > 0 && distance(first_, behind) > 0)
    find(judgement, FindingKind::late_answer, moment.psn);  // a NAK may leave behind the responses to what came later
  if (distance(highest_answer_, behind) > 0) highest_answer_ = behind;
  if (!is_positive) negative(moment, syndrome, judgement);
  if (moment.is_dropped) return;
  if (is_positive && behind == seen_.next()) knows_all_ = true;
  acknowledge(behind, moment.time, judgement);
}

void RequestStream::negative(const Moment& moment, const wire::Syndrome& syndrome, Judgement& judgement) {
  const bool is_sequence_error =
      syndrome.kind == wire::Syndrome::Kind::nak && syndrome.nak_code() == wire::NakCode::psn_sequence_error;
  // What was lost before the capture's first packet may be asked for as well.
  const bool is_news = !moment.is_dropped && (distance(acked_, moment.psn) >= 0 || acked_ == first_);
  if (syndrome.kind == wire::Syndrome::Kind::rnr_nak) {
    const Duration wait = wire::rnr_timer(syndrome.value);
    find(judgement, FindingKind::rnr_nak, moment.psn);
    judgement.findings.back().asked = wait;
    if (is_news) note_asked(Cause::rnr_nak, moment.psn, moment.time, wait);
  } else if (is_sequence_error) {
    find(judgement, FindingKind::nak, moment.psn);
    if (moment.has_sack && !moment.is_dropped) note_sack(moment);
    if (is_news) note_asked(Cause::sequence_nak, moment.psn, moment.time);
  } else {
    find(judgement, FindingKind::fatal_nak, moment.psn);
  }
}

void RequestStream::data(const Moment& moment, Judgement& judgement) {
  tell_skipped(moment.psn, true, moment, judgement);
  Data* asked = data_at(moment.psn);
  if (asked == nullptr) {  // the request is from before the capture
    if (!moment.is_dropped) acknowledge(moment.psn + 1, moment.time, judgement);
    return;
  }
  if (is_copy_at_once(moment))
    find_repeated_data(moment, true, judgement);
  else if (Psn* next = asked->pass_at(moment.psn))
    *next = moment.psn + 1;
  else if (asked->asked > 1 && asked->take_missed(moment.psn))
    data_from_before(moment, *asked, true, judgement);
  else if (distance(asked->cursor, moment.psn) < 0 || (asked->was_told && asked->asked == 1))
    data_behind(moment, *asked, judgement);
  else if (is_from_before(moment, *asked))
    data_from_before(moment, *asked, false, judgement);
  else
    data_in_order(moment, *asked, judgement);
  const bool is_late = !judgement.findings.empty() && judgement.findings.back().kind == FindingKind::late_answer;
  judgement.is_again = !is_late && distance(moment.psn, highest_data_) > 0;
  if (distance(highest_data_, moment.psn + 1) > 0) highest_data_ = moment.psn + 1;
  asked->seen.add(moment.psn, 1);
  if (distance(highest_answer_, moment.psn + 1) > 0) highest_answer_ = moment.psn + 1;
  if (moment.is_dropped) return;
  if (asked->first + asked->delivered == moment.psn) ++asked->delivered;
  acknowledge(moment.psn + 1, moment.time, judgement);
}

/// Whether it is of what was sent before the responder began anew: the responses go on with what it leaves out.
bool RequestStream::is_from_before(const Moment& moment, Data& asked) const {
  if (asked.asked == 1) return false;
  const auto moments = timeline_->moments();
  const std::size_t end = std::min(moments.size(), moment.index + 1 + kLookAheadMax);
  Contest contest(*asked.pass_before(moment.psn), moment);
  for (std::size_t i = moment.index + 1; i < end && !contest.is_over(); ++i) {
    const Moment& following = moments[i];
    if (following.kind == Moment::Kind::request && following.sender == requester_ &&
        distance(following.psn, moment.psn) >= 0)
      break;  // what follows is an answer to this
    if (following.kind != Moment::Kind::data || following.sender == requester_) continue;
    if (distance(moment.psn, following.psn) > 0 && asked.pass_at(following.psn) != nullptr) return true;
    contest.follow(following.psn, 1);
  }
  return contest.is_aside();
}

void RequestStream::data_held_back(const Moment& moment, const Data& asked, Judgement& judgement) const {
  if (asked.seen.has(moment.psn))
    find_repeated_data(moment, false, judgement);
  else
    find(judgement, FindingKind::late_answer, moment.psn);
}

void RequestStream::data_from_before(const Moment& moment, Data& asked, bool was_missed, Judgement& judgement) const {
  const auto responses = timeline_->data(1 - requester_);
  const Psn before = moment.order == 0 ? moment.psn : timeline_->moments()[responses[moment.order - 1]].psn;
  const std::int32_t step = distance(before, moment.psn);
  if ((asked.seen.has(moment.psn) && !was_missed) || step <= 0 || step > kLostInRowMax + 1) {
    data_held_back(moment, asked, judgement);
    return;
  }
  // One of several that come in order: not held back, but answers to the request as it was before.
  if (step > 1 && !was_missed && !asked.seen.has(before + 1))
    find_response_gap(before + 1, moment.psn, moment, judgement);
  asked.keep_pass(moment.psn + 1);
}

void RequestStream::data_in_order(const Moment& moment, Data& asked, Judgement& judgement) {
  Psn& next = *asked.pass_before(moment.psn);
  if (distance(next, moment.psn) > 0) {
    // Of what was asked for again some may be overtaken, and have passed in an answer of before.
    if (asked.asked == 1 || !asked.seen.has(next)) find_response_gap(next, moment.psn, moment, judgement);
    asked.keep_missed(next, moment.psn);
  }
  next = moment.psn + 1;
}

/// A response whose PSN has been passed, and nobody in the capture asked for it again.
void RequestStream::data_behind(const Moment& moment, Data& asked, Judgement& judgement) {
  const bool begins = begins_answer_at(moment, asked);  // the responder has begun anew: the request came twice
  if (asked.seen.has(moment.psn))
    find_repeated_data(moment, asked.asked == 1 || begins, judgement);
  else if (!begins)
    find(judgement, FindingKind::late_answer, moment.psn);
  if (!begins) return;
  asked.keep_pass(asked.cursor);
  asked.cursor = moment.psn + 1;
}

bool RequestStream::begins_answer_at(const Moment& moment, const Data& asked) const {
  const auto responses = timeline_->data(1 - requester_);
  if (moment.order + 1 == responses.size() || moment.psn + 1 == asked.cursor) return false;
  return timeline_->moments()[responses[moment.order + 1]].psn == moment.psn + 1;
}

/// Its PSN has passed. If it was asked for more than once, a copy and one that was held back look alike. But the first
/// and the last response to a request differ from those between, and so does what was sent before from what is sent
/// now.
void RequestStream::find_repeated_data(const Moment& moment, bool was_asked_once, Judgement& judgement) const {
  const auto responses = timeline_->data(1 - requester_);
  const std::size_t least = moment.order > kLookBehindMax ? moment.order - kLookBehindMax : 0;
  const Moment* other = nullptr;
  for (std::size_t i = moment.order; i-- > least;) {
    const Moment& before = timeline_->moments()[responses[i]];
    if (!(before.psn == moment.psn)) continue;
    if (other == nullptr) other = &before;
    if (before.content != moment.content) continue;
    find(judgement, was_asked_once ? FindingKind::repeated_answer : FindingKind::seen_before, moment.psn);
    judgement.findings.back().since = moment.time - before.time;
    return;
  }
  if (was_asked_once) {
    find(judgement, FindingKind::repeated_answer, moment.psn);
  } else if (other != nullptr && is_older_than(moment, *other)) {
    find(judgement, FindingKind::late_answer, moment.psn);
  }
}

/// Of two responses with one PSN: whether it answers a request that was sent before the other's. READs that are asked
/// for again begin where something is missing, so the middle of one answer is where a later one begins; and MSNs grow.
bool RequestStream::is_older_than(const Moment& moment, const Moment& other) {
  if (!moment.has_syndrome) return other.has_syndrome;
  return other.has_syndrome && distance(Psn(moment.msn), Psn(other.msn)) > 0;
}

/// Requests are answered in their order: what an answer to a later one leaves out was lost before the capture, or was
/// overtaken.
void RequestStream::tell_skipped(Psn behind, bool is_data, const Moment& moment, Judgement& judgement) {
  for (auto asked = data_.rbegin(); asked != data_.rend(); ++asked) {
    if (distance(asked->end(), behind) < 0) continue;
    if (asked->was_told || (asked->asked > 1 && !is_data)) break;
    const Psn next = asked->seen.next();
    const bool is_open = distance(next, asked->end()) > 0 && !asked->is_guess;
    asked->was_told = true;
    if (!is_open) break;
    find_response_gap(next, asked->end(), moment, judgement);
  }
}

/// All before `behind` has been executed, so far as no response is missing: that is asked for again first.
void RequestStream::acknowledge(Psn behind, Time now, Judgement& judgement) {
  for (auto asked = data_.begin(); asked != data_.end(); ++asked) {
    if (distance(asked->first, behind) <= 0) break;
    if (asked->is_complete()) continue;
    const Psn missing = asked->first + asked->delivered;
    if (distance(missing, behind) <= 0) break;
    if (distance(asked->end(), behind) > 0 && ++asked->passed_over > kPassedOverMax) {
      asked->delivered = asked->count;
      continue;
    }
    if (!asked->is_implied) note_asked(Cause::implied_nak, missing, now);
    asked->is_implied = true;
    behind = missing;
    break;
  }
  const std::int32_t progress = distance(acked_, behind);
  if (progress <= 0 || progress > kRestartPackets) return;
  acked_ = behind;
  judgement.acknowledged = static_cast<std::uint32_t>(progress);
  if (progress_.size() == kProgressKept) progress_.pop_front();
  progress_.push_back({behind, now});
}

void RequestStream::note_asked(Cause cause, Psn psn, Time now, Duration wait) {
  if (asked_.size() == kAskedKept) asked_.pop_front();
  asked_.push_back({cause, psn, now, wait});
}

Psn* RequestStream::Data::pass_at(Psn psn) {
  const auto found = std::find(earlier.begin(), earlier.end(), psn);
  if (found != earlier.end()) return &*found;
  return cursor == psn ? &cursor : nullptr;
}

Psn* RequestStream::Data::pass_before(Psn psn) {
  Psn* nearest = &cursor;
  for (Psn& next : earlier)
    if (distance(next, psn) >= 0 && distance(*nearest, next) > 0) nearest = &next;
  return nearest;
}

void RequestStream::Data::keep_missed(Psn from, Psn until) {
  for (std::size_t kept = 0; distance(from, until) > 0 && kept < kMissedKept; from = from + 1, ++kept) {
    if (missed.size() == kMissedKept) missed.pop_front();
    missed.push_back(from);
  }
}

bool RequestStream::Data::take_missed(Psn psn) {
  const auto found = std::find(missed.begin(), missed.end(), psn);
  if (found == missed.end()) return false;
  missed.erase(found);
  return true;
}

void RequestStream::Data::keep_pass(Psn next) {
  if (distance(next, end()) <= 0) return;
  if (earlier.size() == kDataPassesKept) earlier.pop_front();
  earlier.push_back(next);
}

RequestStream::Data* RequestStream::data_at(Psn psn) {
  for (auto asked = data_.rbegin(); asked != data_.rend(); ++asked) {
    const std::int32_t offset = distance(asked->first, psn);
    if (offset >= 0) return offset < static_cast<std::int32_t>(asked->count) ? &*asked : nullptr;
  }
  return nullptr;
}

}  // namespace verbena::captures
