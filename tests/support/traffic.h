// Traffic: RDMA writes between hosts of a sim::World, for tests and benchmarks of the simulator.
//
// Solely a closed loop per connection: so many writes of one size, so many posted at a time. Scenarios have workloads
// of their own (scenarios/workload). Set-up aborts when a verb fails.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "emulator/fabric/chance.h"
#include "emulator/sim/world.h"
#include "wire/assert.h"

namespace verbena::test {

struct TrafficOptions {
  std::uint32_t message_bytes = 1 << 20;
  std::uint32_t messages = 1;  // per connection
  std::uint32_t depth = 1;
  std::uint32_t mtu = 4096;
  std::uint8_t timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint32_t window_bytes = 2 << 20;
  std::uint32_t completions_max = 64;  // that wait in a host's CQ
  bool has_memory = false;             // false: for payload-free worlds
  nic::CongestionConfig congestion;
  Duration cnp_interval{};
  const wire::Encapsulation* encapsulation = &wire::kRoceV2;
};

/// The initiator and the target of all connections of one host.
class TrafficHost final : public sim::Application {
 public:
  TrafficHost(sim::World& world, sim::HostId id, const TrafficOptions& options)
      : world_(world), id_(id), options_(options) {
    nic::Nic& nic = world.nic(id);
    pd_ = *nic.allocate_pd();
    cq_ = *nic.create_cq(options.completions_max, 0);
    if (options.has_memory) memory_.resize(options.message_bytes);
    // Work requests name memory by an address that is the same in every run.
    mr_ = *nic.register_memory({.pd = pd_,
                                .address = reinterpret_cast<std::uintptr_t>(memory_.data()),
                                .length = options.message_bytes,
                                .iova = kIova,
                                .access = nic::kLocalWrite | nic::kRemoteWrite});
    world.attach(id, this);
  }

  /// Makes a connection from `from` to `to`; writes go one way.
  static void connect(TrafficHost& from, TrafficHost& to) {
    const nic::QpHandle a = from.create_qp();
    const nic::QpHandle b = to.create_qp();
    from.bring_up(a, to.id_, to.world_.nic(to.id_).qpn(b));
    to.bring_up(b, from.id_, from.world_.nic(from.id_).qpn(a));
    from.flows_.push_back({a, to.mr_.rkey, from.options_.messages});
    from.wanted_ += from.options_.messages;
  }

  void run(Time now) override {
    for (; started_ < flows_.size(); ++started_)
      for (std::uint32_t i = 0; i < options_.depth; ++i) post(started_, now);
    std::array<nic::Completion, 16> completions;
    while (const std::size_t count = world_.nic(id_).poll_cq(cq_, completions)) {
      for (std::size_t i = 0; i < count; ++i) {
        last_completion = now;
        if (completions[i].status == nic::CompletionStatus::success) {
          ++done;
          post(static_cast<std::size_t>(completions[i].wr_id), now);
        } else {
          ++failed;
          first_failure = failed == 1 ? completions[i].status : first_failure;
        }
      }
    }
  }
  bool is_done() const { return done == wanted_; }
  std::vector<std::byte>& memory() { return memory_; }

  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  nic::CompletionStatus first_failure{};
  Time last_completion{};

 private:
  static constexpr std::uint64_t kIova = 0x700000001000;
  struct Flow {
    nic::QpHandle qp;
    std::uint32_t rkey = 0;
    std::uint32_t left = 0;
  };

