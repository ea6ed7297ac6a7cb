#include "emulator/fabric/fault_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include "emulator/fabric/chance.h"
#include "emulator/fabric/fault_rows.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/flow_table.h"
#include "wire/aeth.h"
#include "wire/management.h"

namespace verbena::fabric {
namespace {

// Draws of one packet differ by their purpose.
constexpr std::uint64_t kDrawStrike = 0;
constexpr std::uint64_t kDrawDetail = 1;  // which bit, how much jitter
constexpr std::uint64_t kDrawTurn = 2;    // good times and bad

/// Of an acknowledgement.
wire::Syndrome::Kind syndrome_of(const wire::PacketView& packet) {
  return wire::Syndrome::decode(packet.aeth().syndrome).kind;
}
bool is_acknowledge(const wire::PacketView& packet) {
  return packet.opcode().operation == wire::Operation::acknowledge;
}

bool is_message(wire::CmAttribute message, const wire::PacketView& packet) {
  return packet.bth().dest_qp == wire::kGsiQpn && packet.opcode().has_deth &&
         wire::cm_message_in(packet.payload()) == message;
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
      return is_acknowledge(packet) && syndrome_of(packet) == wire::Syndrome::Kind::ack;
    case PacketKind::nak:
      return is_acknowledge(packet) && syndrome_of(packet) != wire::Syndrome::Kind::ack;
    case PacketKind::rnr_nak:
      return is_acknowledge(packet) && syndrome_of(packet) == wire::Syndrome::Kind::rnr_nak;
    case PacketKind::atomic:
      return operation == Operation::compare_swap || operation == Operation::fetch_add ||
             operation == Operation::atomic_write;
    case PacketKind::atomic_response:
      return operation == Operation::atomic_acknowledge;
    case PacketKind::cm:
      return packet.bth().dest_qp == wire::kGsiQpn;
    case PacketKind::cnp:
      return operation == Operation::congestion_notification;
    case PacketKind::data:
      return packet.bth().dest_qp != wire::kGsiQpn &&
             (operation == Operation::send || operation == Operation::write || operation == Operation::read_response);
    case PacketKind::cm_req:
      return is_message(wire::CmAttribute::request, packet);
    case PacketKind::cm_mra:
      return is_message(wire::CmAttribute::message_receipt, packet);
    case PacketKind::cm_rej:
      return is_message(wire::CmAttribute::reject, packet);
    case PacketKind::cm_rep:
      return is_message(wire::CmAttribute::reply, packet);
    case PacketKind::cm_rtu:
      return is_message(wire::CmAttribute::ready_to_use, packet);
    case PacketKind::cm_dreq:
      return is_message(wire::CmAttribute::disconnect_request, packet);
    case PacketKind::cm_drep:
      return is_message(wire::CmAttribute::disconnect_reply, packet);
    case PacketKind::cm_sidr_req:
      return is_message(wire::CmAttribute::service_request, packet);
    case PacketKind::cm_sidr_rep:
      return is_message(wire::CmAttribute::service_reply, packet);
    case PacketKind::cm_lap:
      return is_message(wire::CmAttribute::load_alternate_path, packet);
    case PacketKind::cm_apr:
      return is_message(wire::CmAttribute::alternate_path_response, packet);
  }
  return false;
}

bool is_part(MessagePart part, const wire::OpcodeInfo& opcode) {
  switch (part) {
    case MessagePart::any:
      return true;
    case MessagePart::first:
      return opcode.starts_message();
    case MessagePart::middle:
      return opcode.position == wire::Position::middle;
    case MessagePart::last:
      return opcode.ends_message();
  }
  return false;
}

/// Whether qp, psn and the like speak of packets of this class under this kind.
bool speaks_of(PacketKind kind, FlowClass flow_class) {
  switch (kind) {
    case PacketKind::data:
      return flow_class != FlowClass::unnumbered;
    case PacketKind::read_response:
    case PacketKind::acknowledge:
    case PacketKind::nak:
    case PacketKind::rnr_nak:
    case PacketKind::atomic_response:
      return flow_class == FlowClass::responses;
    case PacketKind::any:
    case PacketKind::write:
    case PacketKind::send:
    case PacketKind::read:
    case PacketKind::atomic:
    case PacketKind::cm:
    case PacketKind::cnp:
    case PacketKind::cm_req:
    case PacketKind::cm_mra:
    case PacketKind::cm_rej:
    case PacketKind::cm_rep:
    case PacketKind::cm_rtu:
    case PacketKind::cm_dreq:
    case PacketKind::cm_drep:
    case PacketKind::cm_sidr_req:
    case PacketKind::cm_sidr_rep:
    case PacketKind::cm_lap:
    case PacketKind::cm_apr:
      return flow_class == FlowClass::requests;
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
  const auto headers = static_cast<std::uint32_t>(transport_bytes(packet) + wire::telemetry_bytes(packet.bth()));
  return {frame_bytes - body - headers, headers};
}

/// Where a field of the BTH or of the extension header behind it lies. No octets: the packet does not carry it.
Stretch field(CorruptPlace place, const wire::PacketView& packet) {
  const std::uint32_t bth = transport_headers(packet).first;
  const wire::OpcodeInfo& info = packet.opcode();
  const auto before = static_cast<std::uint32_t>((info.has_xrceth ? wire::XrcethLayout::bytes : 0) +
                                                 (info.has_deth ? wire::DethLayout::bytes : 0));
  const std::uint32_t extension = bth + static_cast<std::uint32_t>(wire::BthLayout::bytes) + before;
  const bool has_address = info.has_reth || info.has_atomic_eth;  // both begin with the address and the R_Key
  switch (place) {
    case CorruptPlace::opcode:
      return {bth, 1};
    case CorruptPlace::pkey:
      return {bth + 2, 2};
    case CorruptPlace::dest_qp:
      return {bth + 5, 3};
    case CorruptPlace::psn:
      return {bth + 9, 3};
    case CorruptPlace::address:
      return {extension, has_address ? 8u : 0u};
    case CorruptPlace::rkey:
      return {extension + 8, has_address ? 4u : 0u};
    case CorruptPlace::length:
      return {extension + 12, info.has_reth ? 4u : 0u};
    case CorruptPlace::syndrome:
      return {extension, info.has_aeth ? 1u : 0u};
    case CorruptPlace::msn:
      return {extension + 1, info.has_aeth ? 3u : 0u};
    case CorruptPlace::anywhere:
    case CorruptPlace::payload:
    case CorruptPlace::header:
    case CorruptPlace::icrc:
      break;
  }
  return {};
}

Stretch corruptible(CorruptPlace place, const wire::PacketView& packet) {
  const auto frame_bytes = static_cast<std::uint32_t>(packet.frame().size());
  const auto icrc_bytes = static_cast<std::uint32_t>(wire::kIcrcBytes);
  const Stretch headers = transport_headers(packet);
  if (place == CorruptPlace::anywhere) return {headers.first, frame_bytes - headers.first};
  if (place == CorruptPlace::header) return headers;
  if (place == CorruptPlace::payload)
    return {headers.first + headers.bytes, static_cast<std::uint32_t>(packet.payload().size())};
  if (place == CorruptPlace::icrc) return {frame_bytes - icrc_bytes, icrc_bytes};
  return field(place, packet);
}

/// Octet 4 of the BTH is outside the ICRC (annex A17.3.3): a flip there would not be a corruption that anyone can see.
constexpr std::uint32_t kUncoveredBthOctet = 4;

std::uint32_t choose_bit(CorruptPlace place, const wire::PacketView& packet, std::uint64_t draw) {
  const Stretch stretch = corruptible(place, packet);
  auto octet = static_cast<std::uint32_t>((draw >> 3) % stretch.bytes) + stretch.first;
  if (octet == transport_headers(packet).first + kUncoveredBthOctet) ++octet;
  return octet * 8 + static_cast<std::uint32_t>(draw & 7);
}

const FaultActionRow& row_of(FaultAction action) {
  return fault_table().actions[static_cast<std::size_t>(action)];
}

}  // namespace

std::string_view to_string(FaultAction action) {
  return row_of(action).name;
}

/// Rules that began together count the same flows.
struct FaultPlan::State {
  struct Entry {
    FaultRule rule;
    std::string comment;
    RuleCounters counters;
    std::uint64_t serial = 0;  // of the rule in the plan's life: its own draws
    std::shared_ptr<FlowTable> flows;
    std::size_t table = 0;   // of `flows`, in `tables`
    bool by_packet = false;  // asks for a flow's numbers
    bool bad_times = false;  // burst-loss
  };
  std::vector<Entry> entries;
  std::uint64_t key = 0;
  std::uint64_t next_serial = 0;
  bool needs_time = false;
  std::uint64_t packets = 0;  // judged so far
  std::vector<std::shared_ptr<FlowTable>> tables;
  std::shared_ptr<FlowTable> newest;
  FlowTable::Wanted newest_wanted;
  std::uint64_t newest_from = 0;      // `packets` when it was made
  std::vector<PacketRecord> records;  // of the packet in hand, by table
  std::vector<std::uint32_t> struck;  // ids of the rules that hit it

