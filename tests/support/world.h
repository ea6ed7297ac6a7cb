// World: several NICs, cables between them, and a clock that only moves when everything has been done.
//
// Solely responsible for time and for what happens to frames between NICs: a 64-bit mask per direction (bit i set: the
// i-th frame since the mask was set is lost), fault rules, or a filter of the test's own. Everything that was sent is
// kept as a trace, and hashed, so that two runs can be compared. Bounded: a world that does not come to rest fails the
// test.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulator/fabric/chance.h"
#include "emulator/fabric/link_model.h"
#include "emulator/fabric/nic_words.h"
#include "emulator/nic/nic.h"
#include "tests/support/frames.h"

namespace verbena::test {

using namespace verbena::nic;

struct WorldOptions {
  unsigned nodes = 2;
  Duration latency = microseconds(1);
  std::uint64_t seed = 1;
  std::vector<std::string> faults;    // of every direction of every cable
  std::uint64_t bits_per_second = 0;  // at which a NIC hands frames over; 0: as fast as it likes
  NicLimits limits = {.max_qp = 64, .max_cq = 64, .max_mr = 256, .max_ah = 64, .max_srq = 16};
  std::uint32_t port_frames = 64;  // that one call of transmit() finds room for
  std::uint32_t window_bytes = NicConfig{}.window_bytes;
  std::uint32_t acknowledge_every = 0;
  Duration cnp_interval{};
  CongestionConfig congestion;
  LossRecoveryConfig loss_recovery;
  Duration page_fault_delay{};
  Duration nak_reaction_latency{};
  Duration implied_nak_latency{};
  std::vector<CompletionJudge*> judges;  // of each node, in their order; the rest have none
  std::vector<wire::WireKind> wires;     // of each node, in their order; the rest have the default one
};

/// One frame that a NIC has sent.
struct Traced {
  Time at;
  unsigned from = 0;
  unsigned to = 0;
  wire::Opcode opcode{};
  std::uint32_t psn = 0;
  wire::Qpn dest_qp;
  bool ack_request = false;
  bool solicited = false;
  std::uint8_t syndrome = 0;  // with an AETH
  std::uint32_t msn = 0;
  std::uint32_t length = 0;  // RETH
  std::uint8_t reserved7 = 0;
  std::optional<wire::PlacementEth> placement;
  std::optional<wire::SackEth> sack;
  std::size_t payload_bytes = 0;
  bool lost = false;
};

inline Traced trace_of(Time at, unsigned from, unsigned to, const wire::PacketView& packet) {
  Traced traced{.at = at,
                .from = from,
                .to = to,
                .opcode = packet.bth().opcode,
                .psn = packet.bth().psn.value(),
                .dest_qp = packet.bth().dest_qp,
                .ack_request = packet.bth().ack_request,
                .solicited = packet.bth().solicited,
                .payload_bytes = packet.payload().size()};
  if (packet.opcode().has_aeth) {
    traced.syndrome = packet.aeth().syndrome;
    traced.msn = packet.aeth().msn;
  }
  if (packet.opcode().has_reth) traced.length = packet.reth().length;
  traced.reserved7 = packet.bth().reserved7;
  traced.placement = placement_of(packet);
  traced.sack = sack_of(packet);
  return traced;
}

class World {
 public:
  explicit World(WorldOptions options = {}) : options_(std::move(options)) {
    for (unsigned index = 0; index < options_.nodes; ++index) nodes_.push_back(std::make_unique<Node>(*this, index));
    for (unsigned i = 0; i < options_.nodes * options_.nodes; ++i) cables_.push_back(make_cable(i));
  }

