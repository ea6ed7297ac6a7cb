#include "emulator/sim/world.h"

#include "emulator/fabric/chance.h"
#include "emulator/fabric/deadline_queue.h"
#include "emulator/sim/host.h"
#include "emulator/sim/packet_control.h"
#include "emulator/sim/payload_free_memory.h"
#include "wire/assert.h"

namespace verbena::sim {
namespace {

/// Of an application with its NIC at one instant; an application that goes on and on is continued a nanosecond later.
constexpr std::uint32_t kRoundsMax = 64;
/// Of one host at one instant, where the wire takes no time.
constexpr std::size_t kFramesAtOnceMax = 4096;
/// QPs of which invariants are checked after one call: with more of them a check would cost more than the call.
constexpr std::uint32_t kQpsChecked = 4;
constexpr std::uint32_t kFirstAddress = 0x0a000001;

struct Task {
  Time due;
  std::uint64_t sequence = 0;
  std::function<void(Time)> work;
  bool operator<(const Task& other) const {  // as std::push_heap wants it: the first due on top
    return due != other.due ? due > other.due : sequence > other.sequence;
  }
};

constexpr auto kLater = [](Time a, Time b) { return a > b; };

}  // namespace

struct World::State final : fabric::Sink, fabric::PortListener {
  State(fabric::Topology topology, std::span<const nic::NicConfig> nics, const WorldOptions& with);

  bool arrived(const fabric::Arrival& arrival) override;
  void look_at(HostId id, std::uint8_t reasons) {
    Host& host = hosts[id];
    if (host.reasons == 0) touched.push_back(id);
    host.reasons |= reasons;
  }
  void check(Host& host) {
    if (options.checks_invariants) host.next_checked = host.nic->check_invariants(host.next_checked, kQpsChecked);
  }
  Time next() const;
  void run_tasks();
  void collect_due();
  void run_touched();
  void run_host(HostId id, std::uint8_t reasons);
  void run_wake_ups(Host& host, HostId id, bool& call);
  void transmit(Host& host, HostId id);
  void arm(Host& host, HostId id);
  void build_nic(Host& host);
  void crash(HostId id);
  void port_changed(std::uint32_t host, bool is_up) override;
  void room_changed(std::uint32_t host) override { look_at_end(host); }
  void pause_sent(std::uint32_t host, fabric::ClassMask classes) override {
    hosts[host].counters.add_by_class(nic::Counter::tx_prio0_pause, classes);
  }
  /// A cable or switch at `vertex` has changed: a host there may have room, or none, at another time than it was told.
  void look_at_end(std::uint32_t vertex) {
    if (network.topology().is_host(vertex) && hosts[vertex].nic) look_at(vertex, kTouched);
  }
  void look_at_ends(LinkId link) {
    const fabric::Cable& cable = network.topology().cables[link.cable];
    look_at_end(cable.a);
    look_at_end(cable.b);
  }
  /// Whose NIC may have something to do after the change.
  void look_at_neighbours(const fabric::ElementChange& change);

