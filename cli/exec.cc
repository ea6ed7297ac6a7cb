// `verbena exec`: checks what the user wants and runs the program on a node (exec/launch.h does the running).
// Tested by: tests/cli/command_line_test.cc
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "cli/command.h"
#include "cli/exec/launch.h"
#include "cli/exec/leaks_report.h"
#include "cli/exec/listener_wait.h"
#include "cli/exec/options.h"
#include "cli/exec/personalities.h"
#include "cli/exec/program.h"
#include "cli/exec/stats_report.h"
#include "cli/fabric_advice.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/host/config/environment.h"
#include "emulator/host/config/launch_environment.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/nic_tuning.h"
#include "emulator/host/config/own_devices.h"
#include "emulator/host/config/own_files.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_client/fabric_client.h"
#include "emulator/host/link/capture_file.h"
#include "emulator/host/node/host_address.h"
#include "emulator/host/node/node_directory.h"
#include "scenarios/outcome/buffered_file.h"
#include "wire/path_address.h"
#include "wire/printable.h"

namespace verbena::cli {

namespace {

/// Tells what was left. Returns the status to end with.
int judge_leaks(const LeaksReport& leaks, const ExecOptions& options, int status) {
  constexpr int kExitLeaks = 3;
  const LeaksReport::Judged judged = leaks.judge();
  fmt::print(stderr, "{}", judged.text);
  return options.leaks == kLeaksFail && !judged.is_clean && status == 0 ? kExitLeaks : status;
}

std::optional<host::FileError> make_capture(const ExecOptions& options, wire::Medium medium) {
  const auto snap = static_cast<std::uint32_t>(parse_number(options.pcap_snap, 0, UINT32_MAX).value_or(0));
  const auto created = host::create_capture_file(options.pcap, snap, medium);
  return created ? std::nullopt : std::optional(created.error());
}

/// Makes the file, so that a wrong path is told before the program runs. Fills in the absolute path.
std::optional<host::FileError> prepare_capture(const ExecOptions& options, std::string& absolute) {
  const std::string& path = options.pcap;
  if (auto error = make_capture(options, wire::Medium::ethernet)) return error;
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) == nullptr) return host::file_error(path, errno);
  absolute = resolved;
  return std::nullopt;
}

/// The settings of the NICs with the wire that somebody has said first. `nic` is well formed.
std::string with_wire(const std::string& nic, std::string_view wire) {
  auto tuning = host::parse_nic_tuning(nic);
  const wire::WireKind* const kind = wire::find_wire_kind(wire);
  if (!tuning || tuning->wire || kind == nullptr) return nic;
  tuning->wire = static_cast<std::uint8_t>(kind - wire::kWireKinds);
  return host::text_of(*tuning);
}

std::string auto_node(std::uint64_t nodes) {
  return fmt::format("{}:{}", host::kAutoNode, nodes);
}

/// For the user: "node 1", "nodes 1 to 4".
std::string words_of_nodes(const std::string& node) {
  const std::string prefix = fmt::format("{}:", host::kAutoNode);
  return node.starts_with(prefix) ? "nodes 1 to " + node.substr(prefix.size()) : "node " + node;
}

/// What the cables of a node's rails carry. Empty: ranks choose among nodes whose cables differ.
std::vector<std::uint64_t> rates_of_rails(const std::string& node, const host::FabricHello& fabric) {
  const auto of_node = [&](std::size_t one) {
    return std::span(fabric.port_rates).subspan(one * fabric.rails).first(fabric.rails);
  };
  const auto address = host::parse_node(host::list_item(node, 0));
  const auto number = address ? host::node_number(*address) : std::nullopt;
  const auto rates = of_node(number ? *number - 1 : 0);
  for (std::size_t other = 0; !number && other < fabric.nodes; ++other)
    if (!std::ranges::equal(of_node(other), rates)) return {};
  return {rates.begin(), rates.end()};
}

/// The settings of the NICs, whose ports are as fast as their cables unless they say otherwise.
std::string at_speed_of_cables(const host::LaunchEnvironment& plan, const host::FabricHello& fabric,
                               const host::OwnDevices& own) {
  std::vector<std::uint64_t> rates = rates_of_rails(plan.node, fabric);
  auto tuning = host::parse_nic_tuning(plan.nic);
  if (!tuning || tuning->speed_bits_per_second || own.port_count() > rates.size()) return plan.nic;
  rates.resize(own.port_count());
  tuning->say_speeds(rates);
  return host::text_of(*tuning);
}

