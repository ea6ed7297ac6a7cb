// The `workloads:` of a scenario: traffic that the runner makes, and programs that it starts.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

constexpr std::uint64_t kQueueDepthMax = 16'384;
constexpr std::uint64_t kQpsMax = 16'384;
constexpr std::uint64_t kMessageRateMax = 1'000'000'000;
constexpr std::uint64_t kWeightMax = 1'000'000;
constexpr std::uint32_t kWholeShare = 1'000'000'000;
constexpr std::size_t kArgumentsMax = 1000;
constexpr std::uint32_t kAtomicBytes = 8;

constexpr std::array<fabric::Named<Verb>, 7> kVerbs{{{"send", Verb::send},
                                                     {"write", Verb::write},
                                                     {"write-imm", Verb::write_immediate},
                                                     {"read", Verb::read},
                                                     {"cas", Verb::compare_swap},
                                                     {"fetch-add", Verb::fetch_add},
                                                     {"mixed", Verb::mixed}}};
constexpr std::array<fabric::Named<Transport>, 3> kTransports{
    {{"rc", Transport::rc}, {"uc", Transport::uc}, {"ud", Transport::ud}}};
constexpr std::array<fabric::Named<Pattern>, 6> kPatterns{{{"pair", Pattern::pair},
                                                           {"incast", Pattern::incast},
                                                           {"outcast", Pattern::outcast},
                                                           {"all-to-all", Pattern::all_to_all},
                                                           {"permutation", Pattern::permutation},
                                                           {"ring-allreduce", Pattern::ring_allreduce}}};

bool is_atomic(Verb verb) {
  return verb == Verb::compare_swap || verb == Verb::fetch_add;
}

/// Which verbs a transport has: IBTA vol 1, table 38.
void check_transport(const Section& section, const Workload& workload) {
  const bool fits =
      workload.transport == Transport::rc || workload.verb == Verb::send ||
      (workload.transport == Transport::uc && (workload.verb == Verb::write || workload.verb == Verb::write_immediate));
  if (fits) return;
  section.need("verb", "send")
      .wrong(workload.transport == Transport::uc ? "uc has send, write and write-imm; use rc for others"
                                                 : "ud has send only; use rc for others");
}

// -- Between whom

/// Patterns that have two sides, and those that have members.
bool has_sides(Pattern pattern) {
  return pattern == Pattern::pair || pattern == Pattern::incast || pattern == Pattern::outcast;
}

struct Side {
  std::vector<std::uint32_t> hosts;
  std::uint32_t rails = 1;  // Workload::rails
};

/// Nodes, with all of their rails, or rails.
Side read_side(const Value& names, const ElementNames& known) {
  const fabric::Topology& topology = known.topology();
  const auto is_rail = [&](const Value& name) {
    const std::vector<std::uint32_t> hosts =
        name.is_word() ? known.find_hosts(name.word()) : std::vector<std::uint32_t>{};
    return !hosts.empty() && hosts.size() < topology.rails;
  };
  const std::vector<Value> items = names.items();
  if (std::ranges::any_of(items, is_rail)) {
    for (const Value& item : items)
      if (!is_rail(item) && item.is_word() && !known.find_hosts(item.word()).empty())
        item.wrong("it is a node beside a rail: write nodes, for all of their rails, or rails such as " +
                   topology.vertices.front().name);
    return {known.hosts(names)};
  }
  if (topology.rails == 1) return {known.hosts(names)};
  Side side{.rails = topology.rails};
  for (const std::uint32_t node : known.nodes(names)) side.hosts.push_back(node * topology.rails);
  return side;
}

/// Rails on separate planes have no way to each other.
void check_planes(const Value& named, const fabric::Topology& topology, const Workload& workload) {
  const auto check = [&](std::uint32_t a, std::uint32_t b) {
    if (!topology.are_of_one_network(a, b))
      named.wrong(topology.vertices[a].name + " and " + topology.vertices[b].name +
                  " are on separate planes, with no way to each other: name rails of one number, or say planes: shared "
                  "in the topology");
  };
  if (workload.pattern == Pattern::pair)
    for (std::size_t i = 0; i < workload.from.size(); ++i) check(workload.from[i], workload.to[i]);
  else
    for (const auto* side : {&workload.from, &workload.to})
      for (const std::uint32_t host : *side) check(workload.from.front(), host);
}

