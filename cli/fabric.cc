// `verbena fabric`: makes the topology that the user wants and serves it until Ctrl-C
// (emulator/host/fabric_process/fabric_process.h).
// Tested by: tests/cli/command_line_test.cc, tests/cli/json_test.cc
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/command.h"
#include "cli/scenario_file.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/qos_words.h"
#include "emulator/fabric/quantity.h"
#include "emulator/fabric/rails.h"
#include "emulator/fabric/shape_table.h"
#include "emulator/fabric/topology.h"
#include "emulator/host/config/environment.h"
#include "emulator/host/config/variables.h"
#include "emulator/host/fabric_process/element_words.h"
#include "emulator/host/fabric_process/fabric_process.h"
#include "emulator/host/fabric_process/subnet_topology.h"
#include "emulator/host/node/node_directory.h"
#include "scenarios/outcome/buffered_file.h"
#include "wire/counted.h"
#include "wire/printable.h"

namespace verbena::cli {

namespace {

struct ServeOptions {
  std::string file;
  std::string fabric = host::kFabricDefault;
  std::string topology;
  std::string nodes = "2";
  std::string rails;
  std::string planes;
  std::string wire;
  std::string rate = "100Gbps";
  std::string delay = "500ns";
  std::string queue = "1048576";
  std::string ecn = "0";
  std::string qos;
  std::string spread;
  std::string detection = "10ms";
  std::string seed = "1";
  std::string capture;
  std::string sockets;
  std::string capture_snap = "0";
  std::string capture_limit;
  bool managed = false;
  bool telemetry = false;
  bool until_eof = false;
  Reporting reporting;
};

void declare(CommandLine& line, ServeOptions& options) {
  line.argument("FILE", options.file, "a scenario: its topology, with the names and cables that it gives");
  line.option("--fabric", options.fabric, "NAME", "name of the fabric");
  static const std::string shapes = fabric::shape_names() +
                                    "; a dumbbell has half of the nodes a side, a leaf-spine two nodes a leaf and two "
                                    "spines; or FILE.net: an InfiniBand subnet as ibnetdiscover writes it";
  line.option("--topology", options.topology, "SHAPE", shapes.c_str());
  line.option("--nodes", options.nodes, "N", "number of nodes: 127.47.91.1 to 127.47.91.N");
  line.option(
      "--rails", options.rails, "N",
      "NIC ports of each node, up to 16: node n1 has the rails n1.1, n1.2, ..., and its programs as many devices "
      "(127.47.91.1, 127.47.92.1, ...) [1]");
  line.option("--planes", options.planes, "separate|shared",
              "switches of its own for each rail, or all rails in one network [separate]");
  line.option("--wire", options.wire, "WIRE",
              "infiniband, or which RoCE the GIDs of its nodes stand for, unless `verbena exec --wire` says otherwise: "
              "roce-v2, roce-v1, or roce for each address by both [roce-v2]");
  line.option("--rate", options.rate, "RATE", "of every cable, such as 10Gbps; 0: frames take no time");
  line.option("--delay", options.delay, "TIME", "of every cable, such as 5us");
  line.option("--queue", options.queue, "BYTES", "of every port; what does not fit is lost");
  line.option("--ecn", options.ecn, "BYTES|KMIN..KMAX,PMAX",
              "packets are marked (ECN) while the queue is longer, 0: never; or with a probability that grows to PMAX "
              "between two lengths, such as 5KB..200KB,1%");
  line.option("--qos", options.qos, "KEY=VALUE,...",
              "traffic classes, lossless ones and the memory of switches, by the words of a scenario's qos "
              "(docs/reference/scenario.md), such as lossless=3,buffer=12MB,xoff=100KB");
  line.option(
      "--spread", options.spread, "flow|packet",
      "which of several equal ways a switch takes: one for each flow (ECMP), or one for each packet (spraying)");
  line.flag("--telemetry", options.telemetry,
            "switches write into packets that ask for it what their ports are like: for congestion-control=hpcc");
  line.flag("--managed", options.managed,
            "the ports of InfiniBand wait for a subnet manager, which you run on a node: "
            "verbena exec --node 1 -- opensm");
  line.option("--detection", options.detection, "TIME", "how long a link must be dead until routes lead around it");
  line.option("--seed", options.seed, "N", "seed of the faults");
  line.option(
      "--sockets", options.sockets, "cut|uncut|TIME",
      "programs' own TCP and UDP sockets between nodes are cut with the network, or never; TIME: cut, and a "
      "connection whose data nobody acknowledges for so long fails, instead of the kernel's quarter of an hour");
  line.option("--pcap", options.capture, "DIRECTORY", "write what every cable carries to a file in DIRECTORY (pcapng)");
  line.option("--pcap-snap", options.capture_snap, "BYTES", "keep only the first BYTES of each packet; 0 keeps all");
  line.option("--pcap-limit", options.capture_limit, "SIZE", "end all captures once they have SIZE, such as 1GiB");
  line.flag("--until-eof", options.until_eof,
            "end as well when nobody holds the other end of standard input (a pipe) any more");
  line.reporting(options.reporting, "print nothing once the fabric is there",
                 "say that the fabric is there as JSON, one line: its name, nodes and first address");
  line.exit_status("0", "it was ended");
  line.example("verbena fabric --topology ring --nodes 4", "four nodes on a ring of switches");
  line.example("verbena fabric --wire infiniband --managed --topology ring --nodes 4",
               "the same of InfiniBand, for opensm to bring up");
}

using Error = std::optional<std::string>;

std::optional<fabric::EcnMarking> parse_ecn(std::string_view text) {
  constexpr std::string_view kRange = "..";
  const std::size_t dots = text.find(kRange);
  const auto kmin = fabric::parse_octets(text.substr(0, dots));
  fabric::EcnMarking ecn;
  if (!kmin || *kmin > UINT32_MAX) return std::nullopt;
  ecn.kmin_bytes = ecn.kmax_bytes = static_cast<std::uint32_t>(*kmin);
  if (dots == text.npos) return ecn;
  const std::size_t comma = text.find(',', dots);
  if (comma == text.npos) return std::nullopt;
  const std::size_t kmax_at = dots + kRange.size();
  const auto kmax = fabric::parse_octets(text.substr(kmax_at, comma - kmax_at));
  const auto pmax = fabric::parse_probability(text.substr(comma + 1));
  if (!kmax || !pmax || *kmax > UINT32_MAX || *kmax < *kmin || *kmax == 0) return std::nullopt;
  ecn.kmax_bytes = static_cast<std::uint32_t>(*kmax);
  ecn.pmax_ppb = *pmax;
  return ecn;
}

/// What there is of both.
Error parse_rails(const ServeOptions& options, fabric::RailOptions& into) {
  const auto rails = options.rails.empty() ? 1 : parse_number(options.rails, 1, fabric::kRailsMax);
  if (!rails) return fmt::format("--rails {}: not a number from 1 to {}", options.rails, fabric::kRailsMax);
  into.rails = static_cast<std::uint32_t>(*rails);
  if (options.planes.empty()) return std::nullopt;
  if (into.rails == 1)
    return fmt::format("--planes {}: is about nodes with several rails: give --rails 2 as well", options.planes);
  const auto planes = fabric::find_named(fabric::kPlanes, options.planes);
  if (!planes)
    return fmt::format("--planes {}: separate or shared{}", options.planes,
                       fabric::did_you_mean(options.planes, {"separate", "shared"}));
  into.planes = *planes;
  return std::nullopt;
}

Error make_shape(const ServeOptions& options, std::uint32_t nodes, const fabric::ShapeParameters& cables,
                 fabric::Topology& into) {
  const std::string& name = options.topology;
  fabric::RailOptions rails;
  if (auto error = parse_rails(options, rails)) return error;
  const fabric::Shape* const shape = fabric::find_shape(name);
  if (shape == nullptr)
    return fmt::format("--topology {}: unknown, try one of {}{}", name, fabric::shape_names(),
                       fabric::shape_meant(name));
  const auto sizes = shape->sizes_of(nodes);
  if (!sizes) return fmt::format("--nodes {}: the number of nodes of a {} is {}", nodes, name, shape->hosts_text);
  auto made = with_rails(shape->make(*sizes, cables), rails);
  if (!made) return fmt::format("--rails {}: {}", options.rails, made.error());
  into = std::move(*made);
  if (const auto checked = fabric::check(into); !checked)
    return fmt::format("--topology {}: {}", name, checked.error());
  return std::nullopt;
}

/// ibsim's own examples have other endings: a path is no shape's name.
bool is_subnet_file(std::string_view topology) {
  return topology.ends_with(".net") || topology.find('/') != topology.npos;
}

/// A file of an InfiniBand subnet: its cables have the rates that it says.
Error read_subnet(const ServeOptions& options, const fabric::CableParameters& cable, host::FabricOptions& into) {
  const ServeOptions plain;
  for (const auto& [name, value, is_said] : {std::tuple("--rails", &options.rails, !options.rails.empty()),
                                             std::tuple("--planes", &options.planes, !options.planes.empty()),
                                             std::tuple("--nodes", &options.nodes, options.nodes != plain.nodes),
                                             std::tuple("--rate", &options.rate, options.rate != plain.rate)})
    if (is_said) return fmt::format("{} {}: {} says it: leave it out", name, *value, options.topology);
  if (!options.wire.empty() && options.wire != "infiniband")
    return fmt::format("--wire {}: {} is of InfiniBand: leave it out", options.wire, options.topology);
  if (!options.qos.empty()) return "--qos: InfiniBand's lanes have credits: leave it out";
  const auto subnet = host::read_subnet_file(options.topology);
  if (!subnet) return "--topology " + subnet.error();
  auto made = host::fabric_of(*subnet, cable);
  if (!made) return fmt::format("--topology {}: {}", options.topology, made.error());
  into.topology = std::move(made->topology);
  into.topology.qos = fabric::infiniband_qos();
  into.switches = std::move(made->switches);
  into.wire = "infiniband";
  if (into.topology.nodes() > host::kNodesMax)
    return fmt::format("--topology {}: a fabric of processes has at most {} nodes, not {}", options.topology,
                       host::kNodesMax, into.topology.nodes());
  if (const auto checked = fabric::check(into.topology); !checked)
    return fmt::format("--topology {}: {}", options.topology, checked.error());
  return std::nullopt;
}

Error make_topology(const ServeOptions& options, host::FabricOptions& into) {
  if (options.topology.empty()) return "--topology SHAPE or a FILE is missing: --topology star, for example";
  const auto nodes = parse_number(options.nodes, 1, host::kNodesMax);
  if (!nodes) return fmt::format("--nodes {}: not a number from 1 to {}", options.nodes, host::kNodesMax);
  const auto rate = host::parse_rate(options.rate);
  if (!rate) return fmt::format("--rate {}: not a rate such as 10Gbps", options.rate);
  const auto delay = host::parse_time_span(options.delay);
  if (!delay) return fmt::format("--delay {}: not a time such as 500ns or 5us", options.delay);
  const auto queue = parse_number(options.queue, 1, UINT32_MAX);
  if (!queue) return fmt::format("--queue {}: not a number of bytes such as 1048576", options.queue);
  const auto ecn = parse_ecn(options.ecn);
  if (!ecn)
    return fmt::format(
        "--ecn {}: not a number of bytes such as 100000 (0: no marks), nor KMIN..KMAX,PMAX such as 5KB..200KB,1% with "
        "KMIN not above KMAX",
        options.ecn);
  if (ecn->kmin_bytes > *queue)
    return fmt::format("--ecn {}: above --queue {}, so that nothing would ever be marked", options.ecn, options.queue);
  const fabric::CableParameters cable{.rate_bits_per_second = *rate,
                                      .propagation = *delay,
                                      .queue_bytes = static_cast<std::uint32_t>(*queue),
                                      .ecn = *ecn,
                                      .telemetry = options.telemetry};
  if (is_subnet_file(options.topology)) return read_subnet(options, cable, into);
  return make_shape(options, static_cast<std::uint32_t>(*nodes), {cable, cable}, into.topology);
}

/// Which medium the cables are, and what its ports have of the shape's parameters then.
Error take_wire(const ServeOptions& options, host::FabricOptions& into) {
  const wire::WireKind* const kind = wire::find_wire_kind(options.wire);
  if (options.wire.empty()) return std::nullopt;
  if (kind == nullptr) return fmt::format("--wire '{}': want {}", options.wire, host::wire_rule(options.wire));
  const bool was_infiniband = into.topology.medium == wire::Medium::infiniband;
  if (!options.file.empty() && kind->is_infiniband != was_infiniband)
    return fmt::format("--wire {}: FILE says the medium: write `wire: infiniband` there", options.wire);
  into.wire = options.wire;
  if (!kind->is_infiniband || was_infiniband) return std::nullopt;
  if (!options.qos.empty()) return "--qos: InfiniBand's lanes have credits; a FILE says what can be said of them";
  into.topology.medium = wire::Medium::infiniband;
  into.topology.qos = fabric::infiniband_qos();
  if (const auto checked = fabric::check(into.topology); !checked) return "--wire infiniband: " + checked.error();
  return std::nullopt;
}

/// The classes that the command line gives, whatever the topology has, and what is to be said of them.
Error take_qos(const std::string& text, fabric::Topology& topology) {
  if (!text.empty()) {
    const auto qos = fabric::parse_qos(text);
    if (!qos) return "--qos " + qos.error();
    topology.qos = *qos;
  }
  if (const auto checked = fabric::check(topology); !checked) return "--qos: " + checked.error();
  for (const std::string& warning : fabric::qos_warnings(topology)) fmt::print(stderr, "{}\n", warning);
  return std::nullopt;
}

Error read_topology(const ServeOptions& options, host::FabricOptions& into) {
  if (!options.topology.empty()) return "FILE says the topology: --topology does not go with it, leave one of them out";
  for (const auto& [name, value] : {std::pair("--rails", &options.rails), std::pair("--planes", &options.planes)})
    if (!value->empty()) return fmt::format("{} {}: FILE says the topology: write it there", name, *value);
  const auto scenario = read_named_scenario(options.file);
  if (!scenario) return scenario.error().line();
  into.topology = scenario->topology;
  into.detection = scenario->detection;
  const wire::WireKind& wire = fabric::wire_of(scenario->nics.front());
  const bool is_same =
      std::ranges::all_of(scenario->nics, [&](const auto& nic) { return fabric::wire_of(nic) == wire; });
  if (is_same) into.wire = wire.name;
  into.sockets = {.is_on = scenario->cuts_sockets, .timeout = scenario->socket_timeout};
  if (into.topology.nodes() > host::kNodesMax)
    return fmt::format("{}: a fabric of processes has at most {} nodes, not {}", options.file, host::kNodesMax,
                       into.topology.nodes());
  return std::nullopt;
}

Error take_management(const ServeOptions& options, fabric::Topology& topology) {
  if (!options.managed) return std::nullopt;
  if (topology.medium != wire::Medium::infiniband)
    return "--managed: a subnet manager needs InfiniBand: give --wire infiniband as well";
  topology.is_managed = true;
  if (const auto checked = fabric::check(topology); !checked) return "--managed: " + checked.error();
  return std::nullopt;
}

/// What the file says, if the command line does not.
Error read_sockets(const ServeOptions& options, host::FabricOptions& into) {
  if (options.sockets.empty()) return std::nullopt;
  into.sockets = {.is_on = options.sockets != "uncut", .timeout = {}};
  if (options.sockets == "cut" || options.sockets == "uncut") return std::nullopt;
  const auto timeout = host::parse_time_span(options.sockets);
  if (!timeout || *timeout < milliseconds(1))
    return fmt::format("--sockets {}: not cut, uncut or a time from 1ms to 60s{}", options.sockets,
                       fabric::did_you_mean(options.sockets, {"cut", "uncut"}));
  into.sockets.timeout = *timeout;
  return std::nullopt;
}

Error make_options(const ServeOptions& options, host::FabricOptions& into) {
  if (!host::is_fabric_name(options.fabric))
    return fmt::format("--fabric '{}': a name has 1 to {} letters, digits, '_', '-' or '.'", options.fabric,
                       host::kFabricNameBytesMax);
  into.fabric = options.fabric;
  const auto detection = host::parse_time_span(options.detection);
  if (!detection) return fmt::format("--detection {}: not a time such as 10ms", options.detection);
  into.detection = *detection;
  if (auto error = options.file.empty() ? make_topology(options, into) : read_topology(options, into)) return error;
  if (options.spread == "packet" || options.spread == "flow")
    into.topology.spreading = options.spread == "packet" ? fabric::Spreading::packet : fabric::Spreading::flow;
  else if (!options.spread.empty())
    return fmt::format("--spread {}: flow or packet{}", options.spread,
                       fabric::did_you_mean(options.spread, {"flow", "packet"}));
  if (auto error = take_wire(options, into)) return error;
  if (into.topology.medium == wire::Medium::infiniband && into.topology.spreading == fabric::Spreading::packet)
    return "--spread packet: InfiniBand's switches send all packets for one port by one way";
  if (auto error = take_qos(options.qos, into.topology)) return error;
  const auto seed = parse_number(options.seed, 0, UINT64_MAX);
  if (!seed) return fmt::format("--seed {}: not a whole number such as 7", options.seed);
  into.seed = *seed;
  if (auto error = read_sockets(options, into)) return error;
  if (auto error = take_management(options, into.topology)) return error;
  const auto snap = parse_number(options.capture_snap, 0, UINT32_MAX);
  if (!snap) return fmt::format("--pcap-snap {}: not a number of bytes such as 128", options.capture_snap);
  into.capture_snap_bytes = static_cast<std::uint32_t>(*snap);
  const auto limit = options.capture_limit.empty() ? std::optional<std::uint64_t>(UINT64_MAX)
                                                   : fabric::parse_octets(options.capture_limit);
  if (!limit) return fmt::format("--pcap-limit {}: not a size such as 64MiB or 1GiB", options.capture_limit);
  into.capture_octets_max = *limit;
  if (options.capture.empty())
    return *snap != 0 || !options.capture_limit.empty()
               ? Error("--pcap-snap and --pcap-limit need --pcap: name the folder of the captures")
               : std::nullopt;
  into.capture_directory = options.capture;
  return std::nullopt;
}

sigset_t end_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  return ends;
}

/// From now on the descriptor tells of them. Before, they end the process at once: nobody looks while a fabric is made.
void hold_end_signals() {
  const sigset_t ends = end_signals();
  sigprocmask(SIG_BLOCK, &ends, nullptr);
}

/// Readable once the user wants the end, or, with `until_eof`, the pipe at standard input has hung up: a fabric that a
/// program has started then goes with that program, however it ends.
int stop_descriptor(bool until_eof) {
  const sigset_t ends = end_signals();
  const int signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  if (!until_eof) return signals;
  const int either = epoll_create1(EPOLL_CLOEXEC);
  epoll_event signal_came{.events = EPOLLIN, .data = {}};
  epoll_event hung_up{.events = 0, .data = {}};  // EPOLLHUP comes unasked
  const bool watches = epoll_ctl(either, EPOLL_CTL_ADD, signals, &signal_came) == 0 &&
                       epoll_ctl(either, EPOLL_CTL_ADD, STDIN_FILENO, &hung_up) == 0;
  return watches ? either : -1;
}

void tell_ready(const ServeOptions& options, const host::FabricOptions& wanted) {
  const fabric::Topology& topology = wanted.topology;
  const std::string first = host::address_text(host::node_address(1));
  if (options.reporting.json) {
    nlohmann::ordered_json ready{{"fabric", wanted.fabric}, {"nodes", topology.nodes()}, {"first_address", first}};
    if (topology.rails != 1) ready["rails"] = topology.rails;
    fmt::print("{}\n", ready.dump());
  } else if (!options.reporting.quiet) {
    const wire::Gid last = host::device_address(host::node_address(topology.nodes()), {topology.rails - 1});
    fmt::print("fabric '{}': {} of {}{}, {} to {}; Ctrl-C ends it\n", wanted.fabric,
               wire::counted(topology.nodes(), "node"), options.file.empty() ? options.topology : options.file,
               topology.rails == 1 ? "" : fmt::format(" with {} rails", topology.rails), first,
               host::address_text(last));
  }
  std::fflush(stdout);
}

}  // namespace