/// In a fabric the rails of a node are its devices, and have the addresses that follow from the node's.
std::optional<std::string> wrong_rails(const std::string& node, const std::string& fabric) {
  const auto first = host::parse_node(host::list_item(node, 0));
  for (std::uint32_t i = 1; first && i < host::list_size(node); ++i)
    if (const auto rail = host::device_address(*first, {i, 1}); host::parse_node(host::list_item(node, i)) != rail)
      return fmt::format("--node {}: device {} has {} in fabric '{}': name the node alone, --node {}", node, i,
                         host::address_text(rail), fabric, host::list_item(node, 0));
  return std::nullopt;
}

/// A fabric is an Ethernet, whatever versions of RoCE its nodes have, or an InfiniBand.
std::optional<std::string> wrong_medium(const ExecOptions& options, const std::string& nic,
                                        const std::string& wire_of_fabric) {
  const auto own = host::parse_nic_tuning(nic);
  const wire::WireKind* const common = wire::find_wire_kind(wire_of_fabric);
  const bool is_infiniband = common != nullptr && common->is_infiniband;
  if (!own || !own->wire || fabric::wire_of(*own).is_infiniband == is_infiniband) return std::nullopt;
  return fmt::format("--wire {}: fabric '{}' is {}: leave the option out", fabric::wire_of(*own).name, options.fabric,
                     is_infiniband ? "an InfiniBand" : "an Ethernet");
}

/// Which wire it is the fabric may have said: a capture of InfiniBand begins otherwise.
std::optional<host::FileError> begin_capture(const ExecOptions& options, const std::string& nic) {
  const auto tuning = host::parse_nic_tuning(nic);
  if (options.pcap.empty() || !tuning || !fabric::wire_of(*tuning).is_infiniband) return std::nullopt;
  return make_capture(options, wire::Medium::infiniband);
}

/// Plugs the program in where a fabric process serves the fabric. An error is one line.
std::optional<std::string> find_fabric(const ExecOptions& options, host::LaunchEnvironment& plan) {
  if (plan.link.empty()) plan.link = host::kLinkKindDefault.name;
  if (!options.link.empty() && options.link != "fabric") return std::nullopt;
  const auto hello = host::greet_fabric(options.fabric);
  if (!hello && !hello.error().served && options.link.empty()) return std::nullopt;
  if (!hello) return with_advice(hello.error(), options.fabric);
  const std::uint32_t nodes = hello->nodes;
  if (is_by_rank(options)) {
    if (options.nodes.empty()) plan.node = auto_node(std::min(nodes, host::kNodesMax));
    if (!options.nodes.empty() && !parse_number(options.nodes, 1, nodes))
      return fmt::format("--nodes {}: fabric '{}' has {}: not more than these", options.nodes, options.fabric, nodes);
  } else {
    const auto address = host::parse_node(host::list_item(plan.node, 0));
    const auto node = address ? host::node_number(*address) : std::nullopt;
    if (!node || *node > nodes)
      return fmt::format("--node {}: fabric '{}' has the nodes 1 to {}", plan.node, options.fabric, nodes);
    if (const auto error = wrong_rails(plan.node, options.fabric)) return error;
  }
  const host::OwnDevices own = host::devices_of({options.devices, plan.node, options.link, options.ports});
  if (own.port_count() > hello->rails)
    return fmt::format("--devices {}{}: a node of fabric '{}' has {}", own.count,
                       own.ports == 1 ? "" : " --ports " + options.ports, options.fabric,
                       hello->rails == 1 ? "one port" : fmt::format("{} rails: not more than these", hello->rails));
  if (options.devices.empty() && hello->rails > 1) plan.devices = std::to_string(hello->rails / own.ports);
  plan.link = "fabric";
  const host::OwnDevices plugged = host::devices_of({plan.devices, plan.node, plan.link, plan.ports});
  if (const auto error = wrong_medium(options, plan.nic, hello->wire)) return error;
  plan.nic = with_wire(at_speed_of_cables(plan, *hello, plugged), hello->wire);
  if (!options.counts()) plan.stats_path = hello->stats_path;
  return std::nullopt;
}

/// Makes the options whole. An error is one line.
std::optional<std::string> settle(ExecOptions& options) {
  if (auto error = find_error(options)) return error;
  if (auto error = take_fault_plan(options)) return error;
  if (auto error = find_machine(options.node)) return error;
  return wrong_devices(options);
}

host::LaunchEnvironment plan_of(const ExecOptions& options, const std::string& capture_path) {
  host::LaunchEnvironment plan;
  plan.fabric = options.fabric;
  plan.node = options.node.empty() ? std::to_string(host::kNodeDefault) : options.node;
  if (is_by_rank(options))
    plan.node = auto_node(parse_number(options.nodes, 1, host::kNodesMax).value_or(host::kNodesMax));
  plan.link = options.link;
  plan.devices = options.devices;
  plan.ports = options.ports;
  plan.capture_path = capture_path;
  if (options.pcap_snap != "0") plan.capture_snap_bytes = options.pcap_snap;
  plan.faults = options.faults;
  plan.seed = options.seed;
  plan.device_name = options.device_name;
  plan.nic = with_wire(nic_words_of(options), options.wire);
  plan.icrc = options.icrc;
  plan.wildcard = options.wildcard;
  return plan;
}

}  // namespace

