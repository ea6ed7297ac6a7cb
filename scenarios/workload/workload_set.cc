#include "scenarios/workload/workload_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emulator/fabric/chance.h"
#include "scenarios/outcome/report_words.h"
#include "scenarios/workload/ring_allreduce.h"
#include "scenarios/workload/stream.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint64_t kMemoryOctetsMax = std::uint64_t{4} << 30;  // of all workloads together
constexpr std::uint64_t kConnectionsMax = 1 << 19;                  // their addresses must differ
constexpr std::uint64_t kFlows = 0xf10;
constexpr std::uint64_t kFaultsOfHosts = 0xfa17;
constexpr std::uint64_t kCounterAddresses = std::uint64_t{1} << 62;

std::optional<std::string> find_error_of_flows(const Scenario& scenario, const Workload& workload,
                                               const std::vector<HostPair>& pairs) {
  if (workload.load_ppb == 0) return std::nullopt;
  if (mean_size(workload.sizes) == 0) return "flows need octets: write a larger size";
  const std::vector<std::uint64_t> rates = topology_at_nic_speeds(scenario).port_rates();
  for (const HostPair& pair : pairs)
    if (rates[pair.from] == 0) return "load is a share of the port's rate: write the link's rate";
  return std::nullopt;
}

}  // namespace

WorkloadSet::WorkloadSet(sim::World& world, const Scenario& scenario, Journal& journal, SetUpListener* listener)
    : world_(world), scenario_(scenario) {
  for (sim::HostId host = 0; host < scenario.topology.hosts; ++host) {
    const std::uint64_t seed = fabric::mix_all({scenario.seed, kFaultsOfHosts, host});
    agents_.push_back(std::make_unique<HostAgent>(world, host, journal, listener, seed));
    world.attach(host, agents_.back().get());
  }
  std::uint64_t next_index = 0;
  traffic_.resize(scenario.workloads.size());
  flow_sources_.resize(scenario.workloads.size());
  for (std::size_t i = 0; i < scenario.workloads.size(); ++i) {
    ledgers_.push_back(std::make_unique<Ledger>(i, scenario.workloads[i], world.now(), journal));
    if (scenario.workloads[i].pattern == Pattern::ring_allreduce)
      make_allreduce(i, next_index);
    else if (scenario.workloads[i].load_ppb != 0)
      make_flows(i, next_index);
    else
      make_streams(i, next_index);
  }
}

WorkloadSet::~WorkloadSet() {
  for (sim::HostId host = 0; host < agents_.size(); ++host) world_.attach(host, nullptr);
}

std::optional<std::string> WorkloadSet::find_error(const Scenario& scenario) {
  std::uint64_t octets = 0;
  std::uint64_t connections = 0;
  std::vector<std::uint64_t> qps(scenario.topology.hosts, 0);
  for (const Workload& workload : scenario.workloads) {
    const auto at = [&](const std::string& text) {
      return fmt::format("{}:{}: workload '{}': {}", workload.place.line, workload.place.column, workload.name, text);
    };
    const auto pairs = pairs_of(workload, scenario.seed);
    const bool ring = workload.pattern == Pattern::ring_allreduce;
    if (pairs.empty()) return at("there is nobody to send to");
    if (ring && workload.transport != Transport::rc) return at("ring-allreduce needs transport RC");
    if (ring && (workload.from.size() < 2 || (workload.verb != Verb::send && workload.verb != Verb::write &&
                                              workload.verb != Verb::write_immediate)))
      return at("ring-allreduce needs two hosts or more, and send or write");
    if (const auto wrong = find_error_of_flows(scenario, workload, pairs)) return at(*wrong);
    const MessagePlan messages(workload, 0);
    const std::uint64_t each = ring ? 0 : Stream::memory_octets(workload, messages) * workload.qps;
    octets += ring ? RingAllreduce::memory_octets(workload) * workload.rails : each * pairs.size();
    connections += pairs.size() * (ring ? 1 : workload.qps);
    for (const HostPair& pair : pairs) {
      qps[pair.from] += ring ? 1 : workload.qps;
      qps[pair.to] += ring ? 1 : workload.qps;
      const std::uint32_t mtu = std::min(scenario.nics[pair.from].mtu(), scenario.nics[pair.to].mtu());
      if (workload.transport == Transport::ud && messages.octets_max() > mtu)
        return at(fmt::format("a datagram of {} octets does not fit the MTU of {}", messages.octets_max(), mtu));
    }
    if (scenario.payload && octets > kMemoryOctetsMax)
      return at(
          fmt::format("its buffers bring the workloads to {}, more than {}: lower queue_depth, size or qps, or "
                      "run without payload",
                      octets_text(octets), octets_text(kMemoryOctetsMax)));
    const nic::NicLimits limits;
    if (connections > kConnectionsMax || *std::max_element(qps.begin(), qps.end()) > limits.max_qp)
      return at(fmt::format("too many connections: {} in all, {} QPs on one host", connections,
                            *std::max_element(qps.begin(), qps.end())));
    if (workload.queue_depth > limits.max_qp_wr || workload.receive_depth > limits.max_qp_wr)
      return at(fmt::format("a queue has at most {} entries", limits.max_qp_wr));
  }
  return std::nullopt;
}