int run_fabric(const Arguments& arguments) {
  CommandLine line(
      "verbena fabric", "verbena fabric [OPTIONS] --topology SHAPE | FILE.yaml",
      "Serves a fabric with switches until Ctrl-C. `verbena exec --fabric NAME --node K -- PROGRAM` plugs in, "
      "`verbena fault` and `verbena stat` look at it from another shell.\n");
  ServeOptions options;
  declare(line, options);
  if (const auto status = line.parse(arguments)) return *status;
  host::FabricOptions wanted;
  if (const auto error = make_options(options, wanted)) return line.fail(kExitUsage, *error);

  if (!wanted.capture_directory.empty())
    if (const auto prepared = scenarios::prepare_directory(wanted.capture_directory); !prepared)
      return line.fail(prepared.error().is_shortage ? kExitInternal : kExitUsage, "--pcap " + prepared.error().text);

  const int stop = stop_descriptor(options.until_eof);
  if (stop < 0)
    return line.fail(
        kExitUsage, fmt::format("--until-eof: standard input is no pipe ({}): leave it out, or start it from a program",
                                std::strerror(errno)));
  auto process = host::FabricProcess::open(wanted);
  if (!process) return line.fail(kExitUsage, process.error());
  hold_end_signals();
  tell_ready(options, wanted);
  (*process)->run(stop);
  const std::uint64_t missing = (*process)->capture_missing();
  if (missing != 0)
    fmt::print(stderr, "{}: the captures in {} have reached {}: {} {} missing\n", line.name(),
               wire::printable(options.capture), options.capture_limit, wire::counted(missing, "packet"),
               missing == 1 ? "is" : "are");
  return 0;
}

}  // namespace verbena::cli
