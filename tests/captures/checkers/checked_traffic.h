// Traffic between two NICs, seen where packets leave and where they arrive, and put before the checkers.
#pragma once

#include <string>
#include <vector>

#include "captures/checkers/checker.h"
#include "tests/support/endpoint.h"

namespace verbena::test {

/// One sighting with its octets.
struct Sighting {
  Time time;
  std::vector<std::byte> frame;
  checkers::Seen seen{};
  bool corrupted = false;
};

inline void observe(checkers::Checkers& checkers, const Sighting& sighting, std::uint64_t number = 0) {
  const auto view = wire::parse_frame(sighting.frame);
  if (!view) return;  // a fault has hit its headers
  checkers.observe({.time = sighting.time,
                    .packet = *view,
                    .seen = sighting.seen,
                    .corrupted = sighting.corrupted,
                    .number = number});
}

inline checkers::CheckedConnection connection_of(const Pair& pair) {
  checkers::CheckedConnection connection;
  connection.path_mtu_bytes = pair.a.options().mtu;
  const auto end = [&](const Endpoint& endpoint) {
    return checkers::CheckedEnd{node_gid(endpoint.node()), endpoint.qpn(), wire::Psn(endpoint.options().first_psn),
                                nanoseconds(std::int64_t{4096} << endpoint.options().timeout),
                                LossRecoveryConfig{}.rto_low};
  };
  connection.ends = {end(pair.a), end(pair.b)};
  return connection;
}

inline checkers::CheckedRegion region_of(const Endpoint& endpoint, const Buffer& buffer) {
  return {.host = node_gid(endpoint.node()),
          .rkey = {buffer.rkey()},
          .address = buffer.address(),
          .length = buffer.bytes().size(),
          .remote_write = true,
          .remote_read = true,
          .remote_atomic = true};
}

inline void watch(Pair& pair, std::vector<Sighting>& sightings) {
  pair.world.filter = [&sightings](const Traced& traced, std::vector<std::byte>& frame) {
    sightings.push_back({traced.at, frame, checkers::Seen::sent, false});
    return true;
  };
  pair.world.on_delivery = [&pair, &sightings](unsigned, std::span<const std::byte> frame, bool corrupted) {
    sightings.push_back({pair.world.now(), {frame.begin(), frame.end()}, checkers::Seen::delivered, corrupted});
  };
}

/// Posts `count` random operations from both sides, at most 8 outstanding ones each, and waits for all of them.
/// Atomics are fetch-adds of 1 to 3 on one word of their own.
inline void run_traffic(Pair& pair, std::uint64_t seed, unsigned count, bool receives_late = false,
                        bool data_requests = true) {
  fabric::Dice dice(seed);
  const auto draw = [&](std::uint64_t below) { return dice.next() % below; };
  constexpr std::size_t kHalf = 1 << 15;
  struct Side {
    Endpoint& end;
    Buffer& own;
    Buffer& other;
    unsigned posted = 0, done = 0, receives = 0, sends = 0;
  };
  Side sides[2] = {{pair.a, pair.a_buffer, pair.b_buffer}, {pair.b, pair.b_buffer, pair.a_buffer}};
  pair.a_buffer.word(8191) = pair.b_buffer.word(8191) = 1000;
  const auto post = [&](Side& side, Side& peer) {
    const auto kind = draw(data_requests ? 6 : 4);
    const auto length = static_cast<std::size_t>(draw(4) == 0 ? draw(20000) : draw(1500));
    const Sge sge = side.own.sge(0, kind >= 5 ? 8 : length);
    SendRequest request{.wr_id = side.posted, .opcode = SendOpcode::rdma_write, .sges = {&sge, 1}};
    request.operand.remote.address = Buffer::address(kHalf);
    request.operand.remote.rkey = side.other.rkey();
    if (kind < 2) request.opcode = kind == 0 ? SendOpcode::send : SendOpcode::rdma_write_with_immediate;
    if (kind == 4) request.opcode = SendOpcode::rdma_read;
    if (kind == 5) {
      request.opcode = SendOpcode::fetch_and_add;
      request.operand.remote.address = Buffer::address(8191 * 8);
      request.operand.remote.compare_or_add = 1 + draw(3);
    }
    if (kind < 2) ++side.sends;
    while (!receives_late && peer.receives < side.sends + 8)
      peer.end.receive(peer.receives++, {peer.own.sge(0, kHalf)});
    side.end.post(request);
    ++side.posted;
  };
  for (unsigned rounds = 0; sides[0].done < count || sides[1].done < count; ++rounds) {
    BOOST_REQUIRE_MESSAGE(rounds < 200'000, "the traffic does not end");
    for (unsigned s = 0; s < 2; ++s) {
      Side& side = sides[s];
      Side& peer = sides[1 - s];
      side.done += static_cast<unsigned>(side.end.poll_sent().size());
      side.end.poll_received();
      while (side.posted < count && side.posted - side.done < 8) post(side, peer);
      if (receives_late && draw(8) == 0 && peer.receives < side.sends)
        peer.end.receive(peer.receives++, {peer.own.sge(0, kHalf)});
    }
    pair.world.run_for(microseconds(5));
  }
  pair.world.run_to_rest();
}

inline std::string violations_text(const checkers::Checkers& checkers, std::size_t most = 5) {
  std::string text;
  for (const auto& violation : checkers.violations()) {
    if (most-- == 0) break;
    text += "\n  #" + std::to_string(violation.number) + " " + std::to_string(violation.time.ns) + " " +
            std::string(violation.checker) + ": " + violation.text;
  }
  return text;
}

inline std::uint64_t judged_by(const checkers::Checkers& checkers, std::string_view name) {
  for (const auto& totals : checkers.totals())
    if (totals.row.name == name) return totals.judged;
  return 0;
}
inline std::uint64_t violations_of(const checkers::Checkers& checkers, std::string_view name) {
  for (const auto& totals : checkers.totals())
    if (totals.row.name == name) return totals.violations;
  return 0;
}

}  // namespace verbena::test
