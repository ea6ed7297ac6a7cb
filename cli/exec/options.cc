#include "cli/exec/options.h"

#include <fmt/format.h>
#include <net/if.h>

#include "cli/exec/faults.h"
#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/host/config/environment.h"
#include "emulator/host/config/link_kind.h"
#include "emulator/host/config/nic_tuning.h"
#include "emulator/host/config/own_node.h"
#include "emulator/host/node/host_address.h"
#include "emulator/host/node/stats_file.h"

namespace verbena::cli {

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
  line.option("--fault-plan", options.fault_plan, "FILE", "faults from a file, one a line; # begins a comment");
  line.option("--seed", options.seed, "N",
              "seed of the faults, and of first QPN, keys and starting PSNs, which are drawn by chance without it");
  line.option("--device-name", options.device_name, "NAME",
              "name of the RDMA device; of several, the first one's, or with %d for their numbers, as in mlx5_%d");
  line.option("--nic", options.nic, "SETTINGS",
              "what the NIC is like, whatever the program asks for: 'personality=connectx-7 mtu=1024 timeout=10 "
              "retry-count=3 rnr-retry=7 min-rnr-timer=12 read-depth=16 speed=100Gbps,25Gbps window=1MiB "
              "timeout-min=4ms acknowledge-every=64 congestion-control=dcqcn cnp-interval=4us "
              "loss-recovery=selective-repeat page-fault-delay=50us nak-latency=10us acknowledge-latency=500ns "
              "nak-reaction-latency=5us implied-nak-latency=5us removed-after=2s max-qp=8 memlock=64KiB', any of them "
              "(personality: `verbena personality`; of speed one for all, or by commas one of each), and the "
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
  line.option("--leaks", options.leaks, "report|fail",
              "at the end, which objects of verbs the program has not destroyed, and who made them; fail: then with "
              "status 3 if it was 0");
  line.flag("--quiet", options.quiet, "no warnings of Verbena's own on stderr (VERBENA_QUIET=1)");
  line.exit_status("the program's", "it ran; 128 + N: signal N ended it");
  line.exit_status("3", "it has left objects, with --leaks fail");
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

namespace {
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
}  // namespace

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

namespace {
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
}  // namespace

std::string nic_words_of(const ExecOptions& options) {
  if (options.numa.empty()) return options.nic;
  return options.nic + (options.nic.empty() ? "numa=" : " numa=") + options.numa;
}

namespace {
std::optional<std::string> wrong_numa(const ExecOptions& options) {
  if (options.numa.empty()) return std::nullopt;
  constexpr std::string_view kRight = "want a NUMA node of the machine, 0 to 1023, or by commas one of each device";
  if (options.numa.find(' ') != std::string::npos || !host::parse_nic_tuning("numa=" + options.numa))
    return fmt::format("--numa {}: {}", options.numa, kRight);
  const auto both = host::parse_nic_tuning(nic_words_of(options));
  return both ? std::nullopt : std::optional(fmt::format("--numa {}: {}", options.numa, both.error()));
}
}  // namespace

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
    if (auto error = wrong_fault(fault, "--fault")) return error;
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
  if (!options.leaks.empty() && options.leaks != kLeaksReport && options.leaks != kLeaksFail)
    return fmt::format("--leaks '{}': want {} or {}{}", options.leaks, kLeaksReport, kLeaksFail,
                       fabric::did_you_mean(options.leaks, {kLeaksReport, kLeaksFail}));
  if (!host::is_device_name(options.device_name))
    return fmt::format("--device-name '{}': a name has {}", options.device_name, host::device_name_rule());
  return std::nullopt;
}

std::optional<std::string> take_fault_plan(ExecOptions& options) {
  if (options.fault_plan.empty()) return std::nullopt;
  const auto faults = read_fault_plan(options.fault_plan);
  if (!faults) return "--fault-plan " + faults.error();
  options.faults.insert(options.faults.end(), faults->begin(), faults->end());
  if (options.faults.size() > host::StatsFile::kFaults)
    return fmt::format("--fault-plan {}: {} faults with those of --fault: want at most {}", options.fault_plan,
                       options.faults.size(), host::StatsFile::kFaults);
  return std::nullopt;
}

}  // namespace verbena::cli
