#include "cli/explain/request_stream.h"

#include <algorithm>

namespace verbena::explain {

using wire::distance;
using wire::Psn;

namespace {

Psn later_of(Psn a, Psn b) {
  return distance(a, b) > 0 ? b : a;
}

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
  newest_at_ = last_at_ = run_at_ = last_answer_at_ = moment.time;
}

void RequestStream::request(const Moment& moment, Judgement& judgement) {
  const std::int32_t off = has_started_ ? distance(seen_.next(), moment.psn) : 0;
  const bool is_far = off > kRestartPackets || off < -kRestartPackets;
  judgement.begins_anew = has_started_ && is_far;
  if (!has_started_ || is_far) start(moment);
  const std::int32_t away = distance(cursor_, moment.psn);
  if (away < 0)
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
  if (distance(cursor_, from) > 0) pass_.add(cursor_, static_cast<std::uint32_t>(distance(cursor_, from)));
  const Psn highest = seen_.next();
  if (moment.is_reliable && is_from_before(moment)) {
    from_before(moment, judgement);
    return;
  }
  const Psn again_until = distance(highest, moment.psn) > 0 ? highest : moment.psn;
  if (distance(from, again_until) > 0) find(judgement, FindingKind::gap_in_run, from, distance(from, again_until));
  const Psn new_from = later_of(highest, from);
  if (distance(new_from, moment.psn) > 0) find(judgement, FindingKind::gap, new_from, distance(new_from, moment.psn));
  follow(moment, judgement);
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
    if (following.kind == Moment::Kind::ignored) continue;
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
  if (distance(highest, moment.psn) > 0) find(judgement, FindingKind::gap, highest, distance(highest, moment.psn));
  if (seen_.has(moment.psn)) {
    if (fill_earlier_pass(moment.psn, moment.span))
      find(judgement, FindingKind::late, moment.psn);
    else
      find_copy(moment, judgement);
  } else {
    find(judgement, FindingKind::late, moment.psn);
  }
  if (!passes_.empty()) passes_.back().add(moment.psn, moment.span);
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
    if (following.kind == Moment::Kind::ignored) continue;
    if (following.sender != requester_) {
      if (following.kind == Moment::Kind::request) continue;
      const bool is_nak = following.has_syndrome && (following.syndrome & 0x60) != 0;
      if (is_nak && following.psn == next)
        return is_seen && steps == 0 ? Course{Shape::tail} : run_if(is_seen);  // what comes there is sent because of it
      if (!is_nak) acknowledged = later_of(acknowledged, following.psn + 1);
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
    if (off > 0 && !is_seen && !has_passed(following.psn)) continue;  // as late as this one
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
    if (!sent.was_found) sent = {true, offset == 0, before.time};
    if (offset == 0) {
      sent.begins_there = true;
      return sent;
    }
  }
  return sent;
}

/// Since the requester's ACK timer began anew, if it has gone back to this PSN because it had nothing beyond: when all
/// before it was acknowledged, or when it was sent last.
Duration RequestStream::silence_before(const Moment& moment, const Sent& sent) const {
  Time since = sent.was_found ? sent.at : run_at_;
  for (auto at = progress_.rbegin(); at != progress_.rend(); ++at) {
    if (distance(at->behind, moment.psn) < 0) continue;
    since = std::max(since, at->at);
    break;
  }
  return moment.time - since;
}

std::optional<RequestStream::Evidence> RequestStream::asked_for(const Moment& moment, Shape shape,
                                                                Duration silence) const {
  const bool is_late = !has_passed(moment.psn) && shape != Shape::run;
  if (is_late) return std::nullopt;
  const auto evidence = [&](std::size_t i) {
    const Asked& asked = asked_[i];
    return Evidence{asked.cause, moment.time - asked.at, asked.wait, asked.psn, i};
  };
  for (std::size_t i = 0; i < asked_.size(); ++i)
    if (asked_[i].psn == moment.psn && may_react(asked_[i], moment, true, silence) &&
        (shape != Shape::aside || rhythm_.is_soon(moment.time - asked_[i].at - asked_[i].wait)))
      return evidence(i);
  constexpr std::int32_t kLostFirstMax = 4;
  // Not where it was asked for: the first ones were lost before the capture, or acknowledged meanwhile.
  for (std::size_t i = 0; i < asked_.size() && shape == Shape::run; ++i) {
    const std::int32_t lost = distance(asked_[i].psn, later_of(asked_[i].psn, acked_));
    const std::int32_t left = distance(asked_[i].psn, moment.psn) - lost;
    if (distance(asked_[i].psn, moment.psn) <= 0 || left > kLostFirstMax) continue;
    if (!may_react(asked_[i], moment, false, silence)) continue;
    return evidence(i);
  }
  return std::nullopt;
}

bool RequestStream::may_react(const Asked& asked, const Moment& moment, bool is_exact, Duration silence) const {
  const Duration since = moment.time - asked.at;
  if (since.ns * 20 < asked.wait.ns * 19) return false;
  const Duration reaction{std::max<std::int64_t>(0, (since - asked.wait).ns)};
  // The responder has got it since, so the requester has acted upon this, or has never had it.
  const bool is_past = distance(asked.psn, acked_) > 0 && !rhythm_.is_soon(reaction);
  if (is_past) return false;
  const bool is_in_time = asked.wait.ns == 0 || reaction.ns > asked.wait.ns;
  return (is_exact || rhythm_.is_prompt(reaction)) && !(is_in_time && is_too_slow(moment, reaction, silence));
}

std::optional<RequestStream::Evidence> RequestStream::implied(const Moment& moment, Shape shape, const Sent& sent,
                                                              Duration silence) const {
  const Data* data = data_at(moment.psn);
  if (data == nullptr || !seen_.has(moment.psn)) return std::nullopt;
  const bool is_missing = distance(data->first + data->delivered, moment.psn) >= 0 && !data->is_complete();
  if (shape == Shape::aside && !is_missing && sent.begins_there) return std::nullopt;
  const auto passed = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& answer) {
    // Those that were under way when it was sent count as well.
    return distance(moment.psn, answer.psn) > 0 && (!sent.was_found || answer.at + rhythm_.round >= sent.at);
  });
  if (passed == answers_.end()) return std::nullopt;
  const Duration since = moment.time - (sent.was_found ? std::max(passed->at, sent.at) : passed->at);
  const bool is_a_copy = !is_missing && sent.begins_there && shape == Shape::tail && !rhythm_.is_prompt(since);
  if (is_a_copy || is_too_slow(moment, since, silence)) return std::nullopt;
  return Evidence{Cause::implied_nak, since, {}, std::nullopt, SIZE_MAX};
}

