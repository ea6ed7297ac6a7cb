// CongestionControl: how fast one QP may send, as a policy: the reaction point of congestion management.
//
// A policy hears what its QP hears of the network and says a rate, a window, or both; pacing.cc keeps the QP to them.
// Pure: time is an argument, and a policy needs no timer of its own, because what would have happened meanwhile is
// caught up with when the rate matters next. Adding one: a file like timely.cc, a row in congestion_control.cc, and its
// parameters here and in fabric/congestion_words.cc. What a receiver does about marks is congestion.h's.
// Private to emulator/nic, but for the configuration.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "wire/telemetry.h"
#include "wire/time.h"
#include "wire/types.h"

namespace verbena::nic {

/// What has a time between CNPs of its own: a QP, an address that marked packets come from, or the port. NICs differ
/// (Yu et al., "Understanding the Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", SIGCOMM 2023).
enum class CnpScope : std::uint8_t { qp, destination, port };

enum class CongestionPolicy : std::uint8_t { none, dcqcn, timely, swift, dctcp, hpcc };
/// Whether it tells of round trips (RoundTripListener).
constexpr bool measures_round_trips(CongestionPolicy policy) {
  return policy == CongestionPolicy::timely || policy == CongestionPolicy::swift;
}

/// A share of one, as parts of 2^30.
using Share = std::uint32_t;
inline constexpr Share kWhole = 1u << 30;

/// Names and values of Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015; the increases
/// and the least rate, which the paper does not say, are those of its authors' simulator
/// (github.com/bobzhuyb/ns3-rdma: mix/config.txt, and MinRate of qbb-net-device.cc). ConnectX calls the parameters by
/// the names in brackets.
struct DcqcnParameters {
  Share g = kWhole / 256;                                        // [1 - dce_tcp_g / 1024] weight of the newest sample
  Duration alpha_timer = microseconds(55);                       // [dce_tcp_rtt] alpha decays once in it without a CNP
  Duration timer = microseconds(55);                             // [rpg_time_reset] rate increase
  std::uint64_t byte_counter = 10'000'000;                       // [rpg_byte_reset] rate increase, octets
  std::uint32_t fast_recovery = 5;                               // [rpg_threshold] F
  std::uint64_t additive_increase_bits_per_second = 40'000'000;  // [rpg_ai_rate] R_AI
  std::uint64_t hyper_increase_bits_per_second = 200'000'000;    // [rpg_hai_rate] R_HAI
  std::uint64_t min_rate_bits_per_second = 100'000'000;          // [rpg_min_rate]
  Duration decrease_interval{};  // [rate_reduce_monitor_period] least time between two cuts
  /// [clamp_tgt_rate] Each cut makes the rate before it the target; else only one after an increase does.
  bool clamp_target_rate = true;

  bool operator==(const DcqcnParameters&) const = default;
};

/// Names of Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1; values
/// as in the TIMELY sender of github.com/bobzhuyb/ns3-rdma. The paper paces segments of up to 64 KB, this NIC packets.
struct TimelyParameters {
  Share alpha = kWhole / 8 * 7;  // weight of the newest RTT difference
  Share beta = kWhole / 5 * 4;   // multiplicative decrease
  Duration t_low = microseconds(50);
  Duration t_high = microseconds(500);
  Duration min_rtt = microseconds(20);                           // what RTT differences are measured by
  std::uint64_t additive_increase_bits_per_second = 10'000'000;  // delta
  std::uint32_t hyper_increase = 5;                              // N: increments, after as many falls of the RTT
  std::uint64_t min_rate_bits_per_second = 100'000'000;

  bool operator==(const TimelyParameters&) const = default;
};

/// Names of Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
/// 2020, algorithm 1 and section 3.5. The paper says few of the values; these are those of csg-htsim
/// (github.com/Broadcom/csg-htsim: sim/swift.cpp), whose authors call them guesses. Windows are of packets.
struct SwiftParameters {
  Duration base_target = microseconds(20);
  Duration hop_scale = nanoseconds(3053);  // the target grows by it for each switch on the way
  std::uint32_t hops = 1;                  // switches on the way; the paper has them of the TTL
  Duration fs_range = microseconds(100);   // flow scaling: what the target grows by as the window shrinks
  Share fs_min_window = kWhole / 10;       // where all of fs_range is added
  std::uint32_t fs_max_window = 100;       // where none of it is
  std::uint32_t additive_increase = 1;     // ai: packets in a round trip
  Share beta = kWhole / 5 * 4;             // multiplicative decrease
  Share max_mdf = kWhole / 2;              // the most that one decrease takes
  Share min_window = kWhole / 100;
  std::uint32_t retransmit_reset = 5;  // timeouts in a row that lead to min_window

