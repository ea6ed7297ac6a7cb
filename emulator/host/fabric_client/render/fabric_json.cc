#include "emulator/host/fabric_client/render/fabric_json.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/node/node_directory.h"

namespace verbena::host {
namespace {

using Json = nlohmann::ordered_json;

/// By traffic class, those of which there is something to say.
Json pauses_of(const fabric::PauseStatistics& seen) {
  Json classes = Json::object();
  for (std::size_t i = 0; i < fabric::kTrafficClasses; ++i) {
    if (seen.sent[i] == 0 && seen.received[i] == 0) continue;
    const bool is_paused = (seen.paused_now >> i & 1) != 0;
    classes[std::to_string(i)] = {{"sent", seen.sent[i]},
                                  {"received", seen.received[i]},
                                  {"paused_ns", seen.paused[i].ns},
                                  {"paused", is_paused}};
  }
  return classes;
}

Json links_of(const FabricSnapshot& snapshot) {
  Json links = Json::array();
  for (std::size_t i = 0; i < snapshot.links.size(); ++i) {
    const fabric::LinkStatistics& seen = snapshot.links[i].seen;
    links.push_back({{"name", link_name(snapshot, i)},
                     {"up", snapshot.links[i].is_up},
                     {"frames", seen.frames},
                     {"octets", seen.octets},
                     {"lost", seen.lost},
                     {"overflowed", seen.overflowed},
                     {"queue_octets", seen.queue_octets},
                     {"queue_octets_max", seen.queue_octets_max},
                     {"rate_bits_per_second", seen.rate_bits_per_second},
                     {"delay_ns", seen.propagation.ns},
                     {"jitter_ns", seen.jitter.ns}});
    if (snapshot.has_classes) links.back()["pauses"] = pauses_of(snapshot.links[i].pauses);
  }
  return links;
}

Json pauses_of_all(const FabricSnapshot& snapshot) {
  return {{"frames", snapshot.network.pause_frames},
          {"storms", snapshot.network.pause_storms},
          {"lossless_lost", snapshot.network.lossless_lost},
          {"deadlock", snapshot.deadlock ? Json(deadlock_text(snapshot)) : Json(nullptr)}};
}

void add_lids(const FabricSubnet::Port& port, bool is_managed, Json& into) {
  into["lid"] = port.base_lid;
  into["lmc"] = port.lmc;
  into["state"] = port_state_name(port.state);
  if (is_managed) into["sm_lid"] = port.sm_lid;
}

/// Of a managed subnet: the port 0 of each.
Json switches_of(const FabricSnapshot& snapshot) {
  Json switches = Json::array();
  const std::vector<FabricSubnet::Switch>& seen = snapshot.subnet->switches;
  for (std::size_t i = 0; i < seen.size(); ++i)
    switches.push_back(
        {{"name", snapshot.names[snapshot.nodes.size() + i]}, {"lid", seen[i].lid}, {"sm_lid", seen[i].sm_lid}});
  return switches;
}

Json nodes_of(const FabricSnapshot& snapshot) {
  Json nodes = Json::array();
  for (std::uint32_t host = 0; host < snapshot.nodes.size(); ++host) {
    const FabricSnapshot::Node& seen = snapshot.nodes[host];
    nodes.push_back({{"name", snapshot.names[host]},
                     {"address", port_address(snapshot, host)},
                     {"up", seen.is_up},
                     {"processes", seen.processes},
                     {"frames_in", seen.frames_in},
                     {"octets_in", seen.octets_in},
                     {"frames_out", seen.frames_out},
                     {"octets_out", seen.octets_out},
                     {"nobody", seen.nobody},
                     {"overflowed", seen.overflowed},
                     {"pauses", seen.pauses},
                     {"not_run_ns", seen.not_run.ns},
                     {"not_run_from_ns", seen.not_run_from.ns}});
    if (snapshot.subnet) add_lids(snapshot.subnet->ports[host], snapshot.subnet->is_managed, nodes.back());
    if (seen.counters.empty()) continue;
    Json counters = Json::object();
    for (std::size_t i = 0; i < seen.counters.size(); ++i)
      if (seen.counters[i] != 0) counters[snapshot.counter_names[i]] = seen.counters[i];
    nodes.back()["counters"] = std::move(counters);
  }
  return nodes;
}

Json faults_of(const FabricSnapshot& snapshot) {
  Json faults = Json::array();
  for (const FabricSnapshot::Fault& fault : snapshot.faults)
    faults.push_back({{"number", fault.number},
                      {"link", fault.where},
                      {"rule", fault.rule},
                      {"hits", fault.hits},
                      {"unheard", fault.unheard}});
  return faults;
}

Json crashed_of(const FabricSnapshot& snapshot) {
  Json crashed = Json::array();
  for (const std::uint32_t vertex : snapshot.crashed) crashed.push_back(snapshot.names[vertex]);
  return crashed;
}

Json cut_off_of(const FabricSnapshot& snapshot) {
  Json cut_off = Json::array();
  for (std::size_t pair = 0; pair < snapshot.cut_off.size(); ++pair) cut_off.push_back(pair_name(snapshot, pair));
  return cut_off;
}

Json loops_of(const FabricSnapshot& snapshot) {
  Json loops = Json::array();
  for (const fabric::ForwardingLoop& loop : snapshot.loops) {
    Json links = Json::array();
    for (const fabric::LinkId link : loop.links)
      links.push_back(link_name(snapshot, 2 * link.cable + (link.backward ? 1 : 0)));
    loops.push_back({{"lid", loop.lid}, {"lids", loop.lids}, {"links", std::move(links)}});
  }
  return loops;
}

}  // namespace

Json json_of(const FabricSnapshot& snapshot) {
  Json all = {{"fabric", snapshot.fabric},
              {"uptime_ns", snapshot.uptime.ns},
              {"arrivals", snapshot.network.arrivals},
              {"lost", snapshot.network.lost},
              {"overflowed", snapshot.network.overflowed},
              {"vanished", snapshot.network.vanished},
              {"marked", snapshot.network.marked},
              {"strays", snapshot.strays},
              {"pauses", pauses_of_all(snapshot)},
              {"links", links_of(snapshot)},
              {"nodes", nodes_of(snapshot)},
              {"faults", faults_of(snapshot)},
              {"crashed", crashed_of(snapshot)},
              {"cut_off", cut_off_of(snapshot)},
              {"loops", loops_of(snapshot)},
              {"counter_names", snapshot.counter_names},
              {"counters_complete", snapshot.counters_complete}};
  if (snapshot.rails != 1) all["rails"] = snapshot.rails;
  if (snapshot.subnet) all["managed"] = snapshot.subnet->is_managed;
  if (snapshot.subnet && snapshot.subnet->is_managed) all["switches"] = switches_of(snapshot);
  if (snapshot.capture)
    all["capture"] = {
        {"frames_missing", snapshot.capture->frames_missing},
        {"missing_from_ns", snapshot.capture->missing_from ? Json(snapshot.capture->missing_from->ns) : Json(nullptr)},
        {"frames_cut", snapshot.capture->frames_cut}};
  return all;
}

Json faults_json(const FabricSnapshot& snapshot) {
  Json down = Json::array();
  for (std::size_t link = 0; link < snapshot.links.size(); ++link)
    if (!snapshot.links[link].is_up) down.push_back(link_name(snapshot, link));
  return {{"faults", faults_of(snapshot)},
          {"down", std::move(down)},
          {"crashed", crashed_of(snapshot)},
          {"cut_off", cut_off_of(snapshot)}};
}

}  // namespace verbena::host
