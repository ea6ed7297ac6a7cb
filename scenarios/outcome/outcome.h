// RunOptions and Outcome: what a run of a scenario is given besides the scenario, and what it gives back.
//
// Plain values, the same for both clocks. virtual/run_virtual.h and real/run_real.h make them; showing them is
// report.h's and the command line's.
// Tested by: tests/scenarios/real/run_real_test.cc, tests/scenarios/search/sweep_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/language/scenario.h"
#include "scenarios/outcome/latency_histogram.h"
#include "scenarios/outcome/stop_sign.h"
#include "wire/time.h"

namespace verbena::scenarios {

/// What a progress line can say. Called seldom enough to be printed each time.
struct RunProgress {
  Duration elapsed{0};  // of the scenario's clock
  std::uint64_t completions = 0;
  std::uint64_t completions_wanted = 0;  // 0: workloads run for a time
  std::uint64_t octets = 0;
};

class HitRecorder;

struct RunOptions {
  /// Captures, counters over time, event trace. The directory exists and is writable; empty: none are written.
  std::string out_directory;
  std::uint64_t capture_octets_max = kCaptureOctetsMax;  // of all files of the directory together
  /// Looked at often, once the run is set up: it ends early, writes what it has, and its Outcome says `interrupted`.
  const StopSign* stop = nullptr;
  std::function<void(const RunProgress&)> progress;
  bool checkers = true;
  HitRecorder* recorder = nullptr;  // under virtual time: watches the frames; outlives the run
};

/// Completions that carry the same status.
struct StatusCount {
  std::uint64_t number = 0;
  Duration first{0};  // since the start of the run
  Duration last{0};
};
inline constexpr std::size_t kStatuses = 22;  // nic::CompletionStatus ends below

inline constexpr std::int64_t kSlowdownUnit = 1000;
inline constexpr std::size_t kPairsTold = 1000;

/// Of a workload's flows, those that are no larger than this, and larger than those of the bin before.
struct SizeBin {
  std::uint32_t octets_most = 0;
  LatencyHistogram slowdown;  // in parts of kSlowdownUnit
};

/// One connection of a workload, from its initiator to its target.
struct PairOutcome {
  struct Failure {
    std::uint8_t status = 0;  // nic::CompletionStatus
    Duration time{0};         // since the start of the run
  };
  std::uint32_t from = 0;  // hosts
  std::uint32_t to = 0;
  std::uint32_t from_qpn = 0;  // 0: it was never set up; else as it was last
  std::uint32_t to_qpn = 0;
  std::uint64_t succeeded = 0;  // messages
  bool finished = false;
  std::optional<Failure> failure;  // the first that was not success
};

struct WorkloadOutcome {
  std::string name;
  std::uint64_t pairs = 0;           // of hosts, times QPs
  std::uint64_t pairs_finished = 0;  // have completed all their messages
  std::uint64_t messages_posted = 0;
  std::uint64_t octets = 0;  // of messages completed with success
  Duration start{0};
  Duration last_completion{0};
  std::optional<Duration> finished;  // when the last pair was done
  LatencyHistogram latency;          // nanoseconds from the posting (open loop: from when it was due) to the completion
  LatencyHistogram slowdown;         // of flows, in parts of kSlowdownUnit: latency by the time that each takes alone
  std::vector<SizeBin> by_size;      // the same, by size (size_bins.h)
  std::array<StatusCount, kStatuses> statuses{};          // by nic::CompletionStatus, of initiators
  std::array<StatusCount, kStatuses> receive_statuses{};  // of targets' receives
  std::uint64_t verified_messages = 0;
  std::uint64_t verified_octets = 0;
  std::vector<std::string> damage;   // the first few lines about data that is not what it should be
  std::uint64_t damaged = 0;         // messages
  std::vector<PairOutcome> by_pair;  // at most kPairsTold, those that have not finished first

  /// Over the time from the start to the last completion.
  double bits_per_second() const {
    const std::int64_t ns = (last_completion - start).ns;
    return ns <= 0 ? 0 : static_cast<double>(octets) * 8e9 / static_cast<double>(ns);
  }
};

struct ProgramOutcome {
  std::string name;
  std::optional<int> status;  // nothing: it was ended
  bool held = false;
  std::string text;  // how it ended, in one line
  // Of one that did not end as it should:
  std::vector<std::string>
      last_lines;          // of what it wrote to standard error, or, if that is nothing, to standard output
  std::string lines_from;  // which of the two, with its file where there is one
};

struct ExpectationOutcome {
  std::size_t index =
      0;  // in Scenario::expectations; beyond: implied (workloads end, checkers are silent, data intact)
  std::string text;
  Place place;
  bool held = false;
  std::string observed;           // the value, with its unit
  std::string name;               // as the scenario calls the value; empty: it does not
  std::optional<double> value{};  // as a number: bits per second, nanoseconds, octets, or how many; nothing: it is none
};

struct AppliedFault {
  std::size_t index = 0;         // in Scenario::faults
  std::optional<Duration> time;  // nothing: it never came to it
  std::uint64_t hits = 0;        // of a rule: packets, calls, completions or events
};

struct ReportedViolation {
  Duration time{0};
  std::string checker;
  std::string clause;
  std::string text;
};

struct Outcome {
  enum class End : std::uint8_t {
    finished,     // all workloads and programs ended by themselves
    timed_out,    // the scenario's timeout
    interrupted,  // RunOptions::stop
    failed,       // Verbena could not do it: `error` says why
  } end = End::finished;
  std::string error;
  bool is_users_error = false;  // `failed`: by what the user gave (exit status 2), not by the machine (125)
  bool is_shortage = false;     // `failed`: the machine has no memory left for it; it says nothing of the scenario

  std::uint64_t seed = 0;
  Duration elapsed{0};
  std::vector<WorkloadOutcome> workloads;
  LatencyHistogram round_trips;  // that congestion control has measured, of all hosts; nanoseconds
  std::vector<ProgramOutcome> programs;
  std::vector<ExpectationOutcome> expectations;
  std::vector<AppliedFault> faults;
  std::vector<ReportedViolation> violations;  // the first few
  std::string out_directory;                  // with the captures; empty: there is none
  std::vector<std::string> notes;             // what the reader should know of the outputs, a line each
  std::uint64_t violations_total = 0;
  std::uint64_t trace_hash = 0;  // 0 under the real clock
  std::uint64_t packet_arrivals = 0;
  std::uint64_t packets_lost = 0;
  std::uint64_t packets_overflowed = 0;
  std::uint64_t packets_vanished = 0;
  std::uint64_t pause_frames = 0;  // of a network with traffic classes
  std::uint64_t pause_storms = 0;  // times that a switch's watchdog gave a port up

  bool held() const {
    for (const ExpectationOutcome& expectation : expectations)
      if (!expectation.held) return false;
    return end == End::finished;
  }
};

}  // namespace verbena::scenarios
