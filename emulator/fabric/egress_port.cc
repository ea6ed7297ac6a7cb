#include "emulator/fabric/egress_port.h"

#include <algorithm>

namespace verbena::fabric {

void EgressPort::push(Time now, TrafficClass traffic_class, FrameNumber frame, FramePool& pool) {
  Queue& queue = queues_[traffic_class];
  FrameInfo& info = pool.info(frame);
  info.next = kNoFrame;
  if (queue.head == kNoFrame) {
    queue.head = frame;
    queue.waiting_since = now;
  } else {
    pool.info(queue.tail).next = frame;
  }
  queue.tail = frame;
  queue.octets += info.bytes;
  ++queue.frames;
  octets_ += info.bytes;
  octets_max_ = std::max(octets_max_, octets_);
}

std::optional<TrafficClass> EgressPort::choose(Time now, const FramePool& pool) {
  ClassMask sharing = 0;
  for (std::size_t i = kTrafficClasses; i-- > 0;) {
    if (!may_go(now, i)) continue;
    const auto traffic_class = static_cast<TrafficClass>(i);
    if ((strict_ & bit_of(traffic_class)) != 0) return traffic_class;
    sharing |= bit_of(traffic_class);
  }
  if (sharing == 0) return std::nullopt;
  // A class of its own has no round to take part in.
  if ((sharing & (sharing - 1)) == 0) {
    const auto only = static_cast<TrafficClass>(__builtin_ctz(sharing));
    queues_[only].deficit = std::max<std::int64_t>(queues_[only].deficit, pool.info(queues_[only].head).bytes);
    turn_ = only;
    return only;
  }
  for (;; turn_ = (turn_ + 1) % kTrafficClasses, begin_turn(turn_)) {
    const auto traffic_class = static_cast<TrafficClass>(turn_);
    Queue& queue = queues_[turn_];
    if ((sharing & bit_of(traffic_class)) == 0) {
      queue.deficit = 0;  // nothing is saved up while there is nothing to send
    } else if (queue.deficit >= pool.info(queue.head).bytes) {
      return traffic_class;
    }
  }
}

FrameNumber EgressPort::pop(Time now, TrafficClass traffic_class, FramePool& pool) {
  Queue& queue = queues_[traffic_class];
  const FrameNumber frame = queue.head;
  const FrameInfo& info = pool.info(frame);
  queue.head = info.next;
  if (queue.head == kNoFrame) queue.tail = kNoFrame;
  queue.octets -= info.bytes;
  --queue.frames;
  queue.deficit = queue.head == kNoFrame ? 0 : queue.deficit - info.bytes;
  queue.waiting_since = now;
  octets_ -= info.bytes;
  return frame;
}

void EgressPort::pause(Time now, ClassMask classes, Time from, Time until) {
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    Queue& queue = queues_[i];
    if ((classes & bit_of(static_cast<TrafficClass>(i))) == 0) continue;
    if (now < queue.pause_until && from < until && queue.pause_from != kNever) {  // goes on without a gap
      queue.pause_from = std::min(queue.pause_from, from);
      queue.pause_until = until;
      continue;
    }
    queue.paused = time_paused(now, static_cast<TrafficClass>(i));
    queue.pause_from = from < until ? from : kNever;
    queue.pause_until = from < until ? until : now;
  }
}

ClassMask EgressPort::paused(Time now) const {
  ClassMask all = 0;
  for (std::size_t i = 0; i < kTrafficClasses; ++i)
    if (is_paused(now, static_cast<TrafficClass>(i))) all |= bit_of(static_cast<TrafficClass>(i));
  return all;
}

Duration EgressPort::time_paused(Time now, TrafficClass traffic_class) const {
  const Queue& queue = queues_[traffic_class];
  if (now <= queue.pause_from) return queue.paused;
  return queue.paused + (std::min(now, queue.pause_until) - queue.pause_from);
}

Time EgressPort::next_chance(Time now) const {
  Time earliest = kNever;
  for (std::size_t i = 0; i < kTrafficClasses; ++i) {
    if (queues_[i].head == kNoFrame) continue;
    if (!is_paused(now, static_cast<TrafficClass>(i))) return now;
    earliest = std::min(earliest, queues_[i].pause_until);
  }
  return earliest;
}

Time EgressPort::stuck_since(Time now, TrafficClass traffic_class) const {
  const Queue& queue = queues_[traffic_class];
  if (queue.head == kNoFrame || !is_asked_to_pause(now, traffic_class)) return kNever;
  return std::max(queue.waiting_since, queue.pause_from);
}

}  // namespace verbena::fabric