  nic::QpHandle create_qp() {
    nic::QpInit init;
    init.pd = pd_;
    init.send_cq = init.recv_cq = cq_;
    init.capabilities = {
        .max_send_wr = options_.depth, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    return *world_.nic(id_).create_qp(init);
  }

  void bring_up(nic::QpHandle qp, sim::HostId peer, wire::Qpn peer_qpn) {
    using namespace nic;
    const auto modify = [&](const QpAttributes& attributes, std::uint32_t mask) {
      VERBENA_ASSERT(world_.nic(id_).modify_qp(qp, attributes, mask, world_.now()).ok());
    };
    QpAttributes attributes;
    attributes.state = QpState::init;
    attributes.access = kRemoteWrite;
    modify(attributes, kQpState | kQpPkeyIndex | kQpPort | kQpAccessFlags);
    attributes.state = QpState::rtr;
    attributes.address_vector.destination = sim::host_address(peer);
    attributes.address_vector.next_hop = sim::host_mac(peer);
    attributes.address_vector.traffic_class = kEcnCapable;
    attributes.path_mtu_bytes = options_.mtu;
    attributes.dest_qpn = peer_qpn;
    attributes.min_rnr_timer = 12;
    modify(attributes, kQpState | kQpAv | kQpPathMtu | kQpDestQpn | kQpRqPsn | kQpMaxDestReadAtomic | kQpMinRnrTimer);
    attributes.state = QpState::rts;
    attributes.timeout = options_.timeout;
    attributes.retry_count = options_.retry_count;
    attributes.rnr_retry = 7;
    modify(attributes, kQpState | kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSqPsn | kQpMaxReadAtomic);
  }

  void post(std::size_t number, Time now) {
    Flow& flow = flows_[number];
    if (flow.left == 0) return;
    --flow.left;
    const nic::Sge sge{kIova, options_.message_bytes, mr_.lkey};
    nic::SendRequest request;
    request.wr_id = number;
    request.opcode = nic::SendOpcode::rdma_write;
    request.signaled = true;
    request.sges = {&sge, 1};
    request.operand.remote.address = kIova;
    request.operand.remote.rkey = flow.rkey;
    VERBENA_ASSERT(world_.nic(id_).post_send(flow.qp, request, now).ok());
  }

  static constexpr std::uint8_t kEcnCapable = 2;

  sim::World& world_;
  sim::HostId id_;
  TrafficOptions options_;
  std::vector<std::byte> memory_;
  nic::PdHandle pd_;
  nic::CqHandle cq_;
  nic::MemoryRegion mr_;
  std::vector<Flow> flows_;
  std::size_t started_ = 0;
  std::uint64_t wanted_ = 0;
};

/// A world and the traffic of its hosts.
struct TrafficWorld {
  TrafficWorld(fabric::Topology topology, const TrafficOptions& traffic,
               const sim::WorldOptions& options = {.checks_invariants = true})
      : world(std::move(topology), std::array{config(traffic)}, options) {
    for (sim::HostId id = 0; id < world.network().topology().hosts; ++id) hosts.emplace_back(world, id, traffic);
  }
  static nic::NicConfig config(const TrafficOptions& traffic) {
    nic::NicConfig config;
    config.window_bytes = traffic.window_bytes;
    config.congestion = traffic.congestion;
    config.cnp_interval = traffic.cnp_interval;
    config.gids[0].encapsulation = traffic.encapsulation;
    config.limits.max_qp = 2048;
    config.limits.max_cq = 16;
    config.limits.max_mr = 16;
    config.limits.max_srq = 16;
    config.limits.max_ah = 16;
    config.limits.max_pd = 16;
    return config;
  }
  void connect(sim::HostId from, sim::HostId to) { TrafficHost::connect(hosts[from], hosts[to]); }
  /// Each host writes to one other, and each is written to by one.
  void connect_permutation(std::uint64_t seed) {
    std::vector<sim::HostId> order(hosts.size());
    for (sim::HostId id = 0; id < order.size(); ++id) order[id] = id;
    fabric::Dice dice(seed);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[dice.below(i)]);
    for (std::size_t i = 0; i < order.size(); ++i) connect(order[i], order[(i + 1) % order.size()]);
  }
  /// The first of so many hosts is written to by the others of them, and so on.
  void connect_incasts(sim::HostId group) {
    for (sim::HostId id = 0; id < hosts.size(); ++id)
      if (id % group != 0) connect(id, id - id % group);
  }
  bool is_done() const {
    for (const TrafficHost& host : hosts)
      if (!host.is_done()) return false;
    return true;
  }
  std::uint64_t done() const {
    std::uint64_t sum = 0;
    for (const TrafficHost& host : hosts) sum += host.done;
    return sum;
  }

  sim::World world;
  std::deque<TrafficHost> hosts;
};

}  // namespace verbena::test
