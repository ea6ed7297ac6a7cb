#include "scenarios/virtual/hit_recorder.h"

#include "scenarios/outcome/element_step.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

namespace verbena::scenarios {
namespace {

/// What `opcode=` calls responses; nothing: they cannot be named alone.
std::optional<std::string> response_name(const wire::PacketView& packet) {
  switch (packet.opcode().operation) {
    case wire::Operation::read_response:
      return "read-response";
    case wire::Operation::acknowledge:
      switch (wire::Syndrome::decode(packet.aeth().syndrome).kind) {
        case wire::Syndrome::Kind::nak:
          return "nak";
        case wire::Syndrome::Kind::rnr_nak:
          return "rnr-nak";
        case wire::Syndrome::Kind::ack:
        case wire::Syndrome::Kind::reserved:
          return "ack";
      }
      return std::nullopt;
    case wire::Operation::atomic_acknowledge:
      return "atomic-response";
    case wire::Operation::send:
    case wire::Operation::write:
    case wire::Operation::read_request:
    case wire::Operation::compare_swap:
    case wire::Operation::fetch_add:
    case wire::Operation::atomic_write:
    case wire::Operation::congestion_notification:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

HitRecorder::HitRecorder(const Scenario& scenario) {
  for (const Fault& fault : scenario.faults)
    if (const auto* packets = std::get_if<PacketFault>(&fault.what))
      for (const LinkChoice& choice : packets->links)
        for (const sim::LinkId link : links_of(choice)) links_[link].rules.push_back(packets->rule.text);
}

void HitRecorder::observe(const sim::ObservedFrame& frame) {
  if (frame.event != sim::FrameEvent::sent && frame.event != sim::FrameEvent::lost) return;
  const auto found = links_.find(frame.link);
  if (found == links_.end()) return;
  const auto packet = wire::parse_cut_frame(frame.frame);
  if (!packet) return;
  const fabric::PacketRecord record = found->second.flows.record(*packet);
  if (frame.comment.empty()) return;
  for (const std::string& rule : found->second.rules) {
    if (frame.comment.find("'" + rule + "'") == std::string_view::npos) continue;
    PacketHit hit{rule, frame.link, record.ordinal, record.relative_psn, record.iteration, {}};
    bool named = record.ordinal != fabric::kNoFlow && hits_.size() < kHitsMax;
    if (record.flow_class == fabric::FlowClass::responses) {
      const auto name = response_name(*packet);
      named = named && name;
      if (name) hit.opcode = *name;
    }
    if (named)
      hits_.push_back(std::move(hit));
    else
      ++unnamed_;
    return;
  }
}

}  // namespace verbena::scenarios