void check_sides(const Section& section, const Workload& workload) {
  const Value to = section.need("to", "n2");
  if (workload.pattern == Pattern::pair && workload.from.size() != workload.to.size())
    to.wrong("pattern pair joins each of from with one of to: " + std::to_string(workload.from.size()) + " and " +
             std::to_string(workload.to.size()) + " do not match");
  if (workload.pattern == Pattern::incast && workload.to.size() != 1) to.wrong("incast has one target");
  if (workload.pattern == Pattern::outcast && workload.from.size() != 1)
    to.wrong("outcast has one source: write one in from");
  for (std::size_t i = 0; i < workload.from.size(); ++i)
    for (std::size_t j = 0; j < workload.to.size(); ++j)
      if (workload.from[i] == workload.to[j] && (workload.pattern != Pattern::pair || i == j))
        to.wrong("a node does not send to itself: it is in from and in to");
}

void read_between(const Section& section, const ElementNames& names, Workload& workload) {
  if (const auto value = section.find("pattern")) workload.pattern = value->choice(kPatterns);
  if (has_sides(workload.pattern)) {
    if (section.has("among")) section.find("among")->wrong("this pattern has from: and to:");
    Side from = read_side(section.need("from", "n1"), names);
    const Value targets = section.need("to", "n2");
    Side to = read_side(targets, names);
    if (from.rails != to.rails)
      targets.wrong("nodes send from all of their rails, and are written on both sides, as rails are");
    workload.from = std::move(from.hosts);
    workload.to = std::move(to.hosts);
    workload.rails = from.rails;
    check_sides(section, workload);
    check_planes(targets, names.topology(), workload);
    return;
  }
  for (const std::string_view key : {"from", "to"})
    if (const auto value = section.find(key)) value->wrong("this pattern has among: [n1, n2, ...] or among: all");
  if (const auto value = section.find("among")) {
    Side members = read_side(*value, names);
    workload.from = std::move(members.hosts);
    workload.rails = members.rails;
    if (workload.from.size() < 2) value->wrong("name at least two nodes");
    check_planes(*value, names.topology(), workload);
  } else {
    workload.rails = names.topology().rails;
    for (std::uint32_t i = 0; i < names.topology().hosts; i += workload.rails) workload.from.push_back(i);
  }
}

// -- How much

SizeChoice read_size_choice(const Value& value, std::uint32_t most) {
  SizeChoice choice;
  if (!value.is_map()) {
    choice.least = choice.most = static_cast<std::uint32_t>(value.size(0, most));
    return choice;
  }
  const Section section(value, "size");
  section.exclude("size", "from");
  section.exclude("size", "to");
  if (const auto size = section.find("size")) {
    choice.least = choice.most = static_cast<std::uint32_t>(size->size(0, most));
  } else {
    choice.least = static_cast<std::uint32_t>(section.need("from", "64").size(0, most));
    const Value to = section.need("to", "4KiB");
    choice.most = static_cast<std::uint32_t>(to.size(0, most));
    if (choice.most < choice.least) to.wrong("it is below from");
  }
  if (const auto weight = section.find("weight"))
    choice.weight = static_cast<std::uint32_t>(weight->number(1, kWeightMax));
  return choice;
}

/// [[size, share of all that are no larger], ...]: evenly between one point and the next.
void read_size_points(const Value& cdf, std::uint32_t most, std::vector<SizeChoice>& sizes) {
  std::optional<std::uint64_t> size_before;
  std::uint32_t share_before = 0;
  for (const Value& point : cdf.items()) {
    const std::vector<Value> pair = point.is_list() ? point.items() : std::vector<Value>{};
    if (pair.size() != 2) point.wrong("write points such as [[1KB, 0%], [10KB, 50%], [1MB, 100%]]");
    const std::uint64_t size = pair[0].size(0, most);
    const std::uint32_t share = pair[1].probability();
    if (size_before && size < *size_before) pair[0].wrong("it is below the one before");
    if (share < share_before) pair[1].wrong("it is below the one before");
    const std::uint64_t least = std::min(size_before ? *size_before + 1 : size, size);
    if (share != share_before)
      sizes.push_back({static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(size), share - share_before});
    size_before = size;
    share_before = share;
  }
  if (share_before != kWholeShare) cdf.wrong("the last share is to be 100%");
}

