#include "emulator/host/fabric_process/fabric_commands.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/verb_rule.h"
#include "emulator/host/fabric_process/element_words.h"
#include "emulator/host/fabric_process/snapshot.h"

namespace verbena::host {
namespace {

constexpr std::size_t kFaultsMax = 1024;
constexpr std::size_t kPartitionsMax = 1024;
constexpr std::string_view kOfScenarios = "only a scenario can do this";

FabricAnswer refuse(std::string text) {
  return Failure{std::move(text)};
}

FabricAnswer done() {
  return FabricReply(FabricDone{});
}

FabricAnswer no_fault(const std::string& number) {
  return refuse("there is no fault " + number + " (verbena fault list shows them)");
}

std::string too_many() {
  return "there are " + std::to_string(kFaultsMax) + " faults already: end some first (remove NUMBER, clear)";
}

std::string text_from(const FabricWords& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += (i == first ? "" : " ") + words[i];
  return text;
}

/// Numbers from 1, ascending. The error is one line.
Result<std::vector<std::uint32_t>, std::string> find_nodes(const fabric::Topology& topology, const std::string& names) {
  std::vector<std::uint32_t> hosts;
  if (names == "all" || names == "hosts") {
    for (std::uint32_t host = 0; host < topology.hosts; ++host) hosts.push_back(host);
  } else if (auto found = find_vertices(topology, names, true)) {
    hosts = std::move(*found);
  } else {
    return Failure{not_a_node(topology, names)};
  }
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t host : hosts) {
    const std::uint32_t first = topology.node_of(host) * topology.rails;
    for (std::uint32_t rail = first; rail < first + topology.rails; ++rail)
      if (std::ranges::find(hosts, rail) == hosts.end())
        return Failure{"a fault of verbs is of a node: write " +
                       std::string(topology.node_name(topology.node_of(host))) +
                       ", and device=" + std::to_string(topology.rail_of(host)) + " for this rail alone"};
    if (std::ranges::find(nodes, topology.node_of(host) + 1) == nodes.end())
      nodes.push_back(topology.node_of(host) + 1);
  }
  return nodes;
}

std::optional<std::uint64_t> parse_whole(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

FabricCommands::FabricCommands(FabricPorts& ports, Setup setup, Time started)
    : ports_(ports),
      topology_(ports.network().topology()),
      setup_(std::move(setup)),
      started_(started),
      elements_(ports.network()),
      rates_(ports.network(), setup_.managed),
      node_faults_(setup_.fabric, ports) {}

// -- Words ------------------------------------------------------------------------------------------------------------

struct FabricCommands::Command {
  std::string name;
  std::size_t words_min;  // with the name
  std::size_t words_max;
  std::string usage;
  FabricAnswer (FabricCommands::*run)(Time now, const FabricWords& words);
  std::string text;
  std::string example;
  std::string undo{};
};

const std::vector<FabricCommands::Command>& FabricCommands::table() {
  using C = FabricCommands;
  static const std::vector<Command> commands = {
      {"add", 3, 64, "add LINK RULE", &C::add,
       "A fault; its number is the answer. RULE is what `verbena exec --fault` takes. One of packets lies on a link. "
       "One of verbs, completions or events (verbena fault n1 fail verb=reg_mr) is of a node, of several (n1,n2) or of "
       "all: of the programs that run there now and of those that start there later, until it is removed. Each process "
       "counts for itself, from when it has the fault; the answer comes when all of them have it. add may be left out.",
       "add n1-s1 drop 1%", "remove"},
      {"remove", 2, 2, "remove NUMBER", &C::remove,
       "Ends the fault with this number; how many packets, calls or completions it hit is the answer.", "remove 1"},
      {"list", 1, 1, "list", &C::list, "All faults that are there now, and what is dead or cut off.", "list"},
      {"clear", 1, 1, "clear", &C::clear, "Ends all faults that were added.", "clear"},
  };
  return commands;
}

namespace {

/// What a running fabric can do of it ends it.
std::string_view undo_on_fabric(const fabric::ElementRow& row, std::span<const fabric::ElementRow> rows) {
  const fabric::ElementRow* const undo = fabric::find_element(row.undo, rows);
  return undo != nullptr && is_on_fabric(*undo) ? undo->word : std::string_view();
}

std::vector<fabric::LinkValue> restored_by(const fabric::ElementRow& row) {
  std::vector<fabric::LinkValue> values;
  for (const std::string_view key : row.keys)
    if (const fabric::LinkValue value = fabric::element_key(key).restores; !value.key.empty()) values.push_back(value);
  return values;
}

}  // namespace

std::vector<FabricCommands::Explained> FabricCommands::explained(std::span<const fabric::ElementRow> elements) {
  std::vector<Explained> words;
  for (const Command& command : table())
    words.push_back({command.name, command.usage, command.text, command.example, command.undo});
  std::multimap<fabric::FaultKind, const fabric::ElementRow*> rows;
  for (const fabric::ElementRow& row : elements)
    if (is_on_fabric(row)) rows.emplace(row.kind, &row);
  for (const auto& [kind, row] : rows)
    words.push_back({std::string(row->word), usage_of(*row), std::string(row->on_fabric.text),
                     std::string(row->on_fabric.example), std::string(undo_on_fabric(*row, elements)),
                     restored_by(*row)});
  return words;
}

FabricAnswer FabricCommands::answer(Time now, const FabricRequest& request) {
  return std::visit([&](const auto& asked) { return serve(now, asked); }, request);
}

FabricAnswer FabricCommands::serve(Time now, const SayWords& request) {
  const FabricWords& words = request.words;
  const std::string name = words.empty() ? "" : words.front();
  const auto fits = [&](const auto& command) {
    return words.size() >= command.words_min && words.size() <= command.words_max;
  };
  const auto wrong = [](const auto& usage) { return refuse("that is not how it goes: " + std::string(usage)); };
  if (const fabric::ElementRow* const row = fabric::find_element(name); row != nullptr && is_on_fabric(*row)) {
    const auto faults = parse_element(topology_, *row, words);
    return faults ? begin(now, *faults) : refuse(faults.error());
  }
  for (const Command& command : table())
    if (command.name == name) return fits(command) ? (this->*command.run)(now, words) : wrong(command.usage);
  if (is_place(words)) return add_at(now, words);
  const std::vector<Explained> all = explained();
  std::vector<std::string_view> known;
  for (const Explained& one : all) known.push_back(one.name);
  return refuse("unknown word '" + name + "': " + faults_offered() + " are right" + fabric::did_you_mean(name, known));
}

/// "add, remove, ... and device-removal".
std::string FabricCommands::faults_offered() {
  const std::vector<Explained> words = explained();
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " and ") + words[i].name;
  return text;
}

// -- Faults of packets ------------------------------------------------------------------------------------------------

bool FabricCommands::is_place(const FabricWords& words) const {
  const auto is_known = [&](const std::string& name) {
    return find_links(topology_, name, fabric::FaultDirection::both).ok();
  };
  if (words.size() < 2 || is_known(words[1])) return false;
  return is_known(words[0]) || fabric::is_verb_rule(text_from(words, 1));
}

/// As add, without the word.
FabricAnswer FabricCommands::add_at(Time now, const FabricWords& words) {
  FabricWords whole{"add"};
  whole.insert(whole.end(), words.begin(), words.end());
  return add(now, whole);
}

FabricAnswer FabricCommands::add(Time now, const FabricWords& words) {
  const std::string text = text_from(words, 2);
  if (fabric::is_verb_rule(text)) return add_verbs(now, words[1], text);
  auto rule = fabric::parse_fault(text);
  if (!rule) return refuse(rule.error());
  auto links = find_links_of(topology_, words[1], *rule);
  if (!links) return refuse(links.error());
  return add_rule(words[1], std::move(*links), std::move(*rule));
}

FabricAnswer FabricCommands::add_verbs(Time now, const std::string& names, const std::string& text) {
  const auto rule = fabric::parse_verb_rule(text);
  if (!rule) return refuse(rule.error());
  const auto nodes = find_nodes(topology_, names);
  if (!nodes) return refuse(nodes.error());
  if (faults_.size() >= kFaultsMax) return refuse(too_many());
  if (std::string why = node_faults_.add(now, next_number_, *nodes, rule->text); !why.empty())
    return refuse(std::move(why));
  faults_.push_back({next_number_, names, rule->text, fabric::hit_by(rule->action)});
  return FabricReply(FaultAdded{next_number_++});
}

FabricAnswer FabricCommands::serve(Time, const AddPrepared& request) {
  if (request.prepared >= setup_.prepared.size())
    return refuse("there is no prepared fault " + std::to_string(request.prepared));
  if (!std::ranges::all_of(request.links, [&](fabric::LinkId link) { return link.cable < topology_.cables.size(); }))
    return refuse("this fabric has no such link");
  return add_rule(request.where, request.links, setup_.prepared[request.prepared]);
}

FabricAnswer FabricCommands::add_rule(std::string where, std::vector<fabric::LinkId> links, fabric::FaultRule rule) {
  if (faults_.size() >= kFaultsMax) return refuse(too_many());
  const std::uint32_t number = next_number_++;
  faults_.push_back({number, std::move(where), rule.text});
  elements_.add_rule(number, std::move(links), std::move(rule));
  return FabricReply(FaultAdded{number});
}

FabricAnswer FabricCommands::remove(Time now, const FabricWords& words) {
  const auto number = parse_whole(words[1]);
  if (!number || *number > UINT32_MAX) return no_fault(words[1]);
  const FabricAnswer answer = serve(now, RemoveFault{static_cast<std::uint32_t>(*number)});
  return answer ? answer : no_fault(words[1]);
}

FabricAnswer FabricCommands::serve(Time now, const RemoveFault& request) {
  const auto found = std::ranges::find(faults_, request.number, &Fault::number);
  if (found == faults_.end()) return no_fault(std::to_string(request.number));
  const FaultRemoved removed{hits_of(*found), found->unit};
  end(now, *found);
  faults_.erase(found);
  return FabricReply(removed);
}

std::uint64_t FabricCommands::hits_of(const Fault& fault) const {
  return fault.unit == fabric::HitUnit::packet ? elements_.hits(fault.number) : node_faults_.hits(fault.number);
}

void FabricCommands::end(Time now, const Fault& fault) {
  if (fault.unit == fabric::HitUnit::packet)
    elements_.remove_rule(fault.number);
  else
    node_faults_.remove(now, fault.number);
}

FabricAnswer FabricCommands::clear(Time now, const FabricWords&) {
  for (const Fault& fault : faults_) end(now, fault);
  faults_.clear();
  return done();
}

FabricAnswer FabricCommands::list(Time now, const FabricWords&) {
  return serve(now, AskSnapshot{});
}

// -- Faults of links, switches, ports and pairs -----------------------------------------------------------------------

FabricAnswer FabricCommands::begin(Time now, const std::vector<fabric::Fault>& faults) {
  std::vector<fabric::ElementChange> changes;
  for (const fabric::Fault& fault : faults) {
    if (const auto* const software = std::get_if<fabric::SoftwareFault>(&fault)) return begin(now, *software);
    const auto* const change = std::get_if<fabric::ElementChange>(&fault);
    if (change == nullptr) return refuse(std::string(kOfScenarios));
    changes.push_back(*change);
  }
  return change(now, changes);
}

FabricAnswer FabricCommands::begin(Time now, const fabric::SoftwareFault& fault) {
  using enum fabric::SoftwareFault::Kind;
  switch (fault.kind) {
    case device_removal:
      return serve(now, RemoveDevices{fault.hosts});
    case rnr_storm:
    case completion_status:
    case registration_failure:
    case post_failure:
      return refuse(std::string(kOfScenarios));
  }
  return refuse(std::string(kOfScenarios));
}

FabricAnswer FabricCommands::serve(Time now, const ChangeElements& request) {
  if (auto why = why_no_change(topology_, request.change)) return refuse(std::move(*why));
  return change(now, {request.change});
}

FabricAnswer FabricCommands::change(Time now, const std::vector<fabric::ElementChange>& changes) {
  for (const fabric::ElementChange& change : changes)
    if (change.kind == fabric::ElementChange::Kind::heal && !change.hosts.empty() &&
        !elements_.has_partition(change.hosts, change.peers))
      return refuse("no partition is between these; name one as it was said, or heal all with none");
  const auto begun = std::ranges::count(changes, fabric::ElementChange::Kind::partition, &fabric::ElementChange::kind);
  if (begun != 0 && elements_.partitions() + static_cast<std::size_t>(begun) > kPartitionsMax)
    return refuse("there are " + std::to_string(kPartitionsMax) + " partitions already: heal some first");
  const auto is_rate = [](const auto& change) { return change.kind == fabric::ElementChange::Kind::link_rate; };
  if (std::ranges::any_of(changes, is_rate))
    if (std::string why = rates_.prepare(setup_.fabric); !why.empty()) return refuse(std::move(why));
  for (const fabric::ElementChange& change : changes) {
    elements_.apply(now, change);
    if (is_rate(change)) rates_.tell(now, change.links);
  }
  return tell_sockets(now);
}

FabricAnswer FabricCommands::tell_sockets(Time now) {
  if (setup_.sockets != nullptr) setup_.sockets->tell(now);
  return done();
}

bool FabricCommands::has_hosts(const std::vector<std::uint32_t>& hosts) const {
  return std::ranges::all_of(hosts, [&](std::uint32_t vertex) { return topology_.is_host(vertex); });
}

FabricAnswer FabricCommands::serve(Time now, const SetNodePower& request) {
  if (!has_hosts(request.hosts)) return refuse("this fabric has no such node");
  for (const std::uint32_t host : request.hosts) {
    if (setup_.sockets != nullptr) setup_.sockets->set_power(topology_.node_of(host), request.power);
    if (request.power == NodePower::crashing) ports_.last_words().crash(host);
  }
  return tell_sockets(now);
}

FabricAnswer FabricCommands::serve(Time, const RemoveDevices& request) {
  if (!has_hosts(request.hosts)) return refuse("this fabric has no such node");
  std::string deaf;
  for (const std::uint32_t host : request.hosts)
    if (!ports_.notify(host, Notice::device_removed)) deaf += (deaf.empty() ? "" : ",") + topology_.vertices[host].name;
  if (!deaf.empty()) return refuse("no process that listens runs on " + deaf);
  return done();
}

// -- What can be seen -------------------------------------------------------------------------------------------------

FabricAnswer FabricCommands::serve(Time, const AskHello&) {
  return FabricReply(
      FabricHello{topology_.nodes(), topology_.rails, topology_.port_rates(), setup_.stats_path, setup_.wire});
}

FabricAnswer FabricCommands::serve(Time now, const AskSnapshot&) {
  FabricReply reply = take_snapshot(now, {.ports = ports_,
                                          .elements = elements_,
                                          .counters = setup_.counters,
                                          .capture = setup_.capture,
                                          .managed = setup_.managed,
                                          .started = started_});
  auto& snapshot = std::get<FabricSnapshot>(reply);
  snapshot.fabric = setup_.fabric;
  for (const Fault& fault : faults_)
    snapshot.faults.push_back(
        {fault.number, fault.where, fault.text, hits_of(fault), node_faults_.unheard(fault.number)});
  return reply;
}

}  // namespace verbena::host
