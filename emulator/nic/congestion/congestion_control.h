// CongestionControl: how fast one QP may send, as a policy: the reaction point of congestion management.
//
// A policy hears what its QP hears of the network and says a rate, a window, or both; pacing.cc keeps the QP to them.
// Pure: time is an argument, and a policy needs no timer of its own, because what would have happened meanwhile is
// caught up with when the rate matters next. Adding one: congestion_config.h. What a receiver does about marks is
// transport_ib/notification_point.h's.
// Tested by: tests/nic/dcqcn_test.cc, tests/nic/swift_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "wire/telemetry.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

/// What a policy has to hear, and how its QP is held to what it says.
struct CongestionWants {
  bool marks = false;              // what switches mark (ECN): packets say that they may be
  bool notifications = false;      // of marks, by CNPs
  bool mark_echo = false;          // of each mark, by BECN in the acknowledgement of the packet that was marked
  bool telemetry = false;          // what switches write into packets
  bool round_trips = false;        // one after the other
  bool window = false;             // it limits what is unacknowledged, and hears acknowledged(), lost() and left()
  bool pacing = false;             // at line rate as well, so that packets leave when it says that they do
  bool tells_round_trips = false;  // to the RoundTripListener, of those that it measures by itself

  /// Whether a RoundTripListener hears of any.
  constexpr bool measures_round_trips() const { return round_trips || tells_round_trips; }
  bool operator==(const CongestionWants&) const = default;
};

/// What an answer to requests said.
struct Answer {
  Time now{};
  wire::Psn last;                              // the newest request that it acknowledges
  std::uint32_t packets = 0;                   // acknowledged by it and not before
  std::uint32_t outstanding = 0;               // sent and not acknowledged, after it
  bool is_marked = false;                      // what it acknowledges was marked
  const wire::Telemetry* telemetry = nullptr;  // of the newest of these, if it had any
};

/// How the requester heard of a loss.
enum class Loss : std::uint8_t { sequence_error, timeout };

/// Hears of the round trips that policies measure, of all QPs of a NIC.
class RoundTripListener {
 public:
  virtual ~RoundTripListener() = default;
  virtual void round_trip(Duration) = 0;
};

class CongestionControl {
 public:
  explicit CongestionControl(std::uint64_t line_rate_bits_per_second)
      : rate_(line_rate_bits_per_second), line_rate_(line_rate_bits_per_second) {}
  virtual ~CongestionControl() = default;
  CongestionControl(const CongestionControl&) = delete;
  CongestionControl& operator=(const CongestionControl&) = delete;

  /// Bits per second, frames as on the wire. Changes in the calls below.
  std::uint64_t rate() const { return rate_; }
  std::uint64_t line_rate() const { return line_rate_; }
  bool is_at_line_rate() const { return rate_ >= line_rate_; }
  /// Without pacing nobody has to pace it at line rate, nor to call sent() and left(). With a window, of RC and XRC
  /// QPs, each request asks for an acknowledgement: a window that shrinks must not wait for one that nobody asked for.
  const CongestionWants& wants() const { return wants_; }
  /// Of its policy; before anything else is called.
  void take_up(const CongestionWants& wants) { wants_ = wants; }
  /// Packets that may be unacknowledged, one at least and window_limit() at most.
  std::uint32_t window_packets() const { return window_packets_; }
  std::uint32_t window_limit() const { return window_limit_; }
  /// From one packet to the next, at least: a window of less than a packet.
  Duration gap() const { return gap_; }

  /// A CNP came for the QP.
  virtual void notified(Time) {}
  /// So many octets left since the last call; also when time has passed, before the rate is used.
  virtual void sent(Time, std::uint64_t /*octets*/) {}
  /// From when a request had left the NIC to when its acknowledgement came; of requests that were sent once.
  virtual void round_trip(Duration) {}
  /// Sending begins. `window_limit`: of packets with up to `mtu` octets of payload, what the NIC allows in any case.
  void begin(std::uint32_t window_limit, std::uint32_t mtu) {
    window_packets_ = window_limit_ = window_limit;
    start_window(mtu);
  }
  /// When a request's last bit had left the NIC; kNever: its answer will not say how long a round trip takes.
  virtual void left(wire::Psn, Time) {}
  virtual void acknowledged(const Answer&) {}
  /// `outstanding`: packets sent and not acknowledged, what is lost among them.
  virtual void lost(Time, Loss, std::uint32_t /*outstanding*/) {}

  /// pacing.cc's: the request whose round trip is being measured.
  struct Measurement {
    wire::Psn psn;
    Time left;
  };
  std::optional<Measurement> measurement;

  /// Null: nobody. It outlives this.
  void tell(RoundTripListener* listener) { listener_ = listener; }

 protected:
  void measured(Duration round_trip) {
    if (listener_ != nullptr) listener_->round_trip(round_trip);
  }
  void set_rate(std::uint64_t bits_per_second) { rate_ = bits_per_second; }
  void set_window(std::uint64_t packets) {
    window_packets_ = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(packets, 1, window_limit_));
  }
  void set_gap(Duration gap) { gap_ = gap; }
  /// The window is its limit, and may be another from now on.
  virtual void start_window(std::uint32_t /*mtu*/) {}

 private:
  CongestionWants wants_;
  RoundTripListener* listener_ = nullptr;
  std::uint64_t rate_;
  std::uint64_t line_rate_;
  std::uint32_t window_packets_ = UINT32_MAX;
  std::uint32_t window_limit_ = UINT32_MAX;
  Duration gap_{};
};

}  // namespace verbena::nic