void read_sizes(const Section& section, std::uint32_t datagram_max, Workload& workload) {
  const auto value = section.find("size");
  if (is_atomic(workload.verb)) {
    if (value && !(value->is_word() && value->size(0, kMessageBytesMax) == kAtomicBytes))
      value->wrong("an atomic has 8 octets: leave size out");
    workload.sizes = {{kAtomicBytes, kAtomicBytes, 1}};
    return;
  }
  const std::uint32_t most = workload.transport == Transport::ud ? datagram_max : kMessageBytesMax;
  const Value sizes = section.need("size", "64KiB");
  if (const auto keys = keys_written(sizes); std::find(keys.begin(), keys.end(), "cdf") != keys.end()) {
    const Section size(sizes, "size");
    for (const std::string_view other : {"size", "from", "to", "weight"}) size.exclude("cdf", other);
    return read_size_points(*size.find("cdf"), most, workload.sizes);
  }
  for (const Value& item : sizes.items()) workload.sizes.push_back(read_size_choice(item, most));
}

/// `load:` and what belongs to it.
void read_flows(const Section& section, Workload& workload) {
  const auto load = section.find("load");
  section.exclude("rate", "load");
  if (load) {
    workload.load_ppb = load->probability();
    if (workload.load_ppb == 0) load->wrong("write more than nothing");
    const bool fits =
        workload.transport == Transport::rc &&
        (workload.verb == Verb::send || workload.verb == Verb::write || workload.verb == Verb::write_immediate) &&
        workload.pattern != Pattern::ring_allreduce;
    if (!fits) load->wrong("flows are messages on rc, send, write or write-imm, and no ring-allreduce");
  }
  const auto reuse = section.find("qp-reuse");
  if (!reuse) return;
  workload.reuses_qps = reuse->yes_no();
  if (!load) reuse->wrong("it is for flows: write load: 50% as well");
  if (workload.reuses_qps) return;
  if (const auto depth = section.find("depth")) depth->wrong("with qp-reuse: no a QP has one flow at a time");
  workload.queue_depth = 1;
}

void read_amount(const Section& section, Workload& workload) {
  section.exclude("count", "duration");
  if (const auto value = section.find("count")) workload.count = value->number(1, kCountMax);
  if (const auto value = section.find("duration")) {
    workload.duration = value->duration();
    if (workload.duration.ns == 0) value->wrong("write more than nothing");
  }
  const bool rounds = workload.pattern == Pattern::ring_allreduce;
  if (workload.count == 0 && workload.duration.ns == 0) {
    if (!rounds) complain(section.place(), "say how much: count: 1000, or duration: 10ms");
    workload.count = 1;
  }
  if (const auto value = section.find("depth"))
    workload.queue_depth = static_cast<std::uint32_t>(value->number(1, kQueueDepthMax));
  if (const auto value = section.find("qps")) workload.qps = static_cast<std::uint32_t>(value->number(1, kQpsMax));
  if (const auto value = section.find("rate")) workload.messages_per_second = value->number(1, kMessageRateMax);
  read_flows(section, workload);
  if (const auto value = section.find("start")) workload.start = value->duration();
  if (const auto value = section.find("receive-depth"))
    workload.receive_depth = static_cast<std::uint32_t>(value->number(1, kQueueDepthMax));
  if (const auto value = section.find("receive-delay")) workload.receive_delay = value->duration();
}

/// The largest datagram that fits the path MTU of all who take part.
std::uint32_t datagram_max(const Workload& workload, const Scenario& scenario) {
  std::uint32_t most = 4096;
  for (const auto* side : {&workload.from, &workload.to})
    for (const std::uint32_t first : *side)
      for (std::uint32_t rail = 0; rail < workload.rails; ++rail)
        most = std::min(most, scenario.nics[first + rail].mtu());
  return most;
}

