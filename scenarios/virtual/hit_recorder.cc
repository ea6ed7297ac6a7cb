#include "scenarios/virtual/hit_recorder.h"

#include <utility>

#include "emulator/sim/packet_control.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

namespace verbena::scenarios {
namespace {

constexpr fabric::FlowTable::Wanted kWanted{.iterations = true};

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
    if (const auto* packets = std::get_if<fabric::PacketRule>(&fault.what))
      for (const sim::LinkId link : packets->links) flows_.try_emplace(link, kWanted);
}

void HitRecorder::attach(sim::World& world) {
  for (const auto& [link, flows] : flows_) sim::PacketControl(world).watch_faults(link, this);
}

void HitRecorder::judged(sim::LinkId link, const wire::PacketView& packet, std::span<const std::uint32_t> rules) {
  const auto found = flows_.find(link);
  if (found == flows_.end()) return;
  const fabric::PacketRecord record = found->second.record(packet);
  for (const std::uint32_t rule : rules) {
    PacketHit hit{rule, link, record.ordinal, record.relative_psn, record.iteration, {}};
    bool named = record.ordinal != fabric::kNoFlow && hits_.size() < kHitsMax;
    if (record.flow_class == fabric::FlowClass::responses) {
      const auto name = response_name(packet);
      named = named && name;
      if (name) hit.opcode = *name;
    }
    if (named)
      hits_.push_back(std::move(hit));
    else
      ++unnamed_;
  }
}

}  // namespace verbena::scenarios
