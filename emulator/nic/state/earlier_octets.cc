#include "emulator/nic/state/earlier_octets.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/assert.h"

namespace verbena::nic {

void EarlierOctets::keep(wire::Psn psn, const Translation& place, std::vector<std::byte> octets) {
  VERBENA_ASSERT(!is_full());
  pieces_.push_back({psn, place, std::move(octets)});
}

void EarlierOctets::forget_before(wire::Psn psn) {
  std::erase_if(pieces_, [&](const Piece& piece) { return wire::distance(psn, piece.psn) <= 0; });
}

/// The latest first, so that the oldest stays.
void EarlierOctets::restore(wire::Psn psn, const Translation& place, std::span<std::byte> octets) const {
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (wire::distance(psn, piece->psn) <= 0 || piece->place.memory != place.memory) continue;
    const std::uint64_t address = place.address;
    const std::uint64_t kept_at = piece->place.address;
    const std::uint64_t begin = std::max(address, kept_at);
    const std::uint64_t end = std::min(address + octets.size(), kept_at + piece->octets.size());
    if (begin >= end) continue;
    std::memcpy(&octets[begin - address], &piece->octets[begin - kept_at], end - begin);
  }
}

}  // namespace verbena::nic
