#include "emulator/host/fabric_process/fabric_commands.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "emulator/fabric/fault_rule.h"
#include "emulator/fabric/quantity.h"

namespace verbena::host {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr std::size_t kFaultsMax = 1024;
constexpr std::uint64_t kRateMax = 100'000'000'000'000;

FabricAnswer refuse(std::string text) {
  return Failure{std::move(text)};
}

Names split(const std::string& word) {
  Names names;
  for (std::size_t from = 0; from <= word.size();) {
    const std::size_t end = std::min(word.find(',', from), word.size());
    names.push_back(word.substr(from, end - from));
    from = end + 1;
  }
  return names;
}

std::optional<std::uint64_t> parse_whole(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
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

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  if (text == "0") return 0;
  const auto rate = fabric::parse_rate(text);
  return rate && *rate <= kRateMax ? rate : std::nullopt;
}

std::optional<Duration> parse_time_span(std::string_view text) {
  return text == "0" ? Duration{0} : fabric::parse_duration(text, fabric::kFaultTimeMax);
}

FabricCommands::FabricCommands(FabricPorts& ports, Setup setup, Time started)
    : ports_(ports), topology_(ports.network().topology()), setup_(std::move(setup)), started_(started) {}

// -- Words
// -----------------------------------------------------------------------------------------------------------------

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
      {"link-down", For::users, 2, 2, "link-down LINK", &C::link_down,
       "The cable is dead: what is on it is lost, ports at its ends go down, switches find other ways.",
       "link-down n1-s1"},
      {"link-up", For::users, 2, 2, "link-up LINK", &C::link_up, "It is alive again.", "link-up n1-s1"},
      {"link-rate", For::users, 3, 3, "link-rate LINK RATE", &C::link_rate,
       "Another rate from now on; 0: frames take no time.", "link-rate n1-s1 10Gbps"},
      {"link-delay", For::users, 3, 4, "link-delay LINK TIME [JITTER]", &C::link_delay,
       "Another delay from now on, and up to JITTER more, evenly spread.", "link-delay all 5us 1us"},
      {"switch-crash", For::users, 2, 2, "switch-crash SWITCH,...", &C::switch_crash,
       "The switches are dead, with all their cables.", "switch-crash s1,s2"},
      {"switch-restart", For::users, 2, 2, "switch-restart SWITCH,...", &C::switch_restart, "They are alive again.",
       "switch-restart s1,s2"},
      {"partition", For::users, 3, 4, "partition NODE,... NODE,... [one-way]", &C::partition,
       "Packets between nodes of the first list and nodes of the second vanish, while all ports stay up; one-way: only "
       "those from the first to the second.",
       "partition n1,n2 n3 one-way"},
      {"heal", For::users, 1, 1, "heal", &C::heal, "Ends all partitions.", "heal"},
      {"port-error", For::users, 2, 2, "port-error NODE,...", &C::port_error,
       "All cables of the nodes are dead: their ports go down (IBV_EVENT_PORT_ERR).", "port-error n1,n2"},
      {"port-active", For::users, 2, 2, "port-active NODE,...", &C::port_active,
       "All their cables are alive again (IBV_EVENT_PORT_ACTIVE).", "port-active n1,n2"},
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

std::vector<FabricCommands::Explained> FabricCommands::explained() {
  std::vector<Explained> words;
  for (const Command& command : table())
    if (command.whom == Command::For::users)
      words.push_back({command.name, command.usage, command.text, command.example});
  return words;
}

FabricAnswer FabricCommands::answer(Time now, const FabricWords& words) {
  const std::string name = words.empty() ? "" : words.front();
  for (const Command& command : table()) {
    if (command.name != name) continue;
    if (words.size() < command.words_min || words.size() > command.words_max)
      return refuse("that is not how it goes: " + command.usage);
    return (this->*command.run)(now, words);
  }
  return refuse("unknown word '" + name + "': " + faults_offered() + " are right");
}

/// "add, remove, ... and device-removal".
std::string FabricCommands::faults_offered() {
  std::vector<std::string> names;
  for (const Command& command : table())
    if (command.whom == Command::For::users) names.push_back(command.name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return text;
}

std::string FabricCommands::link_name(fabric::LinkId link) const {
  const fabric::Cable& cable = topology_.cables[link.cable];
  const std::string& a = topology_.vertices[cable.a].name;
  const std::string& b = topology_.vertices[cable.b].name;
  return link.backward ? b + "->" + a : a + "->" + b;
}

std::optional<std::vector<fabric::LinkId>> FabricCommands::find_links(const std::string& word) const {
  std::vector<fabric::LinkId> links;
  for (std::uint32_t cable = 0; cable < topology_.cables.size(); ++cable) {
    const std::string& a = topology_.vertices[topology_.cables[cable].a].name;
    const std::string& b = topology_.vertices[topology_.cables[cable].b].name;
    const bool both = word == "all" || word == a + "-" + b || word == b + "-" + a;
    if (both || word == a + "->" + b) links.push_back({cable, false});
    if (both || word == b + "->" + a) links.push_back({cable, true});
  }
  if (links.empty()) return std::nullopt;
  return links;
}

std::optional<std::vector<std::uint32_t>> FabricCommands::find_vertices(const std::string& word, bool hosts) const {
  std::vector<std::uint32_t> found;
  for (const std::string& name : split(word)) {
    std::uint32_t vertex = 0;
    while (vertex < topology_.vertices.size() && topology_.vertices[vertex].name != name) ++vertex;
    if (vertex == topology_.vertices.size() || topology_.is_host(vertex) != hosts) return std::nullopt;
    found.push_back(vertex);
  }
  return found;
}

// -- Faults of packets
// -----------------------------------------------------------------------------------------------------

FabricAnswer FabricCommands::add(Time, const FabricWords& words) {
  auto links = find_links(words[1]);
  if (!links) return refuse("there is no link '" + words[1] + "' (verbena stat lists them)");
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
    const auto found = find_links(words[i]);
    if (!found) return refuse("there is no link '" + words[i] + "'");
    links.insert(links.end(), found->begin(), found->end());
    where += (where.empty() ? "" : ",") + words[i];
  }
  return add_rule(where, std::move(links), setup_.prepared[static_cast<std::size_t>(*number)]);
}

FabricAnswer FabricCommands::add_rule(std::string where, std::vector<fabric::LinkId> links, fabric::FaultRule rule) {
  if (faults_.size() >= kFaultsMax) return refuse("there are " + std::to_string(kFaultsMax) + " faults already");
  rule.id = next_number_++;
  faults_.push_back({rule.id, std::move(where), std::move(links), std::move(rule)});
  for (const fabric::LinkId link : faults_.back().links) set_plan(link);
  return std::to_string(faults_.back().number);
}

FabricAnswer FabricCommands::remove(Time, const FabricWords& words) {
  const auto number = parse_whole(words[1]);
  const auto found = std::find_if(faults_.begin(), faults_.end(),
                                  [&](const Fault& fault) { return number && fault.number == *number; });
  if (found == faults_.end()) return refuse("there is no fault " + words[1] + " (verbena fault list shows them)");
  const std::vector<fabric::LinkId> links = found->links;
  const std::uint64_t hit = hits(*found);
  faults_.erase(found);
  for (const fabric::LinkId link : links) set_plan(link);
  return std::to_string(hit);
}

FabricAnswer FabricCommands::clear(Time, const FabricWords&) {
  std::vector<fabric::LinkId> links;
  for (const Fault& fault : faults_) links.insert(links.end(), fault.links.begin(), fault.links.end());
  faults_.clear();
  for (const fabric::LinkId link : links) set_plan(link);
  return std::string();
}

bool FabricCommands::has_link(const Fault& fault, fabric::LinkId link) {
  return std::find(fault.links.begin(), fault.links.end(), link) != fault.links.end();
}

FabricAnswer FabricCommands::list(Time, const FabricWords&) {
  std::string text;
  for (const Fault& fault : faults_)
    text += std::to_string(fault.number) + "  " + fault.where + "  " + fault.rule.text + "  (" +
            std::to_string(hits(fault)) + " hits)\n";
  for (const auto& [link, down] : down_)
    if (down) text += "-  " + link_name(link) + "  down\n";
  for (const auto& [vertex, down] : switch_down_)
    if (down) text += "-  " + topology_.vertices[vertex].name + "  crashed\n";
  for (const auto& [from, to] : cut_)
    text += "-  " + topology_.vertices[from].name + "->" + topology_.vertices[to].name + "  cut off\n";
  return text;
}

/// All rules of a direction of a cable make one plan; what stays of it goes on counting.
void FabricCommands::set_plan(fabric::LinkId link) {
  std::vector<fabric::FaultRule> rules;
  for (const Fault& fault : faults_)
    if (has_link(fault, link)) rules.push_back(fault.rule);
  ports_.network().set_faults(link, rules);
}

std::uint64_t FabricCommands::hits(const Fault& fault) const {
  std::uint64_t sum = 0;
  for (const fabric::LinkId link : fault.links) {
    std::size_t index = 0;  // among the rules of this link, in the order that set_plan() gave them
    for (const Fault& other : faults_) {
      if (&other == &fault) break;
      index += has_link(other, link) ? 1 : 0;
    }
    sum += ports_.network().rule_counters(link, index).applied;
  }
  return sum;
}

// -- Faults of links, switches and pairs
// -----------------------------------------------------------------------------------

FabricAnswer FabricCommands::set_links(Time now, const std::string& word, bool up) {
  const auto links = find_links(word);
  if (!links) return refuse("there is no link '" + word + "' (verbena stat lists them)");
  for (const fabric::LinkId link : *links) set_link(now, link, up);
  return tell_sockets(now);
}

void FabricCommands::set_link(Time now, fabric::LinkId link, bool up) {
  ports_.network().set_link_up(now, link, up);
  down_[link] = !up;
}

FabricAnswer FabricCommands::link_down(Time now, const FabricWords& words) {
  return set_links(now, words[1], false);
}
FabricAnswer FabricCommands::link_up(Time now, const FabricWords& words) {
  return set_links(now, words[1], true);
}

FabricAnswer FabricCommands::set_ports(Time now, const std::string& word, bool up) {
  const auto hosts = find_vertices(word, true);
  if (!hosts) return refuse("'" + word + "' is not a node of this fabric, nor several with commas");
  for (const std::uint32_t host : *hosts)
    for (const std::uint32_t cable : topology_.cables_of(host))
      for (const bool backward : {false, true}) set_link(now, {cable, backward}, up);
  return tell_sockets(now);
}

FabricAnswer FabricCommands::port_error(Time now, const FabricWords& words) {
  return set_ports(now, words[1], false);
}
FabricAnswer FabricCommands::port_active(Time now, const FabricWords& words) {
  return set_ports(now, words[1], true);
}

FabricAnswer FabricCommands::link_rate(Time now, const FabricWords& words) {
  const auto links = find_links(words[1]);
  if (!links) return refuse("there is no link '" + words[1] + "' (verbena stat lists them)");
  const auto rate = parse_rate(words[2]);
  if (!rate) return refuse("'" + words[2] + "' is no rate: write 10Gbps or 100Mbps, or 0 for frames that take no time");
  for (const fabric::LinkId link : *links) ports_.network().set_link_rate(now, link, *rate);
  return std::string();
}

FabricAnswer FabricCommands::link_delay(Time, const FabricWords& words) {
  const auto links = find_links(words[1]);
  if (!links) return refuse("there is no link '" + words[1] + "' (verbena stat lists them)");
  const auto delay = parse_time_span(words[2]);
  const auto jitter = words.size() > 3 ? parse_time_span(words[3]) : Duration{0};
  if (!delay || !jitter)
    return refuse("'" + words[delay ? 3 : 2] + "' is no time: write at most 60s, such as 500ns, 10us or 2ms");
  for (const fabric::LinkId link : *links) ports_.network().set_link_delay(link, *delay, *jitter);
  return std::string();
}

FabricAnswer FabricCommands::set_switches(Time now, const std::string& word, bool up) {
  const auto switches = find_vertices(word, false);
  if (!switches) return refuse("'" + word + "' is not a switch of this fabric, nor several with commas");
  for (const std::uint32_t vertex : *switches) {
    ports_.network().set_switch_up(now, vertex, up);
    switch_down_[vertex] = !up;
  }
  return tell_sockets(now);
}

FabricAnswer FabricCommands::switch_crash(Time now, const FabricWords& words) {
  return set_switches(now, words[1], false);
}
FabricAnswer FabricCommands::switch_restart(Time now, const FabricWords& words) {
  return set_switches(now, words[1], true);
}

FabricAnswer FabricCommands::partition(Time now, const FabricWords& words) {
  const auto from = find_vertices(words[1], true);
  const auto to = find_vertices(words[2], true);
  if (!from || !to)
    return refuse("'" + words[from ? 2 : 1] + "' is not a node of this fabric, nor several with commas");
  if (words.size() > 3 && words[3] != "one-way") return refuse("unknown word '" + words[3] + "': one-way is right");
  const auto cut = [&](std::uint32_t a, std::uint32_t b) {
    ports_.network().set_partition(a, b, true);
    if (std::find(cut_.begin(), cut_.end(), std::pair{a, b}) == cut_.end()) cut_.emplace_back(a, b);
  };
  for (const std::uint32_t a : *from) {
    for (const std::uint32_t b : *to) {
      if (a == b) continue;
      cut(a, b);
      if (words.size() == 3) cut(b, a);
    }
  }
  return tell_sockets(now);
}

FabricAnswer FabricCommands::heal(Time now, const FabricWords&) {
  for (const auto& [from, to] : cut_) ports_.network().set_partition(from, to, false);
  cut_.clear();
  return tell_sockets(now);
}

FabricAnswer FabricCommands::tell_sockets(Time now) {
  if (setup_.sockets != nullptr) setup_.sockets->tell(now);
  return std::string();
}

FabricAnswer FabricCommands::node_power(Time now, const FabricWords& words) {
  using Power = FabricSockets::Power;
  const auto hosts = find_vertices(words[1], true);
  if (!hosts) return refuse("'" + words[1] + "' is not a node of this fabric, nor several with commas");
  if (words[2] != "on" && words[2] != "frozen" && words[2] != "crashing")
    return refuse("unknown word '" + words[2] + "': on, frozen or crashing is right");
  const Power power = words[2] == "on" ? Power::on : words[2] == "frozen" ? Power::frozen : Power::crashing;
  for (const std::uint32_t host : *hosts)
    if (setup_.sockets != nullptr) setup_.sockets->set_power(host, power);
  return tell_sockets(now);
}

FabricAnswer FabricCommands::device_removal(Time, const FabricWords& words) {
  const auto hosts = find_vertices(words[1], true);
  if (!hosts) return refuse("'" + words[1] + "' is not a node of this fabric, nor several with commas");
  std::string deaf;
  for (const std::uint32_t host : *hosts)
    if (!ports_.notify(host, Notice::device_removed)) deaf += (deaf.empty() ? "" : ",") + topology_.vertices[host].name;
  if (!deaf.empty()) return refuse("no process that listens runs on " + deaf);
  return std::string();
}

// -- What can be seen
// ------------------------------------------------------------------------------------------------------

FabricAnswer FabricCommands::hello(Time, const FabricWords&) {
  return Json({{"nodes", topology_.hosts}, {"stats", setup_.stats_path}}).dump();
}

FabricAnswer FabricCommands::stat(Time now, const FabricWords&) {
  Json links = Json::array();
  for (std::uint32_t cable = 0; cable < topology_.cables.size(); ++cable) {
    for (const bool backward : {false, true}) {
      const fabric::LinkId link{cable, backward};
      const fabric::LinkStatistics seen = ports_.network().link_statistics(now, link);
      const auto down = down_.find(link);
      links.push_back({{"name", link_name(link)},
                       {"up", down == down_.end() || !down->second},
                       {"frames", seen.frames},
                       {"octets", seen.octets},
                       {"lost", seen.lost},
                       {"overflowed", seen.overflowed},
                       {"queue_octets", seen.queue_octets},
                       {"queue_octets_max", seen.queue_octets_max}});
    }
  }
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
                 {"overflowed", seen.overflowed}};
    if (setup_.counters != nullptr) node["counters"] = counters_of(*setup_.counters, node_address(host + 1));
    nodes.push_back(std::move(node));
  }
  Json faults = Json::array();
  for (const Fault& fault : faults_)
    faults.push_back(
        {{"number", fault.number}, {"link", fault.where}, {"rule", fault.rule.text}, {"hits", hits(fault)}});
  const fabric::NetworkStatistics& all = ports_.network().statistics();
  Json stat = {{"fabric", setup_.fabric},   {"uptime_ns", (now - started_).ns}, {"arrivals", all.arrivals},
               {"lost", all.lost},          {"overflowed", all.overflowed},     {"vanished", all.vanished},
               {"marked", all.marked},      {"strays", ports_.strays()},        {"links", std::move(links)},
               {"nodes", std::move(nodes)}, {"faults", std::move(faults)}};
  if (setup_.capture != nullptr) {
    const FabricCapture::Missing& missing = setup_.capture->missing();
    stat["capture"] = {{"frames_missing", missing.frames},
                       {"missing_from_ns", missing.from ? Json((*missing.from - started_).ns) : Json(nullptr)},
                       {"frames_cut", missing.cut}};
  }
  return stat.dump();
}

}  // namespace verbena::host
