// NicTuning: what a user wants of the NIC of a live process, whatever its program asks for.
//
// Solely responsible for the words of VERBENA_NIC (`verbena exec --nic`, and the `nic:` of a scenario under the real
// clock) and for what each of them changes:
//   mtu=1024                  the port's MTU; longer path MTUs are refused
//   read-depth=16             reads and atomics in flight that a QP may have; more are refused
//   speed=25Gbps              the rate that the port shows; what limits it is the link. `verbena exec` says its cable's
//   window=1MiB               octets that a QP has in flight
//   timeout=14 retry-count=7 rnr-retry=7 min-rnr-timer=12    instead of what the program gives ibv_modify_qp
//   timeout-min=4ms           shorter local ACK timeouts are rounded up to it
//   acknowledge-every=64      packets of a long message between requests for an acknowledgement
//   cnp-interval=4us          marked packets are answered with CNPs, no oftener for a QP
//   congestion-control=dcqcn  slows down for CNPs, lets switches mark its packets, and sends CNPs of its own every 50us
//                             (cnp-interval); or another policy. Their parameters: fabric/congestion_words.cc
//   dscp=26 cnp-dscp=48       of packets whose traffic class the program leaves at 0, and of CNPs
//   loss-recovery=selective-repeat   only what was lost is sent again, with peers that do so, too; its parameters:
//                             fabric/loss_recovery_words.cc
//   page-fault-delay=50us     until a page of an on-demand region is there that is touched for the first time
//   nak-latency=10us acknowledge-latency=500ns               from the request to its answer
//   nak-reaction-latency=10us implied-nak-latency=10us       from a NAK, or a gap in responses, to what is sent again
//   removed-after=2s          the device goes that long after it was opened: IBV_EVENT_DEVICE_FATAL, all QPs flush
// Words that are not there change nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fabric/fault_rule.h"
#include "emulator/nic/objects/attributes.h"
#include "emulator/nic/objects/nic_config.h"
#include "wire/result.h"
#include "wire/time.h"

namespace verbena::host {

struct NicTuning {
  std::optional<std::uint32_t> mtu_bytes;
  std::optional<std::uint8_t> read_depth;
  std::optional<std::uint64_t> speed_bits_per_second;
  std::optional<std::uint32_t> window_bytes;
  std::optional<std::uint8_t> timeout;
  std::optional<std::uint8_t> retry_count;
  std::optional<std::uint8_t> rnr_retry;
  std::optional<std::uint8_t> min_rnr_timer;
  Duration timeout_min{0};
  std::uint32_t acknowledge_every = 0;
  std::uint8_t dscp = 0;
  std::uint8_t cnp_dscp = 0;
  Duration cnp_interval{0};
  nic::CongestionConfig congestion;  // but for the line rate, which is the speed
  nic::LossRecoveryConfig loss_recovery;
  Duration page_fault_delay{0};
  Duration nak_latency{0};
  Duration acknowledge_latency{0};
  Duration nak_reaction_latency{0};
  Duration implied_nak_latency{0};
  std::optional<Duration> removed_after;

  bool operator==(const NicTuning&) const = default;

  void apply(nic::NicConfig& config) const;
  /// Of a modify_qp. What the program does not name stays its own.
  void apply(nic::QpAttributes& attributes) const;
  /// The latencies, for the link of the process.
  std::vector<fabric::FaultRule> latencies() const;
};

/// The error is one line: the word, and what would be right.
Result<NicTuning, std::string> parse_nic_tuning(std::string_view text);
/// The settings by name, for whoever offers them.
std::vector<std::string_view> nic_tuning_words();
/// What parse_nic_tuning() reads back; empty if nothing is wanted.
std::string text_of(const NicTuning& tuning);

}  // namespace verbena::host
