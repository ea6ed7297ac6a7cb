// Frames for a multicast group: flooded along a spanning tree to every host but the sender; who listens is the NICs' to
// know, as behind switches without IGMP snooping.
// Tested by: tests/fabric/multicast_test.cc
#include "emulator/fabric/network_lanes.h"
#include "emulator/fabric/network_state.h"
#include "wire/packet_view.h"

namespace verbena::fabric {

void Network::State::flood(Time now, std::uint32_t vertex, std::uint32_t came_from, FrameNumber frame) {
  const Hop* last = nullptr;  // takes the frame itself
  for (const Hop& hop : tree->ways(vertex)) {
    if (hop.to == came_from) continue;
    if (last != nullptr) {
      const FrameNumber made = copy(frame);
      if (made == kNoFrame)
        ++statistics.overflowed;
      else
        enqueue(now, last->direction, made);
    }
    last = &hop;
  }
  if (last != nullptr) {
    enqueue(now, last->direction, frame);
    return;
  }
  // A switch with nobody behind it.
  if (lanes) lanes->taken(now, frame);
  pool.give_back(frame);
}

void Network::State::arrive_for_group(Time now, DirectionNumber number, FrameNumber frame, Sink& sink) {
  const LinkDirection& direction = directions[number];
  const FrameInfo& info = pool.info(frame);
  if (direction.has_lanes) lanes->arrived(number, frame);
  if (topology.is_host(direction.to)) {
    ++statistics.host_arrivals;
    if (direction.has_lanes) lanes->taken(now, frame);
    const bool is_taken =
        !is_cut_off(direction.to, frame) && sink.arrived({now, direction.to, view(frame), info.corrupted, info.icrc});
    end(now, number, frame, is_taken ? FrameEvent::delivered : FrameEvent::vanished);
    return;
  }
  if (is_dead[direction.to] != 0) {
    if (direction.has_lanes) lanes->taken(now, frame);
    end(now, number, frame, FrameEvent::vanished);
    return;
  }
  note(now, number, info, FrameEvent::delivered);
  show(now, number, frame, FrameEvent::delivered);
  flood(now, direction.to, direction.from, frame);
}

/// A partition knows pairs of hosts; for a group it is looked at where the frame arrives.
bool Network::State::is_cut_off(std::uint32_t host, FrameNumber frame) {
  if (cut_pairs.empty()) return false;
  const auto packet = wire::parse_cut_on(topology.medium, view(frame));
  if (!packet) return false;
  const std::uint32_t source = addresses.find(packet->source());
  return source != kNoHost && cut_pairs.contains(std::uint64_t{source} << 32 | host);
}

}  // namespace verbena::fabric
