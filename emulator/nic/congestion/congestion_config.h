// CongestionConfig: how a NIC's connected QPs keep to what the network bears: the policy, all parameters, CNPs.
//
// A plain value, and the table of policies that it names. Adding a policy: a header and a file like timely.h and
// timely.cc, a row in congestion_config.cc, its parameters here, and their words in fabric/congestion_words.cc.
// Tested by: tests/nic/congestion_test.cc, tests/nic/dcqcn_test.cc
#pragma once

#include <cstdint>
#include <memory>

#include "emulator/nic/congestion/congestion_control.h"
#include "emulator/nic/congestion/dcqcn.h"
#include "emulator/nic/congestion/dctcp.h"
#include "emulator/nic/congestion/hpcc.h"
#include "emulator/nic/congestion/swift.h"
#include "emulator/nic/congestion/timely.h"

namespace verbena::nic {

/// What has a time between CNPs of its own: a QP, an address that marked packets come from, or the port. NICs differ
/// (Yu et al., "Understanding the Micro-Behaviors of Hardware Offloaded Network Stacks with Lumina", SIGCOMM 2023).
enum class CnpScope : std::uint8_t { qp, destination, port };

enum class CongestionPolicy : std::uint8_t { none, dcqcn, timely, swift, dctcp, hpcc };

struct CongestionConfig;
/// A policy.
struct CongestionRow {
  CongestionPolicy policy{};
  CongestionWants wants;
  std::unique_ptr<CongestionControl> (*make)(const CongestionConfig& config) = nullptr;  // null: it holds nothing back
};
const CongestionRow& congestion_row(CongestionPolicy policy);

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

  const CongestionWants& wants() const { return congestion_row(policy).wants; }

  bool operator==(const CongestionConfig&) const = default;
};

/// Null: the policy is `none`.
std::unique_ptr<CongestionControl> make_congestion_control(const CongestionConfig& config);

}  // namespace verbena::nic
