// LossRecoveryConfig: how a NIC's reliable connections recover from loss, as a policy, and its parameters.
//
// Solely the values. Go-back-N is the specification's and every NIC's: requester.cc, completer.cc, responder.cc.
// Selective repeat is an extension of ours between QPs that agree on it (transport_ib/selective_repeat).
// Tested by: tests/nic/selective_repeat_test.cc
#pragma once

#include <cstdint>

#include "wire/time.h"

namespace verbena::nic {

enum class RecoveryPolicy : std::uint8_t { go_back_n, selective_repeat };

/// Names and values of Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018 (IRN), sections 3 and 4.1.
struct LossRecoveryConfig {
  RecoveryPolicy policy = RecoveryPolicy::go_back_n;
  Duration rto_low = microseconds(100);   // RTO_low: with few packets in flight
  Duration rto_high = microseconds(320);  // RTO_high: with more
  std::uint32_t rto_low_packets = 3;      // N: fewer than so many are few
  /// BDP-FC: what a QP may have in flight, in packets or octets, or as the round trip over which the port's rate gives
  /// the bandwidth-delay product. 0: not bounded beyond the NIC's window. The least of those that are said counts.
  std::uint32_t bdp_packets = 0;
  std::uint64_t bdp_bytes = 0;
  Duration bdp_round_trip{};
  /// False: every peer is taken to agree from the first packet on, as in the paper, where all NICs are alike.
  bool negotiates = true;

  bool operator==(const LossRecoveryConfig&) const = default;
};

/// BDP-FC's bound for packets of `mtu` octets at the port's rate; 0: none.
constexpr std::uint32_t bdp_window(const LossRecoveryConfig& config, std::uint32_t mtu, std::uint64_t bits_per_second) {
  constexpr std::uint64_t kBitsPerOctet = 8;
  constexpr std::uint64_t kNsPerUs = 1000;
  constexpr std::uint64_t kUsPerSecond = 1'000'000;
  std::uint64_t least = UINT32_MAX;
  const auto bound = [&least](std::uint64_t packets) {
    const std::uint64_t at_least = packets == 0 ? 1 : packets;
    least = at_least < least ? at_least : least;
  };
  if (config.bdp_packets != 0) bound(config.bdp_packets);
  if (config.bdp_bytes != 0) bound(config.bdp_bytes / mtu);
  if (config.bdp_round_trip.ns != 0) {
    const auto us = static_cast<std::uint64_t>(config.bdp_round_trip.ns) / kNsPerUs;
    bound(bits_per_second / kBitsPerOctet * us / kUsPerSecond / mtu);
  }
  return least == UINT32_MAX ? 0 : static_cast<std::uint32_t>(least);
}

}  // namespace verbena::nic
