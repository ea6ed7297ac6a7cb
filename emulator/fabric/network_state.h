// NetworkState: what a Network owns, and the way of a frame through it.
//
// Private to emulator/fabric's network*.cc; from outside the only ways in are
// network.h and network_control.h.
// Tested by: tests/fabric/network_test.cc
#pragma once

#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "emulator/fabric/address_table.h"
#include "emulator/fabric/deadline_queue.h"
#include "emulator/fabric/fault_carrier.h"
#include "emulator/fabric/flow_dissector.h"
#include "emulator/fabric/frame_pool.h"
#include "emulator/fabric/network.h"
#include "emulator/fabric/network_control.h"
#include "emulator/fabric/routing.h"
#include "emulator/fabric/spanning_tree.h"

namespace verbena::fabric {

/// The faults of one direction, and the frames that they keep from going with the others.
struct DirectionFaults {
  /// On its way apart from the queue: it arrives later than those sent after it.
  struct Stray {
    Time due;
    std::uint64_t sequence = 0;
    FrameNumber frame = kNoFrame;
    bool operator<(const Stray& other) const {  // as std::push_heap wants it: the first due on top
      return due != other.due ? due > other.due : sequence > other.sequence;
    }
  };
  FaultPlan plan;
  FaultCarrier carrier;
  FaultCounters counters;
  std::vector<Stray> strays;
  std::uint64_t next_sequence = 0;
  Interceptor* interceptor = nullptr;
  FaultWatcher* watcher = nullptr;

  bool decides() const { return interceptor != nullptr || watcher != nullptr || !plan.empty(); }
};

/// One direction of a cable: the egress queue before it and the frames on it, as one queue in the order of arrival. The
/// queue is not kept apart: what waits is what the wire needs the time until `wire_free` for.
struct alignas(64) LinkDirection {
  // What every frame needs lies together.
  Time wire_free{};
  Time last_due{};
  FrameNumber head = kNoFrame;
  FrameNumber tail = kNoFrame;
  std::uint32_t to = 0;
  std::uint16_t known_bytes = 0;               // the frame size of which time_for() keeps the time
  std::uint16_t frame_bytes_max = UINT16_MAX;  // its MTU, with the Ethernet header
  bool is_up = true;
  bool marks = false;
  bool stamps = false;  // writes telemetry
  bool is_loopback = false;
  bool has_classes = false;  // its queue is NetworkQos'
  bool has_lanes = false;    // and its classes have credits
  bool is_active = true;     // the port that it leaves from lets data out: in a managed subnet not always
  bool is_plain = true;      // see find_plain()
  Duration known_time{};
  Duration propagation{};
  std::unique_ptr<DirectionFaults> faults;

  std::uint64_t frames = 0;
  std::uint64_t octets = 0;
  Duration backlog_max{};
  Duration queue_max{};       // octets as time at this rate
  Duration mark_above{};      // Kmin
  Duration mark_all_above{};  // Kmax
  Duration jitter{};
  std::uint64_t rate = 0;    // bits per second; 0: frames take no time
  Duration largest_frame{};  // the time that it takes

  std::uint64_t lost = 0;
  std::uint64_t overflowed = 0;
  std::uint32_t queue_bytes = 0;
  EcnMarking ecn;
  std::uint32_t queue_octets_max = 0;  // before the last change of the rate
  std::uint32_t from = 0;
  LinkId link;