  State(std::uint64_t seed, std::string_view link_name) : key(mix_all({seed, hash_text(link_name)})) {}

  Entry make_entry(const FaultRule& rule) {
    Entry entry;
    entry.rule = rule;
    entry.comment = std::string("verbena: ") + std::string(row_of(rule.action).past) + " by fault '" + rule.text + "'";
    entry.by_packet = rule.flows || rule.psns || rule.iterations || rule.asks_for_message();
    entry.serial = next_serial++;
    return entry;
  }

  void replace(const std::vector<FaultRule>& rules) {
    std::vector<Entry> before = std::exchange(entries, {});
    const auto is_known = [](const Entry& entry, const FaultRule& rule) {
      return entry.flows != nullptr && entry.rule.id == rule.id && entry.rule.text == rule.text;
    };
    FlowTable::Wanted wanted;
    for (const FaultRule& rule : rules) {
      const auto known =
          std::find_if(before.begin(), before.end(), [&](const Entry& entry) { return is_known(entry, rule); });
      if (known != before.end()) {
        entries.push_back(std::move(*known));
        known->flows = nullptr;
        continue;
      }
      entries.push_back(make_entry(rule));
      wanted.iterations = wanted.iterations || rule.iterations.has_value();
      wanted.messages = wanted.messages || rule.asks_for_message();
    }
    make_newest(wanted);
    adopt_tables();
    struck.clear();
    struck.reserve(entries.size());
    needs_time = std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
      return entry.rule.action == FaultAction::delay || entry.rule.action == FaultAction::reorder;
    });
  }

  /// The table of the rules that have none; and of those whose table has seen no packet yet: what begins at one time,
  /// one after another, shares one.
  void make_newest(FlowTable::Wanted wanted) {
    if (newest != nullptr && newest_from == packets) {
      for (Entry& entry : entries)
        if (entry.flows == newest) entry.flows = nullptr;
      wanted.iterations = wanted.iterations || newest_wanted.iterations;
      wanted.messages = wanted.messages || newest_wanted.messages;
    }
    newest = std::make_shared<FlowTable>(wanted);
    newest_wanted = wanted;
    newest_from = packets;
  }

  void adopt_tables() {
    tables.clear();
    for (Entry& entry : entries) {
      if (entry.flows == nullptr) entry.flows = newest;
      const auto place = std::find(tables.begin(), tables.end(), entry.flows);
      entry.table = static_cast<std::size_t>(place - tables.begin());
      if (place == tables.end()) tables.push_back(entry.flows);
    }
    records.resize(tables.size());
  }
};

