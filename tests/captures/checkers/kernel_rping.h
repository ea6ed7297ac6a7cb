// The Linux kernel's capture of rping, as sightings: what a test changes in it, a checker is to find.
#pragma once

#include <boost/test/unit_test.hpp>
#include <string_view>
#include <vector>

#include "captures/read/capture.h"
#include "tests/captures/checkers/checked_traffic.h"
#include "tests/support/places.h"
#include "wire/management.h"

namespace verbena::test {

using checkers::Seen;

// Where things lie in an Ethernet frame with IPv4.
inline constexpr std::size_t kBth = 14 + 20 + 8;
inline constexpr std::size_t kMad = kBth + 12 + 8;
inline constexpr std::size_t kAttribute = kMad + 17;
inline constexpr std::size_t kMessage = kMad + wire::MadHeaderLayout::bytes;
inline constexpr std::size_t kRequestPsn = kMessage + 44;
inline constexpr std::size_t kReplyPsn = kMessage + 20;

// In the capture: REQ, REP, RTU, the client's SEND and its ACK, the server's READ request and the response.
inline constexpr std::size_t kRequest = 0, kReply = 1, kClientsFirst = 3, kServersFirst = 5;

inline const wire::Gid kServer = wire::Gid::from_ipv4(0x0a4d0002);

using Trace = std::vector<Sighting>;

/// As seen on the way.
inline Trace rping() {
  const auto capture = captures::Capture::open(data_file("06-rping_cm.pcap"));
  BOOST_REQUIRE(capture.ok());
  Trace trace;
  for (const captures::Packet& packet : capture->packets()) {
    const auto octets = packet.captured.bytes;
    trace.push_back({packet.time, {octets.begin(), octets.end()}, Seen::passing});
  }
  return trace;
}

/// The same, captured at the server.
inline Trace rping_at_server() {
  Trace trace = rping();
  for (Sighting& sighting : trace)
    sighting.seen = wire::parse_frame(sighting.frame)->source() == kServer ? Seen::sent : Seen::delivered;
  return trace;
}

struct Judgement {
  std::uint64_t judged = 0, unjudged = 0;
  std::vector<checkers::Violation> violations;
};
/// What one checker says of a trace; packets are numbered from 0.
inline Judgement judged_by(std::string_view checker, const Trace& trace) {
  checkers::Checkers checkers({.verify_icrc = false});
  for (std::size_t i = 0; i < trace.size(); ++i) observe(checkers, trace[i], i);
  checkers.finish();
  Judgement judgement;
  for (const auto& totals : checkers.totals())
    if (totals.row.name == checker) judgement = {totals.judged, totals.unjudged, {}};
  for (const auto& violation : checkers.violations())
    if (violation.checker == checker) judgement.violations.push_back(violation);
  return judgement;
}

}  // namespace verbena::test
