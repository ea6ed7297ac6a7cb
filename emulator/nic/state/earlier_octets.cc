#include "emulator/nic/state/earlier_octets.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/assert.h"

namespace verbena::nic {

void EarlierOctets::keep(wire::Psn psn, std::uint64_t address, std::vector<std::byte> octets) {
  VERBENA_ASSERT(!is_full());
  pieces_.push_back({psn, address, std::move(octets)});
}

void EarlierOctets::forget_before(wire::Psn psn) {
  std::erase_if(pieces_, [&](const Piece& piece) { return wire::distance(psn, piece.psn) <= 0; });
}

/// The latest first, so that the oldest stays.
void EarlierOctets::restore(wire::Psn psn, std::uint64_t address, std::span<std::byte> octets) const {
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (wire::distance(psn, piece->psn) <= 0) continue;
    const std::uint64_t begin = std::max(address, piece->address);
    const std::uint64_t end = std::min(address + octets.size(), piece->address + piece->octets.size());
    if (begin >= end) continue;
    std::memcpy(&octets[begin - address], &piece->octets[begin - piece->address], end - begin);
  }
}

}  // namespace verbena::nic