  WorldOptions options;
  fabric::Network network;
  fabric::ElementFaults elements{network};
  std::uint32_t count;
  std::unique_ptr<nic::Memory> memory;  // one for all: it is the process's own, or none
  std::unique_ptr<Host[]> hosts;
  fabric::DeadlineQueue queue;  // of each host, Host::next_deadline()
  std::vector<Task> tasks;
  std::uint64_t next_task = 0;
  std::vector<HostId> touched;
  std::vector<HostId> running;
  std::vector<std::uint32_t> due;
  std::uint64_t events = 0;
  Time now{};
};

World::State::State(fabric::Topology topology, std::span<const nic::NicConfig> nics, const WorldOptions& with)
    : options(with),
      network(topology,
              {.seed = with.seed, .payload = with.payload, .detection = with.detection, .frames_max = with.frames_max}),
      count(topology.hosts),
      memory(with.payload ? std::unique_ptr<nic::Memory>(std::make_unique<nic::PlainMemory>())
                          : std::make_unique<PayloadFreeMemory>()),
      hosts(std::make_unique<Host[]>(topology.hosts)),
      queue(topology.hosts) {
  VERBENA_ASSERT(nics.size() == count || nics.size() == 1);
  for (HostId id = 0; id < count; ++id) {
    Host& host = hosts[id];
    host.config = nics[nics.size() == 1 ? 0 : id];
    host.config.ports[0].mac = host_mac(id);
    if (topology.medium == wire::Medium::infiniband) {
      host.config.gids[0].encapsulation = &wire::kInfiniBand;
      host.config.gid_count = 1;
      host.config.ports[0].lid = host_lid(id);
      host.config.ports[0].medium = wire::Medium::infiniband;
    }
    for (std::uint8_t i = 0; i < host.config.gid_count; ++i)
      host.config.gids[i].gid = host_address(id, topology.medium);
    host.config.qpn_base = wire::Qpn((id % 255 + 1) << 16);
    host.config.seed = fabric::mix_all({with.seed, id});
    build_nic(host);
    network.add_address(id, host_address(id, topology.medium));
  }
  network.watch_ports(this);
}

void World::State::build_nic(Host& host) {
  host.nic.reset();
  host.nic.emplace(host.config, *memory, host.counters);
  host.next_checked = 0;
  host.seen = 0;
}

void World::State::port_changed(std::uint32_t host, bool is_up) {
  hosts[host].config.ports[0].is_up = is_up;
  if (hosts[host].nic) hosts[host].nic->set_port_up(1, is_up);
}

bool World::State::arrived(const fabric::Arrival& arrival) {
  Host& host = hosts[arrival.host];
  if (!host.nic) {
    if (host.stand_in != nullptr) host.stand_in->arrived(arrival.time, arrival.frame);
    return host.stand_in != nullptr;
  }
  if (host.is_frozen) {
    if (host.waiting_bytes + arrival.frame.size() > kFrozenBytesMax) return false;
    host.waiting_bytes += arrival.frame.size();
    host.waiting.push_back({arrival.time, {}, {}, arrival.icrc, {arrival.frame.begin(), arrival.frame.end()}});
    return true;
  }
  // Without payload there is no ICRC to check; what would have a wrong one is known.
  host.nic->receive(arrival.time, arrival.frame, arrival.icrc);
  check(host);
  look_at(arrival.host, kTouched);
  return true;
}

Time World::State::next() const {
  if (!touched.empty()) return now;
  Time next = queue.earliest();
  if (const auto deadline = network.next_deadline()) next = std::min(next, *deadline);
  if (!tasks.empty()) next = std::min(next, tasks.front().due);
  return next == kNever ? next : std::max(next, now);
}

void World::State::run_tasks() {
  while (!tasks.empty() && tasks.front().due <= now) {
    std::pop_heap(tasks.begin(), tasks.end());
    const Task task = std::move(tasks.back());
    tasks.pop_back();
    ++events;
    task.work(now);
  }
}

void World::State::collect_due() {
  while (queue.earliest() <= now) {
    due.clear();
    queue.take_earliest(due);
    events += due.size();
    for (const HostId id : due)
      if (const std::uint8_t reasons = hosts[id].take_due(now); reasons != 0) look_at(id, reasons);
  }
}

void World::State::run_touched() {
  running.swap(touched);
  if (running.size() > 1) std::sort(running.begin(), running.end());
  for (const HostId id : running) {
    Host& host = hosts[id];
    const std::uint8_t reasons = host.reasons;
    host.reasons = 0;
    run_host(id, reasons);
  }
  running.clear();
}

void World::State::run_host(HostId id, std::uint8_t reasons) {
  Host& host = hosts[id];
  if (!host.nic) return;
  if (host.is_frozen) {  // until it thaws, only what must not be forgotten
    host.reasons |= reasons & kApplication;
    return;
  }
  if ((reasons & kNicTimer) != 0) host.nic->on_deadline(now);
  check(host);
  bool call = (reasons & kApplication) != 0;
  if ((reasons & kWakeUp) != 0) run_wake_ups(host, id, call);
  std::uint32_t round = 0;
  for (; round < kRoundsMax; ++round) {
    if (host.application != nullptr && (call || host.nic->news() != host.seen)) {
      host.seen = host.nic->news();
      call = false;
      host.application->run(now);
      if (!host.nic || host.is_frozen) return;
      check(host);
    }
    if (host.nic->has_work()) transmit(host, id);
    check(host);
    if (host.application == nullptr || host.nic->news() == host.seen) break;
  }
  if (round == kRoundsMax) host.room = now + nanoseconds(1);
  arm(host, id);
}

void World::State::run_wake_ups(Host& host, HostId id, bool& call) {
  while (!host.wake_ups.empty() && host.wake_ups.front() <= now) {
    std::pop_heap(host.wake_ups.begin(), host.wake_ups.end(), kLater);
    host.wake_ups.pop_back();
    call = true;
  }
  for (; !host.leaving.empty() && host.leaving.front().due <= now; host.leaving.pop_front())
    network.submit(now, id, host.leaving.front().octets);
}

void World::State::transmit(Host& host, HostId id) {
  Port port(network, host, id, now);
  port.asks = network.room_depends(id);
  for (std::size_t sent = 0; host.nic->has_work();) {
    const Time room_at = sent < kFramesAtOnceMax ? network.has_room_at(now, id) : now + nanoseconds(1);
    if (room_at > now) {
      host.room = room_at;
      return;
    }
    const std::size_t budget = network.room_frames(now, id);
    const std::size_t made = host.nic->transmit(now, port, budget);
    sent += made;
    if (made < budget) break;
  }
  if (port.room_at() != kNever) host.room = port.room_at();
}

void World::State::arm(Host& host, HostId id) {
  // A timer that moved to a later time is left where it is: it is moved when it comes due.
  if (const auto deadline = host.nic->next_deadline(); deadline && *deadline < host.timer) host.timer = *deadline;
  queue.set(id, host.next_deadline());
}

World::World(fabric::Topology topology, std::span<const nic::NicConfig> nics, const WorldOptions& options)
    : state_(std::make_unique<State>(std::move(topology), nics, options)) {}
World::~World() = default;

Time World::now() const {
  return state_->now;
}
wire::Gid host_address(HostId host) {
  return wire::Gid::from_ipv4(kFirstAddress + host);
}
wire::Lid host_lid(HostId host) {
  return wire::Lid(host + 1);
}
wire::Gid host_address(HostId host, wire::Medium medium) {
  return medium == wire::Medium::ethernet ? host_address(host) : wire::gid_of(host_lid(host));
}
wire::PathAddress host_path(HostId host, wire::Medium medium, std::uint8_t service_level) {
  if (medium == wire::Medium::ethernet) return host_mac(host);
  return {host_lid(host), service_level};
}
wire::MacAddress host_mac(HostId host) {
  const std::uint32_t address = kFirstAddress + host;
  return {{0x02, 0x56, static_cast<std::uint8_t>(address >> 24), static_cast<std::uint8_t>(address >> 16),
           static_cast<std::uint8_t>(address >> 8), static_cast<std::uint8_t>(address)}};
}

nic::Nic& World::nic(HostId host) {
  VERBENA_ASSERT(is_running(host));
  return *state_->hosts[host].nic;
}
const nic::Counters& World::counters(HostId host) const {
  return state_->hosts[host].counters;
}
void World::set_latencies(HostId host, const NicLatencies& latencies) {
  state_->hosts[host].latencies = latencies;
  if (latencies.nak.ns > 0 || latencies.acknowledge.ns > 0) state_->hosts[host].may_keep = true;
}
void World::touch(HostId host) {
  state_->look_at(host, kTouched);
}
void World::attach(HostId host, Application* application) {
  state_->hosts[host].application = application;
  if (application != nullptr) state_->look_at(host, kApplication);
}
void World::observe(Observer* observer) {
  state_->network.observe(observer);
}
void World::wake_at(HostId host, Time time) {
  auto& wake_ups = state_->hosts[host].wake_ups;
  wake_ups.push_back(std::max(time, state_->now));
  std::push_heap(wake_ups.begin(), wake_ups.end(), kLater);
  if (wake_ups.front() < state_->queue.when(host)) state_->queue.set(host, wake_ups.front());
}
void World::at(Time time, std::function<void(Time)> task) {
  state_->tasks.push_back({std::max(time, state_->now), state_->next_task++, std::move(task)});
  std::push_heap(state_->tasks.begin(), state_->tasks.end());
}

void World::add_rule(std::uint32_t id, std::vector<LinkId> links, fabric::FaultRule rule) {
  state_->elements.add_rule(id, std::move(links), std::move(rule));
}
std::uint64_t World::remove_rule(std::uint32_t id) {
  const std::uint64_t hits = state_->elements.hits(id);
  state_->elements.remove_rule(id);
  return hits;
}

std::uint64_t World::hits(std::uint32_t id) const {
  return state_->elements.hits(id);
}

void World::change(const fabric::ElementChange& change) {
  state_->elements.apply(state_->now, change);
  state_->look_at_neighbours(change);
}

void World::State::look_at_neighbours(const fabric::ElementChange& change) {
  using Kind = fabric::ElementChange::Kind;
  const fabric::Topology& topology = network.topology();
  switch (change.kind) {
    case Kind::link_down:
    case Kind::link_up:
      for (const LinkId link : change.links) look_at_ends(link);
      return;
    case Kind::link_rate:
      // The sender may have room earlier than it was told.
      for (const LinkId link : change.links) {
        const fabric::Cable& cable = topology.cables[link.cable];
        const std::uint32_t from = link.backward ? cable.b : cable.a;
        if (topology.is_host(from)) look_at(from, kTouched);
      }
      return;
    case Kind::switch_crash:
    case Kind::switch_restart:
      for (const std::uint32_t vertex : change.switches)
        for (const std::uint32_t cable : topology.cables_of(vertex)) look_at_ends({cable, false});
      return;
    case Kind::port_error:
    case Kind::port_active:
    case Kind::pause_storm:
    case Kind::pause_calm:
      for (const std::uint32_t host : change.hosts)
        for (const std::uint32_t cable : topology.cables_of(host)) look_at_ends({cable, false});
      return;
    case Kind::link_delay:
    case Kind::partition:
    case Kind::heal:
      return;  // concerns frames only, not who may send
  }
}

void World::State::crash(HostId id) {
  Host& host = hosts[id];
  host.nic.reset();
  host.is_frozen = false;
  host.wake_ups.clear();
  host.leaving.clear();
  host.waiting.clear();
  host.waiting_bytes = 0;
  host.timer = host.room = kNever;
  queue.set(id, kNever);
}
void World::crash(HostId id) {
  state_->crash(id);
}

void World::remove_device(HostId id) {
  Host& host = state_->hosts[id];
  if (!host.nic) return;
  host.nic->remove_device(state_->now);
  state_->check(host);
  state_->look_at(id, kTouched);
}

void World::restart(HostId id) {
  crash(id);
  Host& host = state_->hosts[id];
  // A peer's QPs may still send to those of before: other numbers and keys keep them apart.
  host.config.seed = fabric::mix_all({host.config.seed, id});
  state_->build_nic(host);
  state_->look_at(id, kApplication);
}

void World::freeze(HostId id, bool frozen) {
  Host& host = state_->hosts[id];
  if (!host.nic || host.is_frozen == frozen) return;
  host.is_frozen = frozen;
  if (frozen) return;
  for (; !host.waiting.empty(); host.waiting.pop_front()) {
    const KeptFrame& frame = host.waiting.front();
    host.nic->receive(state_->now, frame.octets, frame.icrc);
  }
  host.waiting_bytes = 0;
  const std::uint8_t kept = host.reasons;
  host.reasons = 0;
  state_->look_at(id, static_cast<std::uint8_t>(kept | kTouched | kNicTimer | kWakeUp));
}

bool World::is_running(HostId host) const {
  return state_->hosts[host].nic.has_value();
}

bool World::step(Time limit) {
  State& state = *state_;
  const Time next = state.next();
  if (next == kNever || next > limit) return false;
  state.now = next;
  state.run_tasks();
  state.network.run(next, state);
  state.collect_due();
  state.run_touched();
  return true;
}

void World::run_until(Time limit) {
  while (step(limit)) {
  }
  state_->now = std::max(state_->now, limit);
}

const fabric::Network& World::network() const {
  return state_->network;
}
fabric::NetworkStatistics World::statistics() const {
  fabric::NetworkStatistics statistics = state_->network.statistics();
  statistics.events += state_->events;
  return statistics;
}

void PacketControl::replace_nic(HostId host, StandIn* stand_in) {
  state_.crash(host);
  state_.hosts[host].stand_in = stand_in;
}
void PacketControl::send(HostId host, std::span<const std::byte> frame) {
  state_.network.submit(state_.now, host, frame);
}
void PacketControl::intercept(LinkId link, fabric::Interceptor* interceptor) {
  fabric::NetworkControl(state_.network).intercept(link, interceptor);
}
void PacketControl::watch_faults(LinkId link, fabric::FaultWatcher* watcher) {
  fabric::NetworkControl(state_.network).watch_faults(link, watcher);
}

}  // namespace verbena::sim
