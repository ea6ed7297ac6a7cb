#include "emulator/fabric/flow_table.h"

#include <algorithm>

#include "emulator/fabric/chance.h"

namespace verbena::fabric {
namespace {

// Twice the limit, so that probing stays short; a power of two.
constexpr std::uint32_t kBuckets = 2 * kFlowsMax;

std::uint64_t half(const wire::Gid& gid, std::size_t from) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word = word << 8 | gid.octets[from + i];
  return word;
}

}  // namespace

FlowTable::FlowTable(bool count_iterations) : flows_(kBuckets), count_iterations_(count_iterations) {}

std::uint32_t FlowTable::find_or_add(const wire::Gid& source, const wire::Gid& destination, wire::Qpn qpn,
                                     std::uint64_t hash) {
  std::uint32_t bucket = static_cast<std::uint32_t>(hash) % kBuckets;
  for (; flows_[bucket].used; bucket = (bucket + 1) % kBuckets) {
    const Flow& flow = flows_[bucket];
    if (flow.qpn == qpn && flow.source == source && flow.destination == destination) return bucket;
  }
  if (used_ == kFlowsMax) return kNoFlow;
  ++used_;
  Flow& flow = flows_[bucket];
  flow.used = true;
  flow.source = source;
  flow.destination = destination;
  flow.qpn = qpn;
  return bucket;
}

std::uint32_t FlowTable::iteration_of(Sequence& sequence, wire::Psn psn) const {
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

PacketRecord FlowTable::record(const wire::PacketView& packet) {
  const wire::Gid source = packet.source();
  const wire::Gid destination = packet.destination();
  const wire::Qpn qpn = packet.bth().dest_qp;
  PacketRecord record;
  record.is_response = !packet.opcode().is_request;
  record.flow_hash =
      mix_all({half(source, 0), half(source, 8), half(destination, 0), half(destination, 8), qpn.value()});
  record.flow_id = find_or_add(source, destination, qpn, record.flow_hash);
  if (record.flow_id == kNoFlow) {
    record.index = untracked_packets_++;
    return record;
  }
  const std::size_t which = record.is_response ? 1 : 0;
  Sequence& sequence = flows_[record.flow_id].sequences[which];
  const wire::Psn psn = packet.bth().psn;
  if (sequence.packets == 0) {
    sequence.first = sequence.highest = psn;
    const bool numbered = qpn != wire::kGsiQpn && packet.bth().opcode != wire::Opcode::cnp;
    if (numbered) sequence.ordinal = next_ordinal_[which]++;
    if (numbered && count_iterations_) sequence.transmissions = std::make_unique<Transmissions[]>(kIterationWindow);
  }
  if (sequence.transmissions) record.iteration = iteration_of(sequence, psn);
  if (wire::distance(sequence.highest, psn) > 0) sequence.highest = psn;
  record.ordinal = sequence.ordinal;
  record.relative_psn = (psn - sequence.first.value()).value();
  record.index = sequence.packets++;
  return record;
}

}  // namespace verbena::fabric
