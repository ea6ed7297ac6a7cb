#include "scenarios/workload/message_time.h"

#include <algorithm>

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

ShortestWays::ShortestWays(const fabric::Topology& topology)
    : topology_(topology), cables_(topology.vertices.size()), root_(kNone) {
  for (std::uint32_t i = 0; i < topology.cables.size(); ++i) {
    cables_[topology.cables[i].a].push_back(i);
    cables_[topology.cables[i].b].push_back(i);
  }
}

std::uint32_t ShortestWays::other_end(std::uint32_t cable, std::uint32_t vertex) const {
  return topology_.cables[cable].a == vertex ? topology_.cables[cable].b : topology_.cables[cable].a;
}

/// Breadth first.
void ShortestWays::grow_from(std::uint32_t root) {
  root_ = root;
  came_by_.assign(topology_.vertices.size(), kNone);
  std::vector<bool> is_reached(topology_.vertices.size());
  is_reached[root] = true;
  std::vector<std::uint32_t> border{root};
  for (std::size_t done = 0; done < border.size(); ++done) {
    const std::uint32_t at = border[done];
    if (topology_.is_host(at) && at != root) continue;  // hosts do not forward
    for (const std::uint32_t cable : cables_[at]) {
      const std::uint32_t next = other_end(cable, at);
      if (is_reached[next]) continue;
      is_reached[next] = true;
      came_by_[next] = cable;
      border.push_back(next);
    }
  }
}

std::vector<WayCable> ShortestWays::find(std::uint32_t from, std::uint32_t to) {
  // All ways of a host with one cable begin with it, and those of its neighbours go on alike.
  const bool has_one = cables_[from].size() == 1;
  const std::uint32_t root = has_one ? other_end(cables_[from].front(), from) : from;
  if (root != root_) grow_from(root);
  std::vector<WayCable> way;
  const auto add = [&](std::uint32_t cable) {
    const fabric::CableParameters& parameters = topology_.cables[cable].parameters;
    way.push_back({parameters.rate_bits_per_second, parameters.propagation});
  };
  if (from == to || (to != root && came_by_[to] == kNone)) return way;
  for (std::uint32_t at = to; at != root; at = other_end(came_by_[at], at)) add(came_by_[at]);
  if (has_one) add(cables_[from].front());
  std::ranges::reverse(way);
  return way;
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