  Duration time_of(std::uint64_t bytes) const {
    if (rate == 0) return {};
    return {static_cast<std::int64_t>((bytes * 8'000'000'000u + rate - 1) / rate)};
  }
  /// Frames mostly come in one size.
  Duration time_for(std::uint16_t bytes) {
    if (bytes != known_bytes) {
      known_bytes = bytes;
      known_time = time_of(bytes);
    }
    return known_time;
  }
  /// All that can happen to a frame is that it waits and goes, or that there are too many.
  void find_plain() { is_plain = is_up && !marks && !stamps && !faults && jitter.ns == 0 && !has_classes; }
  /// Whether the switch marks a frame that finds so much before it. `draw`: 64 random bits.
  bool is_marked_behind(Duration waiting, std::uint64_t draw) const;
  Duration backlog(Time now) const { return wire_free > now ? wire_free - now : Duration{}; }
  std::uint32_t octets_of(Duration time) const;
  /// Of a host's way out: when it has room for one more frame.
  Time has_room_at(Time now) const;
  void set_rate(std::uint64_t bits_per_second);
};

/// Fetches from memory what the next arrivals need, one thing after the other as each leads to the next: the direction,
/// its first frame, the frame's octets or its way on, the direction that it takes. Without it a network that does not
/// fit into the caches waits for memory most of the time. Changes nothing but speed.
class Prefetcher {
 public:
  explicit Prefetcher(std::size_t directions) : is_needed_(directions >= kDirectionsMin) {}
  /// The events at `now` are about to be done.
  void run(const Network::State& network, Time now) {
    if (is_needed_) fetch(network, now);
  }

 private:
  static constexpr std::size_t kDirectionsMin = 512;  // fewer stay in the caches
  static constexpr std::size_t kStep = 5;             // events between one thing and the next
  static constexpr std::size_t kSteps = 4;

  void fetch(const Network::State& network, Time now);

  bool is_needed_;
  std::vector<DirectionNumber> line_;  // sources in the order in which they are due; those of one time in any
  std::size_t fetched_ = 0;            // of these
  Time seen_{-1};
  Time measured_{};  // when `events_` was 0
  std::int64_t events_ = 0;
  Duration distance_{1};  // how far to look, so that kSteps x kStep events lie ahead
};

class NetworkLanes;
class NetworkQos;
class SubnetForwarding;

struct Network::State {
  State(const Topology& of, const NetworkOptions& with);

  /// `octets`: where the frame was built. If that is not its place in the pool, its headers are put there.
  void enter(Time now, std::uint32_t host, FrameNumber frame, std::span<const std::byte> octets);
  /// What is due at `now`, and what else of this direction is by `until`.
  void run_direction(Time now, Time until, DirectionNumber number, Sink& sink);
  void schedule(DirectionNumber number);
  /// Its transmission begins, or it waits for its turn: faults have their say.
  void transmit(Time now, DirectionNumber number, FrameNumber frame);
  // What a direction's faults do with a frame.
  void launch(Time now, DirectionNumber number, FrameNumber frame, Duration extra);
  void damage(FrameNumber frame, const FaultVerdict& verdict);
  /// Somebody outside is about to see the frame, or a fault to change it: a deferred ICRC is computed.
  void complete(FrameNumber frame);
  FrameNumber copy(FrameNumber frame);
  void mark(FrameNumber frame);
  /// Telemetry, as the frame's transmission begins.
  void stamp(Time now, DirectionNumber number, FrameNumber frame);
  /// For the next frame of this direction that may be marked: 64 random bits.
  std::uint64_t mark_draw(DirectionNumber number) const;
  void comment(FrameNumber frame, std::string_view text) { pool.info(frame).comment = comment_number(text); }
  /// The frame ends here.
  void end(Time now, DirectionNumber number, FrameNumber frame, FrameEvent event);

  // -- network_control.cc
  /// The directions that belong to a cable's link.
  DirectionNumber direction_of(LinkId link) const { return by_link[2 * std::size_t{link.cable} + link.backward]; }
  /// What is in the queue is gone, what the switch has begun to send included; what is on the wire as well, if so said.
  void lose_all(Time now, DirectionNumber number, bool also_on_the_wire);
  void expect_change(Time now, bool is_switch, std::uint32_t index, bool up);
  void apply_changes(Time now);
  /// Finds whether the port of `vertex`, if it is a host, is up, and tells who listens when that has changed.
  void update_port(std::uint32_t vertex);

  Topology topology;
  NetworkOptions options;
  std::vector<LinkDirection> directions;   // ordered by (to, cable); loopbacks behind the cables of their host
  std::vector<DirectionNumber> by_link;    // 2 * cable + backward
  std::vector<DirectionNumber> loopbacks;  // of each host
  std::vector<std::vector<DirectionNumber>> ways_out;  // of each host, one a cable
  std::vector<DirectionNumber> single_way;             // of each host with one cable: its way out
  FramePool pool;
  DeadlineQueue queue;
  AddressTable addresses;
  /// The last frame that entered, of which no more is to be known than its way: mostly the next one goes the same.
  struct {
    FlowKey key;
    std::uint32_t destination = kNoHost;
    std::uint32_t flow_hash = 0;
    bool ecn_capable = false;
  } last_flow;
  std::unique_ptr<Routing> routing;
  std::unique_ptr<SpanningTree> tree;
  std::uint64_t sprayed = 0;                    // frames, where each takes a way of its own
  std::vector<std::uint8_t> is_dead;            // of each vertex: a dead switch
  std::unordered_set<std::uint64_t> cut_pairs;  // from << 32 | to

  /// What has happened and is not yet noticed by the routes.
  struct Change {
    Time due;
    bool is_switch = false;
    std::uint32_t index = 0;  // vertex or direction
    bool up = false;
    std::uint32_t epoch = 0;  // later changes of the same thing void it
  };
  std::deque<Change> changes;
  std::vector<std::uint32_t> link_epochs;
  std::vector<std::uint32_t> switch_epochs;
  std::vector<bool> link_believed_up;
  std::vector<bool> switch_believed_up;

  std::vector<bool> port_up;  // of each host
  PortListener* port_listener = nullptr;

  Observer* observer = nullptr;
  NetworkStatistics statistics;
  std::uint64_t hash = 0xcbf29ce484222325u;
  std::unordered_map<std::string_view, std::uint16_t> comment_numbers;  // looked up, never walked through
  std::deque<std::string> comment_texts{std::string()};                 // by FrameInfo::comment

  FrameNumber open = kNoFrame;  // reserved
  bool is_open = false;
  bool is_open_in_scratch = false;
  std::vector<std::byte> build_scratch = std::vector<std::byte>(wire::kFrameBytesMax);
  std::vector<std::byte> view_scratch = std::vector<std::byte>(wire::kFrameBytesMax);
  std::vector<DirectionNumber> due;
  Prefetcher prefetcher;
  std::unique_ptr<NetworkQos> qos;           // Topology::qos
  std::unique_ptr<NetworkLanes> lanes;       // with FlowControl::credits
  std::unique_ptr<SubnetForwarding> subnet;  // Topology::is_managed

  ~State();

 private:
  friend class SubnetForwarding;

  // -- network_frames.cc: a frame's way
  /// What the network has to know of the frame. False: it is for a group, and on its way already.
  bool find_destination(Time now, std::uint32_t host, FrameNumber frame, std::span<const std::byte> octets);
  void enqueue(Time now, DirectionNumber number, FrameNumber frame);
  [[gnu::noinline]] void enqueue_with_care(Time now, DirectionNumber number, FrameNumber frame);
  /// What the interceptor says, and what the rules do.
  FaultVerdict judge(Time now, DirectionNumber number, FrameNumber frame);
  [[gnu::noinline]] void judge_and_launch(Time now, DirectionNumber number, FrameNumber frame);
  void occupy_wire(Time now, DirectionNumber number, FrameNumber frame, Duration wire_time);
  /// The frame is on its way; what it takes to arrive, beside the time of the wire itself, is `flight`.
  void depart(Time now, DirectionNumber number, FrameNumber frame, Duration wire_time, Duration flight);
  void arrive(Time now, DirectionNumber number, FrameNumber frame, Sink& sink);
  /// What is no frame for one host.
  [[gnu::noinline]] void arrive_specially(Time now, DirectionNumber number, FrameNumber frame, Sink& sink);
  /// Of a direction that is not plain: frames apart from the queue, and those that wait in classes.
  [[gnu::noinline]] void run_with_care(Time now, DirectionNumber number, Sink& sink);
  [[gnu::noinline]] Time next_with_care(DirectionNumber number) const;

  // -- network_groups.cc: frames for a multicast group
  /// At its sender or at a switch: a copy on every way of the tree but back to where it came from.
  [[gnu::noinline]] void flood(Time now, std::uint32_t vertex, std::uint32_t came_from, FrameNumber frame);
  [[gnu::noinline]] void arrive_for_group(Time now, DirectionNumber number, FrameNumber frame, Sink& sink);
  bool is_cut_off(std::uint32_t host, FrameNumber frame);

  // -- network_frames.cc again
  /// The frame at its full length; valid until the next call.
  std::span<const std::byte> view(FrameNumber frame);

  void note(Time time, DirectionNumber number, const FrameInfo& frame, FrameEvent event) {
    if (!options.trace) return;
    const std::uint64_t what =
        std::uint64_t{frame.digest} << 32 | std::uint64_t{number} << 3 | static_cast<std::uint64_t>(event);
    hash = (hash ^ (static_cast<std::uint64_t>(time.ns) * 0x9e3779b97f4a7c15u + what)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 31;
  }
  void show(Time time, DirectionNumber number, FrameNumber frame, FrameEvent event) {
    if (observer != nullptr) show_to_observer(time, number, frame, event);
  }
  [[gnu::noinline]] void show_to_observer(Time time, DirectionNumber number, FrameNumber frame, FrameEvent event);
  std::uint16_t comment_number(std::string_view comment);

  // -- network_control.cc
  void rebuild_routes();
  bool has_signal(std::uint32_t cable) const;
};

/// What is to leave by the direction is discarded. Ethernet's port sends into the void if only the switch behind it is
/// dead; InfiniBand's has no link then, and so no credit.
inline bool leads_nowhere(const Network::State& network, DirectionNumber number) {
  const LinkDirection& direction = network.directions[number];
  return !direction.is_up || !direction.is_active || (direction.has_lanes && network.is_dead[direction.to] != 0);
}

}  // namespace verbena::fabric
