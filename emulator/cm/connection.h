// The values of the communication manager: what a connection is asked for, what it came to, and what it tells.
//
// Solely responsible for these plain values. The state machine is in connection_manager.h, the octets in
// wire/management.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "wire/encapsulation.h"
#include "wire/headers.h"
#include "wire/lid.h"
#include "wire/management.h"
#include "wire/path_address.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::cm {

/// The local communication ID. Its upper octet is the process's slot on the node, so that a message for it can be
/// handed to the right process. 0: none.
using ConnectionId = std::uint32_t;
inline constexpr unsigned kIdSlotShift = 24;
constexpr std::uint8_t slot_of_id(ConnectionId id) {
  return static_cast<std::uint8_t>(id >> kIdSlotShift);
}

/// 4.096 us * 2^exponent, the form of all timeouts of the specification.
constexpr Duration exponential_time(std::uint8_t exponent) {
  return nanoseconds(std::int64_t{4096} << exponent);
}

struct PrivateData {
  std::array<std::byte, wire::kCmPrivateBytesMax> octets{};
  std::size_t bytes = 0;
  static PrivateData of(std::span<const std::byte> from) {
    PrivateData data;
    data.bytes = from.size() < data.octets.size() ? from.size() : data.octets.size();
    if (data.bytes != 0) std::memcpy(data.octets.data(), from.data(), data.bytes);
    return data;
  }
  std::span<const std::byte> view() const { return {octets.data(), bytes}; }
};

/// Where messages and later the connection's packets go.
struct Path {
  wire::Gid address;
  wire::Gid source;  // our own address at this end; zero: the port's (Config::address)
  wire::PathAddress next_hop;
  wire::Lid source_lid;  // on InfiniBand: one of the port's LIDs; none: the first one
  const wire::Encapsulation* encapsulation = &wire::kRoceV2;  // of the messages, and of the connection
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint32_t flow_label = 0;
  std::uint16_t pkey = wire::kPkeyDefault;  // full member or not: what a port sends is its own table's
  std::uint8_t mtu = 0;                     // encoded as in REQ: 1 is 256 octets, 5 is 4096
  std::uint8_t packet_rate = 0;             // encoded as in path records
  std::uint8_t packet_lifetime = 0;         // exponential
  /// The process at the other end, once it is known: frames to its node's QP1 reach it by this on links that connect
  /// processes.
  std::optional<std::uint8_t> slot;
};

/// The process that has the other end of a connection.
struct PeerProcess {
  wire::Gid address;
  std::uint8_t slot = 0;
  auto operator<=>(const PeerProcess&) const = default;
};

/// The local ACK timeout (12.7.34): there and back again, and what the CA needs, rounded as the kernel's cm_ack_timeout
/// does. All exponential.
constexpr std::uint8_t ack_timeout_for(std::uint8_t packet_lifetime, std::uint8_t ack_delay) {
  constexpr int kExponentMax = 31;  // five bits on the wire
  const int both_ways = packet_lifetime + 1;
  const int greater = both_ways > ack_delay ? both_ways : ack_delay;
  const int lesser = both_ways > ack_delay ? ack_delay : both_ways;
  const int sum = greater - lesser <= 1 ? greater + 1 : greater;
  return static_cast<std::uint8_t>(sum < kExponentMax ? sum : kExponentMax);
}

/// What REQ and REP say about one side.
struct Offer {
  wire::Qpn qpn;
  wire::Psn starting_psn;  // at which the *other* side shall start to send (12.7.31): what this one's QP expects first
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;  // REQ only
  std::uint8_t rnr_retry_count = 0;
  bool flow_control = false;
  bool srq = false;
};

enum class Transport : std::uint8_t { rc = 0, uc = 1, xrc = 3 };

struct RequestInit {
  std::uint64_t context = 0;  // given back in events
  std::uint64_t service_id = 0;
  Path path;
  Offer offer;
  Transport transport = Transport::rc;
  PrivateData private_data;
};

/// What both sides agreed on, from this side's view: what its QP needs for RTR and RTS.
struct Agreement {
  Path path;
  wire::Qpn remote_qpn;
  wire::Psn receive_psn;  // as this side has said
  wire::Psn send_psn;     // as the peer has said
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t ack_timeout = 0;
};

/// A whole frame, as it comes from the node of a process that has ended.
using LastWord = std::vector<std::byte>;

using wire::RejectReason;

/// 12.11.2.1
enum class ServiceStatus : std::uint8_t { valid = 0, invalid_service_id = 1, rejected = 2, no_qp = 3 };

enum class EventType : std::uint8_t {
  request,       // REQ for a listener: `connection` is new
  reply,         // REP for our REQ
  ready,         // RTU for our REP, or data came first
  rejected,      // REJ; `status` is the reason
  unreachable,   // no answer to REQ, REP or SIDR_REQ
  disconnected,  // DREQ, DREP, or no answer to DREQ (`timed_out`)
  timewait_over,
  service_request,  // SIDR_REQ for a listener
  service_reply,    // SIDR_REP; `status` as ServiceStatus
  device_removed,   // of no connection: all are gone
};

struct Event {
  EventType type{};
  ConnectionId connection = 0;
  std::uint64_t context = 0;  // the connection's, or the listener's for requests
  std::uint16_t status = 0;
  bool timed_out = false;
  std::uint64_t service_id = 0;
  Transport transport = Transport::rc;
  Offer offer;  // the peer's, depths swapped so that they are what this side may use
  std::uint32_t qkey = 0;
  Path path;  // to the peer
  PrivateData private_data;
};

}  // namespace verbena::cm
