#include "captures/findings/request_stream.h"

#include <algorithm>

namespace verbena::captures {

using wire::distance;
using wire::Psn;

namespace {

bool is_negative(const Moment& moment) {
  return moment.kind == Moment::Kind::acknowledge && (moment.syndrome & 0x60) != 0;
}

}  // namespace

void RequestStream::start(const Moment& moment) {
  *this = RequestStream(*timeline_, requester_, rhythm_, survey_);
  has_started_ = true;
  first_ = acked_ = cursor_ = highest_answer_ = highest_data_ = moment.psn;
  seen_.start(moment.psn);
  pass_.start(moment.psn);
  newest_at_ = last_at_ = run_at_ = last_answer_at_ = first_at_ = moment.time;
}

void RequestStream::request(const Moment& moment, Judgement& judgement) {
  const std::int32_t off = has_started_ ? distance(seen_.next(), moment.psn) : 0;
  const bool is_far = off > kRestartPackets || off < -kRestartPackets;
  judgement.begins_anew = has_started_ && is_far;
  if (!has_started_ || is_far) start(moment);
  const std::int32_t away = distance(cursor_, moment.psn);
  is_selective_ = is_selective_ || moment.has_recovery_header;
  any_guess_ = any_guess_ || moment.span_is_guess;
  if (is_selective_)
    request_selectively(moment, judgement);
  else if (away < 0)
    behind(moment, judgement);
  else
    ahead(moment, judgement);
  if (moment.awaits_data) note_data_request(moment);
  judgement.relative = distance(first_, moment.psn);
  last_at_ = moment.time;
}

/// It is where the stream has got to: new, or the next of a retransmission.
void RequestStream::follow(const Moment& moment, Judgement& judgement) {
  const bool is_new = distance(seen_.next(), moment.psn) >= 0;
  if (is_new) {
    if (survey_ != nullptr && seen_.next() == moment.psn && !(seen_.next() == first_)) {
      survey_->spacing(moment.time - newest_at_);
      if (acked_ == seen_.next() && any_answer_) survey_->next_request(moment.time - last_answer_at_);
    }
    newest_at_ = moment.time;
  } else {
    judgement.is_again = true;
    behind_at_ = moment.time;
  }
  seen_.add(moment.psn, moment.span);
  pass_.add(moment.psn, moment.span);
  cursor_ = moment.psn + moment.span;
}

/// Whether it has been seen, since the last retransmission began if that was to bring it.
bool RequestStream::has_passed(Psn psn) const {
  return distance(pass_.first(), psn) >= 0 ? pass_.has(psn) : seen_.has(psn);
}

void RequestStream::ahead(const Moment& moment, Judgement& judgement) {
  // What was acknowledged meanwhile is left out when it is sent again.
  const Psn from = distance(cursor_, acked_) > 0 ? acked_ : cursor_;
  const Psn highest = seen_.next();
  if (moment.is_reliable && is_from_before(moment)) {
    from_before(moment, judgement);
    return;
  }
  const Psn again_until = distance(highest, moment.psn) > 0 ? highest : moment.psn;
  // It may as well be from before the retransmission, unless that goes on from there.
  if (begins_run_at(moment)) find_gap_in_run(from, again_until, judgement);
  const Psn new_from = later_of(highest, from);
  find_gap(new_from, moment.psn, moment, judgement);
  follow(moment, judgement);
}

/// What a retransmission has not brought; what has overtaken the rest of it counts as brought.
void RequestStream::find_gap_in_run(Psn from, Psn until, Judgement& judgement) const {
  while (distance(from, until) > 0) {
    Psn end = from;
    while (distance(end, until) > 0 && !pass_.has(end)) end = distance(pass_.next(), end) >= 0 ? until : end + 1;
    if (distance(from, end) > 0) find(judgement, FindingKind::gap_in_run, from, distance(from, end));
    while (distance(end, until) > 0 && pass_.has(end)) end = end + 1;
    from = end;
  }
}

/// Whether it is of what was sent before the retransmission that is under way, and was overtaken by that: the
/// retransmission goes on with what the packet leaves out, and not with what is behind it.
bool RequestStream::is_from_before(const Moment& moment) const {
  if (distance(cursor_, moment.psn) <= 0 || distance(cursor_, seen_.next()) <= 0) return false;
  const auto moments = timeline_->moments();
  const std::size_t end = std::min(moments.size(), moment.index + 1 + kLookAheadMax);
  Contest contest(cursor_, moment);
  std::optional<Time> asked_at;
  for (std::size_t i = moment.index + 1; i < end && !contest.is_over(); ++i) {
    const Moment& following = moments[i];
    if (following.is_aside()) continue;
    if (following.sender != requester_) {
      if (is_negative(following) && following.psn == contest.next() && !asked_at) asked_at = following.time;
      continue;
    }
    if (following.kind != Moment::Kind::request) continue;
    // What comes there is sent because of the NAK, unless no requester is so quick.
    const bool is_asked = asked_at && (following.time - *asked_at).ns * 2 >= rhythm_.reaction.ns;
    if (is_asked && !contest.has_gone_on()) return false;
    if (distance(contest.next(), following.psn) < 0 && begins_run_at(following)) break;
    contest.follow(following.psn, following.span);
  }
  return contest.is_aside();
}

/// The retransmission under way goes on as if it had not been there.
void RequestStream::from_before(const Moment& moment, Judgement& judgement) {
  const Psn highest = seen_.next();
  find_gap(highest, moment.psn, moment, judgement);
  if (seen_.has(moment.psn))
    find_repeat(moment, {}, judgement);
  else
    find(judgement, passes_.empty() ? FindingKind::late_or_again : FindingKind::late, moment.psn);
  const bool may_be_of_this = judgement.findings.back().kind == FindingKind::seen_before;
  if (may_be_of_this)
    pass_.add(moment.psn, moment.span);
  else if (!passes_.empty())
    passes_.back().add(moment.psn, moment.span);
  behind_at_ = moment.time;
  seen_.add(moment.psn, moment.span);
}

/// Follows the PSNs behind it, as long as they may be of one retransmission.
RequestStream::Course RequestStream::course_of(const Moment& moment) const {
  Psn next = moment.psn + moment.span;
  if (next == cursor_) return {Shape::tail};
  const bool is_seen = has_passed(moment.psn);
  const auto moments = timeline_->moments();
  const std::size_t end = std::min(moments.size(), moment.index + 1 + kLookAheadMax);
  Psn acknowledged = acked_;  // by what passes meanwhile: it is left out
  constexpr std::int32_t kLostAtOnceMax = 2;
  std::int32_t steps = 0;
  const auto run_if = [&](bool is_run) { return Course{is_run ? Shape::run : Shape::aside, steps}; };
  for (std::size_t i = moment.index + 1; i < end; ++i) {
    const Moment& following = moments[i];
    if (following.is_aside()) continue;
    if (following.sender != requester_) {
      if (following.kind == Moment::Kind::request) continue;
      const bool is_nak = following.has_syndrome && (following.syndrome & 0x60) != 0;
      if (is_nak && following.psn == next)
        return is_seen && steps == 0 ? Course{Shape::tail} : run_if(is_seen);  // what comes there is sent because of it
      const bool is_cut = following.kind == Moment::Kind::acknowledge && !following.has_syndrome;
      if (!is_nak) acknowledged = later_of(acknowledged, is_cut ? following.psn : following.psn + 1);
      continue;
    }
    if (following.kind != Moment::Kind::request) continue;
    const std::int32_t off = distance(next, following.psn);
    const Psn behind_it = following.psn + following.span;
    if (off < 0) {  // a copy, something late, or the next retransmission
      if (steps == 0 && following.psn == moment.psn && goes_on_there(following, moment)) return {};
      if (behind_it == next || !begins_run_at(following)) continue;
      return run_if(is_seen && steps != 0);
    }
    const bool is_left_out =
        off > 0 && distance(following.psn, acknowledged) >= 0 && distance(acked_, following.psn) > 0;
    if (off > 0 && distance(following.psn, cursor_) <= 0 && !is_left_out) break;
    if (off > 0 && distance(following.psn, cursor_) > 0 && !has_passed(following.psn)) continue;  // something late
    if (off > kLostAtOnceMax + steps && !is_left_out) break;
    if (!is_seen && has_passed(following.psn)) return {Shape::run, steps};
    ++steps;
    next = behind_it;
    if (distance(next, cursor_) <= 0) return run_if(is_seen);
  }
  return run_if(is_seen && steps >= kStepsOfRun);
}

/// The same comes again, and what follows is nearer to that: the retransmission begins there.
bool RequestStream::goes_on_there(const Moment& again, const Moment& moment) const {
  return begins_run_at(again) && (again.time - moment.time).ns > 2 * (request_at(again.order + 1).time - again.time).ns;
}

bool RequestStream::begins_run_at(const Moment& moment) const {
  return moment.order + 1 < request_count() && request_at(moment.order + 1).psn == moment.psn + moment.span;
}

RequestStream::Sent RequestStream::last_sent(const Moment& moment) const {
  Sent sent;
  const std::size_t least = moment.order > kLookBehindMax ? moment.order - kLookBehindMax : 0;
  for (std::size_t i = moment.order; i-- > least;) {
    const Moment& before = request_at(i);
    const std::int32_t offset = distance(before.psn, moment.psn);
    if (offset < 0 || offset >= static_cast<std::int32_t>(before.span)) continue;
    if (!sent.was_found) sent.at = before.time;
    sent.was_found = true;
    if (offset != 0) continue;
    sent.begins_there = true;
    if (before.content != moment.content) continue;
    sent.is_same = true;
    sent.same_at = before.time;
    return sent;
  }
  return sent;
}

/// It does not follow: its PSN has been passed.
void RequestStream::behind(const Moment& moment, Judgement& judgement) {
  const bool is_seen = has_passed(moment.psn);
  const Course course = course_of(moment);
  const auto evidence = moment.is_reliable ? evidence_for(moment, course) : std::nullopt;
  const bool is_apart = evidence && evidence->cause == Cause::unknown && course.shape == Shape::aside;
  if (is_apart) {  // sent again alone: the stream goes on where it was
    find_retransmission(moment, *evidence, judgement);
  } else if (evidence) {
    begin_run(moment, *evidence, judgement);
  } else if (is_seen) {
    find_repeat(moment, course, judgement);
  } else {
    // More behind it, and something was asked for: it may begin a retransmission of which the rest did not pass.
    const bool may_be_again = moment.is_reliable && course.steps != 0 && !asked_.empty();
    if (may_be_again && seen_.has(moment.psn))
      find_repeat_of(moment, FindingKind::seen_before, judgement);
    else
      find(judgement, may_be_again ? FindingKind::late_or_again : FindingKind::late, moment.psn);
  }
  behind_at_ = moment.time;
  seen_.add(moment.psn, moment.span);
  if (distance(pass_.first(), moment.psn) >= 0) pass_.add(moment.psn, moment.span);
}

/// Its PSN has passed, and it begins no retransmission. Where the requester may have sent it more than once, a copy and
/// one of these that was held back look alike.
void RequestStream::find_repeat(const Moment& moment, Course course, Judgement& judgement) {
  const bool was_sent_once =
      asked_.empty() && !any_cut_answer_ && std::none_of(passes_.begin(), passes_.end(), [&](const SeenPsns& pass) {
        return distance(pass.first(), moment.psn) >= 0 && distance(moment.psn, pass.next()) > 0;
      });
  const Shape shape = course.shape;
  const bool was_missing = fill_earlier_pass(moment.psn, moment.span);
  const Sent sent = last_sent(moment);
  const bool was_asked_for =
      std::any_of(asked_.begin(), asked_.end(), [&](const Asked& asked) { return asked.psn == moment.psn; });
  const bool may_begin = shape == Shape::tail || was_asked_for || (shape == Shape::aside && course.steps != 0);
  if (!sent.is_same || (was_missing && !may_begin)) {
    find(judgement, FindingKind::late, moment.psn);
    return;
  }
  const bool may_be_second_run = run_order_ && *run_order_ + 1 == moment.order;
  // What awaits data is sent again for their sake, and nothing in the capture may show that they are missing.
  const bool may_be_asked_again = moment.awaits_data && (moment.time - sent.same_at).ns > rhythm_.round.ns;
  const bool is_a_copy = !moment.is_reliable || (was_sent_once && shape == Shape::tail && !may_be_asked_again) ||
                         (is_copy_at_once(moment) && !was_missing && !may_be_second_run);
  find_repeat_of(moment, is_a_copy ? FindingKind::duplicate : FindingKind::seen_before, judgement);
}

void RequestStream::find_repeat_of(const Moment& moment, FindingKind kind, Judgement& judgement) const {
  const Sent sent = last_sent(moment);
  find(judgement, kind, moment.psn);
  judgement.findings.back().since = moment.time - (sent.is_same ? sent.same_at : sent.at);
}

/// It comes right behind the same packet, and sooner than its sender could have heard of anything.
bool RequestStream::is_copy_at_once(const Moment& moment) const {
  if (moment.order == 0) return false;
  const auto stream =
      moment.kind == Moment::Kind::request ? timeline_->requests(requester_) : timeline_->data(1 - requester_);
  const Moment& before = timeline_->moments()[stream[moment.order - 1]];
  return before.psn == moment.psn && before.content == moment.content &&
         (moment.time - before.time).ns <= kCopySpacings * rhythm_.spacing.ns;
}

bool RequestStream::is_missing_in_earlier_pass(Psn psn) const {
  return std::any_of(passes_.begin(), passes_.end(), [&](const SeenPsns& pass) {
    return distance(pass.first(), psn) >= 0 && distance(psn, pass.next()) > 0 && !pass.has(psn);
  });
}

/// A retransmission has brought it, or left it out, and one of those before it did not.
bool RequestStream::fill_earlier_pass(Psn psn, std::uint32_t span) {
  for (SeenPsns& pass : passes_) {
    if (distance(pass.first(), psn) < 0 || distance(psn, pass.next()) <= 0 || pass.has(psn)) continue;
    pass.add(psn, span);
    return true;
  }
  return false;
}

/// Whether what the retransmission begins with has passed, and could not be told from a copy: here it is seen to go on.
bool RequestStream::has_begun_before(const Moment& moment, Psn from, Duration since_cause) const {
  const std::size_t least = moment.order > kLookBehindMax ? moment.order - kLookBehindMax : 0;
  for (std::size_t i = moment.order; i-- > least;) {
    const Moment& before = request_at(i);
    if (i + 1 == moment.order && before.psn + before.span == moment.psn) return true;
    if (before.time < moment.time - since_cause) return false;
    if (distance(from, before.psn) >= 0 && distance(before.psn, moment.psn) > 0) return true;
  }
  return false;
}

/// The first packet of a go-back-N.
void RequestStream::begin_run(const Moment& moment, const Evidence& evidence, Judgement& judgement) {
  const Psn from = evidence.from ? later_of(*evidence.from, acked_) : moment.psn;
  const bool has_begun = evidence.cause != Cause::unknown && has_begun_before(moment, from, evidence.since);
  if (distance(from, moment.psn) > 0 && evidence.cause != Cause::unknown && !has_begun)
    find(judgement, FindingKind::gap_in_run, from, distance(from, moment.psn));
  if (evidence.cause == Cause::unknown && fill_earlier_pass(moment.psn, moment.span))
    find_repeat_of(moment, FindingKind::seen_before, judgement);
  else if (!has_begun)
    find_retransmission(moment, evidence, judgement);
  judgement.is_again = true;
  if (survey_ != nullptr) {
    if (evidence.cause == Cause::sequence_nak) survey_->reaction(evidence.since);
    if (evidence.cause == Cause::timeout && distance(moment.psn, acked_) <= 0) survey_->timeout(evidence.since);
  }
  cursor_ = moment.psn + moment.span;
  if (passes_.size() == kPassesKept) passes_.pop_front();
  passes_.push_back(pass_);
  pass_.start(distance(from, moment.psn) > 0 && evidence.cause != Cause::unknown ? from : moment.psn);
  pass_.add(moment.psn, moment.span);
  run_at_ = moment.time;
  run_order_ = moment.order;
  // Whoever has acted upon one has had those before it. What nothing of these explains may still come.
  if (evidence.is_attempt() && !has_begun) {
    ++attempts_;
    interval_ = evidence.since;
  }
  if (evidence.asked_for != SIZE_MAX)
    asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(evidence.asked_for) + 1);
  else if (evidence.cause != Cause::implied_nak)
    asked_.clear();
}

