// FaultCarrier: does to the frames of one direction what a FaultPlan's verdicts say: lose, copy, hold, delay, damage.
//
// Solely responsible for the order of these and for the frames that wait to be overtaken. Whoever owns the frames
// (LinkModel, Network) lends it a Way:
//   std::uint32_t copy(std::uint32_t slot)                    a second one like it; kNoSlot: there is no room
//   void damage(std::uint32_t slot, const FaultVerdict& verdict)
//   void send(Time sent, Duration extra, std::uint32_t slot)  onto the wire; it arrives `extra` later than it would
//   FaultCounters& counters()
// Tested by: tests/fabric/link_model_test.cc, tests/fabric/fault_rounds_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "emulator/fabric/fault_plan.h"
#include "wire/time.h"

namespace verbena::fabric {

/// Frames that can wait to be overtaken at one time. One more is let through in order.
inline constexpr std::uint32_t kHeldFramesMax = 64;
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

struct FaultCounters {
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t reorder_refused = 0;  // more than kHeldFramesMax
};

class FaultCarrier {
 public:
  FaultCarrier() { held_.reserve(kHeldFramesMax); }

  /// For a frame that is not dropped.
  template <class Way>
  void carry_out(Time now, std::uint32_t slot, const FaultVerdict& verdict, Way&& way) {
    FaultCounters& counters = way.counters();
    if (verdict.flip_bit || verdict.truncate_to) ++counters.corrupted;
    if (verdict.alters_frame()) way.damage(slot, verdict);
    if (verdict.delay.ns != 0) ++counters.delayed;
    std::uint32_t copy = verdict.copies != 0 ? way.copy(slot) : kNoSlot;
    const bool hold = verdict.reorder_packets != 0 && held_.size() < kHeldFramesMax;
    if (verdict.reorder_packets != 0) ++(hold ? counters.reordered : counters.reorder_refused);
    if (hold) {
      // Its own place in the queue is found when it is released; a copy goes ahead now, as on a path that split.
      held_.push_back({slot, verdict.flow_id, verdict.reorder_packets, now + verdict.hold_max, verdict.delay});
    } else {
      way.send(now, verdict.delay, slot);
    }
    for (std::uint32_t left = verdict.copies; copy != kNoSlot;) {
      ++counters.duplicated;
      const std::uint32_t next = --left != 0 ? way.copy(copy) : kNoSlot;
      way.send(now, verdict.delay, copy);
      copy = next;
    }
    if (!hold && !held_.empty()) release_overtaken(now, verdict.flow_id, way);
  }

  /// Sends those that have waited long enough.
  template <class Way>
  void release_expired(Time now, Way&& way) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const Held held = held_[i];
      if (held.latest <= now)
        way.send(held.latest, held.delay, held.slot);
      else
        held_[kept++] = held;
    }
    held_.resize(kept);
  }

  /// Gives up all that wait; `each` gets their slots.
  template <class Each>
  void clear(Each&& each) {
    for (const Held& held : held_) each(held.slot);
    held_.clear();
  }

  bool idle() const { return held_.empty(); }
  /// When release_expired has something to do.
  Time earliest() const {
    Time earliest = kNever;
    for (const Held& held : held_) earliest = std::min(earliest, held.latest);
    return earliest;
  }

 private:
  /// A frame that waits until `packets_left` packets of its flow have overtaken it, or until `latest`.
  struct Held {
    std::uint32_t slot = kNoSlot;
    std::uint32_t flow_id = UINT32_MAX;
    std::uint32_t packets_left = 0;
    Time latest;
    Duration delay{0};
  };

  template <class Way>
  void release_overtaken(Time now, std::uint32_t flow_id, Way& way) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      Held held = held_[i];
      if (held.flow_id == flow_id && --held.packets_left == 0)
        way.send(now, held.delay, held.slot);
      else
        held_[kept++] = held;
    }
    held_.resize(kept);
  }

  std::vector<Held> held_;
};

}  // namespace verbena::fabric
