#include "emulator/host/fabric_process/snapshot.h"

#include <atomic>

#include "emulator/fabric/network_subnet.h"
#include "emulator/host/node/infiniband_port.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::host {
namespace {

constexpr std::size_t kLoopsMax = 16;

void add_elements(Time now, const SnapshotSources& sources, FabricSnapshot& into) {
  const fabric::Network& network = sources.ports.network();
  const fabric::Topology& topology = network.topology();
  into.has_classes = topology.qos.has_value();
  into.names.reserve(topology.vertices.size());
  for (const fabric::Vertex& vertex : topology.vertices) into.names.push_back(vertex.name);
  into.rails = topology.rails;
  into.cables.reserve(topology.cables.size());
  into.links.reserve(2 * topology.cables.size());
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable) {
    into.cables.push_back({topology.cables[cable].a, topology.cables[cable].b});
    for (const bool backward : {false, true}) {
      const fabric::LinkId link{cable, backward};
      into.links.push_back(
          {.is_up = !sources.elements.dead_links().contains(link),
           .seen = network.link_statistics(now, link),
           .pauses = into.has_classes ? network.pause_statistics(now, link) : fabric::PauseStatistics{}});
    }
  }
  const auto& crashed = sources.elements.dead_switches();
  into.crashed.assign(crashed.begin(), crashed.end());
  const auto cut_off = sources.elements.cut_pairs();
  into.cut_off.assign(cut_off.begin(), cut_off.end());
}

void add_nodes(const SnapshotSources& sources, FabricSnapshot& into) {
  const fabric::Network& network = sources.ports.network();
  into.nodes.reserve(network.topology().hosts);
  for (std::uint32_t host = 0; host < network.topology().hosts; ++host) {
    const FabricPorts::NodeStatistics& seen = sources.ports.node(host);
    into.nodes.push_back({.is_up = network.port_is_up(host),
                          .frames_in = seen.frames_in,
                          .octets_in = seen.octets_in,
                          .frames_out = seen.frames_out,
                          .octets_out = seen.octets_out,
                          .nobody = seen.nobody,
                          .overflowed = seen.overflowed,
                          .pauses = seen.pauses,
                          .not_run = seen.not_run,
                          .not_run_from = seen.not_run.ns == 0 ? Duration{0} : seen.not_run_from - sources.started});
  }
  for (const FabricPorts::Process& process : sources.ports.processes()) ++into.nodes[process.host].processes;
}

FabricSubnet::Port unmanaged_lids(const fabric::Topology& topology, std::uint32_t host, bool is_up) {
  const wire::Gid address = device_address(node_address(topology.node_of(host) + 1), {topology.rail_of(host)});
  return {.base_lid = static_lid(address).value(), .state = is_up ? kPortStateActive : kPortStateDown};
}

/// As the verbs and sysfs of the nodes show it (node/infiniband_port.h).
void add_subnet(const SnapshotSources& sources, FabricSnapshot& into) {
  const fabric::Network& network = sources.ports.network();
  const fabric::Topology& topology = network.topology();
  if (topology.medium != wire::Medium::infiniband) return;
  FabricSubnet& subnet = into.subnet.emplace();
  subnet.is_managed = sources.managed != nullptr;
  subnet.ports.reserve(topology.hosts);
  for (std::uint32_t host = 0; host < topology.hosts; ++host) {
    if (!subnet.is_managed) {
      subnet.ports.push_back(unmanaged_lids(topology, host, network.port_is_up(host)));
      continue;
    }
    const ManagedPort& port = sources.managed->ports()[host];
    subnet.ports.push_back({port.base_lid, port.sm_lid, port.lmc, port.state});
  }
  if (!subnet.is_managed) return;
  for (std::size_t vertex = topology.hosts; vertex < topology.vertices.size(); ++vertex) {
    const wire::PortInfo& port = sources.managed->agents()[vertex].ports[0].info;
    subnet.switches.push_back({port.base_lid.value(), port.master_sm_lid.value()});
  }
}

/// The counters of each port of a process go to the port of the network whose address it has.
void add_counters(const StatsFile& file, const FabricPorts& ports, FabricSnapshot& into) {
  for (FabricSnapshot::Node& node : into.nodes) node.counters.resize(nic::kCounters);
  for (std::size_t block = 0; block < file.used(); ++block) {
    const StatsFile::Block& counted = file.blocks[block];
    if (counted.process_id.load(std::memory_order_acquire) == 0) continue;
    const std::uint32_t host = ports.host_of(address_in(counted.address));
    if (host == FabricNodes::kNoHost) continue;
    std::vector<std::uint64_t>& sums = into.nodes[host].counters;
    for (std::size_t i = 0; i < nic::kCounters; ++i)
      sums[i] = add_count(static_cast<nic::Counter>(i), sums[i], counted.counters);
  }
}

}  // namespace

FabricSnapshot take_snapshot(Time now, const SnapshotSources& sources) {
  FabricSnapshot snapshot;
  snapshot.uptime = now - sources.started;
  snapshot.network = sources.ports.network().statistics();
  snapshot.strays = sources.ports.strays();
  snapshot.deadlock = sources.ports.network().pause_deadlock();
  snapshot.loops = fabric::NetworkSubnet::loops(sources.ports.network(), kLoopsMax);
  add_elements(now, sources, snapshot);
  add_nodes(sources, snapshot);
  add_subnet(sources, snapshot);
  snapshot.counter_names.reserve(nic::kCounters);
  for (std::size_t i = 0; i < nic::kCounters; ++i)
    snapshot.counter_names.emplace_back(nic::to_string(static_cast<nic::Counter>(i)));
  if (sources.counters != nullptr) {
    add_counters(*sources.counters, sources.ports, snapshot);
    snapshot.counters_complete = sources.counters->claimed.load() <= StatsFile::kBlocks;
  }
  if (sources.capture != nullptr) {
    const FabricCapture::Missing& missing = sources.capture->missing();
    FabricCaptureCounts& capture = snapshot.capture.emplace();
    capture.frames_missing = missing.frames;
    if (missing.from) capture.missing_from = *missing.from - sources.started;
    capture.frames_cut = missing.cut;
  }
  return snapshot;
}

}  // namespace verbena::host
