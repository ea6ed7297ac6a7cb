#include "emulator/subnet/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "emulator/subnet/number_of.h"
#include "emulator/subnet/port_link.h"
#include "emulator/subnet/topology_words.h"
#include "wire/printable.h"

namespace verbena::subnet {
namespace {

constexpr std::size_t kPortsMax = 254;  // 255 stands for all ports
constexpr std::string_view kNodeForm = "Switch 8 \"S1\"";
constexpr std::string_view kGuidForm = "write up to 16 hexadecimal digits, such as 2c9020040a0e1";

/// What ibsim's files may have, and what to write instead.
struct Unread {
  std::string_view word;
  std::string_view instead;
};
constexpr std::array kUnread{
    Unread{"do", "commands of ibsim's console are not read; `verbena fault` changes a fabric"}};
constexpr std::size_t kIncludesMax = 8;  // one within the other
constexpr char kModuleSign = '#';        // between a module and the ids in it
constexpr char kAliasSign = '@';

/// What stands in front of a node, and the most that it may be.
struct Key {
  std::string_view name;
  std::uint64_t most;
};
constexpr std::uint64_t kGuidMost = UINT64_MAX;
constexpr std::array kKeys{Key{"vendid", 0xffffff},      Key{"devid", 0xffff},     Key{"sysimgguid", kGuidMost},
                           Key{"switchguid", kGuidMost}, Key{"caguid", kGuidMost}, Key{"hcaguids", kGuidMost},
                           Key{"rtguid", kGuidMost}};

/// In a file: both count from 1, columns in octets.
struct Place {
  const std::string* file = nullptr;
  std::size_t line = 0;
  std::size_t column = 0;
};

class Reader {
 public:
  Reader(const std::string& file, const TopologyLoader& load) : file_(file), load_(load) {}

  Result<Topology, std::string> read(std::string_view text) {
    read_file(text, file_);
    if (error_.empty()) connect();
    if (error_.empty() && topology_.nodes.empty())
      error_ = fmt::format("{}: no node: write lines such as {}, each with lines of its ports, such as [1] \"H1\"[1]",
                           file_, kNodeForm);
    if (!error_.empty()) return Failure{error_};
    return std::move(topology_);
  }