FaultPlan::FaultPlan(const std::vector<FaultRule>& rules, std::uint64_t seed, std::string_view link_name)
    : state_(std::make_unique<State>(seed, link_name)) {
  state_->replace(rules);
}
FaultPlan::~FaultPlan() = default;
FaultPlan::FaultPlan(FaultPlan&&) noexcept = default;
FaultPlan& FaultPlan::operator=(FaultPlan&&) noexcept = default;

void FaultPlan::replace(const std::vector<FaultRule>& rules) {
  state_->replace(rules);
}
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
std::span<const std::uint32_t> FaultPlan::struck() const {
  return state_->struck;
}
std::uint64_t FaultPlan::untracked_packets() const {
  std::uint64_t packets = 0;
  for (const auto& table : state_->tables) packets += table->untracked_packets();
  return packets;
}

bool FaultPlan::fits(std::size_t index, const wire::PacketView& packet, const PacketRecord& record) const {
  const State::Entry& entry = state_->entries[index];
  const FaultRule& rule = entry.rule;
  if (!is_kind(rule.kind, packet) || !is_part(rule.part, packet.opcode())) return false;
  if (entry.by_packet) {
    if (record.ordinal == kNoFlow || !speaks_of(rule.kind, record.flow_class)) return false;
    if (rule.flows && !rule.flows->contains(record.ordinal)) return false;
    if (rule.psns && !rule.psns->contains(record.relative_psn)) return false;
    if (rule.iterations && !rule.iterations->contains(record.iteration)) return false;
  }
  if (rule.asks_for_message()) {
    if (record.message == kNoMessage) return false;
    if (rule.messages && !rule.messages->contains(record.message)) return false;
    if (rule.packets_of_message && !rule.packets_of_message->contains(record.packet_of_message)) return false;
    if (rule.rounds && !rule.rounds->contains(record.round)) return false;
  }
  if (rule.action == FaultAction::truncate) return rule.truncate_to < packet.frame().size();
  return rule.action != FaultAction::corrupt || corruptible(rule.place, packet).bytes != 0;
}