SharedCounter* WorkloadSet::counter_of(std::size_t workload, sim::HostId target, std::uint64_t& next_index) {
  const auto [known, is_new] = counter_numbers_.try_emplace({workload, target}, counters_.size());
  if (!is_new) return counters_[known->second].counter.get();
  const std::uint64_t address = kCounterAddresses + (next_index++ << 12);
  counters_.push_back(
      {workload, target, std::make_unique<SharedCounter>(*agents_[target], address, scenario_.payload)});
  return counters_.back().counter.get();
}

void WorkloadSet::make_streams(std::size_t number, std::uint64_t& next_index) {
  const Workload& workload = scenario_.workloads[number];
  const auto pairs = pairs_of(workload, scenario_.seed);
  const bool adds =
      workload.verb == Verb::fetch_add || (workload.verb == Verb::mixed && workload.transport == Transport::rc);
  ledgers_[number]->outcome().pairs = pairs.size() * workload.qps;
  for (const HostPair& pair : pairs) {
    SharedCounter* counter = adds ? counter_of(number, pair.to, next_index) : nullptr;
    for (std::uint32_t qp = 0; qp < workload.qps; ++qp) {
      const StreamPlan plan{.index = next_index++,
                            .seed = fabric::mix_all({scenario_.seed, number, pair.from, pair.to, qp}),
                            .payload = scenario_.payload,
                            .name = stream_name(number, pair, qp)};
      traffic_[number].push_back(make_stream(number, plan, pair, counter));
    }
  }
}

std::string WorkloadSet::stream_name(std::size_t number, const HostPair& pair, std::uint32_t qp) const {
  const auto& vertices = scenario_.topology.vertices;
  const Workload& workload = scenario_.workloads[number];
  std::string name = fmt::format("{} {}->{}", workload.name, vertices[pair.from].name, vertices[pair.to].name);
  if (workload.qps > 1) name += fmt::format(" qp {}", qp);
  return name;
}

std::unique_ptr<Stream> WorkloadSet::make_stream(std::size_t number, const StreamPlan& plan, const HostPair& pair,
                                                 SharedCounter* counter) {
  return std::make_unique<Stream>(world_, *ledgers_[number], plan,
                                  Stream::Side{*agents_[pair.from], scenario_.nics[pair.from]},
                                  Stream::Side{*agents_[pair.to], scenario_.nics[pair.to]}, counter);
}

