// `verbena stat`: shows the counters of a running fabric, once or again and again.
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/fabric_advice.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/node/fabric_question.h"
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

std::string links_text(const Json& stat, const Json& before, double seconds) {
  std::string text = fmt::format("{:16} {:>5} {:>12} {:>15} {:>9} {:>10} {:>10}{}\n", "link", "", "frames", "octets",
                                 "lost", "overflowed", "queue", seconds > 0 ? "      Gbps" : "");
  for (std::size_t i = 0; i < stat.at("links").size(); ++i) {
    const Json& link = stat.at("links")[i];
    text += fmt::format("{:16} {:>5} {:>12} {:>15} {:>9} {:>10} {:>10}", link.value("name", ""),
                        link.value("up", true) ? "up" : "down", number(link, "frames"), number(link, "octets"),
                        number(link, "lost"), number(link, "overflowed"), number(link, "queue_octets"));
    if (seconds > 0) {
      const std::uint64_t octets = number(link, "octets") - number(before.at("links")[i], "octets");
      text += fmt::format(" {:>9.3f}", static_cast<double>(octets) * 8e-9 / seconds);
    }
    text += '\n';
  }
  return text;
}

/// Of a fabric whose ports have paused each other.
std::string pauses_text(const Json& stat) {
  const Json pauses = stat.value("pauses", Json::object());
  if (number(pauses, "frames") == 0) return "";
  std::string text = fmt::format("{}, {} given up by the watchdog, {} of lossless classes lost\n",
                                 wire::counted(number(pauses, "frames"), "pause frame"),
                                 wire::counted(number(pauses, "storms"), "port"),
                                 wire::counted(number(pauses, "lossless_lost"), "frame"));
  if (pauses.contains("deadlock") && pauses["deadlock"].is_string())
    text += fmt::format("deadlock: {}\n", pauses["deadlock"].get<std::string>());
  for (const Json& link : stat.at("links")) {
    const Json classes = link.value("pauses", Json::object());
    for (const auto& [traffic_class, seen] : classes.items())
      if (number(seen, "received") != 0)
        text += fmt::format("{:16} class {}: asked {} to pause or go on, paused for {:.3f} ms{}\n",
                            link.value("name", ""), traffic_class, wire::counted(number(seen, "received"), "time"),
                            static_cast<double>(number(seen, "paused_ns")) * 1e-6,
                            seen.value("paused", false) ? ", and now" : "");
  }
  return text;
}

std::string nodes_text(const Json& stat) {
  std::string text = fmt::format("\n{:16} {:>15} {:>5} {:>9} {:>12} {:>12} {:>8} {:>10} {:>8}\n", "node", "address",
                                 "port", "processes", "frames in", "frames out", "nobody", "overflowed", "pauses");
  for (const Json& node : stat.at("nodes")) {
    text += fmt::format("{:16} {:>15} {:>5} {:>9} {:>12} {:>12} {:>8} {:>10} {:>8}\n",
                        wire::printable(node.value("name", "")), node.value("address", ""),
                        node.value("up", true) ? "up" : "down", number(node, "processes"), number(node, "frames_in"),
                        number(node, "frames_out"), number(node, "nobody"), number(node, "overflowed"),
                        number(node, "pauses"));
    const Json counters = node.value("counters", Json::object());
    for (const auto& [name, value] : counters.items()) text += fmt::format("    {:32} {:>12}\n", name, value.dump());
  }
  return text;
}

std::string faults_text(const Json& stat) {
  std::string text;
  for (const Json& fault : stat.at("faults"))
    text += fmt::format("{}fault {}  {}  {}  {} hits\n", text.empty() ? "\n" : "", number(fault, "number"),
                        fault.value("link", ""), fault.value("rule", ""), number(fault, "hits"));
  return text;
}

void show(const StatOptions& options, const std::string& answer, Json& before) {
  if (options.reporting.quiet) return;
  if (options.reporting.json) {
    fmt::print("{}\n", answer);
  } else {
    const Json stat = Json::parse(answer);
    const double seconds =
        before.is_null() ? 0 : static_cast<double>(number(stat, "uptime_ns") - number(before, "uptime_ns")) * 1e-9;
    fmt::print("fabric '{}': {} lost, {} overflowed, {} vanished, {} marked\n{}\n{}{}{}", options.fabric,
               wire::counted(number(stat, "lost"), "frame"), number(stat, "overflowed"), number(stat, "vanished"),
               number(stat, "marked"), pauses_text(stat), links_text(stat, before, seconds), nodes_text(stat),
               faults_text(stat));
    if (!options.watch.empty()) fmt::print("\n");
    before = stat;
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
                   {"processes", node.processes.size()},
                   {"process_ids", node.processes},
                   {"counters", std::move(counters)}});
  }
  return {{"fabric", fabric}, {"served", false}, {"nodes", std::move(all)}};
}

std::string found_text(const Json& stat) {
  std::string text;
  for (const Json& node : stat.at("nodes")) {
    std::string processes;
    for (const Json& process : node.at("process_ids")) processes += (processes.empty() ? "" : ", ") + process.dump();
    text += fmt::format("\nnode {}, {} {}\n", node.value("address", ""),
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
std::optional<int> show_once(const CommandLine& line, const StatOptions& options, bool first, Json& before) {
  const auto answer = host::ask_fabric(options.fabric, {"stat"});
  if (answer) {
    show(options, *answer, before);
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
      "nodes where programs are on direct cables.\n");
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

  Json before;
  for (bool first = true;; first = false) {
    if (const auto status = show_once(line, options, first, before)) return *status;
    if (options.watch.empty()) return 0;
    const auto whole = static_cast<std::time_t>(interval);
    const timespec pause{whole, static_cast<long>((interval - static_cast<double>(whole)) * 1e9)};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace verbena::cli
