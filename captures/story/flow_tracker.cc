#include "captures/story/flow_tracker.h"

#include <utility>

namespace verbena::captures {

FlowTracker::FlowTracker(const Capture& capture, const Conversation& conversation)
    : timeline_(capture, conversation), has_headless_(capture.headless_count() != 0) {
  if (!capture.packets().empty()) end_ = capture.packets().back().time;
  learn();  // how long a round takes
  learn();  // with that, how long the ACK timer is
  for (unsigned end = 0; end < 2; ++end) streams_.emplace_back(timeline_, end, rhythms_[end]);
}

void FlowTracker::learn() {
  std::array<RhythmSurvey, 2> surveys;
  std::vector<RequestStream> streams;
  for (unsigned end = 0; end < 2; ++end) streams.emplace_back(timeline_, end, rhythms_[end], &surveys[end]);
  Judgement judgement;
  for (const Moment& moment : timeline_.moments()) {
    judgement.findings.clear();
    if (moment.is_aside()) continue;
    if (moment.kind == Moment::Kind::request)
      streams[moment.sender].request(moment, judgement);
    else
      streams[1 - moment.sender].answer(moment, judgement);
  }
  const bool knows_round = rhythms_[0].round.ns != 0 || rhythms_[1].round.ns != 0;
  for (unsigned end = 0; end < 2; ++end) {
    rhythms_[end] = surveys[end].learn();
    if (!knows_round) rhythms_[end].timeout.reset();  // found without knowing what is long here
  }
}

const Moment& FlowTracker::moment_of(const Packet& packet) {
  const auto moments = timeline_.moments();
  while (next_moment_ + 1 < moments.size() && moments[next_moment_].number < packet.number) ++next_moment_;
  return moments[next_moment_];
}

const Judged& FlowTracker::step(const Packet& packet, const wire::PacketView& view) {
  const Moment& moment = moment_of(packet);
  judged_ = Judged{};
  judged_.sender = moment.sender;
  judged_.integrity = moment.integrity;
  if (!any_) first_time_ = packet.time;
  any_ = true;
  last_time_ = packet.time;

  Totals& totals = totals_[judged_.sender];
  ++totals.packets;
  totals.bytes += packet.captured.original_bytes;
  totals.payload_bytes += view.payload_bytes();
  if (packet.lacks_headers) ++totals.lacking_headers;
  judge_marks(packet, view);
  if (moment.has_bad_icrc || moment.has_bad_vcrc) {
    Finding finding;
    finding.kind = moment.has_bad_icrc ? FindingKind::bad_icrc : FindingKind::bad_vcrc;
    finding.psn = moment.psn;
    judged_.findings.push_back(finding);
    ++(moment.has_bad_icrc ? totals.bad_icrc : totals.bad_vcrc);
    judged_.first = moment.psn;
  } else if (moment.kind == Moment::Kind::ignored) {
    ++totals.cnps;
    judged_.is_cnp = true;
  } else if (moment.kind != Moment::Kind::unread) {
    judge(moment);
  }
  return judged_;
}

Sums FlowTracker::sums() const {
  Sums sums;
  sums.totals = totals_;
  sums.duration = last_time_ - first_time_;
  sums.until_end = end_ - last_time_;
  for (std::size_t end = 0; end < streams_.size(); ++end) sums.silences[end] = streams_[end].silence();
  return sums;
}

void FlowTracker::judge(const Moment& moment) {
  const bool is_request = moment.kind == Moment::Kind::request;
  RequestStream& stream = streams_[is_request ? moment.sender : 1u - moment.sender];
  judgement_ = Judgement{};
  if (is_request)
    stream.request(moment, judgement_);
  else
    stream.answer(moment, judgement_);
  Totals& totals = totals_[moment.sender];
  judged_.relative = judgement_.relative;
  judged_.is_again = judgement_.is_again;
  judged_.acknowledged = judgement_.acknowledged;
  if (judgement_.is_again) ++(is_request ? totals.retransmitted_packets : totals.repeated_responses);
  judged_.begins_anew = judgement_.begins_anew;
  judged_.first = stream.first();
  for (Finding& finding : judgement_.findings) {
    finding.may_be_headless = has_headless_ && finding.is_gap();
    finding.is_hole = finding.is_hole || finding.may_be_headless;
    finding.is_datagram = finding.kind == FindingKind::gap && moment.is_datagram;
    finding.syndrome = moment.syndrome;
    count(finding, totals);
  }
  judged_.findings = std::move(judgement_.findings);
}

void FlowTracker::count(const Finding& finding, Totals& totals) {
  switch (finding.kind) {
    case FindingKind::gap:
    case FindingKind::gap_in_run:
    case FindingKind::response_gap:
      ++(finding.is_hole ? totals.holes : totals.gaps);
      (finding.is_hole ? totals.hole_packets : totals.missing_packets) += finding.count;
      return;
    case FindingKind::late:
    case FindingKind::late_or_again:
    case FindingKind::late_answer:
      ++totals.late_packets;
      return;
    case FindingKind::duplicate:
      ++totals.duplicates;
      return;
    case FindingKind::seen_before:
      ++totals.seen_before;
      return;
    case FindingKind::retransmission:
      ++totals.go_backs;
      if (finding.is_read) ++totals.read_re_requests;
      if (finding.cause == Cause::timeout) ++totals.timeouts;
      if (finding.cause == Cause::unknown) ++totals.unexplained_go_backs;
      return;
    case FindingKind::repeated_answer:
      ++totals.repeated_answers;
      return;
    case FindingKind::unasked_answer:
      if (finding.is_sure) ++totals.unasked_answers;
      return;
    case FindingKind::nak:
      ++totals.nak_sequence_errors;
      return;
    case FindingKind::rnr_nak:
      ++totals.rnr_naks;
      return;
    case FindingKind::fatal_nak:
      ++totals.other_naks;
      return;
    case FindingKind::bad_icrc:
      ++totals.bad_icrc;
      return;
    case FindingKind::bad_vcrc:
      ++totals.bad_vcrc;
      return;
  }
}

void FlowTracker::judge_marks(const Packet& packet, const wire::PacketView& view) {
  Totals& totals = totals_[judged_.sender];
  if (packet.was_dropped()) ++totals.dropped_by_fault;
  judged_.has_comment = !packet.captured.comment.empty();
  if (view.network().is_congestion_marked()) {
    ++totals.ecn_marked;
    judged_.is_marked = true;
  }
}

}  // namespace verbena::captures