void WorkloadSet::make_flows(std::size_t number, std::uint64_t& next_index) {
  const Workload& workload = scenario_.workloads[number];
  const fabric::Topology topology = topology_at_nic_speeds(scenario_);
  const std::vector<std::uint64_t> rates = topology.port_rates();
  const auto pairs = pairs_of(workload, scenario_.seed);
  ledgers_[number]->outcome().pairs = pairs.size() * workload.qps;
  std::vector<FlowSource*> source_of(scenario_.topology.hosts, nullptr);
  ShortestWays ways(topology);
  for (const HostPair& pair : pairs) {
    FlowSource*& source = source_of[pair.from];
    if (source == nullptr) {
      flow_sources_[number].push_back(std::make_unique<FlowSource>(
          workload, *agents_[pair.from], Arrivals::Load{rates[pair.from], workload.load_ppb, mean_size(workload.sizes)},
          fabric::mix_all({scenario_.seed, number, pair.from, kFlows})));
      source = flow_sources_[number].back().get();
    }
    const NicSettings& target = scenario_.nics[pair.to];
    const MessageTime time(ways.find(pair.from, pair.to), std::min(scenario_.nics[pair.from].mtu(), target.mtu()),
                           workload.verb, target.acknowledge_latency);
    std::vector<Stream*> streams;
    for (std::uint32_t qp = 0; qp < workload.qps; ++qp) {
      const StreamPlan plan{.index = next_index++,
                            .seed = fabric::mix_all({scenario_.seed, number, pair.from, pair.to, qp}),
                            .payload = scenario_.payload,
                            .name = stream_name(number, pair, qp),
                            .feed = &source->feed(),
                            .message_time = time};
      auto stream = make_stream(number, plan, pair, nullptr);
      streams.push_back(stream.get());
      traffic_[number].push_back(std::move(stream));
    }
    source->add_pair(std::move(streams));
  }
}

/// A ring on each rail.
void WorkloadSet::make_allreduce(std::size_t number, std::uint64_t& next_index) {
  const Workload& workload = scenario_.workloads[number];
  ledgers_[number]->outcome().pairs = workload.from.size() * workload.rails;
  for (std::uint32_t rail = 0; rail < workload.rails; ++rail) {
    std::vector<RingAllreduce::Member> members;
    for (const std::uint32_t first : workload.from)
      members.push_back({*agents_[first + rail], scenario_.nics[first + rail]});
    const RingAllreduce::Plan plan{
        .first_index = next_index, .seed = fabric::mix_all({scenario_.seed, number}), .payload = scenario_.payload};
    next_index += members.size();
    traffic_[number].push_back(std::make_unique<RingAllreduce>(world_, *ledgers_[number], plan, members));
  }
}

void WorkloadSet::schedule() {
  for (std::size_t i = 0; i < traffic_.size(); ++i)
    world_.at(world_.now() + scenario_.workloads[i].start, [this, i](Time now) {
      for (const auto& traffic : traffic_[i]) traffic->start(now);
      for (const auto& source : flow_sources_[i]) source->start(now);
    });
}

void WorkloadSet::crash(sim::HostId host) {
  agents_[host]->crashed();
  for (const auto& workload : traffic_)
    for (const auto& traffic : workload) traffic->host_crashed(host);
}

void WorkloadSet::restart(sim::HostId host, Time now) {
  agents_[host]->restarted();
  for (const auto& workload : traffic_)
    for (const auto& traffic : workload) traffic->host_restarted(host, now);
  for (const auto& workload : flow_sources_)
    for (const auto& source : workload)
      if (source->host() == host) source->host_restarted(now);
}

std::optional<std::size_t> WorkloadSet::find(std::string_view name) const {
  for (std::size_t i = 0; i < scenario_.workloads.size(); ++i)
    if (scenario_.workloads[i].name == name) return i;
  return std::nullopt;
}

std::vector<PairOutcome> WorkloadSet::pairs(std::size_t workload) const {
  std::vector<PairOutcome> all;
  for (const auto& traffic : traffic_[workload]) traffic->tell(all);
  std::vector<PairOutcome> told;
  for (const bool finished : {false, true})
    for (const PairOutcome& pair : all)
      if (pair.finished == finished && told.size() < kPairsTold) told.push_back(pair);
  return told;
}

bool WorkloadSet::all_settled() const {
  for (const auto& workload : traffic_)
    for (const auto& traffic : workload)
      if (!traffic->settled()) return false;
  return true;
}

void WorkloadSet::check_end(Time now) {
  for (const auto& workload : traffic_)
    for (const auto& traffic : workload) traffic->check_end(now);
  for (const CounterPlace& place : counters_)
    if (const auto wrong = place.counter->wrong_total())
      ledgers_[place.workload]->damaged(now, fmt::format("{} at {}: {}", scenario_.workloads[place.workload].name,
                                                         scenario_.topology.vertices[place.target].name, *wrong));
}

}  // namespace verbena::scenarios
