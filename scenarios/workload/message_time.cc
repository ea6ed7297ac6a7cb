#include "scenarios/workload/message_time.h"

#include <algorithm>
#include <deque>

#include "wire/headers.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint64_t kReth = wire::RethLayout::bytes;
constexpr std::uint64_t kImmediate = wire::ImmDtLayout::bytes;
constexpr std::uint64_t kHeaders = wire::EthernetLayout::bytes + wire::Ipv4Layout::bytes + wire::UdpLayout::bytes +
                                   wire::BthLayout::bytes + wire::kIcrcBytes;
constexpr std::uint64_t kAcknowledge = kHeaders + wire::AethLayout::bytes;
constexpr std::uint64_t kPad = 4;  // payloads are padded to a multiple of it

constexpr std::uint64_t padded(std::uint64_t octets) {
  return (octets + kPad - 1) / kPad * kPad;
}

Duration time_of(std::uint64_t octets, const WayCable& cable) {
  if (cable.rate_bits_per_second == 0) return {};
  const std::uint64_t rate = cable.rate_bits_per_second;
  return {static_cast<std::int64_t>((octets * 8'000'000'000u + rate - 1) / rate)};
}

}  // namespace

std::vector<std::vector<WayCable>> shortest_ways(const fabric::Topology& topology, std::uint32_t from) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::vector<std::uint32_t>> cables(topology.vertices.size());
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    cables[topology.cables[i].a].push_back(i);
    cables[topology.cables[i].b].push_back(i);
  }
  std::vector<std::uint32_t> came_by(topology.vertices.size(), kNone);
  std::deque<std::uint32_t> border{from};
  std::vector<std::vector<WayCable>> ways(topology.hosts);
  std::vector<std::uint32_t> before(topology.vertices.size(), kNone);
  before[from] = from;
  while (!border.empty()) {
    const std::uint32_t at = border.front();
    border.pop_front();
    if (topology.is_host(at) && at != from) continue;  // hosts do not forward
    for (const std::uint32_t cable : cables[at]) {
      const std::uint32_t next = topology.cables[cable].a == at ? topology.cables[cable].b : topology.cables[cable].a;
      if (before[next] != kNone) continue;
      before[next] = at;
      came_by[next] = cable;
      border.push_back(next);
    }
  }
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    if (host == from || before[host] == kNone) continue;
    for (std::uint32_t at = host; at != from; at = before[at]) {
      const fabric::CableParameters& cable = topology.cables[came_by[at]].parameters;
      ways[host].push_back({cable.rate_bits_per_second, cable.propagation});
    }
    std::reverse(ways[host].begin(), ways[host].end());
  }
  return ways;
}

Duration MessageTime::alone(std::uint64_t octets) const {
  const std::uint64_t packets = std::max<std::uint64_t>((octets + mtu_bytes_ - 1) / mtu_bytes_, 1);
  const std::uint64_t last_payload = octets - (packets - 1) * mtu_bytes_;
  const bool writes = verb_ == Verb::write || verb_ == Verb::write_immediate;
  std::uint64_t first = kHeaders + mtu_bytes_ + (writes ? kReth : 0);
  std::uint64_t last = kHeaders + padded(last_payload) + (verb_ == Verb::write_immediate ? kImmediate : 0);
  if (packets == 1) last += writes ? kReth : 0;
  const std::uint64_t middle = kHeaders + mtu_bytes_;

  // When each cable has sent the last frame, counted without propagation. The first frame is the largest: those
  // behind it never catch up with it before the slowest cable, where they wait for one another.
  Duration first_sent{};   // by the cable before: the first frame is there
  Duration middle_sent{};  // the last but one
  Duration last_sent{};
  for (const WayCable& cable : way_) {
    if (packets == 1) {
      last_sent = last_sent + time_of(last, cable);
      continue;
    }
    const Duration own = time_of(middle, cable);
    const auto between = static_cast<std::int64_t>(packets - 2);
    first_sent = first_sent + time_of(first, cable);
    // Frames in between leave one behind the other at the pace of the slowest cable so far.
    middle_sent = between == 0 ? first_sent : std::max(first_sent + Duration{own.ns * between}, middle_sent + own);
    last_sent = std::max(middle_sent, last_sent) + time_of(last, cable);
  }
  Duration whole = last_sent + acknowledge_latency_;
  for (const WayCable& cable : way_)
    whole = whole + cable.propagation + cable.propagation + time_of(kAcknowledge, cable);
  return whole;
}

}  // namespace verbena::scenarios
