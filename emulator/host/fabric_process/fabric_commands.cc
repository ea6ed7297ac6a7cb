#include "emulator/host/fabric_process/fabric_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/nearest_word.h"

namespace verbena::host {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFaultsMax = 1024;
constexpr std::size_t kPartitionsMax = 1024;

FabricAnswer refuse(std::string text) {
  return Failure{std::move(text)};
}

std::optional<std::uint64_t> parse_whole(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

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

Json links_of(const fabric::Network& network, const fabric::ElementFaults& elements, Time now) {
  const fabric::Topology& topology = network.topology();
  Json links = Json::array();
  for (std::uint32_t cable = 0; cable < topology.cables.size(); ++cable) {
    for (const bool backward : {false, true}) {
      const fabric::LinkId link{cable, backward};
      const fabric::LinkStatistics seen = network.link_statistics(now, link);
      links.push_back({{"name", link_name(topology, link)},
                       {"up", !elements.dead_links().contains(link)},
                       {"frames", seen.frames},
                       {"octets", seen.octets},
                       {"lost", seen.lost},
                       {"overflowed", seen.overflowed},
                       {"queue_octets", seen.queue_octets},
                       {"queue_octets_max", seen.queue_octets_max},
                       {"rate_bits_per_second", seen.rate_bits_per_second},
                       {"delay_ns", seen.propagation.ns},
                       {"jitter_ns", seen.jitter.ns}});
      if (topology.qos) links.back()["pauses"] = pauses_of(network.pause_statistics(now, link));
    }
  }
  return links;
}

Json pauses_of_all(const fabric::Network& network) {
  const fabric::NetworkStatistics& seen = network.statistics();
  const auto deadlock = network.pause_deadlock();
  return {{"frames", seen.pause_frames},
          {"storms", seen.pause_storms},
          {"lossless_lost", seen.lossless_lost},
          {"deadlock", deadlock ? Json(deadlock->text(network.topology())) : Json(nullptr)}};
}

Json counters_of(const StatsFile& file, const wire::Gid& address) {
  Json counters = Json::object();
  for (std::size_t i = 0; i < nic::kCounters; ++i) {
    std::uint64_t sum = 0;
    for (std::size_t block = 0; block < file.used(); ++block) {
      const StatsFile::Block& counted = file.blocks[block];
      const bool fits = counted.process_id.load(std::memory_order_acquire) != 0 &&
                        std::equal(address.octets.begin(), address.octets.end(), counted.address.begin(),
                                   [](std::uint8_t octet, const auto& other) { return octet == other.load(); });
      if (fits) sum = add_count(static_cast<nic::Counter>(i), sum, counted.counters);
    }
    if (sum != 0) counters[std::string(nic::to_string(static_cast<nic::Counter>(i)))] = sum;
  }
  return counters;
}

}  // namespace

FabricCommands::FabricCommands(FabricPorts& ports, Setup setup, Time started)
    : ports_(ports),
      topology_(ports.network().topology()),
      setup_(std::move(setup)),
      started_(started),
      elements_(ports.network()) {}

// -- Words ------------------------------------------------------------------------------------------------------------

struct FabricCommands::Command {
  enum class For : std::uint8_t { users, programs };  // `programs`: Verbena's own, not offered by `verbena fault`
  std::string name;
  For whom;
  std::size_t words_min;  // with the name
  std::size_t words_max;
  std::string usage;
  FabricAnswer (FabricCommands::*run)(Time now, const FabricWords& words);
  std::string text;
  std::string example;
};

const std::vector<FabricCommands::Command>& FabricCommands::table() {
  using C = FabricCommands;
  using For = Command::For;
  static const std::vector<Command> commands = {
      {"add", For::users, 3, 64, "add LINK RULE", &C::add,
       "A fault of packets on a link; its number is the answer. RULE is what `verbena exec --fault` takes.",
       "add n1-s1 drop 1%"},
      {"prepared", For::programs, 3, 4096, "prepared NUMBER LINK...", &C::add_prepared, "", ""},
      {"remove", For::users, 2, 2, "remove NUMBER", &C::remove,
       "Ends the fault with this number; how many packets it hit is the answer.", "remove 1"},
      {"list", For::users, 1, 1, "list", &C::list, "All faults that are there now, and what is dead or cut off.",
       "list"},
      {"clear", For::users, 1, 1, "clear", &C::clear, "Ends all faults that were added.", "clear"},
      {"device-removal", For::users, 2, 2, "device-removal NODE,...", &C::device_removal,
       "The RDMA device of the processes that run there now goes (IBV_EVENT_DEVICE_FATAL); who opens it later has a "
       "new "
       "one.",
       "device-removal n1"},
      {"node-power", For::programs, 3, 3, "node-power NODE,... on|frozen|crashing", &C::node_power, "", ""},
      {"stat", For::programs, 1, 1, "stat", &C::stat, "", ""},
      {"hello", For::programs, 1, 1, "hello", &C::hello, "", ""},
  };
  return commands;
}

/// Those for packets, those for elements, the rest.
std::vector<FabricCommands::Explained> FabricCommands::explained() {
  std::vector<Explained> words;
  for (const Command& command : table()) {
    if (command.whom != Command::For::users) continue;
    if (command.name == "device-removal")
      for (const ElementWord& word : element_words())
        words.push_back(
            {std::string(word.name), std::string(word.usage), std::string(word.text), std::string(word.example)});
    words.push_back({command.name, command.usage, command.text, command.example});
  }
  return words;
}

FabricAnswer FabricCommands::answer(Time now, const FabricWords& words) {
  const std::string name = words.empty() ? "" : words.front();
  const auto fits = [&](const auto& command) {
    return words.size() >= command.words_min && words.size() <= command.words_max;
  };
  const auto wrong = [](const auto& usage) { return refuse("that is not how it goes: " + std::string(usage)); };
  for (const ElementWord& word : element_words())
    if (word.name == name) return fits(word) ? change(now, word, words) : wrong(word.usage);
  for (const Command& command : table())
    if (command.name == name) return fits(command) ? (this->*command.run)(now, words) : wrong(command.usage);
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

FabricAnswer FabricCommands::add(Time, const FabricWords& words) {
  auto links = find_links(topology_, words[1]);
  if (!links) return refuse(no_link(topology_, words[1]));
  std::string text;
  for (std::size_t i = 2; i < words.size(); ++i) text += (i == 2 ? "" : " ") + words[i];
  auto rule = fabric::parse_fault(text);
  if (!rule) return refuse(rule.error());
  return add_rule(words[1], std::move(*links), std::move(*rule));
}

FabricAnswer FabricCommands::add_prepared(Time, const FabricWords& words) {
  const auto number = parse_whole(words[1]);
  if (!number || *number >= setup_.prepared.size()) return refuse("there is no prepared fault " + words[1]);
  std::vector<fabric::LinkId> links;
  std::string where;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto found = find_links(topology_, words[i]);
    if (!found) return refuse(no_link(topology_, words[i]));
    links.insert(links.end(), found->begin(), found->end());
    where += (where.empty() ? "" : ",") + words[i];
  }
  return add_rule(where, std::move(links), setup_.prepared[static_cast<std::size_t>(*number)]);
}

FabricAnswer FabricCommands::add_rule(std::string where, std::vector<fabric::LinkId> links, fabric::FaultRule rule) {
  if (faults_.size() >= kFaultsMax)
    return refuse("there are " + std::to_string(kFaultsMax) + " faults already: end some first (remove NUMBER, clear)");
  const std::uint32_t number = next_number_++;
  faults_.push_back({number, std::move(where), rule.text});
  elements_.add_rule(number, std::move(links), std::move(rule));
  return std::to_string(number);
}

FabricAnswer FabricCommands::remove(Time, const FabricWords& words) {
  const auto number = parse_whole(words[1]);
  const auto found = std::find_if(faults_.begin(), faults_.end(),
                                  [&](const Fault& fault) { return number && fault.number == *number; });
  if (found == faults_.end()) return refuse("there is no fault " + words[1] + " (verbena fault list shows them)");
  const std::uint64_t hit = elements_.hits(found->number);
  elements_.remove_rule(found->number);
  faults_.erase(found);
  return std::to_string(hit);
}

FabricAnswer FabricCommands::clear(Time, const FabricWords&) {
  for (const Fault& fault : faults_) elements_.remove_rule(fault.number);
  faults_.clear();
  return std::string();
}

FabricAnswer FabricCommands::list(Time, const FabricWords&) {
  std::string text;
  for (const Fault& fault : faults_)
    text += std::to_string(fault.number) + "  " + fault.where + "  " + fault.text + "  (" +
            std::to_string(elements_.hits(fault.number)) + " hits)\n";
  for (const fabric::LinkId link : elements_.dead_links()) text += "-  " + link_name(topology_, link) + "  down\n";
  for (const std::uint32_t vertex : elements_.dead_switches())
    text += "-  " + topology_.vertices[vertex].name + "  crashed\n";
  for (const auto& [from, to] : elements_.cut_pairs())
    text += "-  " + topology_.vertices[from].name + "->" + topology_.vertices[to].name + "  cut off\n";
  return text;
}

// -- Faults of links, switches, ports and pairs -----------------------------------------------------------------------

FabricAnswer FabricCommands::change(Time now, const ElementWord& word, const FabricWords& words) {
  const auto changes = parse_element(topology_, word, words);
  if (!changes) return refuse(changes.error());
  for (const fabric::ElementChange& change : *changes)
    if (change.kind == fabric::ElementChange::Kind::heal && !change.hosts.empty() &&
        !elements_.has_partition(change.hosts, change.peers))
      return refuse("no partition is between these; name one as it was said, or heal all with none");
  if (word.kind == fabric::ElementChange::Kind::partition && elements_.partitions() + changes->size() > kPartitionsMax)
    return refuse("there are " + std::to_string(kPartitionsMax) + " partitions already: heal some first");
  for (const fabric::ElementChange& change : *changes) elements_.apply(now, change);
  return tell_sockets(now);
}

FabricAnswer FabricCommands::tell_sockets(Time now) {
  if (setup_.sockets != nullptr) setup_.sockets->tell(now);
  return std::string();
}

FabricAnswer FabricCommands::node_power(Time now, const FabricWords& words) {
  using Power = FabricSockets::Power;
  const auto hosts = find_vertices(topology_, words[1], true);
  if (!hosts) return refuse(not_a_node(topology_, words[1]));
  if (words[2] != "on" && words[2] != "frozen" && words[2] != "crashing")
    return refuse("unknown word '" + words[2] + "': on, frozen or crashing is right");
  const Power power = words[2] == "on" ? Power::on : words[2] == "frozen" ? Power::frozen : Power::crashing;
  for (const std::uint32_t host : *hosts) {
    if (setup_.sockets != nullptr) setup_.sockets->set_power(host, power);
    if (power == Power::crashing) ports_.crash(host);
  }
  return tell_sockets(now);
}

FabricAnswer FabricCommands::device_removal(Time, const FabricWords& words) {
  const auto hosts = find_vertices(topology_, words[1], true);
  if (!hosts) return refuse(not_a_node(topology_, words[1]));
  std::string deaf;
  for (const std::uint32_t host : *hosts)
    if (!ports_.notify(host, Notice::device_removed)) deaf += (deaf.empty() ? "" : ",") + topology_.vertices[host].name;
  if (!deaf.empty()) return refuse("no process that listens runs on " + deaf);
  return std::string();
}

// -- What can be seen -------------------------------------------------------------------------------------------------

FabricAnswer FabricCommands::hello(Time, const FabricWords&) {
  return to_text(FabricHello{topology_.hosts, topology_.port_rates(), setup_.stats_path});
}

FabricAnswer FabricCommands::stat(Time now, const FabricWords&) {
  Json links = links_of(ports_.network(), elements_, now);
  std::vector<std::uint32_t> processes(topology_.hosts, 0);
  for (const FabricPorts::Process& process : ports_.processes()) ++processes[process.host];
  Json nodes = Json::array();
  for (std::uint32_t host = 0; host < topology_.hosts; ++host) {
    const FabricPorts::NodeStatistics& seen = ports_.node(host);
    Json node = {{"name", topology_.vertices[host].name},
                 {"address", address_text(node_address(host + 1))},
                 {"up", ports_.network().port_is_up(host)},
                 {"processes", processes[host]},
                 {"frames_in", seen.frames_in},
                 {"octets_in", seen.octets_in},
                 {"frames_out", seen.frames_out},
                 {"octets_out", seen.octets_out},
                 {"nobody", seen.nobody},
                 {"overflowed", seen.overflowed},
                 {"pauses", seen.pauses},
                 {"not_run_ns", seen.not_run.ns},
                 {"not_run_from_ns", seen.not_run.ns == 0 ? 0 : (seen.not_run_from - started_).ns}};
    if (setup_.counters != nullptr) node["counters"] = counters_of(*setup_.counters, node_address(host + 1));
    nodes.push_back(std::move(node));
  }
  Json faults = Json::array();
  for (const Fault& fault : faults_)
    faults.push_back({{"number", fault.number},
                      {"link", fault.where},
                      {"rule", fault.text},
                      {"hits", elements_.hits(fault.number)}});
  Json crashed = Json::array();
  for (const std::uint32_t vertex : elements_.dead_switches()) crashed.push_back(topology_.vertices[vertex].name);
  Json cut_off = Json::array();
  for (const auto& [from, to] : elements_.cut_pairs())
    cut_off.push_back(topology_.vertices[from].name + "->" + topology_.vertices[to].name);
  const fabric::NetworkStatistics& all = ports_.network().statistics();
  Json stat = {{"fabric", setup_.fabric},
               {"uptime_ns", (now - started_).ns},
               {"arrivals", all.arrivals},
               {"lost", all.lost},
               {"overflowed", all.overflowed},
               {"vanished", all.vanished},
               {"marked", all.marked},
               {"strays", ports_.strays()},
               {"pauses", pauses_of_all(ports_.network())},
               {"links", std::move(links)},
               {"nodes", std::move(nodes)},
               {"faults", std::move(faults)},
               {"crashed", std::move(crashed)},
               {"cut_off", std::move(cut_off)}};
  stat["counter_names"] = Json::array();
  for (std::size_t i = 0; i < nic::kCounters; ++i)
    stat["counter_names"].push_back(nic::to_string(static_cast<nic::Counter>(i)));
  // Counters of processes that ended are kept, but not of any number of them.
  stat["counters_complete"] = setup_.counters != nullptr && setup_.counters->claimed.load() <= StatsFile::kBlocks;
  if (setup_.capture != nullptr) {
    const FabricCapture::Missing& missing = setup_.capture->missing();
    stat["capture"] = {{"frames_missing", missing.frames},
                       {"missing_from_ns", missing.from ? Json((*missing.from - started_).ns) : Json(nullptr)},
                       {"frames_cut", missing.cut}};
  }
  return stat.dump();
}

}  // namespace verbena::host
