// `verbena exec`: checks what the user wants and runs the program on a node (exec/launch.h does the running).
// Tested by: tests/cli/command_line_test.cc
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "cli/command.h"
#include "cli/exec/launch.h"
#include "cli/exec/listener_wait.h"
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

struct ExecOptions {
  std::string fabric = host::kFabricDefault;
  std::string node;          // empty: 1, or by rank if there are several
  std::string nodes;         // empty: not said
  std::string devices;       // empty: not said
  std::string ports;         // empty: not said
  std::string link;          // empty: whatever the fabric has
  std::string wire;          // empty: whatever the fabric has, else RoCE v2
  std::string awaited_node;  // empty: none
  std::string pcap;
  std::string pcap_snap = "0";
  std::vector<std::string> faults;
  std::string seed;  // empty: none
  std::string device_name = host::kDeviceNameDefault;
  std::string nic;
  std::string numa;  // empty: not said
  std::string icrc;  // empty: offload
  std::string wildcard;
  bool stats = false;
  std::string stats_json;
  bool quiet = false;

  bool counts() const { return stats || !stats_json.empty(); }
};

void declare(CommandLine& line, ExecOptions& options) {
  line.option("--fabric", options.fabric, "NAME", "name of the fabric");
  line.option("--node", options.node, "K|ADDRESS|HOST|auto",
              "the node to run on: 1..254 is 127.47.91.K, or an IP address; SUBNET/BITS, an interface's name or "
              "hosts:FILE: the address of this machine in it, so that one line suits many machines; auto: each process "
              "of an mpirun or srun on the node that its rank gives it, as with --nodes [1]");
  line.option("--nodes", options.nodes, "N",
              "the program is an mpirun, srun or the like: the process of rank R runs on node 1 + R modulo N "
              "(OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, else SLURM_PROCID); [with --node auto: as many as the "
              "fabric has, else 254]");
  line.option(
      "--devices", options.devices, "N",
      "how many NICs the node has, at most 16: verbena0 has 127.47.91.K, verbena1 127.47.92.K, and so on; "
      "elsewhere give --node an address of each, by commas [as many as --node and --link name or the fabric has "
      "rails, else 1]");
  line.option("--ports", options.ports, "N",
              "how many ports each NIC has, 1 or 2: the second one has 127.48.91.K (of verbena1 127.48.92.K, and so "
              "on), in a fabric the next rail; elsewhere give --node an address of each port, by commas: those of the "
              "first NIC, then those of the next [1]");
  line.option(
      "--link", options.link, "KIND",
      "what carries the packets: shm (direct cables), fabric (`verbena fabric`), udp (port 4791), "
      "raw:INTERFACE (CAP_NET_RAW; by commas, one of each device or port) [fabric where one is running, else shm]");
  line.option(
      "--wire", options.wire, "WIRE",
      "which RoCE the GIDs stand for: roce-v2 (UDP over IP), roce-v1 (Ethertype 0x8915, not over udp), or roce: "
      "each address by v1 and by v2, as a ConnectX has them [what the fabric has, else roce-v2]");
  line.option("--wait-for-listener", options.awaited_node, "K",
              "start the program once one on that node (or address) listens, by TCP or rdma_cm: a client waits for its "
              "server, for a minute at most");
  line.option("--pcap", options.pcap, "FILE", "write every packet of the node to FILE (pcapng)");
  line.option("--pcap-snap", options.pcap_snap, "BYTES", "keep only the first BYTES of each packet; 0 keeps all");
  line.option("--fault", options.faults, "SPEC",
              "a fault on the node's link, or of the program's verbs, may be repeated: 'drop 0.1%', "
              "'delay by=10us 1%', 'corrupt 1%', 'fail verb=create_cq nth=2' (all: `verbena help fault`)");
  line.option("--seed", options.seed, "N",
              "seed of the faults, and of first QPN, keys and starting PSNs, which are drawn by chance without it");
  line.option("--device-name", options.device_name, "NAME",
              "name of the RDMA device; of several, the first one's, or with %d for their numbers, as in mlx5_%d");
  line.option("--nic", options.nic, "SETTINGS",
              "what the NIC is like, whatever the program asks for: 'mtu=1024 timeout=10 retry-count=3 rnr-retry=7 "
              "min-rnr-timer=12 read-depth=16 speed=100Gbps,25Gbps window=1MiB timeout-min=4ms acknowledge-every=64 "
              "congestion-control=dcqcn cnp-interval=4us loss-recovery=selective-repeat page-fault-delay=50us "
              "nak-latency=10us acknowledge-latency=500ns nak-reaction-latency=5us implied-nak-latency=5us "
              "removed-after=2s', any of them (of speed one for all, or by commas one of each NIC or port), and the "
              "parameters of congestion control and loss recovery (scenarios/README.md)");
  line.option("--numa", options.numa, "N",
              "the machine's NUMA node that programs see the NIC at: one for all NICs, or by commas one of each [none; "
              "of raw that of the interface]");
  line.option("--icrc", options.icrc, "offload|always",
              "when the ICRC of a packet is computed: offload (once it leaves the memory that the user's processes "
              "share: for a socket, a capture, a fault or checker that looks at it) or always, by the NIC [offload]");
  line.option("--wildcard", options.wildcard, "node|machine",
              "what a TCP or UDP port on all addresses (0.0.0.0, ::) is of: node (its own 127.47.91.K, so that every "
              "node has each port) or machine (the kernel's meaning; also VERBENA_WILDCARD) [node]");
  line.flag("--stats", options.stats, "print the node's counters to stderr at the end");
  line.option("--stats-json", options.stats_json, "FILE", "write the node's counters to FILE at the end (JSON)");
  line.flag("--quiet", options.quiet, "no warnings of Verbena's own on stderr (VERBENA_QUIET=1)");
  line.exit_status("the program's", "it ran; 128 + N: signal N ended it");
  line.exit_status("125", "the node could not be set up, or no server listened in time");
  line.exit_status("126", "the program cannot be run");
  line.exit_status("127", "there is no such program");
  line.example(
      "verbena exec --node 1 -- ib_write_bw & verbena exec --node 2 --wait-for-listener 1 -- ib_write_bw 127.47.91.1",
      "a server and its client, in whichever order they start");
}

