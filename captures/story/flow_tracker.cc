#include "captures/story/flow_tracker.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/packet_text.h"
#include "wire/printable.h"

namespace verbena::captures {

namespace {

constexpr std::uint8_t kCongestionExperienced = 3;  // RFC 3168

bool is_gap(const Finding& finding) {
  return finding.kind == FindingKind::gap || finding.kind == FindingKind::gap_in_run ||
         finding.kind == FindingKind::response_gap;
}

Finding as_gap(Finding finding) {
  finding.is_hole = false;
  return finding;
}

}  // namespace

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
  step_ = Judged{};
  step_.sender = moment.sender;
  if (!any_) first_time_ = packet.time;
  any_ = true;
  last_time_ = packet.time;

  Totals& totals = totals_[step_.sender];
  ++totals.packets;
  totals.bytes += packet.captured.original_bytes;
  totals.payload_bytes += view.payload_bytes();
  if (packet.lacks_headers) ++totals.lacking_headers;
  judge_marks(packet, view);
  if (moment.has_bad_icrc) {
    Finding finding;
    finding.kind = FindingKind::bad_icrc;
    finding.psn = moment.psn;
    step_.findings.push_back(finding);
    ++totals.bad_icrc;
    problem(words(finding, moment.psn));
  } else if (moment.kind == Moment::Kind::ignored) {
    ++totals.cnps;
    problem("CNP: the sender is to slow down");
  } else if (moment.kind != Moment::Kind::unread) {
    judge(moment);
  }
  return step_;
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
  step_.relative = judgement_.relative;
  step_.is_again = judgement_.is_again;
  step_.acknowledged = judgement_.acknowledged;
  if (judgement_.is_again) ++(is_request ? totals.retransmitted_packets : totals.repeated_responses);
  if (judgement_.begins_anew)
    remark(fmt::format("psn jumps to {}: a new connection of the same queue pairs", moment.psn.value()));
  for (Finding& finding : judgement_.findings) {
    finding.is_hole = finding.is_hole || (has_headless_ && is_gap(finding));
    count(finding, totals);
    std::string text = words(finding, stream.first());
    if (finding.kind == FindingKind::fatal_nak)
      text = fmt::format("{}: {}", wire::to_text(wire::Syndrome::decode(moment.syndrome)), text);
    if (has_headless_ && is_gap(finding))
      text = fmt::format("{}, or among the packets that are cut off within their headers",
                         words(as_gap(finding), stream.first()));
    if (finding.kind == FindingKind::gap && moment.is_datagram) text += ", or sent to another queue pair";
    const bool is_remark = finding.is_hole || (finding.kind == FindingKind::unasked_answer && !finding.is_sure);
    step_.notes.push_back({!is_remark, std::move(text)});
  }
  step_.findings = judgement_.findings;
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
  }
}

void FlowTracker::judge_marks(const Packet& packet, const wire::PacketView& view) {
  Totals& totals = totals_[step_.sender];
  if (packet.was_dropped()) ++totals.dropped_by_fault;
  if (!packet.captured.comment.empty()) {
    std::string_view comment = packet.captured.comment;
    if (comment.starts_with(wire::kNotePrefix)) comment.remove_prefix(wire::kNotePrefix.size());
    problem(wire::printable(comment));
  }
  if ((view.ip().traffic_class() & 3) == kCongestionExperienced) {
    ++totals.ecn_marked;
    problem("marked by ECN: congestion on the way");
  }
}

}  // namespace verbena::captures