int run_exec(const Arguments& arguments) {
  CommandLine line("verbena exec", "verbena exec [OPTIONS] [--] PROGRAM [ARGUMENTS ...]",
                   "Runs an unmodified RDMA program on a node of a fabric.\n");
  ExecOptions options;
  declare(line, options);
  const SplitArguments split = line.split_program(arguments);
  if (const auto status = line.parse(split.options)) return *status;
  if (split.program.empty()) return line.fail(kExitUsage, "the program to run is missing (see verbena exec --help)");
  const auto personalities = take_personalities(options);
  if (!personalities) return line.fail(kExitUsage, personalities.error());
  if (const auto error = settle(options)) return line.fail(kExitUsage, *error);
  std::string capture_path;
  if (!options.pcap.empty())
    if (const auto error = prepare_capture(options, capture_path))
      return line.fail(error->is_shortage ? kExitInternal : kExitUsage, "--pcap: " + error->text);

  if (!options.stats_json.empty())
    if (const auto made = scenarios::write_file(options.stats_json, ""); !made)
      return line.fail(made.error().is_shortage ? kExitInternal : kExitUsage, "--stats-json " + made.error().text);

  const auto libraries = host::find_library_directory();
  if (!libraries) return line.fail(kExitInternal, libraries.error());
  const auto path = find_program(split.program[0]);
  if (!path)
    return line.fail(kExitNotFound, fmt::format("program not found: {}: {}", split.program[0],
                                                split.program[0].find('/') == std::string::npos
                                                    ? "it is in no folder of PATH; install it, or give its path"
                                                    : "there is no such file"));
  if (options.quiet) setenv(host::kQuietVariable, "1", 1);
  if (const auto reason = why_not_preloadable(*path); reason && !options.quiet)
    fmt::print(stderr, "{}: warning: {} is {}: it will not see the emulated device\n", line.name(),
               wire::printable(*path), *reason);

  if (const auto awaited = host::parse_node(options.awaited_node.c_str()))
    if (const auto listens = wait_for_listener(options.fabric, *awaited); !listens)
      return line.fail(kExitInternal, listens.error());
  host::LaunchEnvironment plan = plan_of(options, capture_path);
  if (const auto error = find_fabric(options, plan)) return line.fail(kExitUsage, *error);
  const host::OwnDevices own = host::devices_of({plan.devices, plan.node, plan.link, plan.ports});
  if (const auto error = wrong_values(options, plan.nic, own)) return line.fail(kExitUsage, *error);
  const std::string own_words = plan.nic;
  if (const auto error = put_on(*personalities, options, plan)) return line.fail(kExitUsage, *error);
  if (const auto error = begin_capture(options, own_words))
    return line.fail(error->is_shortage ? kExitInternal : kExitUsage, "--pcap: " + error->text);
  if (!host::device_names_fit(plan.device_name, own.count))
    return line.fail(kExitUsage,
                     fmt::format("--device-name {}: {}", plan.device_name, host::device_names_error(own.count)));
  StatsReport report;
  if (options.counts() && !report.open(options.fabric))
    return line.fail(kExitInternal, fmt::format("--stats: {}", std::strerror(errno)));
  if (options.counts()) plan.stats_path = report.path();
  LeaksReport leaks;
  if (!options.leaks.empty() && !leaks.open())
    return line.fail(kExitInternal, fmt::format("--leaks: {}", std::strerror(errno)));
  if (!options.leaks.empty()) plan.leaks_path = leaks.path();
  host::set_environment(plan, *libraries);
  std::string error;
  if (!options.counts() && options.leaks.empty()) {
    const int failed = replace_process(split.program, error);
    return line.fail(failed, error);
  }
  int status = run_and_wait(split.program, error);
  if (!error.empty()) return line.fail(status, error);
  const bool has_several = !is_by_rank(options) && own.port_count() > 1;
  if (!options.leaks.empty()) status = judge_leaks(leaks, options, status);
  if (options.stats) fmt::print(stderr, "{}", report.text(words_of_nodes(plan.node), has_several, options.faults));
  if (!options.stats_json.empty())
    if (const auto written = scenarios::write_file(options.stats_json, report.json(options.faults)); !written)
      return line.fail(kExitInternal, "--stats-json " + written.error().text);
  return status;
}

}  // namespace verbena::cli
