// SeenPsns: which PSNs of a stream have been seen, from the first to the highest, with the holes between.
//
// Bounded: of more than kHolesMax holes the oldest count as seen.
// Tested by: tests/captures/findings/rounds_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "wire/types.h"

namespace verbena::captures {

class SeenPsns {
 public:
  static constexpr std::size_t kHolesMax = 256;

  void start(wire::Psn psn) {
    first_ = next_ = psn;
    holes_.clear();
  }
  wire::Psn first() const { return first_; }
  /// One behind the highest.
  wire::Psn next() const { return next_; }

  bool has(wire::Psn psn) const {
    if (wire::distance(first_, psn) < 0 || wire::distance(psn, next_) <= 0) return false;
    for (const Hole& hole : holes_)
      if (wire::distance(hole.begin, psn) >= 0 && wire::distance(psn, hole.end) > 0) return false;
    return true;
  }

  void add(wire::Psn psn, std::uint32_t count) {
    const wire::Psn end = psn + count;
    if (wire::distance(next_, psn) > 0) add_hole(next_, psn);
    if (wire::distance(end, first_) > 0) add_hole(end, first_);
    if (wire::distance(first_, psn) < 0) first_ = psn;
    const bool is_new = wire::distance(next_, psn) >= 0;
    if (wire::distance(next_, end) > 0) next_ = end;
    if (!is_new && !holes_.empty()) fill(psn, end);
  }

 private:
  struct Hole {
    wire::Psn begin;
    wire::Psn end;
  };
  void add_hole(wire::Psn begin, wire::Psn end) {
    if (holes_.size() == kHolesMax) holes_.erase(holes_.begin());
    holes_.push_back({begin, end});
  }
  void fill(wire::Psn begin, wire::Psn end) {
    for (std::size_t i = 0; i < holes_.size();) {
      const Hole hole = holes_[i];
      if (wire::distance(hole.begin, end) <= 0 || wire::distance(begin, hole.end) <= 0) {
        ++i;
        continue;
      }
      const bool keeps_begin = wire::distance(hole.begin, begin) > 0;
      const bool keeps_end = wire::distance(end, hole.end) > 0;
      if (keeps_begin) holes_[i++] = {hole.begin, begin};
      if (keeps_end && keeps_begin)
        holes_.insert(holes_.begin() + static_cast<std::ptrdiff_t>(i++), {end, hole.end});
      else if (keeps_end)
        holes_[i++] = {end, hole.end};
      else if (!keeps_begin)
        holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  wire::Psn first_;
  wire::Psn next_;
  std::vector<Hole> holes_;
};

}  // namespace verbena::captures