  bool operator==(const SwiftParameters&) const = default;
};

/// Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; g as there, section 3.4, and in RFC 8257.
struct DctcpParameters {
  Share g = kWhole / 16;                // weight of the newest window's share of marks
  std::uint32_t additive_increase = 1;  // packets in a round trip

  bool operator==(const DctcpParameters&) const = default;
};

/// Names and values of Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 5.1.
struct HpccParameters {
  Duration base_rtt = microseconds(13);  // T: the round trip without queues, of the longest way
  Share eta = kWhole / 100 * 95;         // target utilization
  std::uint32_t max_stage = 5;           // additive increases in a row before a multiplicative one
  std::uint64_t additive_increase = 80;  // W_AI, octets

  bool operator==(const HpccParameters&) const = default;
};

struct CongestionConfig {
  CongestionPolicy policy = CongestionPolicy::none;
  CnpScope cnp_scope = CnpScope::qp;
  /// A gap in requests, which is answered with a NAK, is answered with a CNP as well, within the interval of CNPs, as
  /// ConnectX-5 and later have it where slow restart is on (Lumina's authors: github.com/lumina-test/lumina,
  /// analyzer/checker/cnp_check.py).
  bool cnp_on_nak = false;
  /// Of the port: what a QP begins with, and goes back to.
  std::uint64_t line_rate_bits_per_second = 100'000'000'000;
  DcqcnParameters dcqcn;
  TimelyParameters timely;
  SwiftParameters swift;
  DctcpParameters dctcp;
  HpccParameters hpcc;

  /// The policy lives on what switches mark: packets say that they may.
  bool uses_marks() const { return policy == CongestionPolicy::dcqcn || policy == CongestionPolicy::dctcp; }
  /// It hears of marks by CNPs.
  bool uses_notifications() const { return policy == CongestionPolicy::dcqcn; }
  /// It hears of each mark, by BECN in the acknowledgement of the packet that was marked.
  bool echoes_marks() const { return policy == CongestionPolicy::dctcp; }

  /// It hears of what switches write into packets.
  bool uses_telemetry() const { return policy == CongestionPolicy::hpcc; }

  bool operator==(const CongestionConfig&) const = default;
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
  /// Whether the QP is paced at line rate as well, so that packets leave when it says that they do. Else nobody has to
  /// pace it there, nor to call sent() and left().
  virtual bool is_always_paced() const { return false; }
  /// Whether it hears of one round trip after the other.
  virtual bool wants_round_trips() const { return false; }
  /// Whether it limits what is unacknowledged, and so hears acknowledged() and lost(), of RC and XRC QPs. Each request
  /// then asks for an acknowledgement: a window that shrinks must not wait for one that nobody asked for.
  virtual bool has_window() const { return false; }
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
  RoundTripListener* listener_ = nullptr;
  std::uint64_t rate_;
  std::uint64_t line_rate_;
  std::uint32_t window_packets_ = UINT32_MAX;
  std::uint32_t window_limit_ = UINT32_MAX;
  Duration gap_{};
};

/// `share` of it.
constexpr std::uint64_t times(std::uint64_t value, Share share) {
  // In two parts, so that no product is too large: rates have up to 47 bits.
  constexpr unsigned kHalfBits = 15;
  const std::uint64_t high = share >> kHalfBits;
  const std::uint64_t low = share & ((1u << kHalfBits) - 1);
  return ((value * high) + (value * low >> kHalfBits)) >> kHalfBits;
}

/// Null: the policy is `none`.
std::unique_ptr<CongestionControl> make_congestion_control(const CongestionConfig& config);

std::unique_ptr<CongestionControl> make_dcqcn(const CongestionConfig& config);   // dcqcn.cc
std::unique_ptr<CongestionControl> make_timely(const CongestionConfig& config);  // timely.cc
std::unique_ptr<CongestionControl> make_swift(const CongestionConfig& config);   // swift.cc
std::unique_ptr<CongestionControl> make_dctcp(const CongestionConfig& config);   // dctcp.cc
std::unique_ptr<CongestionControl> make_hpcc(const CongestionConfig& config);    // hpcc.cc

}  // namespace verbena::nic
