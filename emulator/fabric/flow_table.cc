#include "emulator/fabric/flow_table.h"

#include <algorithm>

#include "emulator/fabric/chance.h"

namespace verbena::fabric {
namespace {

constexpr std::uint32_t kBucketsAtFirst = 32;

std::uint64_t half(const wire::Gid& gid, std::size_t from) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word = word << 8 | gid.octets[from + i];
  return word;
}

FlowClass class_of(const wire::PacketView& packet) {
  if (packet.bth().dest_qp == wire::kGsiQpn || packet.bth().opcode == wire::Opcode::cnp) return FlowClass::unnumbered;
  return packet.opcode().is_request ? FlowClass::requests : FlowClass::responses;
}

}  // namespace

FlowTable::FlowTable(Wanted wanted) : buckets_(kBucketsAtFirst, kNoFlow), wanted_(wanted) {}

std::uint32_t FlowTable::empty_bucket(std::uint64_t hash) const {
  std::size_t bucket = hash % buckets_.size();
  while (buckets_[bucket] != kNoFlow) bucket = (bucket + 1) % buckets_.size();
  return static_cast<std::uint32_t>(bucket);
}

void FlowTable::grow() {
  buckets_.assign(buckets_.size() * 2, kNoFlow);
  for (std::uint32_t i = 0; i < flows_.size(); ++i) buckets_[empty_bucket(flows_[i].hash)] = i;
}

std::uint32_t FlowTable::find_or_add(const wire::Gid& source, const wire::Gid& destination, wire::Qpn qpn,
                                     std::uint64_t hash) {
  for (std::size_t bucket = hash % buckets_.size(); buckets_[bucket] != kNoFlow;
       bucket = (bucket + 1) % buckets_.size()) {
    const FlowState& flow = flows_[buckets_[bucket]];
    if (flow.qpn == qpn && flow.source == source && flow.destination == destination) return buckets_[bucket];
  }
  if (flows_.size() == kFlowsMax) return kNoFlow;
  // Half of the buckets stay empty, so that probing stays short.
  if (2 * flows_.size() >= buckets_.size()) grow();
  const auto index = static_cast<std::uint32_t>(flows_.size());
  buckets_[empty_bucket(hash)] = index;
  FlowState& flow = flows_.emplace_back();
  flow.source = source;
  flow.destination = destination;
  flow.qpn = qpn;
  flow.hash = hash;
  return index;
}

std::uint32_t FlowTable::iteration_of(Sequence& sequence, wire::Psn psn) {
  Transmissions& entry = sequence.transmissions[psn.value() % kIterationWindow];
  const bool ahead = sequence.packets == 0 || wire::distance(sequence.highest, psn) > 0;
  if (ahead) {
    entry = {psn.value(), 1};  // even if the same number was seen 2^24 packets ago
  } else if (entry.psn == psn.value()) {
    ++entry.times;
  } else {
    entry = {psn.value(), 2};  // forgotten, but it lies behind: this cannot be the first time
  }
  return entry.times;
}

void FlowTable::place_in_message(Sequence& sequence, const wire::PacketView& packet, PacketRecord& record) {
  if (packet.opcode().operation == wire::Operation::acknowledge) return;  // of no message
  const wire::Psn psn = packet.bth().psn;
  const bool begun = sequence.messages_begun != 0;
  const bool ahead = sequence.packets == 0 || wire::distance(sequence.highest, psn) > 0;
  if (begun && wire::distance(sequence.previous, psn) <= 0) ++sequence.rounds;
  sequence.previous = psn;
  if (ahead && packet.opcode().starts_message())
    sequence.messages[sequence.messages_begun++ % kMessagesRemembered] = {psn, sequence.rounds};
  // The youngest message that does not begin behind the packet.
  std::uint32_t known = std::min(sequence.messages_begun, kMessagesRemembered);
  std::uint32_t low = sequence.messages_begun - known;
  while (known > 0) {
    const std::uint32_t step = known / 2;
    const Message& middle = sequence.messages[(low + step) % kMessagesRemembered];
    const bool not_behind = wire::distance(middle.first, psn) >= 0;
    low = not_behind ? low + step + 1 : low;
    known = not_behind ? known - step - 1 : step;
  }
  if (low == sequence.messages_begun - std::min(sequence.messages_begun, kMessagesRemembered)) return;
  const Message& message = sequence.messages[(low - 1) % kMessagesRemembered];
  record.message = low - 1;
  record.packet_of_message = (psn - message.first.value()).value();
  record.round = sequence.rounds - message.rounds_before + 1;
}

PacketRecord FlowTable::record(const wire::PacketView& packet) {
  const wire::Gid source = packet.source();
  const wire::Gid destination = packet.destination();
  const wire::Qpn qpn = packet.bth().dest_qp;
  PacketRecord record;
  record.flow_class = class_of(packet);
  record.flow_hash =
      mix_all({half(source, 0), half(source, 8), half(destination, 0), half(destination, 8), qpn.value()});
  record.flow_id = find_or_add(source, destination, qpn, record.flow_hash);
  if (record.flow_id == kNoFlow) {
    record.index = untracked_packets_++;
    return record;
  }
  const auto which = static_cast<std::size_t>(record.flow_class);
  Sequence& sequence = flows_[record.flow_id].sequences[which];
  if (record.flow_class == FlowClass::unnumbered) {
    record.index = sequence.packets++;
    return record;
  }
  const wire::Psn psn = packet.bth().psn;
  if (sequence.packets == 0) {
    sequence.first = sequence.highest = psn;
    sequence.ordinal = next_ordinal_[which]++;
    if (wanted_.iterations) sequence.transmissions = std::make_unique<Transmissions[]>(kIterationWindow);
    if (wanted_.messages) sequence.messages = std::make_unique<Message[]>(kMessagesRemembered);
  }
  if (sequence.transmissions) record.iteration = iteration_of(sequence, psn);
  if (sequence.messages) place_in_message(sequence, packet, record);
  if (wire::distance(sequence.highest, psn) > 0) sequence.highest = psn;
  record.ordinal = sequence.ordinal;
  record.relative_psn = (psn - sequence.first.value()).value();
  record.index = sequence.packets++;
  return record;
}

}  // namespace verbena::fabric