bool RequestStream::may_be_timeout(Shape shape, bool is_seen, bool was_answered, Duration silence) const {
  switch (shape) {
    case Shape::run:
      return rhythm_.may_be_timeout(silence, false);
    case Shape::tail:
      return is_seen && rhythm_.may_be_timeout(silence, was_answered);
    case Shape::aside:  // acknowledged before more of it could be sent
      return is_seen && rhythm_.timeout && rhythm_.may_be_timeout(silence, was_answered) &&
             silence.ns <= rhythm_.timeout->ns + rhythm_.timeout->ns / 2;
  }
  return false;
}

/// Nothing: it is no retransmission.
std::optional<RequestStream::Evidence> RequestStream::evidence_for(const Moment& moment, Course course) const {
  const Shape shape = course.shape;
  const bool is_seen = has_passed(moment.psn);
  const Sent sent = last_sent(moment);
  const Duration silence = silence_before(moment, sent);
  if (const auto asked = asked_for(moment, shape, silence)) return asked;
  if (const auto evidence = implied(moment, shape, sent, silence)) return evidence;
  const bool was_answered = distance(moment.psn, acked_) > 0;
  if (may_be_timeout(shape, is_seen, was_answered, silence))
    return Evidence{Cause::timeout, silence, {}, was_answered ? std::nullopt : std::optional(acked_), SIZE_MAX};
  const bool is_part_of_read = is_seen && !sent.begins_there;  // nothing that has been sent before can be its copy
  if (is_part_of_read || (shape == Shape::run && (!is_seen || !any_answer_ || course.steps >= kStepsOfRun)))
    return Evidence{Cause::unknown, silence, {}, std::nullopt, SIZE_MAX};
  return std::nullopt;
}

/// It does not follow: its PSN has been passed.
void RequestStream::behind(const Moment& moment, Judgement& judgement) {
  const bool is_seen = has_passed(moment.psn);
  const auto evidence = moment.is_reliable ? evidence_for(moment, course_of(moment)) : std::nullopt;
  if (evidence) {
    begin_run(moment, *evidence, judgement);
  } else if (is_seen && !fill_earlier_pass(moment.psn, moment.span)) {
    find_copy(moment, judgement);
  } else {
    find(judgement, FindingKind::late, moment.psn);
  }
  behind_at_ = moment.time;
  seen_.add(moment.psn, moment.span);
  if (distance(pass_.first(), moment.psn) >= 0) pass_.add(moment.psn, moment.span);
}

void RequestStream::find_copy(const Moment& moment, Judgement& judgement) const {
  find(judgement, FindingKind::duplicate, moment.psn);
  const Sent sent = last_sent(moment);
  judgement.findings.back().since = sent.was_found ? moment.time - sent.at : Duration{0};
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

/// The first packet of a go-back-N.
void RequestStream::begin_run(const Moment& moment, const Evidence& evidence, Judgement& judgement) {
  const Psn from = evidence.from ? later_of(*evidence.from, acked_) : moment.psn;
  if (distance(from, moment.psn) > 0 && evidence.cause != Cause::unknown)
    find(judgement, FindingKind::gap_in_run, from, distance(from, moment.psn));
  Finding finding;
  finding.kind = FindingKind::retransmission;
  finding.cause = evidence.cause;
  finding.psn = moment.psn;
  finding.count = static_cast<std::uint32_t>(std::max(1, distance(moment.psn, seen_.next())));
  finding.since = evidence.since;
  finding.asked = evidence.asked;
  finding.is_read = moment.is_read;
  finding.answer_passed = evidence.cause == Cause::timeout && (!asked_.empty() || distance(moment.psn, acked_) > 0);
  judgement.findings.push_back(finding);
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
  // Whoever has acted upon one has had those before it. What nothing of these explains may still come.
  if (evidence.asked_for != SIZE_MAX)
    asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(evidence.asked_for) + 1);
  else if (evidence.cause != Cause::implied_nak)
    asked_.clear();
}

void RequestStream::note_data_request(const Moment& moment) {
  if (Data* asked = data_at(moment.psn)) {
    if (distance(asked->cursor, asked->end()) > 0) asked->under_way = asked->cursor;
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
  made.seen.start(moment.psn);
  data_.insert(at, made);
}

}  // namespace verbena::explain
