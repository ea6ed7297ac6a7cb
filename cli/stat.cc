// `verbena stat`: shows the counters of a running fabric, once or again and again.
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/fabric_advice.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/fabric_client/render/fabric_json.h"
#include "emulator/host/fabric_client/render/fabric_text.h"
#include "emulator/host/node/node_directory.h"
#include "emulator/host/node/stats_search.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli {

namespace {

using Json = nlohmann::json;

constexpr double kWatchMax = 86'400;

struct StatOptions {
  std::string fabric = host::kFabricDefault;
  Reporting reporting;
  std::string watch;
};

std::uint64_t number(const Json& from, const char* key) {
  return from.value(key, std::uint64_t{0});
}

using host::FabricSnapshot;

/// `before`: the counters of so many seconds ago.
std::string links_text(const FabricSnapshot& seen, const FabricSnapshot* before, double seconds) {
  std::string text = fmt::format("{:16} {:>5} {:>12} {:>15} {:>9} {:>10} {:>10}{}\n", "link", "", "frames", "octets",
                                 "lost", "overflowed", "queue", seconds > 0 ? "      Gbps" : "");
  for (std::size_t i = 0; i < seen.links.size(); ++i) {
    const fabric::LinkStatistics& link = seen.links[i].seen;
    text += fmt::format("{:16} {:>5} {:>12} {:>15} {:>9} {:>10} {:>10}", host::link_name(seen, i),
                        seen.links[i].is_up ? "up" : "down", link.frames, link.octets, link.lost, link.overflowed,
                        link.queue_octets);
    if (seconds > 0) {
      const std::uint64_t earlier = i < before->links.size() ? before->links[i].seen.octets : 0;
      text += fmt::format(" {:>9.3f}", static_cast<double>(link.octets - earlier) * 8e-9 / seconds);
    }
    text += '\n';
  }
  return text;
}

/// Of a fabric whose ports have paused each other, or wait for each other's credits.
std::string pauses_text(const FabricSnapshot& seen) {
  std::string deadlock = seen.deadlock ? fmt::format("deadlock: {}\n", host::deadlock_text(seen)) : "";
  if (seen.network.pause_frames == 0) return deadlock;
  std::string text =
      fmt::format("{}, {} given up by the watchdog, {} of lossless classes lost\n",
                  wire::counted(seen.network.pause_frames, "pause frame"),
                  wire::counted(seen.network.pause_storms, "port"), wire::counted(seen.network.lossless_lost, "frame"));
  text += deadlock;
  for (std::size_t i = 0; i < seen.links.size(); ++i) {
    const fabric::PauseStatistics& pauses = seen.links[i].pauses;
    for (std::size_t traffic_class = 0; traffic_class < fabric::kTrafficClasses; ++traffic_class)
      if (pauses.received[traffic_class] != 0)
        text +=
            fmt::format("{:16} class {}: asked {} to pause or go on, paused for {:.3f} ms{}\n",
                        host::link_name(seen, i), traffic_class, wire::counted(pauses.received[traffic_class], "time"),
                        static_cast<double>(pauses.paused[traffic_class].ns) * 1e-6,
                        (pauses.paused_now >> traffic_class & 1) != 0 ? ", and now" : "");
  }
  return text;
}

/// Of a managed subnet whose tables lead packets round.
std::string loops_text(const FabricSnapshot& seen) {
  std::string text;
  for (const fabric::ForwardingLoop& loop : seen.loops) text += fmt::format("loop: {}\n", host::loop_text(seen, loop));
  return text;
}

/// Those that have counted something, in the order of the alphabet.
std::map<std::string, std::uint64_t> counters_of(const FabricSnapshot& seen, const FabricSnapshot::Node& node) {
  std::map<std::string, std::uint64_t> counters;
  for (std::size_t i = 0; i < node.counters.size(); ++i)
    if (node.counters[i] != 0) counters[seen.counter_names[i]] = node.counters[i];
  return counters;
}

/// What a row of a node ends with on InfiniBand.
std::string lids_of_node(const FabricSnapshot& seen, std::uint32_t node) {
  if (!seen.subnet) return "";
  const host::FabricSubnet::Port& port = seen.subnet->ports[node];
  std::string text = fmt::format(" {:>11} {:>6}", host::lids_text(port), host::port_state_name(port.state));
  if (seen.subnet->is_managed) text += fmt::format(" {:>6}", port.sm_lid);
  return text;
}

std::string nodes_text(const FabricSnapshot& seen) {
  std::string text = fmt::format("\n{:16} {:>15} {:>5} {:>9} {:>12} {:>12} {:>8} {:>10} {:>8}", "node", "address",
                                 "port", "processes", "frames in", "frames out", "nobody", "overflowed", "pauses");
  if (seen.subnet) text += fmt::format(" {:>11} {:>6}{}", "lid", "state", seen.subnet->is_managed ? " sm lid" : "");
  text += '\n';
  for (std::uint32_t i = 0; i < seen.nodes.size(); ++i) {
    const FabricSnapshot::Node& node = seen.nodes[i];
    text += fmt::format("{:16} {:>15} {:>5} {:>9} {:>12} {:>12} {:>8} {:>10} {:>8}{}\n", wire::printable(seen.names[i]),
                        host::port_address(seen, i), node.is_up ? "up" : "down", node.processes, node.frames_in,
                        node.frames_out, node.nobody, node.overflowed, node.pauses, lids_of_node(seen, i));
    for (const auto& [name, value] : counters_of(seen, node)) text += fmt::format("    {:32} {:>12}\n", name, value);
  }
  return text;
}

/// Of a managed subnet.
std::string switches_text(const FabricSnapshot& seen) {
  if (!seen.subnet || seen.subnet->switches.empty()) return "";
  std::string text = fmt::format("\n{:16} {:>5} {:>6}\n", "switch", "lid", "sm lid");
  for (std::size_t i = 0; i < seen.subnet->switches.size(); ++i) {
    const host::FabricSubnet::Switch& one = seen.subnet->switches[i];
    text += fmt::format("{:16} {:>5} {:>6}\n", wire::printable(seen.names[seen.nodes.size() + i]), one.lid, one.sm_lid);
  }
  return text;
}

std::string rules_text(const FabricSnapshot& seen) {
  std::string text;
  for (const FabricSnapshot::Fault& fault : seen.faults)
    text += fmt::format("{}fault {}  {}  {}  {} hits\n", text.empty() ? "\n" : "", fault.number, fault.where,
                        fault.rule, fault.hits);
  return text;
}

void show(const StatOptions& options, FabricSnapshot seen, std::optional<FabricSnapshot>& before) {
  if (options.reporting.quiet) return;
  if (options.reporting.json) {
    fmt::print("{}\n", host::json_of(seen).dump());
  } else {
    const double seconds = before ? static_cast<double>((seen.uptime - before->uptime).ns) * 1e-9 : 0;
    fmt::print("fabric '{}': {} lost, {} overflowed, {} vanished, {} marked\n{}{}{}\n{}{}{}{}", options.fabric,
               wire::counted(seen.network.lost, "frame"), seen.network.overflowed, seen.network.vanished,
               seen.network.marked, seen.subnet ? host::subnet_text(*seen.subnet) + "\n" : "", pauses_text(seen),
               loops_text(seen), links_text(seen, before ? &*before : nullptr, seconds), nodes_text(seen),
               switches_text(seen), rules_text(seen));
    if (!options.watch.empty()) fmt::print("\n");
    before = std::move(seen);
  }
  std::fflush(stdout);
}

// -- Nodes on direct cables, without a fabric process

Json nodes_found(const std::string& fabric, const std::vector<host::NodeCounters>& nodes) {
  Json all = Json::array();
  for (const host::NodeCounters& node : nodes) {
    Json counters = Json::object();
    for (std::size_t i = 0; i < nic::kCounters; ++i)
      if (node.values[i] != 0) counters[std::string(nic::to_string(static_cast<nic::Counter>(i)))] = node.values[i];
    all.push_back({{"address", host::address_text(node.address)},
                   {"device", host::address_text(node.device)},
                   {"port", node.port},
                   {"processes", node.processes.size()},
                   {"process_ids", node.processes},
                   {"counters", std::move(counters)}});
    if (node.lid != 0) all.back()["lid"] = node.lid;
  }
  return {{"fabric", fabric}, {"served", false}, {"nodes", std::move(all)}};
}

std::string found_text(const Json& stat) {
  std::string text;
  for (const Json& node : stat.at("nodes")) {
    std::string processes;
    for (const Json& process : node.at("process_ids")) processes += (processes.empty() ? "" : ", ") + process.dump();
    const std::uint64_t port = number(node, "port");
    const std::uint64_t lid = number(node, "lid");
    text += fmt::format("\nnode {}{}{}, {} {}\n", node.value("address", ""),
                        port == 1 ? "" : fmt::format(", port {} of {}", port, node.value("device", "")),
                        lid == 0 ? "" : fmt::format(", LID {}", lid),
                        number(node, "processes") == 1 ? "process" : "processes", processes);
    for (const auto& [name, value] : node.at("counters").items())
      text += fmt::format("    {:32} {:>12}\n", name, value.dump());
  }
  return text;
}

void show_found(const StatOptions& options, const Json& stat) {
  if (options.reporting.quiet) return;
  if (options.reporting.json)
    fmt::print("{}\n", stat.dump());
  else
    fmt::print("fabric '{}': direct cables, no fabric process serves it\n{}{}", options.fabric, found_text(stat),
               options.watch.empty() ? "" : "\n");
  std::fflush(stdout);
}

/// Nothing: it was shown. Otherwise the status that the process ends with.
std::optional<int> show_once(const CommandLine& line, const StatOptions& options, bool first,
                             std::optional<FabricSnapshot>& before) {
  auto answer = host::look_at_fabric(options.fabric);
  if (answer) {
    show(options, std::move(*answer), before);
    return std::nullopt;
  }
  if (answer.error().served) return line.fail(kExitUsage, answer.error().text);
  const auto nodes = host::find_node_counters(options.fabric);
  if (!nodes) return line.fail(kExitInternal, nodes.error());
  if (nodes->empty() && !first) return 0;  // it has ended
  if (nodes->empty())
    return line.fail(kExitUsage,
                     with_advice({false, answer.error().text + ", and no process of yours has a device open on it"},
                                 options.fabric));
  show_found(options, nodes_found(options.fabric, *nodes));
  return std::nullopt;
}

}  // namespace