void RequestStream::find_retransmission(const Moment& moment, const Evidence& evidence, Judgement& judgement) const {
  Finding finding;
  finding.kind = FindingKind::retransmission;
  finding.cause = evidence.cause == Cause::unknown && any_cut_answer_ ? Cause::cut_answer : evidence.cause;
  finding.psn = moment.psn;
  finding.count = static_cast<std::uint32_t>(std::max(1, distance(moment.psn, seen_.next())));
  finding.since = evidence.since;
  finding.asked = evidence.asked;
  finding.attempt = evidence.is_attempt() && attempts_ != 0 ? attempts_ + 1 : 0;
  finding.is_read = moment.is_read;
  finding.answer_passed = evidence.cause == Cause::timeout && (!asked_.empty() || distance(moment.psn, acked_) > 0);
  judgement.findings.push_back(finding);
  judgement.is_again = true;
}

void RequestStream::note_data_request(const Moment& moment) {
  if (Data* asked = data_at(moment.psn)) {
    asked->keep_pass(asked->cursor);
    asked->cursor = moment.psn;
    ++asked->asked;
    asked->was_told = asked->is_implied = false;
    asked->passed_over = 0;
    return;
  }
  if (data_.size() == kDataKept) data_.pop_front();
  auto at = data_.end();
  while (at != data_.begin() && distance(std::prev(at)->first, moment.psn) < 0) --at;
  Data made;
  made.first = made.cursor = moment.psn;
  made.count = moment.span;
  made.is_guess = moment.span_is_guess;
  made.seen.start(moment.psn);
  data_.insert(at, made);
}

}  // namespace verbena::captures
