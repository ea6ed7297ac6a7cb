// Scenario: what a scenario file says, as plain values with every default filled in and every name resolved.
//
// Solely the meaning; the text form (YAML, JSON Schema, errors with line and column) is read_scenario.h's, running it
// is scenarios/virtual's and scenarios/real's. Times are from the start of the run. Probabilities are parts per
// billion, rates bits per second, sizes octets.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/fabric/fault.h"
#include "emulator/fabric/nic_settings.h"
#include "emulator/fabric/topology.h"
#include "wire/time.h"

namespace verbena::scenarios {

/// Where in the file something was said, counted from 1; 0: nowhere.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

enum class Clock : std::uint8_t { virtual_time, real_time };

// -- NICs -------------------------------------------------------------------------------------------------------------

/// What the file says, and the profile that it names (scenarios/profiles/*.yaml: the micro-behaviour of a known NIC).
/// Under the real clock programs choose for themselves what is not said.
struct NicSettings : fabric::NicSettings {
  std::string profile = "ideal";  // as the scenario calls it

  // What workloads go by, and programs see.
  std::uint32_t mtu() const { return mtu_bytes.value_or(4096); }
  std::uint32_t window() const { return window_bytes.value_or(2 << 20); }
  std::uint8_t read_limit() const { return read_depth.value_or(16); }
};

// -- Workloads --------------------------------------------------------------------------------------------------------

enum class Verb : std::uint8_t { send, write, write_immediate, read, compare_swap, fetch_add, mixed };
enum class Transport : std::uint8_t { rc, uc, ud };
enum class Pattern : std::uint8_t { pair, incast, outcast, all_to_all, permutation, ring_allreduce };

/// A message's size is drawn from the choices by their weights, then evenly between its least and most.
struct SizeChoice {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  std::uint32_t weight = 1;
};

struct Workload {
  std::string name;
  Place place;
  Verb verb = Verb::write;
  Transport transport = Transport::rc;
  Pattern pattern = Pattern::pair;
  /// Hosts by index in the topology. pair: {from, to} couples from[i] -> to[i]; incast: all of `from` to to[0];
  /// outcast: from[0] to all of `to`; otherwise the members are in `from` and `to` is empty.
  std::vector<std::uint32_t> from;
  std::vector<std::uint32_t> to;
  /// Not 1: nodes are named, by the first of their rails. The pattern is there once on each rail, between rails of one
  /// number: host h stands for h + 1 on the next.
  std::uint32_t rails = 1;
  std::vector<SizeChoice> sizes;
  std::uint64_t count = 0;  // messages per QP; 0: until `duration` is over
  Duration duration{0};     // 0: until `count` messages
  std::uint32_t queue_depth = 16;
  std::uint8_t dscp = 0;                     // of its packets; 0: the NIC's
  std::uint8_t service_level = 0;            // on InfiniBand
  std::optional<wire::RoceVersion> version;  // that its packets go by; nothing: v2 where both NICs have it
  std::uint32_t qps = 1;                     // per pair of hosts
  /// 0: a closed loop keeps queue_depth requests posted; otherwise an open loop, messages per second and QP.
  std::uint64_t messages_per_second = 0;
  /// Not 0: an open loop of flows, one message each. They arrive at each source as a Poisson process whose octets are
  /// so much of its port's rate, and each goes to one of the source's pairs of hosts, drawn evenly, on the QP of the
  /// pair that has fewest. `count` are the flows of a source then, and `duration` is how long they arrive.
  std::uint32_t load_ppb = 0;
  bool reuses_qps = true;  // false: the QP of a flow is connected anew
  bool check = true;       // every octet verified at the target, atomics exactly once
  Duration start{0};
  /// Receives that the target keeps posted per QP (send, write-imm); fewer than the sender's depth make RNR NAKs.
  std::uint32_t receive_depth = 64;
  /// How long the target waits before it posts a consumed receive anew.
  Duration receive_delay{0};
};

/// `exec:`: an unmodified program on a node, or a launcher of ranks on several, real time only.
struct Program {
  std::string name;
  Place place;
  std::uint32_t node = 0;              // from 0
  std::uint32_t nodes = 0;             // not 0: from the first on; each process on that of its rank, and `node` is 0
  std::vector<std::string> arguments;  // [0] is the program; ${n1} was replaced by the address of host n1
  Duration start{0};
  std::vector<std::string> after;  // programs that must listen or have printed something first; empty: none
  int expected_status = 0;
  bool background = false;  // a server: ended when all others have ended
};

// -- Faults -----------------------------------------------------------------------------------------------------------

/// When a fault begins: at a time, or when a condition first holds.
struct Trigger {
  Duration at{0};
  /// "WORKLOAD completed N", "link NAME carried N" or "FAULT has hit N packets"; nothing: at `at`.
  struct Condition {
    enum class Kind : std::uint8_t { completions, packets, hits } kind{};
    std::string subject;    // the workload, the cable, or the fault's text
    std::size_t fault = 0;  // of `hits`: its index in Scenario::faults, before that of the fault that waits
    std::uint64_t count = 0;
    Duration after{0};  // that it waits once the condition holds
  };
  std::optional<Condition> condition;
  std::optional<Duration> until;    // a packet fault's end, a time; nothing: it stays
  std::optional<Duration> lasting;  // the same with a condition: the end counted from when the fault began
};

/// A direction of a cable: from its end a to its end b, or back. `both`: two plans of their own.
enum class Way : std::uint8_t { forward, backward, both };
struct LinkChoice {
  std::uint32_t cable = 0;  // index in Topology::cables
  Way way = Way::both;
};

/// The directions that a choice, or several, name.
std::vector<fabric::LinkId> links_of(const LinkChoice& choice);
std::vector<fabric::LinkId> links_of(const std::vector<LinkChoice>& choices);

/// It comes for `down` and goes for `up`, `times` times; how it goes is a change of its own.
struct Flap {
  Duration down{0};
  Duration up{0};
  std::uint32_t times = 1;
  fabric::ElementChange::Kind in_between{};
};
/// A partition goes one way: the reader adds the other one.
struct Fault {
  std::string text;  // for reports: what it is in one line
  Place place;
  Trigger trigger;
  fabric::Fault what;
  std::optional<Flap> flap{};  // of an ElementChange
};

// -- Expectations -----------------------------------------------------------------------------------------------------

/// A closed range; a missing end is open.
struct Bounds {
  std::optional<double> least;
  std::optional<double> most;
  bool contains(double value) const { return (!least || value >= *least) && (!most || value <= *most); }
};

/// What is watched in a network with traffic classes; named as checkers are (scenarios/virtual/fabric_checks.h).
inline constexpr std::array<std::string_view, 3> kFabricChecks{"pause", "lossless", "pause-deadlock"};

struct Expectation {
  enum class Kind : std::uint8_t {
    completions,  // number of completions of `workload` with `status` (success if not said), within `time`
    throughput,   // of `workload`, bits per second
    latency,      // of `workload`, percentile `percentile` or the mean, nanoseconds
    slowdown,     // of `workload`'s flows: time from arrival to completion by the time that each takes alone
    rtt,          // that the congestion control of `hosts` has measured, nanoseconds
    queue,        // in front of `links`, percentile `percentile` of all samples in `time`, octets
    pauses,       // pause frames that came from the other ends of `links` and asked them to pause, or to go on
    counter,      // `counter` of `hosts`, summed
    qp_state,     // of all QPs of `workload` at their `side`
    data_intact,  // of `workload` (empty: all)
    silence,      // no packet on `links` (empty: all) from `time.least` to `time.most`
    finished,     // `workload` is done by time.most
    program,      // exit status (if said) and output of program `workload`; bounds of a number in it
    checker,      // number of reports of `checker` (empty: of all of them; they are silent unless told otherwise)
    survivors,    // number of workload pairs that complete all their messages
  } kind{};
  std::string text;
  Place place;
  std::string name;  // what its value is called; empty: nothing
  std::string workload;
  std::optional<std::uint8_t> status;
  double percentile = 50;
  bool is_mean = false;  // instead of the percentile
  std::string counter;
  std::string checker;
  std::string output;  // program: a regular expression that its output must fit; with bounds, of its first group
  std::vector<std::uint32_t> hosts;
  std::vector<LinkChoice> links;
  std::uint8_t qp_state = 3;
  bool target_side = false;
  Bounds value;
  Bounds time_ns;
  Bounds sizes;  // latency, slowdown: of messages of so many octets
};

// -- The whole --------------------------------------------------------------------------------------------------------

/// Of the captures that `--out` makes. Nothing: what is usual under the scenario's clock.
struct CaptureLimits {
  std::optional<std::uint32_t> snap_bytes;  // kept of each packet; 0: all
  std::optional<std::uint64_t> octets_max;  // of all captures together
};
/// Programs on the real clock send as much as the machine can: headers and whole management datagrams are kept
/// (Ethernet 14, IPv6 40, UDP 8, BTH 12, DETH 8, MAD 256, ICRC 4), and as much as an analysis can take in.
inline constexpr std::uint32_t kRealSnapBytes = 384;
inline constexpr std::uint64_t kRealCaptureOctetsMax = std::uint64_t{256} << 20;
/// Under virtual time whole packets are kept, and a run of milliseconds may have gigabytes of them.
inline constexpr std::uint64_t kCaptureOctetsMax = std::uint64_t{64} << 20;

struct Scenario {
  std::string name;
  std::string description;
  Clock clock = Clock::virtual_time;
  std::uint64_t seed = 1;
  Duration timeout = seconds(60);  // of the scenario's clock
  Duration real_timeout = seconds(120);
  bool payload = true;  // false: headers only, no content checks
  fabric::Topology topology;
  CaptureLimits capture;
  Duration sample{0};                     // 0: none; how often each link's load and queue are looked at
  Duration detection = milliseconds(10);  // until switches route around a dead link or switch
  bool cuts_sockets = true;               // of programs, with the network
  Duration socket_timeout{};              // of their TCP over a dead cable; 0: the kernel's own
  std::vector<NicSettings> nics;          // one per host, by index
  std::vector<Workload> workloads;
  std::vector<Program> programs;
  std::vector<Fault> faults;
  std::vector<Expectation> expectations;
};

/// The topology with cables that are no faster than the NICs at their ends.
fabric::Topology topology_at_nic_speeds(const Scenario& scenario);

}  // namespace verbena::scenarios
