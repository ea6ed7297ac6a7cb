// Puts a capture before the checkers: which packet was seen where, who talks with whom, and what was changed on
// purpose.
//
// Solely responsible for that; captures/checkers has the rules, captures/read reads the file.
// Tested by: tests/captures/checkers/cut_test.cc, tests/cli/check_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "captures/checkers/checker.h"
#include "captures/read/capture.h"

namespace verbena::captures {

/// What a capture shows, packet by packet.
struct Vantage {
  /// Captured at this host: what it sends is seen as it leaves, what it gets as it arrives. Nothing: as the file says
  /// (pcapng notes a direction), else on the way.
  std::optional<wire::Gid> host;
  bool trusts_cut_packets = false;  // CheckerOptions
};

/// What the checkers found in a capture; verdict.h says what that amounts to.
struct CaptureFindings {
  std::vector<checkers::CheckerTotals> totals;
  std::vector<checkers::Violation> violations;  // the first checkers::kViolationsKept, in the file's order
  std::uint64_t violation_count = 0;
  std::uint64_t sent_count = 0;       // seen as they left their sender
  std::uint64_t delivered_count = 0;  // seen as they arrived
  std::uint64_t passing_count = 0;    // seen on the way: little can be said of their ends
  std::uint64_t ignored_count = 0;    // damaged, or of a transport without rules
  std::uint64_t cut_count = 0;        // the snap length has cut their ICRC off
  /// Faults of this fabric that copied or held packets between their sender and the capture (or the other way).
  bool departures_disturbed = false;
  bool arrivals_disturbed = false;
};

/// The checkers, and what only a capture can break: packets that are malformed.
std::vector<checkers::CheckerRow> all_rows();

/// `reached`: packets, after each.
CaptureFindings check_capture(const Capture& capture, const Vantage& vantage, const Reached& reached = {});

}  // namespace verbena::captures
