// RequestStream: what the capture lacks and was not lost, as what follows shows.
// Tested by: tests/captures/story/cut_test.cc
#include <algorithm>

#include "captures/findings/request_stream.h"

namespace verbena::captures {

using wire::distance;
using wire::Psn;

void RequestStream::find_gap(Psn from, Psn until, const Moment& moment, Judgement& judgement) const {
  if (distance(from, until) <= 0) return;
  find(judgement, FindingKind::gap, from, distance(from, until));
  judgement.findings.back().is_hole = is_hole(from, until, moment);
}

void RequestStream::find_response_gap(Psn from, Psn until, const Moment& moment, Judgement& judgement) const {
  find(judgement, FindingKind::response_gap, from, distance(from, until));
  judgement.findings.back().is_hole = is_response_hole(from, until, moment);
}

/// The other side acknowledges them, and neither has it asked for them nor do they come again: it has got them.
bool RequestStream::is_hole(Psn from, Psn until, const Moment& moment) const {
  if (!moment.is_reliable) return false;
  const auto moments = timeline_->moments();
  const std::size_t end = std::min(moments.size(), moment.index + 1 + kLookAheadMax);
  for (std::size_t i = moment.index + 1; i < end; ++i) {
    const Moment& following = moments[i];
    if (following.is_aside() || following.is_dropped) continue;
    if (following.sender == requester_) {
      const bool is_before = distance(following.psn + following.span, from) >= 0;
      if (following.kind == Moment::Kind::request && !is_before && distance(following.psn, until) > 0) return false;
      continue;
    }
    if (following.kind == Moment::Kind::request) continue;
    const bool is_cut = following.kind == Moment::Kind::acknowledge && !following.has_syndrome;
    const bool is_nak = following.kind == Moment::Kind::acknowledge && (following.syndrome & 0x60) != 0;
    const Psn behind = is_nak || is_cut ? following.psn : following.psn + 1;
    if (distance(until, behind) >= 0) return true;
    if (is_nak) return false;
  }
  return false;
}

/// A requester asks again for a response that it has not got before it goes on for long.
bool RequestStream::is_response_hole(Psn from, Psn until, const Moment& moment) const {
  const auto moments = timeline_->moments();
  const std::size_t end = std::min(moments.size(), moment.index + 1 + kLookAheadMax);
  unsigned answers = 0;
  for (std::size_t i = moment.index + 1; i < end; ++i) {
    const Moment& following = moments[i];
    if (following.is_aside()) continue;
    if (following.sender == requester_) {
      const bool is_before = distance(following.psn + following.span, from) >= 0;
      if (following.kind == Moment::Kind::request && !is_before && distance(following.psn, until) > 0) return false;
    } else if (following.kind != Moment::Kind::request) {
      const std::int32_t off = distance(until, following.psn);
      if (off < 0 && distance(from, following.psn) >= 0) return false;  // it comes late
      if (off >= 0 && ++answers > kPassedOverMax) return true;
    }
  }
  return false;
}

/// The requester goes on behind what was answered: it was sent, and the capture has missed it.
bool RequestStream::is_passed_over(const Moment& answer) const {
  const auto requests = timeline_->requests(requester_);
  const auto next = std::upper_bound(requests.begin(), requests.end(), answer.index);
  return next != requests.end() && distance(answer.psn, timeline_->moments()[*next].psn) > 0;
}

std::optional<RequestStream::Silence> RequestStream::silence() const {
  if (attempts_ == 0) return std::nullopt;
  return Silence{any_answer_, any_answer_ ? last_answer_at_ : first_at_, last_at_, attempts_, interval_};
}

}  // namespace verbena::captures
