// EarlierOctets: what memory had before later requests of the same QP wrote to it, for READs that are not answered yet.
//
// IBTA lets a READ and a WRITE behind it be executed in either order unless the WRITE is fenced. NICs read when the
// READ arrives, and programs have come to need it (Open MPI's osc ucx: MPI_Get_accumulate with MPI_REPLACE). Here
// memory is read when a response leaves, so what is overwritten meanwhile is kept, up to kPiecesMax packets; beyond,
// either may be first. Nothing is kept where no READ of the QP is owed or none overlaps. Owned by the QP's responder.
// Tested by: tests/nic/responder_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/nic/memory/memory.h"
#include "wire/types.h"

namespace verbena::nic {

class EarlierOctets {
 public:
  static constexpr std::size_t kPiecesMax = 256;

  bool is_full() const { return pieces_.size() == kPiecesMax; }
  /// What was at `place` before the request with this PSN wrote there. In the order of requests.
  void keep(wire::Psn psn, const Translation& place, std::vector<std::byte> octets);
  /// No READ before this PSN is owed any more.
  void forget_before(wire::Psn psn);
  /// `octets` were read at `place` for a request with this PSN: as they were when it came.
  void restore(wire::Psn psn, const Translation& place, std::span<std::byte> octets) const;

 private:
  struct Piece {
    wire::Psn psn;  // of the request that wrote there
    Translation place;
    std::vector<std::byte> octets;
  };
  std::vector<Piece> pieces_;
};

}  // namespace verbena::nic
