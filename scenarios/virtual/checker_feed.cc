#include "scenarios/virtual/checker_feed.h"

#include <algorithm>

#include "scenarios/workload/pairs.h"
#include "wire/packet_view.h"

namespace verbena::scenarios {
namespace {

/// How long it may take until what a NIC has decided to send is seen to leave it: its profile's latencies, and what its
/// other QPs have to send before at the slowest rate. In a port with traffic classes it waits for as long as it is
/// paused, or others have what goes first.
Duration departure_delay_max(const Scenario& scenario) {
  std::vector<std::uint64_t> waiting(scenario.topology.hosts, 0);  // octets, by host
  for (const Workload& workload : scenario.workloads) {
    std::uint64_t largest = 0;
    for (const SizeChoice& size : workload.sizes) largest = std::max<std::uint64_t>(largest, size.most);
    const std::uint64_t posted = workload.qps * workload.queue_depth * (largest + wire::kFrameBytesMax);
    for (const HostPair& pair : pairs_of(workload, scenario.seed))
      for (const std::uint32_t host : {pair.from, pair.to})  // requests of one, responses of the other
        waiting[host] += std::min(posted, std::uint64_t{workload.qps} * scenario.nics[host].window());
  }
  std::uint64_t slowest = UINT64_MAX;
  const auto consider = [&slowest](std::uint64_t rate) { slowest = rate == 0 ? slowest : std::min(slowest, rate); };
  for (const fabric::Cable& cable : scenario.topology.cables)
    if (scenario.topology.is_host(cable.a) || scenario.topology.is_host(cable.b))
      consider(cable.parameters.rate_bits_per_second);
  for (const NicSettings& nic : scenario.nics) consider(nic.speed_bits_per_second.value_or(0));
  for (const Fault& fault : scenario.faults)
    if (const auto* change = std::get_if<fabric::ElementChange>(&fault.what);
        change != nullptr && change->kind == fabric::ElementChange::Kind::link_rate)
      consider(change->rate_bits_per_second);
  const std::uint64_t most = *std::max_element(waiting.begin(), waiting.end());
  Duration latency{static_cast<std::int64_t>(static_cast<double>(most) * 8e9 / static_cast<double>(slowest))};
  const Duration queues = latency;
  for (const NicSettings& nic : scenario.nics)
    latency = std::max({latency, queues + nic.nak_latency, queues + nic.acknowledge_latency});
  return scenario.topology.qos ? latency + scenario.timeout : latency;
}

checkers::CheckedDcqcn checked(const nic::DcqcnParameters& dcqcn, std::uint64_t line_rate_bits_per_second) {
  const auto rate = [](std::uint64_t bits_per_second) { return static_cast<double>(bits_per_second); };
  return {.line_rate = rate(line_rate_bits_per_second),
          .g = static_cast<double>(dcqcn.g) / nic::kWhole,
          .additive_increase = rate(dcqcn.additive_increase_bits_per_second),
          .hyper_increase = rate(dcqcn.hyper_increase_bits_per_second),
          .min_rate = rate(dcqcn.min_rate_bits_per_second),
          .alpha_timer = dcqcn.alpha_timer,
          .timer = dcqcn.timer,
          .decrease_interval = dcqcn.decrease_interval,
          .byte_counter = dcqcn.byte_counter,
          .fast_recovery = dcqcn.fast_recovery,
          .clamp_target_rate = dcqcn.clamp_target_rate};
}

checkers::CheckedCongestion::CnpScope checked(nic::CnpScope scope) {
  using Checked = checkers::CheckedCongestion::CnpScope;
  switch (scope) {
    case nic::CnpScope::qp:
      return Checked::qp;
    case nic::CnpScope::destination:
      return Checked::destination;
    case nic::CnpScope::port:
      return Checked::port;
  }
  return Checked::qp;
}

}  // namespace

CheckerFeed::CheckerFeed(const Scenario& scenario, std::span<const nic::NicConfig> nics)
    : scenario_(scenario),
      checkers_(checkers::CheckerOptions{.verify_icrc = scenario.payload,
                                         .all_atomics_visible = scenario.payload,
                                         .departure_delay_max = departure_delay_max(scenario)}) {
  for (sim::HostId host = 0; host < scenario.nics.size(); ++host) {
    const NicSettings& nic = scenario.nics[host];
    checkers::CheckedCongestion congestion{
        .host = address_of(host), .cnp_interval = nic.cnp_interval, .cnp_scope = checked(nic.congestion.cnp_scope)};
    if (nic.congestion.policy == nic::CongestionPolicy::dcqcn)
      congestion.dcqcn = checked(nic.congestion.dcqcn, nics[host].congestion.line_rate_bits_per_second);
    checkers_.congestion(congestion);
  }
}

void CheckerFeed::observe(const sim::ObservedFrame& frame) {
  const fabric::AtNic where = fabric::at_nic(frame, scenario_.topology);
  if (where == fabric::AtNic::no) return;
  const auto packet = wire::parse_cut_on(scenario_.topology.medium, frame.frame);
  if (!packet) return;  // cut by a fault
  checkers_.observe({.time = frame.time,
                     .packet = *packet,
                     .seen = where == fabric::AtNic::arrives ? checkers::Seen::delivered : checkers::Seen::sent,
                     .corrupted = frame.corrupted,
                     .number = ++frames_});
}

void CheckerFeed::connected(const ConnectedEnd& initiator, const ConnectedEnd& target, std::uint32_t mtu_bytes) {
  const auto end = [this](const ConnectedEnd& of) {
    return checkers::CheckedEnd{.address = address_of(of.host),
                                .qpn = of.qpn,
                                .first_psn = of.first_psn,
                                .ack_timeout = of.ack_timeout,
                                .rto_low = scenario_.nics[of.host].loss_recovery.rto_low};
  };
  checkers_.connect({.ends = {end(initiator), end(target)}, .path_mtu_bytes = mtu_bytes});
}

void CheckerFeed::registered(sim::HostId host, const nic::MemoryRegionInit& init, const nic::MemoryRegion& region) {
  checkers_.region({.host = address_of(host),
                    .rkey = wire::Rkey{region.rkey},
                    .address = init.iova,
                    .length = init.length,
                    .remote_write = (init.access & nic::kRemoteWrite) != 0,
                    .remote_read = (init.access & nic::kRemoteRead) != 0,
                    .remote_atomic = (init.access & nic::kRemoteAtomic) != 0});
}

void CheckerFeed::deregistered(sim::HostId host, const nic::MemoryRegion& region) {
  checkers_.forget_region(address_of(host), wire::Rkey{region.rkey});
}

void CheckerFeed::restarted(sim::HostId host) {
  checkers_.restart(address_of(host));
}

CheckerReports CheckerFeed::finish(Outcome& outcome) {
  return reports_of(checkers_, Time{0}, outcome);
}

}  // namespace verbena::scenarios