bool is_by_rank(const ExecOptions& options) {
  return !options.nodes.empty() || options.node == host::kAutoNode;
}

std::optional<std::string> wrong_node(const ExecOptions& options) {
  if (!options.nodes.empty() && !parse_number(options.nodes, 1, host::kNodesMax))
    return fmt::format("--nodes {}: not a number from 1 to {}", options.nodes, host::kNodesMax);
  if (!options.nodes.empty() && !options.node.empty() && options.node != host::kAutoNode)
    return fmt::format("--nodes {}: the ranks choose the nodes, so not with --node {}", options.nodes, options.node);
  if (is_by_rank(options) && !options.pcap.empty())
    return "--pcap: one file is of one node, and with --nodes or --node auto there are several (`verbena fabric` "
           "captures every link)";
  return std::nullopt;
}

/// A node that is this machine, in words, becomes its address. An error is one line.
std::optional<std::string> find_machine(std::string& node) {
  if (node.empty() || node == host::kAutoNode) return std::nullopt;
  std::string found;
  for (std::size_t i = 0; i < host::list_size(node); ++i) {
    std::string one(host::list_item(node, i));
    if (!host::parse_node(one)) {
      const auto address = host::host_address(one, host::own_addresses());
      if (!address) return fmt::format("--node: {}", address.error());
      one = host::address_text(*address);
    }
    found += (i == 0 ? "" : ",") + one;
  }
  node = found;
  return std::nullopt;
}