/// What switches tell its packets from others by.
void read_class(const Section& section, const Scenario& scenario, Workload& workload) {
  constexpr std::uint64_t kServiceLevelMax = 15;
  const bool is_infiniband = scenario.topology.medium == wire::Medium::infiniband;
  if (const auto value = section.find("dscp")) {
    if (is_infiniband) value->wrong("InfiniBand has service levels: say service-level");
    workload.dscp = static_cast<std::uint8_t>(value->number(0, kDscpMax));
  }
  if (const auto value = section.find("service-level")) {
    if (!is_infiniband) value->wrong("needs wire: infiniband; on Ethernet say dscp");
    workload.service_level = static_cast<std::uint8_t>(value->number(0, kServiceLevelMax));
  }
}

/// Of a version that every NIC of the workload has.
void read_version(const Value& value, const Scenario& scenario, Workload& workload) {
  if (scenario.topology.medium == wire::Medium::infiniband) value.wrong("with wire: infiniband there is no RoCE");
  constexpr std::array<fabric::Named<wire::RoceVersion>, 2> kVersions{
      {{"roce-v1", wire::RoceVersion::v1}, {"roce-v2", wire::RoceVersion::v2}}};
  workload.version = value.choice(kVersions);
  for (const auto* side : {&workload.from, &workload.to})
    for (const std::uint32_t first : *side)
      for (std::uint32_t rail = 0; rail < workload.rails; ++rail)
        if (!fabric::wire_of(scenario.nics[first + rail]).has(*workload.version))
          value.wrong("not every NIC of the workload has it: say wire: roce for the scenario");
}

Workload read_workload(const Value& item, const ElementNames& names, const Scenario& scenario) {
  const Section section(item, "workload");
  Workload workload;
  workload.place = item.place();
  workload.verb = section.need("verb", "write").choice(kVerbs);
  if (const auto value = section.find("transport")) workload.transport = value->choice(kTransports);
  check_transport(section, workload);
  read_between(section, names, workload);
  if (workload.pattern == Pattern::ring_allreduce && workload.transport != Transport::rc)
    section.need("transport", "rc").wrong("ring-allreduce needs rc");
  read_sizes(section, datagram_max(workload, scenario), workload);
  read_amount(section, workload);
  read_class(section, scenario, workload);
  if (const auto value = section.find("wire")) read_version(*value, scenario, workload);
  workload.check = scenario.payload;
  if (const auto value = section.find("check")) {
    workload.check = value->yes_no();
    if (workload.check && !scenario.payload) value->wrong("with payload: false there is nothing to check");
  }
  return workload;
}

// -- Programs

std::vector<std::string> split_command(const Value& value) {
  std::vector<std::string> arguments;
  std::string argument;
  bool open = false;  // an argument has begun
  char quote = 0;
  for (const char c : value.word()) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      open = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (open) arguments.push_back(argument);
      argument.clear();
      open = false;
    } else {
      argument += c;
      open = true;
    }
  }
  if (quote != 0) value.wrong("a quotation mark is not closed");
  if (open) arguments.push_back(argument);
  return arguments;
}

/// The address that `verbena exec --node K` gives a node, and the devices for its rails; K counts from 1
/// (host/node/identity.h).
std::string address_of(std::uint32_t node, std::uint32_t rail) {
  constexpr std::uint32_t kFirstRail = 91;
  return "127.47." + std::to_string(kFirstRail + rail) + "." + std::to_string(node + 1);
}

/// A node's name stands for its first rail.
std::string with_addresses(const Value& value, std::string argument, const ElementNames& names) {
  for (std::size_t at = argument.find("${"); at != std::string::npos; at = argument.find("${", at)) {
    const std::size_t end = argument.find('}', at);
    if (end == std::string::npos) value.wrong("'${' is not closed: write ${n1}");
    const std::string name = argument.substr(at + 2, end - at - 2);
    const std::vector<std::uint32_t> hosts = names.find_hosts(name);
    if (hosts.empty()) value.wrong("${" + name + "}: " + names.no_host(name));
    const fabric::Topology& topology = names.topology();
    argument.replace(at, end + 1 - at, address_of(topology.node_of(hosts.front()), topology.rail_of(hosts.front())));
  }
  return argument;
}

