// QpnTable: from the 24-bit number in a packet to the QP, and the choice of the next number.
//
// Numbers are given out in a circle, so that one that was just freed stays unused as long as possible (stale packets of
// a dead QP must not reach a new one). Two levels, the lower one allocated on first use; before them the QPs made last.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "emulator/nic/state/qp.h"

namespace verbena::nic {

class QpnTable {
 public:
  static constexpr std::uint32_t kFirstIndex = 2;  // QP0 and QP1 are the node's

  QpnTable(wire::Qpn base, std::uint8_t bits, std::uint64_t seed)
      : base_(base.value()), size_(1u << bits), pages_((size_ + kPage - 1) / kPage) {
    const std::uint64_t hash = (seed + 1) * 0x9e3779b97f4a7c15u;
    next_ = static_cast<std::uint32_t>((hash >> 32) % size_);
  }

  Qp* find(wire::Qpn qpn) const {
    const Near& near = near_[qpn.value() % kNear];
    if (near.qpn == qpn.value()) return near.qp;
    const std::uint32_t index = qpn.value() - base_;
    if (index >= size_ || !pages_[index / kPage]) return nullptr;
    return (*pages_[index / kPage])[index % kPage];
  }

  /// Nothing: all numbers are in use.
  std::optional<wire::Qpn> insert(Qp& qp) {
    for (std::uint32_t tries = 0; tries < size_; ++tries) {
      const std::uint32_t index = next_++ % size_;
      if (index < kFirstIndex) continue;
      auto& page = pages_[index / kPage];
      if (!page) page = std::make_unique<Page>();
      if ((*page)[index % kPage] != nullptr) continue;
      (*page)[index % kPage] = &qp;
      near_[(base_ + index) % kNear] = {&qp, base_ + index};
      return wire::Qpn(base_ + index);
    }
    return std::nullopt;
  }

  void remove(wire::Qpn qpn) {
    VERBENA_ASSERT(find(qpn) != nullptr);
    const std::uint32_t index = qpn.value() - base_;
    (*pages_[index / kPage])[index % kPage] = nullptr;
    if (Near& near = near_[qpn.value() % kNear]; near.qpn == qpn.value()) near = {};
  }

 private:
  /// The QPs made last, found without the way through the two levels.
  struct Near {
    Qp* qp = nullptr;
    std::uint32_t qpn = UINT32_MAX;  // no QPN
  };
  static constexpr std::uint32_t kNear = 2;
  static constexpr std::uint32_t kPage = 256;
  using Page = std::array<Qp*, kPage>;
  std::array<Near, kNear> near_;
  std::uint32_t base_;
  std::uint32_t size_;
  std::uint32_t next_;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace verbena::nic
