#include "emulator/fabric/fault_plan.h"

#include <algorithm>
#include <string>

#include "emulator/fabric/chance.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/flow_table.h"
#include "wire/aeth.h"

namespace verbena::fabric {
namespace {

// Draws of one packet differ by their purpose.
constexpr std::uint64_t kDrawStrike = 0;
constexpr std::uint64_t kDrawBit = 1;

bool is_nak(const wire::PacketView& packet) {
  if (packet.opcode().operation != wire::Operation::acknowledge) return false;
  return wire::Syndrome::decode(packet.aeth().syndrome).kind != wire::Syndrome::Kind::ack;
}

bool is_kind(PacketKind kind, const wire::PacketView& packet) {
  using wire::Operation;
  const Operation operation = packet.opcode().operation;
  switch (kind) {
    case PacketKind::any:
      return true;
    case PacketKind::write:
      return operation == Operation::write;
    case PacketKind::send:
      return operation == Operation::send && packet.bth().dest_qp != wire::kGsiQpn;
    case PacketKind::read:
      return operation == Operation::read_request;
    case PacketKind::read_response:
      return operation == Operation::read_response;
    case PacketKind::acknowledge:
      return operation == Operation::acknowledge && !is_nak(packet);
    case PacketKind::nak:
      return is_nak(packet);
    case PacketKind::atomic:
      return operation == Operation::compare_swap || operation == Operation::fetch_add;
    case PacketKind::atomic_response:
      return operation == Operation::atomic_acknowledge;
    case PacketKind::cm:
      return packet.bth().dest_qp == wire::kGsiQpn;
  }
  return false;
}

bool names_response(PacketKind kind) {
  switch (kind) {
    case PacketKind::read_response:
    case PacketKind::acknowledge:
    case PacketKind::nak:
    case PacketKind::atomic_response:
      return true;
    case PacketKind::any:
    case PacketKind::write:
    case PacketKind::send:
    case PacketKind::read:
    case PacketKind::atomic:
    case PacketKind::cm:
      return false;
  }
  return false;
}

/// Octets of a frame from `first` on.
struct Stretch {
  std::uint32_t first = 0;
  std::uint32_t bytes = 0;
};

Stretch transport_headers(const wire::PacketView& packet) {
  const auto frame_bytes = static_cast<std::uint32_t>(packet.frame().size());
  const auto body = static_cast<std::uint32_t>(packet.payload().size() + packet.bth().pad_bytes + wire::kIcrcBytes);
  const std::uint32_t headers = 12u + packet.opcode().extension_bytes;
  return {frame_bytes - body - headers, headers};
}

Stretch corruptible(CorruptPlace place, const wire::PacketView& packet) {
  const Stretch headers = transport_headers(packet);
  const auto frame_bytes = static_cast<std::uint32_t>(packet.frame().size());
  switch (place) {
    case CorruptPlace::anywhere:
      return {headers.first, frame_bytes - headers.first};
    case CorruptPlace::header:
      return headers;
    case CorruptPlace::payload:
      return {headers.first + headers.bytes, static_cast<std::uint32_t>(packet.payload().size())};
    case CorruptPlace::icrc:
      return {frame_bytes - static_cast<std::uint32_t>(wire::kIcrcBytes), static_cast<std::uint32_t>(wire::kIcrcBytes)};
  }
  return {};
}

/// Octet 4 of the BTH is outside the ICRC (annex A17.3.3): a flip there would not be a corruption that anyone can see.
constexpr std::uint32_t kUncoveredBthOctet = 4;

std::uint32_t choose_bit(CorruptPlace place, const wire::PacketView& packet, std::uint64_t draw) {
  const Stretch stretch = corruptible(place, packet);
  auto octet = static_cast<std::uint32_t>((draw >> 3) % stretch.bytes) + stretch.first;
  if (octet == transport_headers(packet).first + kUncoveredBthOctet) ++octet;
  return octet * 8 + static_cast<std::uint32_t>(draw & 7);
}

int gravity(FaultAction action) {
  switch (action) {
    case FaultAction::drop:
      return 5;
    case FaultAction::corrupt:
      return 4;
    case FaultAction::duplicate:
      return 3;
    case FaultAction::reorder:
      return 2;
    case FaultAction::delay:
      return 1;
  }
  return 0;
}

std::string_view past_tense(FaultAction action) {
  switch (action) {
    case FaultAction::drop:
      return "dropped";
    case FaultAction::duplicate:
      return "duplicated";
    case FaultAction::delay:
      return "delayed";
    case FaultAction::reorder:
      return "reordered";
    case FaultAction::corrupt:
      return "corrupted";
  }
  return "hit";
}

}  // namespace

std::string_view to_string(FaultAction action) {
  switch (action) {
    case FaultAction::drop:
      return "drop";
    case FaultAction::duplicate:
      return "duplicate";
    case FaultAction::delay:
      return "delay";
    case FaultAction::reorder:
      return "reorder";
    case FaultAction::corrupt:
      return "corrupt";
  }
  return "unknown";
}

struct FaultPlan::State {
  struct Entry {
    FaultRule rule;
    std::string comment;
    RuleCounters counters;
    bool by_packet = false;  // has qp, psn or iter
  };
  std::vector<Entry> entries;
  std::uint64_t key = 0;
  bool needs_time = false;
  FlowTable flows;