std::optional<std::string> wrong_devices(const ExecOptions& options) {
  const host::OwnDevices devices = host::devices_of({options.devices, options.node, options.link, options.ports});
  if (devices.kind == host::OwnDevices::Kind::known) return std::nullopt;
  const std::string node = "--node " + (options.node.empty() ? std::to_string(host::kNodeDefault) : options.node);
  return host::devices_error(devices, {options.devices.empty() ? node : "--devices " + options.devices, node,
                                       "--link " + options.link, "--ports " + options.ports});
}

std::optional<std::string> wrong_link(const std::string& link) {
  if (link.empty()) return std::nullopt;
  if (link == "raw" || link == "raw:") return "--link raw: needs an interface, as in raw:eth0";
  if (host::find_link_kind(link) == nullptr)
    return fmt::format("--link {}: unknown kind, try {}", link, host::link_rule(link));
  for (std::size_t i = 0; i < host::list_size(host::interface_of(link)); ++i) {
    const std::string interface(host::list_item(host::interface_of(link), i));
    if (!interface.empty() && if_nametoindex(interface.c_str()) == 0)
      return fmt::format("--link {}: no interface '{}' (`ip link` lists them)", link, interface);
  }
  return std::nullopt;
}

/// `--wire`, said beside a `--nic` that speaks of it as well. And whether the link carries it.
std::optional<std::string> wrong_wire(const ExecOptions& options) {
  const auto tuning = host::parse_nic_tuning(options.nic);
  if (!tuning) return fmt::format("--nic: {}", tuning.error());
  if (!options.wire.empty() && tuning->wire) return "--wire: --nic says it as well: leave one of them out";
  if (!options.wire.empty() && wire::find_wire_kind(options.wire) == nullptr)
    return fmt::format("--wire '{}': want {}", options.wire, host::wire_rule(options.wire));
  const wire::WireKind& kind = options.wire.empty() ? fabric::wire_of(*tuning) : *wire::find_wire_kind(options.wire);
  if (const std::string error = host::wire_error(kind, options.link); !error.empty())
    return fmt::format("--wire {}: {}", kind.name, error);
  return std::nullopt;
}

/// The settings of the NICs, --numa among them.
std::string nic_words_of(const ExecOptions& options) {
  if (options.numa.empty()) return options.nic;
  return options.nic + (options.nic.empty() ? "numa=" : " numa=") + options.numa;
}

std::optional<std::string> wrong_numa(const ExecOptions& options) {
  if (options.numa.empty()) return std::nullopt;
  constexpr std::string_view kRight = "want a NUMA node of the machine, 0 to 1023, or by commas one of each device";
  if (options.numa.find(' ') != std::string::npos || !host::parse_nic_tuning("numa=" + options.numa))
    return fmt::format("--numa {}: {}", options.numa, kRight);
  const auto both = host::parse_nic_tuning(nic_words_of(options));
  return both ? std::nullopt : std::optional(fmt::format("--numa {}: {}", options.numa, both.error()));
}

/// A value too few or too many for the devices, once it is known how many these are.
std::optional<std::string> wrong_values(const ExecOptions& options, const std::string& nic,
                                        const host::OwnDevices& own) {
  const auto tuning = host::parse_nic_tuning(nic);
  if (tuning)
    if (const std::string error = host::lids_error(fabric::wire_of(*tuning), own); !error.empty())
      return fmt::format("--wire {}: {}", fabric::wire_of(*tuning).name, error);
  const std::string wrong = tuning ? host::devices_misfit(*tuning, own) : tuning.error();
  if (wrong.empty()) return std::nullopt;
  const bool is_numa = !options.numa.empty() && wrong.starts_with("numa ");
  return fmt::format("{}: {}", is_numa ? "--numa " + options.numa : "--nic", wrong);
}