/// The times turn with every packet of the link's direction, whoever it is from and whatever becomes of it.
void FaultPlan::turn_times() {
  const std::uint64_t packet = state_->packets++;
  for (State::Entry& entry : state_->entries) {
    if (entry.rule.action != FaultAction::burst_loss) continue;
    const std::uint32_t turns_ppb = entry.bad_times ? entry.rule.recovery_ppb : entry.rule.probability_ppb;
    if (mix_all({state_->key, packet, entry.serial, kDrawTurn}) % kCertainPpb < turns_ppb)
      entry.bad_times = !entry.bad_times;
  }
}

bool FaultPlan::strikes(std::size_t index, std::uint64_t packet_key) const {
  const State::Entry& entry = state_->entries[index];
  std::uint32_t chance_ppb = entry.rule.probability_ppb;
  if (entry.rule.action == FaultAction::burst_loss)
    chance_ppb = entry.bad_times ? entry.rule.bad_loss_ppb : entry.rule.good_loss_ppb;
  return mix_all({packet_key, kDrawStrike}) % kCertainPpb < chance_ppb;
}

void FaultPlan::apply(std::size_t index, const wire::PacketView& packet, std::uint64_t draw,
                      FaultVerdict& verdict) const {
  const FaultRule& rule = state_->entries[index].rule;
  switch (rule.action) {
    case FaultAction::drop:
    case FaultAction::burst_loss:
      verdict.drop = true;
      break;
    case FaultAction::duplicate:
      verdict.copies = std::max(verdict.copies, rule.copies);
      break;
    case FaultAction::delay:
      verdict.delay = verdict.delay + rule.delay +
                      nanoseconds(static_cast<std::int64_t>(draw % (static_cast<std::uint64_t>(rule.jitter.ns) + 1)));
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
    case FaultAction::truncate:
      verdict.truncate_to = std::min(verdict.truncate_to.value_or(rule.truncate_to), rule.truncate_to);
      break;
    case FaultAction::mark:
      verdict.mark = true;
      break;
    case FaultAction::count:
      break;
  }
}

FaultVerdict FaultPlan::judge(const wire::PacketView& packet) {
  FaultVerdict verdict;
  auto& records = state_->records;
  for (std::size_t table = 0; table < records.size(); ++table) records[table] = state_->tables[table]->record(packet);
  if (!records.empty()) verdict.flow_id = records.front().flow_id;
  turn_times();
  state_->struck.clear();
  int gravest = 0;
  for (std::size_t index = 0; index < state_->entries.size() && !verdict.drop; ++index) {
    State::Entry& entry = state_->entries[index];
    const PacketRecord& record = records[entry.table];
    if (!fits(index, packet, record)) continue;
    ++entry.counters.matched;
    if (entry.counters.matched <= entry.rule.skip) continue;
    const std::uint64_t turn = entry.counters.matched - entry.rule.skip;
    if (turn % entry.rule.every != 0 || entry.counters.applied >= entry.rule.count_max) continue;
    const std::uint64_t packet_key = mix_all(
        {state_->key, record.flow_hash, static_cast<std::uint64_t>(record.flow_class), record.index, entry.serial});
    if (!strikes(index, packet_key)) continue;
    ++entry.counters.applied;
    state_->struck.push_back(entry.rule.id);
    apply(index, packet, mix_all({packet_key, kDrawDetail}), verdict);
    if (row_of(entry.rule.action).gravity > gravest) {
      gravest = row_of(entry.rule.action).gravity;
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
