// Checkers: watch a stream of RoCE v2 packets and say which rules of the transport were broken, by whom and where.
//
// Solely responsible for judging what is seen; it changes nothing and knows neither scenarios nor captures' formats.
// The same code judges online (`verbena run`: every packet where it leaves its sender and where it arrives) and a
// capture (`verbena check`). A packet that was seen on the way may have been overtaken, copied or lost before, and may
// yet be. So rules on what an end did are judged only where the stream was seen at that end. What cannot be judged is
// counted as such; there are no guesses. Each rule is a class in a file of its own; rules.cc has their table. IBTA
// clauses are named by the sections of vol 1 release 1.4.
// Tested by: tests/captures/checkers/clean_test.cc, tests/captures/checkers/broken_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/packet_view.h"
#include "wire/time.h"

namespace verbena::checkers {

inline constexpr std::size_t kConnectionsMax = 1 << 16;  // packets of further ones are counted, not judged
inline constexpr std::size_t kRegionsMax = 1 << 20;
inline constexpr std::size_t kViolationsKept = 1000;

enum class Seen : std::uint8_t {
  passing,    // at some point on the way
  sent,       // where its sender hands it to the network, in the sender's order
  lost,       // the same, and it is known that it never arrives
  delivered,  // where it arrives, in the receiver's order
};

/// One sighting. Online, every packet is seen as `sent` (or `lost`) and, if it arrives, as `delivered`.
struct CheckedPacket {
  Time time;
  const wire::PacketView& packet;  // used during the call only
  Seen seen = Seen::passing;
  bool corrupted = false;    // changed on the way: not its sender's fault, and no receiver takes it
  std::uint64_t number = 0;  // for reports: which packet of a file, or frame of a trace
};

struct Violation {
  Time time;
  std::uint64_t number = 0;  // CheckedPacket::number
  std::string_view checker;
  std::string_view clause;
  std::string text;  // one line, with the flow and the PSNs
};

/// What is known of a queue pair beforehand.
struct CheckedEnd {
  wire::Gid address;
  std::optional<wire::Qpn> qpn;  // nothing: not known (a one-sided capture)
  /// Of its own requests. Said only where every packet of the connection will be seen as sent (or lost); nothing: the
  /// stream may begin in the middle.
  std::optional<wire::Psn> first_psn;
  Duration ack_timeout{0};  // local ACK timeout; 0: none, or not known
  Duration rto_low{0};      // of selective repeat; 0: not known
};
struct CheckedConnection {
  std::array<CheckedEnd, 2> ends;
  std::uint32_t path_mtu_bytes = 0;  // 0: not known
};
struct CheckedRegion {
  wire::Gid host;
  wire::Rkey rkey;
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  bool remote_write = false;
  bool remote_read = false;
  bool remote_atomic = false;
};

/// DCQCN's reaction point: the parameters of Zhu et al., SIGCOMM 2015; rates in bits per second.
struct CheckedDcqcn {
  double line_rate = 0;
  double g = 0;
  double additive_increase = 0;
  double hyper_increase = 0;
  double min_rate = 0;
  Duration alpha_timer;
  Duration timer;
  Duration decrease_interval;
  std::uint64_t byte_counter = 0;
  std::uint32_t fast_recovery = 0;
  bool clamp_target_rate = true;
};
/// How a host's NIC manages congestion.
struct CheckedCongestion {
  enum class CnpScope : std::uint8_t { qp, destination, port };
  wire::Gid host;
  Duration cnp_interval{};  // 0: not known, or no CNPs
  CnpScope cnp_scope = CnpScope::qp;
  std::optional<CheckedDcqcn> dcqcn;  // nothing: its QPs have other rates, or none
};

struct CheckerOptions {
  bool verify_icrc = true;  // false where payload is not carried
  /// Packets whose end a snap length has cut off are taken as they are. Else nothing is judged by one that was seen on
  /// the way or where it arrived: its headers may have been damaged, and the ICRC that would tell is gone.
  bool trusts_cut_packets = false;
  /// Damage on the way is nobody's fault, but who knows of every damage that there may be (marked by `corrupted`) is
  /// told of any other: a wrong ICRC is a violation wherever it is seen. Every sighting's ICRC is looked at then.
  bool knows_all_damage = false;
  bool all_atomics_visible = false;  // nothing but the atomics that are seen changes their targets
  /// How long a packet may wait between the decision to send it and where it is seen as sent (egress queues). Rules on
  /// what a sender knew when it sent are that much laxer.
  Duration departure_delay_max{0};
  Duration clock_tolerance{0};  // of timers, where clocks are real
};

/// One row of the table of checkers, and what came of it.
struct CheckerRow {
  std::string_view name;
  std::string_view clause;
  std::string_view what;
};
struct CheckerTotals {
  CheckerRow row;
  std::uint64_t judged = 0;    // packets that kept to the rule or broke it
  std::uint64_t unjudged = 0;  // packets of which it cannot be said from what was seen
  std::uint64_t violations = 0;
};
std::vector<CheckerRow> all_checkers();

class Checkers {
 public:
  explicit Checkers(const CheckerOptions& options = {});
  ~Checkers();
  Checkers(Checkers&&) noexcept;

  /// Two queue pairs begin (again) to talk with each other. Without it a QP's requests are judged, but not together
  /// with the answers to them: packets do not name the QP that they come from.
  void connect(const CheckedConnection& connection);
  /// Memory that `host` lets others access. Where a host has named any, every access must lie in one, or be refused.
  void region(const CheckedRegion& region);
  void forget_region(const wire::Gid& host, wire::Rkey rkey);
  void congestion(const CheckedCongestion& congestion);
  /// A host has begun anew: what it said of regions is void, and what its NIC had heard of congestion. Its connections
  /// are told by connect().
  void restart(const wire::Gid& host);

  void observe(const CheckedPacket& packet);
  /// At the end of the stream: rules that need the whole of it.
  void finish();

  /// The first kViolationsKept.
  std::span<const Violation> violations() const;
  std::uint64_t violation_count() const;
  /// In the order of the table.
  std::vector<CheckerTotals> totals() const;
  std::uint64_t packet_count() const;
  /// Packets of more connections than kConnectionsMax, of transports without rules here (XRC), and damaged ones.
  std::uint64_t ignored_count() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace verbena::checkers