/// The first thing that is wrong with the options, as one line.
std::optional<std::string> find_error(const ExecOptions& options) {
  if (!host::is_fabric_name(options.fabric))
    return fmt::format("--fabric '{}': a name has {}", options.fabric, host::fabric_name_rule());
  if (auto error = wrong_node(options)) return error;
  if (auto error = wrong_link(options.link)) return error;
  if (!options.awaited_node.empty() && !host::parse_node(options.awaited_node.c_str()))
    return fmt::format("--wait-for-listener {}: not a node: 1 to {}, or an IP address", options.awaited_node,
                       host::kNodesMax);
  if (!options.seed.empty() && !parse_number(options.seed, 0, UINT64_MAX))
    return fmt::format("--seed {}: not a whole number such as 7", options.seed);
  if (!parse_number(options.pcap_snap, 0, UINT32_MAX))
    return fmt::format("--pcap-snap {}: not a number of bytes such as 128", options.pcap_snap);
  if (options.pcap_snap != "0" && options.pcap.empty()) return "--pcap-snap needs --pcap: name the file of the capture";
  for (const auto& fault : options.faults) {
    if (fault.find('\n') != fault.npos) return "--fault: one fault is one line: give --fault once for each";
    if (fabric::is_verb_rule(fault)) {
      const auto parsed = fabric::parse_verb_rule(fault);
      if (!parsed) return fmt::format("--fault: {}", parsed.error());
      if (const std::string odd = fabric::warning_of(*parsed); !odd.empty())
        fmt::print(stderr, "verbena exec: --fault '{}': {}\n", fault, odd);
      continue;
    }
    if (const auto parsed = fabric::parse_fault(fault); !parsed) return fmt::format("--fault: {}", parsed.error());
  }
  if (auto error = wrong_wire(options)) return error;
  if (auto error = wrong_numa(options)) return error;
  if (!options.icrc.empty() && !host::parse_icrc(options.icrc))
    return fmt::format("--icrc '{}': want {}", options.icrc, host::icrc_rule(options.icrc));
  if (!options.wildcard.empty() && options.wildcard != host::kWildcardNode &&
      options.wildcard != host::kWildcardMachine)
    return fmt::format("--wildcard '{}': want {} or {}{}", options.wildcard, host::kWildcardNode,
                       host::kWildcardMachine,
                       fabric::did_you_mean(options.wildcard, {host::kWildcardNode, host::kWildcardMachine}));
  if (!host::is_device_name(options.device_name))
    return fmt::format("--device-name '{}': a name has {}", options.device_name, host::device_name_rule());
  return std::nullopt;
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
  if (const auto error = find_error(options)) return line.fail(kExitUsage, *error);
  if (const auto error = find_machine(options.node)) return line.fail(kExitUsage, *error);
  if (const auto error = wrong_devices(options)) return line.fail(kExitUsage, *error);
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
  if (const auto error = begin_capture(options, plan.nic))
    return line.fail(error->is_shortage ? kExitInternal : kExitUsage, "--pcap: " + error->text);
  if (!host::device_names_fit(plan.device_name, own.count))
    return line.fail(kExitUsage,
                     fmt::format("--device-name {}: {}", plan.device_name, host::device_names_error(own.count)));
  host::set_environment(plan, *libraries);
  std::string error;
  if (!options.counts()) {
    const int failed = replace_process(split.program, error);
    return line.fail(failed, error);
  }
  StatsReport report;
  if (!report.open(options.fabric)) return line.fail(kExitInternal, fmt::format("--stats: {}", std::strerror(errno)));
  const int status = run_and_wait(split.program, error);
  if (!error.empty()) return line.fail(status, error);
  const bool has_several = !is_by_rank(options) && own.port_count() > 1;
  if (options.stats) fmt::print(stderr, "{}", report.text(words_of_nodes(plan.node), has_several));
  if (!options.stats_json.empty())
    if (const auto written = scenarios::write_file(options.stats_json, report.json()); !written)
      return line.fail(kExitInternal, "--stats-json " + written.error().text);
  return status;
}

}  // namespace verbena::cli