int run_stat(const Arguments& arguments) {
  CommandLine line(
      "verbena stat", "verbena stat [OPTIONS]",
      "Shows the counters of a running fabric: of its cables and nodes where a fabric process serves it, of the "
      "nodes where programs are on direct cables. Of a fabric of InfiniBand also LIDs and states of the nodes' ports, "
      "and the subnet manager that they know.\n");
  StatOptions options;
  line.option("--fabric", options.fabric, "NAME", "name of the fabric");
  line.reporting(options.reporting, "print nothing: the exit status says whether the fabric is there",
                 "as JSON, one line");
  line.option("--watch", options.watch, "SECONDS", "again every so many seconds, until Ctrl-C or the fabric's end");
  line.exit_status("0", "shown");
  line.example("verbena stat --watch 1", "rates of the cables, every second");
  if (const auto status = line.parse(arguments)) return *status;
  char* end = nullptr;
  const double interval = std::strtod(options.watch.c_str(), &end);
  if (!options.watch.empty() && (*end != '\0' || !(interval > 0) || interval > kWatchMax))
    return line.fail(kExitUsage, fmt::format("--watch {}: not a number of seconds such as 1 or 0.5", options.watch));

  std::optional<FabricSnapshot> before;
  for (bool first = true;; first = false) {
    if (const auto status = show_once(line, options, first, before)) return *status;
    if (options.watch.empty()) return 0;
    const auto whole = static_cast<std::time_t>(interval);
    const timespec pause{whole, static_cast<long>((interval - static_cast<double>(whole)) * 1e9)};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace verbena::cli
