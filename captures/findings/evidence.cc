// RequestStream: what speaks for a retransmission that begins with a packet, and against it. One copy of a packet more
// and a retransmission look alike in part, so each cause has to fit by its PSN, by its time and by what follows.
// Tested by: tests/captures/findings/truth_test.cc
#include <algorithm>

#include "captures/findings/request_stream.h"

namespace verbena::captures {

using wire::distance;
using wire::Psn;

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

std::optional<RequestStream::Evidence> RequestStream::asked_for(const Moment& moment, Course course,
                                                                Duration silence) const {
  const Shape shape = course.shape;
  const bool is_late = !has_passed(moment.psn) && shape == Shape::tail;
  if (is_late || shape == Shape::aside) return std::nullopt;
  const auto evidence = [&](std::size_t i) {
    const Asked& asked = asked_[i];
    return Evidence{asked.cause, moment.time - asked.at, asked.wait, asked.psn, i};
  };
  for (std::size_t i = 0; i < asked_.size(); ++i)
    if (asked_[i].psn == moment.psn && may_react(asked_[i], moment, true, silence)) return evidence(i);
  constexpr std::int32_t kLostFirstMax = 4;
  // Not where it was asked for: the first ones were lost before the capture, or acknowledged meanwhile.
  // A READ or an atomic is as likely to be sent for its own response's sake.
  for (std::size_t i = 0; i < asked_.size() && shape == Shape::run && !moment.awaits_data; ++i) {
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
  if (asked.cause == Cause::sequence_nak && since.ns * 2 < rhythm_.soonest.ns) return false;  // none is so quick
  const Duration reaction{std::max<std::int64_t>(0, (since - asked.wait).ns)};
  // The responder has got it since, so the requester has acted upon this, or has never had it.
  const bool is_past = distance(asked.psn, acked_) > 0 && rhythm_.reaction.ns != 0 && !rhythm_.is_soon(reaction);
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

/// Nothing has come since it was sent, or sent again: only its timer makes a requester send again then. Much sooner
/// than that the network has copied it.
bool RequestStream::is_unanswered(const Moment& moment, const Sent& sent, Duration silence) const {
  constexpr std::int64_t kShortestNs = 200'000;  // without anything to compare it with
  const bool is_oldest = distance(acked_, moment.psn) == 0;
  const bool is_silent = sent.begins_there && (!any_answer_ || last_answer_at_ < sent.at);
  const bool was_asked = !asked_.empty() && asked_.back().at >= sent.at;
  if (!is_oldest || !is_silent || was_asked) return false;
  if (interval_.ns != 0) return silence.ns * 2 >= interval_.ns;
  return silence.ns >= kShortestNs && rhythm_.is_long(silence);
}

bool RequestStream::may_be_timeout(Shape shape, bool is_seen, bool was_answered, Duration silence,
                                   Duration quiet) const {
  switch (shape) {
    case Shape::run:
      return rhythm_.may_be_timeout(silence, quiet, was_answered);
    case Shape::tail:
      return is_seen && rhythm_.may_be_timeout(silence, quiet, was_answered);
    case Shape::aside:  // acknowledged before more of it could be sent
      return is_seen && rhythm_.timeout && rhythm_.may_be_timeout(silence, quiet, was_answered) &&
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
  const bool is_aside = shape == Shape::aside && course.steps == 0;
  const bool was_missing = is_missing_in_earlier_pass(moment.psn);
  // A copy of the first packet, and a second retransmission from it, look alike.
  const bool is_repeat = is_seen && was_missing && course.steps < kStepsOfRun;
  if (!is_repeat)
    if (const auto asked = asked_for(moment, course, silence)) return asked;
  if (!is_repeat && !is_aside && !is_copy_at_once(moment))
    if (const auto evidence = implied(moment, shape, sent, silence)) return evidence;
  const bool was_answered = distance(moment.psn, acked_) > 0;
  const bool is_alone = is_seen && is_unanswered(moment, sent, silence);
  const bool was_nakked = !asked_.empty() && asked_.back().at > sent.at;
  if (!(was_answered && was_nakked) &&
      may_be_timeout(shape, is_seen, was_answered, silence, moment.time - std::max(last_at_, last_answer_at_)))
    return Evidence{Cause::timeout, silence, {}, was_answered ? std::nullopt : std::optional(acked_), SIZE_MAX};
  if (is_alone && !is_repeat) return Evidence{Cause::timeout, silence, {}, acked_, SIZE_MAX};
  const bool is_no_copy = is_seen && !sent.is_same && !was_missing;  // nothing that has passed can be its copy
  if (is_repeat) return std::nullopt;
  if (is_no_copy || (shape == Shape::run && (!is_seen || !any_answer_ || course.steps >= kStepsOfRun)))
    return Evidence{Cause::unknown, silence, {}, std::nullopt, SIZE_MAX};
  return std::nullopt;
}

}  // namespace verbena::captures