 private:
  void read_file(std::string_view text, const std::string& name) {
    const std::string* const outer = std::exchange(read_, &name);
    const std::size_t outer_line = std::exchange(line_, 0);
    while (!text.empty() && error_.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      line_text_ = text.substr(0, end);
      read_line();
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    read_ = outer;
    line_ = outer_line;
  }

  struct Cable {
    PortEnd end;
    std::string peer;
    std::uint8_t peer_port = 0;
    Place peer_place;
    Place peer_port_place;
  };

  /// `at` is in the line that is read.
  Place place_of(const char* at) const { return {read_, line_, static_cast<std::size_t>(at - line_text_.data()) + 1}; }
  void fail(Place at, std::string_view what) {
    error_ = fmt::format("{}:{}:{}: {}", *at.file, at.line, at.column, what);
  }
  void fail(const char* at, std::string_view what) { fail(place_of(at), what); }
  void fail_at_rest(Words& words, std::string_view instead) {
    const char* const at = words.here();
    fail(at, fmt::format("'{}': {}", wire::printable(words.rest()), instead));
  }

  void read_line() {
    Words words(line_text_);
    if (words.at_end()) return;
    if (words.rest().front() == '[') return read_port(words);
    if (words.skip(kAliasSign)) return read_alias(words);
    const char* const at = words.here();
    const std::string_view word = words.word();
    if (word == "Switch") return read_node(words, wire::NodeType::switch_);
    if (word == "Hca" || word == "Ca") return read_node(words, wire::NodeType::channel_adapter);
    if (word == "Rt" || word == "Router") return read_node(words, wire::NodeType::router);
    if (word == "include") return read_include(words);
    for (const Unread& one : kUnread)
      if (word == one.word || word.starts_with(fmt::format("{}=", one.word)))
        return fail(at, fmt::format("{}: {}", one.word, one.instead));
    const std::size_t equals = word.find('=');
    if (equals != word.npos) return read_value(words, word.substr(0, equals), word.substr(equals + 1));
    fail(at, fmt::format("'{}': write Switch, Hca, Ca or Rt, a value such as vendid=0x2c9, or a port such as [1]",
                         wire::printable(word.empty() ? words.rest() : word)));
  }

  /// They stand in front of the node that they are of.
  void read_value(Words& words, std::string_view name, std::string_view text) {
    if (name == "module") return read_module(words, text);
    if (name == "width" || name == "speed") return read_default(words, name, text);
    const auto key = std::ranges::find(kKeys, name, &Key::name);
    if (key == kKeys.end())
      return fail(name.data(), fmt::format("{}=: write vendid, devid, sysimgguid, switchguid, caguid, rtguid, width, "
                                           "speed or module",
                                           wire::printable(name)));
    const auto value = number_of<std::uint64_t>(text, 16);
    if (!value || *value > key->most)
      return fail(text.data(), fmt::format("'{}': write {} as a hexadecimal number up to {:#x}", wire::printable(text),
                                           name, key->most));
    if (name == "vendid")
      next_.vendor = static_cast<std::uint32_t>(*value);
    else if (name == "devid")
      next_.device = static_cast<std::uint16_t>(*value);
    else if (name == "sysimgguid")
      next_.system_image_guid = *value;
    else {
      next_.guid = *value;
      guid_place_ = place_of(text.data());
      read_guid(words);  // ibnetdiscover writes that of port 0 behind a switch's
    }
    if (error_.empty() && !words.at_end()) fail_at_rest(words, "nothing follows a value but a comment");
  }

  /// Nodes behind it belong to a module, whose name stands in front of their ids; an empty name ends it.
  void read_module(Words& words, std::string_view text) {
    const auto name = text.empty() ? words.between('"', '"') : std::nullopt;
    if (!name) return fail(text.data(), "module: write its name in quotes, such as module=\"M1\"");
    if (!words.at_end()) return fail_at_rest(words, "nothing follows a value but a comment");
    module_ = *name;
  }
  std::string id_in_module(std::string_view id) const {
    const bool has_module = module_.empty() || id.find(kModuleSign) != id.npos;
    return has_module ? std::string(id) : fmt::format("{}{}{}", module_, kModuleSign, id);
  }
  std::string alias_in_module(std::string_view alias) const {
    return alias.starts_with(kAliasSign) ? fmt::format("{}{}", module_, alias) : std::string(alias);
  }

  /// Of all ports of the nodes behind it, as a port's own w= and s=.
  void read_default(Words& words, std::string_view name, std::string_view text) {
    const std::string option = fmt::format("{}={}", name.front(), text);
    if (const auto instead = read_port_option(option, default_); !instead.empty())
      return fail(text.data(), fmt::format("'{}': {}", wire::printable(text), instead));
    defaults_from_ = std::min(defaults_from_, topology_.nodes.size());
    if (!words.at_end()) fail_at_rest(words, "nothing follows a value but a comment");
  }

  /// The lines of another file, as if they stood here.
  void read_include(Words& words) {
    const char* const at = words.here();
    const auto name = words.between('"', '"');
    if (!name || name->empty()) return fail(at, "include: write a file's name in quotes, such as include \"rack.net\"");
    if (!words.at_end()) return fail_at_rest(words, "nothing follows a file's name but a comment");
    if (included_.size() - closed_ >= kIncludesMax)
      return fail(at, fmt::format("include: files are included up to {} deep: is this one in itself?", kIncludesMax));
    const auto text = load_ ? load_(std::string(*name)) : Failure{std::string("no file is included here")};
    if (!text) return fail(at, fmt::format("include: {}", text.error()));
    const std::string_view outer = line_text_;
    included_.push_back(std::string(wire::printable(*name)));
    read_file(*text, included_.back());
    ++closed_;
    line_text_ = outer;
  }

  /// Another name for a port, by which a cable may lead to it: @[1] "up", and "@up" at its other end.
  void read_alias(Words& words) {
    if (topology_.nodes.empty())
      return fail(words.here(), fmt::format("a port stands before any node: write one first, such as {}", kNodeForm));
    const auto port = read_port_number(words, topology_.nodes.back().port_count());
    if (!port) return;
    const char* const at = words.here();
    const auto name = words.between('"', '"');
    if (!name || name->empty()) return fail(at, "the alias is missing: write it in quotes, such as @[1] \"up\"");
    if (!words.at_end()) return fail_at_rest(words, "nothing follows an alias but a comment");
    const std::string whole = fmt::format("{}{}{}", module_, kAliasSign, *name);
    if (!aliases_.try_emplace(whole, PortEnd{topology_.nodes.size() - 1, *port}).second)
      fail(at, fmt::format("\"{}\" is the alias of an earlier port: write another one", wire::printable(*name)));
  }

  /// One in parentheses, if it is there.
  std::optional<std::uint64_t> read_guid(Words& words) {
    const auto text = words.between('(', ')');
    if (!text) return std::nullopt;
    const auto guid = number_of<std::uint64_t>(*text, 16);
    if (!guid) fail(text->data(), fmt::format("'{}': not a GUID: {}", wire::printable(*text), kGuidForm));
    return guid;
  }

  void read_node(Words& words, wire::NodeType type) {
    const char* const at = words.here();
    const std::string_view count = words.word();
    const auto ports = number_of<std::size_t>(count, 10);
    if (!ports || *ports < 1 || *ports > kPortsMax)
      return fail(
          at, fmt::format("'{}': not a number of ports: write one from 1 to {}", wire::printable(count), kPortsMax));
    const char* const id_at = words.here();
    const auto id = words.between('"', '"');
    if (!id || id->empty())
      return fail(id_at, fmt::format("the node has no id: write one in quotes, such as {}", kNodeForm));
    if (!words.at_end()) return fail_at_rest(words, "nothing follows a node's id but a comment");
    const std::string whole = id_in_module(*id);
    if (!by_id_.try_emplace(whole, topology_.nodes.size()).second)
      return fail(id->data(),
                  fmt::format("\"{}\" is the id of an earlier node: write another one", wire::printable(*id)));
    NodePlan node = std::exchange(next_, {});
    node.type = type;
    node.id = whole;
    node.ports.assign(*ports + 1, default_);
    for (PortPlan& port : node.ports) port.is_rate_told = false;  // a port's own line goes before
    words.skip('#');
    const auto description = words.between('"', '"');
    node.description = description ? *description : whole;
    if (node.guid == 0) {
      node.guid = guid_of(*id);
      guid_place_ = place_of(id->data());
    }
    if (const auto [earlier, is_new] = by_guid_.try_emplace(node.guid, topology_.nodes.size()); !is_new)
      return fail(guid_place_, fmt::format("{:#x} is the GUID of \"{}\" already: write another one", node.guid,
                                           wire::printable(topology_.nodes[earlier->second].id)));
    if (node.system_image_guid == 0) node.system_image_guid = node.guid;
    topology_.nodes.push_back(std::move(node));
  }

  /// ibnetdiscover's ids have it: "S-0002c90300000001". Others get one that no vendor's looks like.
  std::uint64_t guid_of(std::string_view id) const {
    constexpr std::uint64_t kFirst = 0x0256'4200'0000'0000;
    constexpr std::uint64_t kApart = 0x100;  // room for those of ports
    if (id.size() > 2 && id[1] == '-')
      if (const auto guid = number_of<std::uint64_t>(id.substr(2), 16)) return *guid;
    return kFirst + kApart * (topology_.nodes.size() + 1);
  }

  void read_port(Words& words) {
    if (topology_.nodes.empty())
      return fail(words.here(), fmt::format("a port stands before any node: write one first, such as {}", kNodeForm));
    NodePlan& node = topology_.nodes.back();
    const auto port = read_port_number(words, node.port_count());
    if (!port) return;
    PortPlan& plan = node.ports[*port];
    if (const auto guid = read_guid(words)) plan.guid = guid;
    if (!error_.empty()) return;
    const char* const peer_at = words.here();
    const auto peer = words.between('"', '"');
    if (!peer)
      return fail(peer_at, fmt::format("the other end is missing: write its node's id and its port, such as [{}] "
                                       "\"S1\"[1]",
                                       *port));
    Place port_place = place_of(words.here());
    ++port_place.column;  // behind the bracket
    const bool is_alias = peer->find(kAliasSign) != peer->npos;
    const auto peer_port = is_alias ? std::optional<std::uint8_t>(0) : read_port_number(words, kPortsMax);
    if (!peer_port) return;
    read_guid(words);  // of the peer's port, whose own line says it
    if (!error_.empty()) return;
    while (!words.at_end()) {
      const char* const at = words.here();
      const std::string_view rest = words.rest();
      const std::string_view word = words.word();
      if (!is_port_option(word))
        return fail(at,
                    fmt::format("'{}': nothing follows the other end of a cable but w=4, s=2, mtu=2048 and a comment",
                                wire::printable(rest)));
      if (const auto instead = read_port_option(word, plan); !instead.empty())
        return fail(at, fmt::format("'{}': {}", wire::printable(word), instead));
    }
    read_link(words.rest(), plan);
    cables_.push_back({{topology_.nodes.size() - 1, *port},
                       is_alias ? alias_in_module(*peer) : id_in_module(*peer),
                       *peer_port,
                       place_of(peer->data()),
                       port_place});
  }

  /// A port's comment has prose, and the rate as its last word, "4xQDR". Prose is never wrong. What
  /// `ibnetdiscover --full` writes behind the rate is no word.
  void read_link(std::string_view comment, PortPlan& plan) {
    CommentWords words(comment);
    std::string_view last;
    bool is_rate = true;
    while (const auto word = words.next()) {
      if (is_code_of_rate(*word)) continue;
      last = *word;
      is_rate = read_rate(last, plan);
    }
    if (!is_rate && looks_like_rate(last))
      fail(last.data(), fmt::format("'{}': an unknown rate: write 1x, 2x, 4x, 8x or 12x with one of {}, such as 4xEDR",
                                    last, speed_names()));
  }

  std::optional<std::uint8_t> read_port_number(Words& words, std::size_t most) {
    const char* const at = words.here();
    const auto text = words.between('[', ']');
    const auto number = text ? number_of<std::size_t>(*text, 10) : std::nullopt;
    if (number && *number >= 1 && *number <= most) return static_cast<std::uint8_t>(*number);
    if (text)
      fail_port({place_of(text->data()), *text, most});
    else
      fail(at, fmt::format("a port is missing: write one from 1 to {} in brackets, such as [1]", most));
    return std::nullopt;
  }
  struct WrongPort {
    Place at;
    std::string_view text;
    std::size_t most;
  };
  void fail_port(const WrongPort& wrong) {
    fail(wrong.at, fmt::format("'{}': no such port: write one from 1 to {}", wire::printable(wrong.text), wrong.most));
  }

  PortPlan& plan_of(PortEnd end) { return topology_.nodes[end.node].ports[end.port]; }

  /// What a cable leads to. Nothing: it leads nowhere, which has been said.
  std::optional<PortEnd> other_end(const Cable& cable) {
    if (cable.peer_port == 0) {
      const auto found = aliases_.find(cable.peer);
      if (found != aliases_.end()) return found->second;
      fail(cable.peer_place, fmt::format("there is no alias \"{}\": write that of a port, as @[1] \"up\" makes it",
                                         wire::printable(cable.peer)));
      return std::nullopt;
    }
    const auto found = by_id_.find(cable.peer);
    if (found == by_id_.end()) {
      fail(cable.peer_place,
           fmt::format("there is no node \"{}\": write the id of one of this file", wire::printable(cable.peer)));
      return std::nullopt;
    }
    const PortEnd peer{found->second, cable.peer_port};
    const NodePlan& node = topology_.nodes[peer.node];
    if (peer.port <= node.port_count()) return peer;
    fail_port({cable.peer_port_place, std::to_string(peer.port), node.port_count()});
    return std::nullopt;
  }

  /// Both ends may be told, or one.
  void connect() {
    for (const Cable& cable : cables_) {
      const auto peer = other_end(cable);
      if (!peer) return;
      if (*peer == cable.end)
        return fail(cable.peer_place, "the port is connected with itself: write the port at the cable's other end");
      if (!join(cable, cable.end, *peer) || !join(cable, *peer, cable.end)) return;
    }
    for (const Cable& cable : cables_) agree(plan_of(cable.end), plan_of(*plan_of(cable.end).peer));
    for (std::size_t node = defaults_from_; node < topology_.nodes.size(); ++node)
      for (PortPlan& port : topology_.nodes[node].ports) port.is_rate_told = true;
  }
  /// What is told at one end is so at the other.
  static void agree(PortPlan& a, PortPlan& b) {
    if (a.is_rate_told == b.is_rate_told) return;
    const PortPlan& told = a.is_rate_told ? a : b;
    PortPlan& other = a.is_rate_told ? b : a;
    other.width = told.width;
    other.speed = told.speed;
    other.speed_extended = told.speed_extended;
    other.is_rate_told = true;
  }
  bool join(const Cable& cable, PortEnd end, PortEnd peer) {
    auto& known = plan_of(end).peer;
    if (known && *known != peer) {
      fail(cable.peer_place,
           fmt::format("port {} of \"{}\" is connected with port {} of \"{}\" already: a port has one cable", end.port,
                       wire::printable(topology_.nodes[end.node].id), known->port,
                       wire::printable(topology_.nodes[known->node].id)));
      return false;
    }
    known = peer;
    return true;
  }

  const std::string& file_;
  const TopologyLoader& load_;
  std::deque<std::string> included_;   // names of files, for errors
  std::size_t closed_ = 0;             // of them
  const std::string* read_ = nullptr;  // the file that is read
  std::string module_;
  PortPlan default_;                      // of ports whose own line says nothing
  std::size_t defaults_from_ = SIZE_MAX;  // the first node behind one that the file says
  std::map<std::string, PortEnd, std::less<>> aliases_;
  std::size_t line_ = 0;
  std::string_view line_text_;
  std::string error_;
  NodePlan next_;
  Place guid_place_;  // of the GUID that the next node has
  Topology topology_;
  std::map<std::string, std::size_t, std::less<>> by_id_;
  std::map<std::uint64_t, std::size_t> by_guid_;
  std::vector<Cable> cables_;
};

}  // namespace

std::uint64_t NodePlan::port_guid(std::uint8_t port) const {
  if (type == wire::NodeType::switch_) return guid;
  return ports[port].guid.value_or(guid + port);
}

std::optional<std::size_t> Topology::first_adapter() const {
  const auto found = std::ranges::find(nodes, wire::NodeType::channel_adapter, &NodePlan::type);
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

std::optional<std::size_t> Topology::find(std::string_view name) const {
  const auto by_id = std::ranges::find(nodes, name, &NodePlan::id);
  if (by_id != nodes.end()) return static_cast<std::size_t>(by_id - nodes.begin());
  if (std::ranges::count(nodes, name, &NodePlan::description) != 1) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find(nodes, name, &NodePlan::description) - nodes.begin());
}

Result<Topology, std::string> read_topology(std::string_view text, const std::string& file,
                                            const TopologyLoader& load) {
  return Reader(file, load).read(text);
}

}  // namespace verbena::subnet
