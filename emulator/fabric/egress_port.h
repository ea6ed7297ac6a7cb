// EgressPort: the frames that wait at one end of a cable, by traffic class, and which of them goes next.
//
// Solely responsible for the class queues, their scheduling (strict, then deficit round robin) and for holding back the
// classes that the other end has paused. When a frame is sent and how long that takes is Network's. Sans-IO: time is an
// argument. Frames are linked through FrameInfo::next; nothing is allocated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "emulator/fabric/frame_pool.h"
#include "emulator/fabric/qos.h"
#include "wire/time.h"

namespace verbena::fabric {

class EgressPort {
 public:
  explicit EgressPort(const Qos& qos) : strict_(qos.strict), weights_(qos.weights) {}

  // -- Frames ---------------------------------------------------------------------------------------------------------
  void push(Time now, TrafficClass traffic_class, FrameNumber frame, FramePool& pool);
  /// The class whose first frame goes next. Nothing: none may go now. A class that was chosen is to be popped: choosing
  /// moves the round on.
  std::optional<TrafficClass> choose(Time now, const FramePool& pool);
  /// Of a class with frames.
  FrameNumber pop(Time now, TrafficClass traffic_class, FramePool& pool);
  bool empty() const { return octets_ == 0; }
  std::uint64_t octets() const { return octets_; }
  std::uint64_t octets_max() const { return octets_max_; }
  std::uint32_t octets_of(TrafficClass traffic_class) const { return queues_[traffic_class].octets; }
  std::uint32_t frames_of(TrafficClass traffic_class) const { return queues_[traffic_class].frames; }
  /// kNoFrame: none. The others follow through FrameInfo::next.
  FrameNumber first_of(TrafficClass traffic_class) const { return queues_[traffic_class].head; }

  // -- Pauses ---------------------------------------------------------------------------------------------------------
  /// No frame of these classes begins in [from, until); a pause in force is replaced. `until` not after `from`: the
  /// classes go on.
  void pause(Time now, ClassMask classes, Time from, Time until);
  /// All go on: the other end is no longer there to ask.
  void forget_pauses(Time now) { pause(now, kEveryClass, now, now); }
  bool is_paused(Time now, TrafficClass traffic_class) const {
    const Queue& queue = queues_[traffic_class];
    return !queue.ignores_pause && queue.pause_from <= now && now < queue.pause_until;
  }
  /// The same, whether or not it is ignored.
  bool is_asked_to_pause(Time now, TrafficClass traffic_class) const {
    const Queue& queue = queues_[traffic_class];
    return queue.pause_from <= now && now < queue.pause_until;
  }
  ClassMask paused(Time now) const;
  Time paused_until(TrafficClass traffic_class) const { return queues_[traffic_class].pause_until; }
  /// In all, up to `now`.
  Duration time_paused(Time now, TrafficClass traffic_class) const;
  /// When the first of the classes that have frames may go, later than `now` only if all of these are paused. kNever:
  /// none has any.
  Time next_chance(Time now) const;

  // -- The watchdog's view --------------------------------------------------------------------------------------------
  /// Since when the class has had frames, was paused, and none of them has left. kNever: that is not so.
  Time stuck_since(Time now, TrafficClass traffic_class) const;
  void ignore_pause(TrafficClass traffic_class, bool ignores) { queues_[traffic_class].ignores_pause = ignores; }

 private:
  struct Queue {
    FrameNumber head = kNoFrame;
    FrameNumber tail = kNoFrame;
    std::uint32_t octets = 0;
    std::uint32_t frames = 0;
    std::int64_t deficit = 0;  // octets that it may still send in this round
    Time pause_from = kNever;
    Time pause_until{};
    Time waiting_since{};  // when it got its first frame, or when one of them left last
    Duration paused{};     // by pauses that are over
    bool ignores_pause = false;
  };
  /// Of a class of weight 1 in one round: no turn passes without a frame.
  static constexpr std::int64_t kQuantumBytes = wire::kFrameBytesMax;

  void begin_turn(std::size_t traffic_class) {
    queues_[traffic_class].deficit += kQuantumBytes * std::int64_t{weights_[traffic_class]};
  }
  bool may_go(Time now, std::size_t traffic_class) const {
    return queues_[traffic_class].head != kNoFrame && !is_paused(now, static_cast<TrafficClass>(traffic_class));
  }

  std::array<Queue, kTrafficClasses> queues_{};
  ClassMask strict_;
  std::array<std::uint32_t, kTrafficClasses> weights_;
  std::size_t turn_ = 0;  // of the classes that are not strict
  std::uint64_t octets_ = 0;
  std::uint64_t octets_max_ = 0;
};

}  // namespace verbena::fabric
