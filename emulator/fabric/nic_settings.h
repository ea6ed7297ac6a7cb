// NicSettings: what may be said of one NIC: by the `nic:` of a scenario, by a profile, by `verbena exec --nic`.
//
// Solely the values. How they are spelled, what they may be and what they change is nic_words.h's table.
// Tested by: tests/fabric/nic_words_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/nic/congestion/congestion_config.h"
#include "emulator/nic/objects/loss_recovery_config.h"
#include "emulator/nic/objects/nic_config.h"
#include "wire/roce_version.h"
#include "wire/time.h"

namespace verbena::fabric {

struct NicSettings {
  std::optional<std::uint32_t> mtu_bytes;              // of the port: 256, 512, 1024, 2048, 4096
  std::optional<std::uint8_t> read_depth;              // reads and atomics in flight that a QP may have, each way
  std::optional<std::uint64_t> speed_bits_per_second;  // of the NIC's own port
  std::optional<std::uint32_t> numa_node;              // of the machine, that programs see the NIC at
  std::optional<std::uint32_t> window_bytes;           // that a QP has in flight
  std::optional<std::uint8_t> wire;                    // which of wire::kWireKinds; nothing: the default one
  std::optional<std::uint8_t> timeout;                 // code: 4.096 us x 2^timeout; 0: none
  std::optional<std::uint8_t> retry_count;
  std::optional<std::uint8_t> rnr_retry;      // 7: for ever
  std::optional<std::uint8_t> min_rnr_timer;  // code, IBTA table 46
  Duration timeout_min{0};                    // local ACK timeouts below are rounded up to it
  /// Request packets between acknowledgements at most: asked for by the requester, given unasked by the responder; 0:
  /// NIC's own choice.
  std::uint32_t acknowledge_every = 0;
  std::uint8_t dscp = 0;      // of packets that have none of their own; 0: none
  std::uint8_t cnp_dscp = 0;  // of CNPs; 0: that of the marked packet
  /// Least time between two CNPs that answer marked packets of a QP. 0: no CNPs are sent, and what is sent cannot be
  /// marked by switches.
  Duration cnp_interval{0};
  nic::CongestionConfig congestion;  // but for the line rate, which is the port's
  nic::LossRecoveryConfig loss_recovery;
  /// Until a page of an on-demand region is there that the NIC meets for the first time. 0: memory is pinned; else the
  /// regions of a scenario's workloads are on-demand ones.
  Duration page_fault_delay{0};
  Duration nak_latency{0};                // from the packet that is missing to the NAK on the wire
  Duration acknowledge_latency{0};        // from a request to its acknowledgement
  Duration nak_reaction_latency{0};       // from its arrival to the first packet that is sent again
  Duration implied_nak_latency{0};        // from the response that shows a gap to the READ that is sent again
  std::optional<Duration> removed_after;  // of a program's device, from when it was opened
  nic::NicLimits limits;                  // that a program's device has at most; as they stand: its own

  bool operator==(const NicSettings&) const = default;
};

/// Which versions of RoCE the NIC's GIDs have.
inline const wire::WireKind& wire_of(const NicSettings& settings) {
  return settings.wire ? wire::kWireKinds[*settings.wire] : wire::kWireKindDefault;
}

}  // namespace verbena::fabric
