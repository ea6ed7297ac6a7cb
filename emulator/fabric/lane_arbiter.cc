#include "emulator/fabric/lane_arbiter.h"

#include <algorithm>

#include "emulator/fabric/link_credits.h"

namespace verbena::fabric {
namespace {

constexpr std::int64_t kWeightOctets = 64;

std::int64_t octets_of(const LaneArbitration::Entry& entry) {
  return entry.weight * kWeightOctets;
}

}  // namespace

void LaneArbiter::List::set(const std::vector<LaneArbitration::Entry>& given) {
  entries.clear();
  for (const LaneArbitration::Entry& entry : given)
    if (entry.weight != 0 && entry.lane < kTrafficClasses) entries.push_back(entry);
  active = 0;
  left = entries.empty() ? 0 : octets_of(entries.front());
}

std::optional<TrafficClass> LaneArbiter::List::choose(const Heads& heads) {
  const auto can_send = [&](const LaneArbitration::Entry& entry) { return heads[entry.lane] != 0; };
  if (std::ranges::none_of(entries, can_send)) return std::nullopt;
  while (left <= 0 || !can_send(entries[active])) {
    active = (active + 1) % entries.size();
    left = octets_of(entries[active]);
  }
  // What is left of a weight suffices to begin with: it is rounded up to whole packets.
  const TrafficClass lane = entries[active].lane;
  left -= credit_blocks(heads[lane]) * kWeightOctets;
  return lane;
}

void LaneArbiter::set(const LaneArbitration& arbitration) {
  high_.set(arbitration.high);
  low_.set(arbitration.low);
  limit_ = arbitration.high_limit;
  high_octets_ = 0;
}

std::optional<TrafficClass> LaneArbiter::choose(const Heads& heads) {
  if (may_send_high()) {
    if (const auto lane = high_.choose(heads)) {
      high_octets_ += heads[*lane];
      return lane;
    }
  }
  high_octets_ = 0;
  if (const auto lane = low_.choose(heads)) return lane;
  if (const auto lane = high_.choose(heads)) {
    high_octets_ = heads[*lane];
    return lane;
  }
  for (std::size_t lane = 0; lane < heads.size(); ++lane)
    if (heads[lane] != 0) return static_cast<TrafficClass>(lane);
  return std::nullopt;
}

}  // namespace verbena::fabric