std::string why_there_is_none(const std::string& program) {
  if (program.find('/') == std::string::npos) return "it is not on PATH";
  if (program.starts_with('/')) return "no such executable file";
  std::error_code error;
  return "no such executable file; the path begins where you run verbena, in " +
         std::filesystem::current_path(error).string();
}

Program read_program(const Value& item, const ElementNames& names, const Scenario& scenario) {
  const Section section(item, "exec");
  Program program;
  program.place = item.place();
  const Value command = section.need("exec", "ib_write_bw ${n1}");
  if (scenario.clock != Clock::real_time) command.wrong("a program needs clock: real");
  section.exclude("nodes", "node");
  if (const auto value = section.find("nodes"))
    program.nodes = static_cast<std::uint32_t>(value->number(1, names.topology().nodes()));
  else
    program.node = names.node(section.need("node", "n1"));
  if (command.is_list())
    for (const Value& argument : command.items()) program.arguments.push_back(argument.text());
  else
    program.arguments = split_command(command);
  if (program.arguments.empty() || program.arguments.front().empty()) command.wrong("name a program");
  if (program.arguments.size() > kArgumentsMax) command.wrong("there are too many arguments");
  if (!can_execute(program.arguments.front()))
    complain(command.place(), "exec: there is no program '" + program.arguments.front() +
                                  "': " + why_there_is_none(program.arguments.front()));
  for (std::string& argument : program.arguments) argument = with_addresses(command, argument, names);
  if (const auto value = section.find("start")) program.start = value->duration();
  if (const auto value = section.find("status")) program.expected_status = static_cast<int>(value->number(0, 255));
  if (const auto value = section.find("background")) program.background = value->yes_no();
  if (const auto value = section.find("after"))
    for (const Value& name : value->items()) {
      program.after.push_back(read_program_name(name, scenario, "no program of this name is written before"));
    }
  return program;
}

}  // namespace

bool can_execute(const std::string& program) {
  namespace files = std::filesystem;
  const auto runs = [](const files::path& path) {
    std::error_code error;
    const files::file_status status = files::status(path, error);
    constexpr files::perms kAny = files::perms::owner_exec | files::perms::group_exec | files::perms::others_exec;
    return files::is_regular_file(status) && (status.permissions() & kAny) != files::perms::none;
  };
  if (program.find('/') != std::string::npos) return runs(program);
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (runs(files::path(rest.substr(0, end)) / program)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

void read_workloads(const Value& list, const ElementNames& names, Scenario& scenario) {
  std::vector<std::string> taken;
  std::size_t entries = 0;
  for (const Value& item : list.items()) {
    if (++entries > kEntriesMax)
      complain(item.place(), "there are more than " + std::to_string(kEntriesMax) + " workloads");
    const auto keys = keys_written(item);
    const bool is_program = std::find(keys.begin(), keys.end(), "exec") != keys.end();
    if (!is_program && scenario.clock == Clock::real_time)
      complain(item.place(), "with clock: real every workload is a program: write exec:, or clock: virtual");
    const Section section(item, is_program ? "exec" : "workload");
    const auto own = section.find("name");
    std::string name = own ? own->label() : (is_program ? "program" : "workload") + std::to_string(entries);
    if (name == "all") own->wrong("'all' means every workload: use another name");
    if (std::find(taken.begin(), taken.end(), name) != taken.end())
      complain(own ? own->place() : item.place(), "two workloads are called '" + name + "': give each its own name");
    taken.push_back(name);
    if (is_program) {
      scenario.programs.push_back(read_program(item, names, scenario));
      scenario.programs.back().name = name;
    } else {
      scenario.workloads.push_back(read_workload(item, names, scenario));
      scenario.workloads.back().name = name;
    }
  }
}

}  // namespace verbena::scenarios