  State(const std::vector<FaultRule>& rules, std::uint64_t seed, std::string_view link_name)
      : key(mix_all({seed, hash_text(link_name)})),
        flows(std::any_of(rules.begin(), rules.end(),
                          [](const FaultRule& rule) { return rule.iterations.has_value(); })) {
    entries.reserve(rules.size());
    for (const FaultRule& rule : rules) {
      Entry entry;
      entry.rule = rule;
      entry.comment = std::string("verbena: ") + std::string(past_tense(rule.action)) + " by fault '" + rule.text + "'";
      entry.by_packet = rule.flows || rule.psns || rule.iterations;
      needs_time = needs_time || rule.action == FaultAction::delay || rule.action == FaultAction::reorder;
      entries.push_back(std::move(entry));
    }
  }
};

FaultPlan::FaultPlan(const std::vector<FaultRule>& rules, std::uint64_t seed, std::string_view link_name)
    : state_(std::make_unique<State>(rules, seed, link_name)) {}
FaultPlan::~FaultPlan() = default;
FaultPlan::FaultPlan(FaultPlan&&) noexcept = default;
FaultPlan& FaultPlan::operator=(FaultPlan&&) noexcept = default;

bool FaultPlan::empty() const {
  return state_->entries.empty();
}
bool FaultPlan::needs_time() const {
  return state_->needs_time;
}
std::size_t FaultPlan::rules() const {
  return state_->entries.size();
}
const FaultRule& FaultPlan::rule(std::size_t index) const {
  return state_->entries[index].rule;
}
const RuleCounters& FaultPlan::counters(std::size_t index) const {
  return state_->entries[index].counters;
}
std::uint64_t FaultPlan::untracked_packets() const {
  return state_->flows.untracked_packets();
}

bool FaultPlan::fits(std::size_t index, const wire::PacketView& packet, const PacketRecord& record) const {
  const State::Entry& entry = state_->entries[index];
  const FaultRule& rule = entry.rule;
  if (!is_kind(rule.kind, packet)) return false;
  if (entry.by_packet) {
    if (record.ordinal == kNoFlow || record.is_response != names_response(rule.kind)) return false;
    if (rule.flows && !rule.flows->contains(record.ordinal)) return false;
    if (rule.psns && !rule.psns->contains(record.relative_psn)) return false;
    if (rule.iterations && !rule.iterations->contains(record.iteration)) return false;
  }
  return rule.action != FaultAction::corrupt || corruptible(rule.place, packet).bytes != 0;
}

void FaultPlan::apply(std::size_t index, const wire::PacketView& packet, std::uint64_t draw, Verdict& verdict) const {
  const FaultRule& rule = state_->entries[index].rule;
  switch (rule.action) {
    case FaultAction::drop:
      verdict.drop = true;
      break;
    case FaultAction::duplicate:
      verdict.duplicate = true;
      break;
    case FaultAction::delay:
      verdict.delay = verdict.delay + rule.delay;
      break;
    case FaultAction::reorder:
      if (rule.packets > verdict.reorder_packets) {
        verdict.reorder_packets = rule.packets;
        verdict.hold_max = rule.hold_max;
      }
      break;
    case FaultAction::corrupt:
      verdict.flip_bit = choose_bit(rule.place, packet, draw);
      verdict.repair_icrc = rule.repair_icrc;
      break;
  }
}

Verdict FaultPlan::judge(const wire::PacketView& packet) {
  Verdict verdict;
  const PacketRecord record = state_->flows.record(packet);
  verdict.flow_id = record.flow_id;
  int gravest = 0;
  for (std::size_t index = 0; index < state_->entries.size() && !verdict.drop; ++index) {
    State::Entry& entry = state_->entries[index];
    if (!fits(index, packet, record)) continue;
    ++entry.counters.matched;
    if (entry.counters.matched % entry.rule.every != 0 || entry.counters.applied >= entry.rule.count_max) continue;
    const std::uint64_t packet_key =
        mix_all({state_->key, record.flow_hash, record.is_response ? 1u : 0u, record.index, index});
    if (mix_all({packet_key, kDrawStrike}) % kCertainPpb >= entry.rule.probability_ppb) continue;
    ++entry.counters.applied;
    apply(index, packet, mix_all({packet_key, kDrawBit}), verdict);
    if (gravity(entry.rule.action) > gravest) {
      gravest = gravity(entry.rule.action);
      verdict.comment = entry.comment;
    }
  }
  return verdict;
}

std::vector<FaultRule> rules_of_direction(const std::vector<FaultRule>& rules, bool transmit) {
  std::vector<FaultRule> seen;
  for (const FaultRule& rule : rules)
    if (rule.sees(transmit ? FaultDirection::tx : FaultDirection::rx)) seen.push_back(rule);
  return seen;
}

}  // namespace verbena::fabric