  ~World() {
    for (const auto& node : nodes_) node->nic.check_invariants();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Nodes are counted from 1, as on a fabric.
  /// Each access checks what must hold after the call before.
  Nic& nic(unsigned node) {
    Nic& nic = nodes_.at(node - 1)->nic;
    nic.check_invariants();
    return nic;
  }
  Counters& counters(unsigned node) { return nodes_.at(node - 1)->counters; }
  Time now() const { return now_; }
  const std::vector<Traced>& trace() const { return trace_; }
  void clear_trace() { trace_.clear(); }
  std::uint64_t hash() const { return hash_; }

  /// Frames from `from` to `to` are counted anew; bit i: the i-th one is lost.
  void lose(unsigned from, unsigned to, std::uint64_t mask) {
    cable(from, to).mask = mask;
    cable(from, to).sent = 0;
  }
  void cut(unsigned from, unsigned to, bool is_cut = true) { cable(from, to).cut = is_cut; }
  /// Sees every frame before it is sent on; false loses it. May change it.
  std::function<bool(const Traced&, std::vector<std::byte>&)> filter;
  /// Sees every frame just before a NIC gets it; `corrupted`: a fault has changed it.
  std::function<void(unsigned to, std::span<const std::byte> frame, bool corrupted)> on_delivery;
  /// The same two, with the number of the frame in trace(): one that a fault has copied is delivered twice.
  std::function<void(std::uint32_t number, std::span<const std::byte> frame)> on_numbered_departure;
  std::function<void(std::uint32_t number, std::span<const std::byte> frame, bool corrupted)> on_numbered_delivery;

  wire::Medium medium_of(unsigned node) const {
    const bool is_infiniband = node <= options_.wires.size() && options_.wires[node - 1].is_infiniband;
    return is_infiniband ? wire::Medium::infiniband : wire::Medium::ethernet;
  }

  /// Puts a frame of the test's own on the way to a node.
  void inject(unsigned to, std::vector<std::byte> frame) { cable(to, to).arriving.push_back({now_, std::move(frame)}); }

  /// Runs until nothing is left to do before `limit`; the clock then stands at `limit`.
  void run_until(Time limit) {
    while (step(limit)) {
    }
    now_ = std::max(now_, limit);
  }
  void run_for(Duration time) { run_until(now_ + time); }
  /// Runs until nothing is left to do at all. Fails the test if that takes longer than `longest` of virtual time.
  void run_to_rest(Duration longest = seconds(100)) {
    const Time limit = now_ + longest;
    while (step(limit)) {
    }
    BOOST_TEST_REQUIRE(!next_event().has_value(), "the world did not come to rest");
  }
  /// Runs until the condition holds. False: it does not hold by the end of `longest`.
  template <class Condition>
  bool run_while_not(Condition&& condition, Duration longest = seconds(100)) {
    const Time limit = now_ + longest;
    while (!condition())
      if (!step(limit)) return condition();
    return true;
  }

 private:
  struct Node {
    Node(World& world, unsigned index) : nic(config(world.options_, index), memory, counters) {}
    static NicConfig config(const WorldOptions& options, unsigned index) {
      NicConfig config;
      config.limits = options.limits;
      config.qpn_base = wire::Qpn((index + 1) << 16);
      config.ports[0].mac = node_mac(index + 1);
      config.gids[0] = node_gid(index + 1);
      if (index < options.wires.size()) fabric::use_wire(options.wires[index], config);
      if (index < options.wires.size() && options.wires[index].is_infiniband) {
        config.ports[0].medium = wire::Medium::infiniband;
        config.ports[0].lid = wire::Lid(index + 1);
      }
      config.seed = options.seed;
      config.window_bytes = options.window_bytes;
      config.acknowledge_every = options.acknowledge_every;
      config.cnp_interval = options.cnp_interval;
      config.congestion = options.congestion;
      config.loss_recovery = options.loss_recovery;
      config.page_fault_delay = options.page_fault_delay;
      if (index < options.judges.size()) config.completion_judge = options.judges[index];
      config.nak_reaction_latency = options.nak_reaction_latency;
      config.implied_nak_latency = options.implied_nak_latency;
      return config;
    }
    PlainMemory memory;
    Counters counters;
    Nic nic;
    Time free_at{0};  // when its last frame has left
  };
  struct Arriving {
    Time due;
    std::vector<std::byte> frame;
  };
  struct Cable {
    std::uint64_t mask = 0;
    std::uint32_t sent = 0;
    bool cut = false;
    std::deque<Arriving> arriving;
    std::unique_ptr<fabric::LinkModel> model;  // with faults
  };
  class Port final : public TransmitPort {
   public:
    Port(World& world, unsigned from) : world_(world), from_(from), room_left_(world.options_.port_frames) {}
    std::span<std::byte> reserve(const Destination& destination, std::size_t bytes) override {
      BOOST_REQUIRE(!open_);
      if (room_left_ == 0 || world_.nodes_[from_ - 1]->free_at > world_.now_) return {};
      BOOST_REQUIRE(bytes <= world_.scratch_.size());
      open_ = true;
      reserved_ = bytes;
      destination_ = destination.address;
      return std::span(world_.scratch_).first(bytes);
    }
    void commit(std::size_t bytes, wire::IcrcState) override {
      BOOST_REQUIRE(open_ && bytes <= reserved_);
      open_ = false;
      --room_left_;
      if (world_.options_.bits_per_second != 0)
        world_.nodes_[from_ - 1]->free_at =
            world_.now_ +
            nanoseconds(static_cast<std::int64_t>(bytes * 8'000'000'000 / world_.options_.bits_per_second));
      world_.sent(from_, destination_, std::span(world_.scratch_).first(bytes));
    }
    void cancel() override {
      BOOST_REQUIRE(open_);
      open_ = false;
    }

   private:
    World& world_;
    unsigned from_;
    std::uint32_t room_left_;
    bool open_ = false;
    std::size_t reserved_ = 0;
    wire::Gid destination_;
  };

  Cable& cable(unsigned from, unsigned to) { return *cables_.at((from - 1) * options_.nodes + to - 1); }

  std::unique_ptr<Cable> make_cable(unsigned number) const {
    auto made = std::make_unique<Cable>();
    if (options_.faults.empty()) return made;
    std::vector<fabric::FaultRule> rules;
    for (const std::string& text : options_.faults) {
      auto rule = fabric::parse_fault(text);
      BOOST_REQUIRE_MESSAGE(rule.ok(), (rule.ok() ? "" : rule.error()));
      rules.push_back(*rule);
    }
    made->model = std::make_unique<fabric::LinkModel>(
        fabric::LinkParameters{.propagation = options_.latency, .pool_frames = 2048},
        fabric::FaultPlan(rules, options_.seed, "cable" + std::to_string(number)));
    return made;
  }

  /// What has no single destination reaches every other node.
  void flood(unsigned from, std::span<const std::byte> bytes) {
    for (unsigned to = 1; to <= options_.nodes; ++to)
      if (to != from) cable(from, to).arriving.push_back({now_ + options_.latency, {bytes.begin(), bytes.end()}});
  }

  void sent(unsigned from, const wire::Gid& destination, std::span<const std::byte> bytes) {
    if (destination == wire::Gid{} || destination.is_multicast()) return flood(from, bytes);
    const auto packet = wire::parse_on(medium_of(from), bytes);
    BOOST_REQUIRE_MESSAGE(packet.ok(), "a NIC sent a frame that does not parse");
    BOOST_REQUIRE_MESSAGE(packet->icrc_is_valid(), "a NIC sent a frame with a wrong ICRC");
    BOOST_REQUIRE(packet->destination() == destination);
    unsigned to = 0;
    for (unsigned node = 1; node <= options_.nodes; ++node)
      if (node_gid(node) == destination) to = node;
    Traced traced = trace_of(now_, from, to, *packet);
    std::vector<std::byte> frame(bytes.begin(), bytes.end());
    if (on_numbered_departure) on_numbered_departure(static_cast<std::uint32_t>(trace_.size()), bytes);
    if (filter && !filter(traced, frame)) traced.lost = true;
    if (to == 0) traced.lost = true;
    if (!traced.lost) carry(cable(from, to), traced, std::move(frame));
    for (const std::byte octet : bytes) hash_ = (hash_ ^ static_cast<std::uint8_t>(octet)) * 0x100000001b3u;
    hash_ = fabric::mix_all({hash_, static_cast<std::uint64_t>(now_.ns), traced.lost ? 1u : 0u});
    trace_.push_back(traced);
  }

  void carry(Cable& way, Traced& traced, std::vector<std::byte> frame) {
    const std::uint32_t number = way.sent++;
    if (way.cut || (number < 64 && (way.mask >> number & 1) != 0)) {
      traced.lost = true;
    } else if (way.model) {
      traced.lost = way.model->submit(now_, frame, {.word = static_cast<std::uint32_t>(trace_.size())}).lost;
    } else {
      way.arriving.push_back({now_ + options_.latency, std::move(frame)});
    }
  }

  bool deliver_due(unsigned node) {
    bool delivered = false;
    for (unsigned from = 1; from <= options_.nodes; ++from) {
      Cable& way = cable(from, node);
      while (!way.arriving.empty() && way.arriving.front().due <= now_) {
        const std::vector<std::byte> frame = std::move(way.arriving.front().frame);
        way.arriving.pop_front();
        if (on_delivery) on_delivery(node, frame, false);
        nic(node).receive(now_, frame);
        delivered = true;
      }
      while (way.model) {
        const auto delivery = way.model->next_delivery(now_);
        if (!delivery) break;
        if (on_delivery) on_delivery(node, delivery->frame, delivery->corrupted);
        if (on_numbered_delivery) on_numbered_delivery(delivery->tag.word, delivery->frame, delivery->corrupted);
        nic(node).receive(now_, delivery->frame);
        way.model->pop();
        delivered = true;
      }
    }
    return delivered;
  }

  std::optional<Time> next_event() {
    Time earliest = kNever;
    for (unsigned node = 1; node <= options_.nodes; ++node) {
      if (nic(node).has_work()) earliest = std::min(earliest, std::max(now_, nodes_[node - 1]->free_at));
      if (const auto deadline = nic(node).next_deadline()) earliest = std::min(earliest, *deadline);
    }
    for (const auto& way : cables_) {
      if (!way->arriving.empty()) earliest = std::min(earliest, way->arriving.front().due);
      if (way->model)
        if (const auto deadline = way->model->next_deadline()) earliest = std::min(earliest, *deadline);
    }
    if (earliest == kNever) return std::nullopt;
    return earliest;
  }

  /// Everything that happens at the next instant at which something happens. False: nothing does, up to `limit`.
  bool step(Time limit) {  // nic() checks the NIC after each call
    const auto next = next_event();
    if (!next || *next > limit) return false;
    steps_at_one_time_ = *next > now_ ? 0 : steps_at_one_time_ + 1;
    BOOST_REQUIRE_MESSAGE(steps_at_one_time_ < kStepsAtOneTimeMax, "the world is busy without time passing");
    now_ = std::max(now_, *next);
    for (unsigned node = 1; node <= options_.nodes; ++node) {
      deliver_due(node);
      if (const auto deadline = nic(node).next_deadline(); deadline && *deadline <= now_) nic(node).on_deadline(now_);
      Port port(*this, node);
      nic(node).transmit(now_, port, options_.port_frames);
      nic(node).check_invariants();
    }
    return true;
  }

  static constexpr std::uint32_t kStepsAtOneTimeMax = 100'000;

  WorldOptions options_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Cable>> cables_;
  std::vector<Traced> trace_;
  std::vector<std::byte> scratch_ = std::vector<std::byte>(wire::kFrameBytesMax);
  Time now_{1'000'000};
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  std::uint32_t steps_at_one_time_ = 0;
};

}  // namespace verbena::test
