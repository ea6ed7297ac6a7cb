// The Linux kernel's capture of rping, as sightings: what a test changes in it, a checker is to find.
#pragma once

#include <boost/test/unit_test.hpp>
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

}  // namespace verbena::test
