#include "emulator/nic/transport_ib/selective_repeat/kept_packets.h"

#include <utility>

#include "wire/assert.h"

namespace verbena::nic {

using wire::distance;
using wire::Psn;

KeptPackets::Packet& KeptPackets::insert(Psn psn, const wire::PacketView& view) {
  if (places_ == nullptr) places_ = std::make_unique<std::optional<Packet>[]>(capacity_);
  std::optional<Packet>& kept = place(psn);
  VERBENA_ASSERT(!kept);
  highest_ = empty() ? psn : wire::later_of(highest_, psn);
  ++count_;
  return kept.emplace(Packet{.view = without_frame(view, {})});
}

std::optional<KeptPackets::Packet> KeptPackets::take(Psn psn) {
  if (!has(psn)) return std::nullopt;
  --count_;
  return std::exchange(place(psn), std::nullopt);
}

wire::SackEth KeptPackets::sack(Psn expected) const {
  VERBENA_ASSERT(!empty());
  constexpr std::int32_t kBits = 64;
  wire::SackEth sack{.highest = highest_};
  const std::int32_t ahead = std::min(distance(expected, highest_), kBits);
  for (std::int32_t i = 0; i < ahead; ++i) {
    const Psn psn = highest_ - 1 - static_cast<std::uint32_t>(i);
    if (place(psn).has_value()) sack.below |= std::uint64_t{1} << i;
  }
  return sack;
}

}  // namespace verbena::nic
