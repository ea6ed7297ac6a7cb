// `verbena stat`: shows the counters of a running fabric, once or again and again.
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "emulator/host/fabric_control.h"

namespace verbena::cli {

namespace {

using Json = nlohmann::json;

constexpr double kWatchMax = 86'400;

struct Options {
  std::string fabric = "default";
  bool json = false;
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

std::string nodes_text(const Json& stat) {
  std::string text = fmt::format("\n{:16} {:>15} {:>5} {:>9} {:>12} {:>12} {:>8} {:>10}\n", "node", "address", "port",
                                 "processes", "frames in", "frames out", "nobody", "overflowed");
  for (const Json& node : stat.at("nodes")) {
    text += fmt::format("{:16} {:>15} {:>5} {:>9} {:>12} {:>12} {:>8} {:>10}\n", node.value("name", ""),
                        node.value("address", ""), node.value("up", true) ? "up" : "down", number(node, "processes"),
                        number(node, "frames_in"), number(node, "frames_out"), number(node, "nobody"),
                        number(node, "overflowed"));
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

void show(const Options& options, const std::string& answer, Json& before) {
  if (options.json) {
    fmt::print("{}\n", answer);
  } else {
    const Json stat = Json::parse(answer);
    const double seconds =
        before.is_null() ? 0 : static_cast<double>(number(stat, "uptime_ns") - number(before, "uptime_ns")) * 1e-9;
    fmt::print("fabric '{}': {} frames lost, {} overflowed, {} vanished, {} marked\n\n{}{}{}", options.fabric,
               number(stat, "lost"), number(stat, "overflowed"), number(stat, "vanished"), number(stat, "marked"),
               links_text(stat, before, seconds), nodes_text(stat), faults_text(stat));
    if (!options.watch.empty()) fmt::print("\n");
    before = stat;
  }
  std::fflush(stdout);
}

}  // namespace

int run_stat(const Arguments& arguments) {
  CommandLine line("verbena stat", "verbena stat [OPTIONS]", "Shows the counters of a running fabric.\n");
  Options options;
  line.option("--fabric", options.fabric, "NAME", "name of the fabric");
  line.flag("--json", options.json, "as JSON, one line");
  line.option("--watch", options.watch, "SECONDS", "again every so many seconds, until Ctrl-C or the fabric's end");
  if (const auto status = line.parse(arguments)) return *status;
  char* end = nullptr;
  const double interval = std::strtod(options.watch.c_str(), &end);
  if (!options.watch.empty() && (*end != '\0' || !(interval > 0) || interval > kWatchMax))
    return line.fail(kExitUsage, fmt::format("--watch {}: not a number of seconds", options.watch));

  Json before;
  for (bool first = true;; first = false) {
    const auto answer = host::ask_fabric(options.fabric, {"stat"});
    if (!answer && !first && !answer.error().served) return 0;  // it has ended
    if (!answer) return line.fail(kExitUsage, answer.error().text);
    show(options, *answer, before);
    if (options.watch.empty()) return 0;
    const auto whole = static_cast<std::time_t>(interval);
    const timespec pause{whole, static_cast<long>((interval - static_cast<double>(whole)) * 1e9)};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace verbena::cli
