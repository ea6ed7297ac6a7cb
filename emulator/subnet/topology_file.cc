#include "emulator/subnet/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "wire/printable.h"

namespace verbena::subnet {
namespace {

constexpr std::size_t kPortsMax = 254;  // 255 stands for all ports

struct Speed {
  std::string_view name;
  std::uint8_t speed;
  std::uint8_t extended;
};
constexpr std::array kSpeeds{Speed{"SDR", 1, 0}, Speed{"DDR", 2, 0}, Speed{"QDR", 4, 0}, Speed{"FDR10", 4, 0},
                             Speed{"FDR", 4, 1}, Speed{"EDR", 4, 2}, Speed{"HDR", 4, 4}, Speed{"NDR", 4, 8}};
struct Width {
  std::string_view name;
  std::uint8_t code;
};
constexpr std::array kWidths{Width{"1x", 1}, Width{"4x", 2}, Width{"8x", 4}, Width{"12x", 8}, Width{"2x", 16}};

bool is_space(char one) {
  return one == ' ' || one == '\t' || one == '\r';
}

/// Goes through one line.
class Words {
 public:
  explicit Words(std::string_view line) : left_(line) {}

  bool at_end() {
    skip_space();
    return left_.empty() || left_.front() == '#';
  }
  /// Up to a space, a quote or a bracket.
  std::string_view word() {
    skip_space();
    std::size_t length = 0;
    while (length < left_.size() && !is_space(left_[length]) &&
           std::string_view("\"[]()#").find(left_[length]) == std::string_view::npos)
      ++length;
    return take(length);
  }
  bool skip(char one) {
    skip_space();
    if (left_.empty() || left_.front() != one) return false;
    left_.remove_prefix(1);
    return true;
  }
  /// What stands between two signs.
  std::optional<std::string_view> between(char open, char close) {
    skip_space();
    if (left_.empty() || left_.front() != open) return std::nullopt;
    const std::size_t end = left_.find(close, 1);
    if (end == left_.npos) return std::nullopt;
    const std::string_view inside = left_.substr(1, end - 1);
    left_.remove_prefix(end + 1);
    return inside;
  }
  std::string_view rest() const { return left_; }

 private:
  void skip_space() {
    while (!left_.empty() && is_space(left_.front())) left_.remove_prefix(1);
  }
  std::string_view take(std::size_t length) {
    const std::string_view taken = left_.substr(0, length);
    left_.remove_prefix(length);
    return taken;
  }
  std::string_view left_;
};

template <class Number>
std::optional<Number> number_of(std::string_view text, int base) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// What a comment says of a link, "4xQDR", or nothing.
void read_link(std::string_view comment, PortPlan& into) {
  Words words(comment);
  words.skip('#');
  for (;;) {
    while (words.between('"', '"')) {
    }
    const std::string_view word = words.word();
    if (word.empty() && !words.skip('[') && !words.skip(']') && !words.skip('(') && !words.skip(')') &&
        !words.skip('"') && !words.skip('#'))
      return;
    for (const Width& width : kWidths) {
      if (!word.starts_with(width.name)) continue;
      for (const Speed& speed : kSpeeds) {
        if (word.substr(width.name.size()) != speed.name) continue;
        into.width = width.code;
        into.speed = speed.speed;
        into.speed_extended = speed.extended;
        into.is_rate_told = true;
      }
    }
  }
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Topology, std::string> read() {
    while (!text_.empty() && error_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      read_line(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (error_.empty()) connect();
    if (error_.empty() && topology_.nodes.empty())
      fail("there is no node: lines such as Switch 8 \"S1\" describe them");
    if (!error_.empty()) return Failure{error_};
    return std::move(topology_);
  }

 private:
  struct Cable {
    PortEnd end;
    std::string peer;
    std::uint8_t peer_port = 0;
    std::size_t line = 0;
  };

  void fail(std::string_view what) { error_ = fmt::format("{}:{}: {}", file_, line_, what); }

  void read_line(std::string_view line) {
    Words words(line);
    if (words.at_end()) return;
    if (words.rest().front() == '[') return read_port(words);
    const std::string_view word = words.word();
    if (word == "Switch") return read_node(words, wire::NodeType::switch_);
    if (word == "Hca" || word == "Ca") return read_node(words, wire::NodeType::channel_adapter);
    if (word == "Rt" || word == "Router") return read_node(words, wire::NodeType::router);
    const std::size_t equals = word.find('=');
    if (equals == word.npos)
      return fail(fmt::format("'{}': not Switch, Hca, Ca, Rt, a value such as vendid=0x2c9, or a port such as [1]",
                              wire::printable(word)));
    read_value(word.substr(0, equals), word.substr(equals + 1));
  }

  /// They stand in front of the node that they are of.
  void read_value(std::string_view key, std::string_view text) {
    const auto value = number_of<std::uint64_t>(text, 16);
    if (!value) return fail(fmt::format("{}={}: not a number", wire::printable(key), wire::printable(text)));
    if (key == "vendid")
      next_.vendor = static_cast<std::uint32_t>(*value & 0xffffff);
    else if (key == "devid")
      next_.device = static_cast<std::uint16_t>(*value);
    else if (key == "sysimgguid")
      next_.system_image_guid = *value;
    else if (key == "switchguid" || key == "caguid" || key == "rtguid")
      next_.guid = *value;
    else
      fail(fmt::format("{}=: not vendid, devid, sysimgguid, switchguid, caguid or rtguid", wire::printable(key)));
  }

  void read_node(Words& words, wire::NodeType type) {
    const std::string_view count = words.word();
    const auto ports = number_of<std::size_t>(count, 10);
    if (!ports || *ports < 1 || *ports > kPortsMax)
      return fail(fmt::format("'{}': not a number of ports from 1 to {}", wire::printable(count), kPortsMax));
    const auto id = words.between('"', '"');
    if (!id || id->empty()) return fail("the node has no id in quotes behind its number of ports");
    if (!words.at_end())
      return fail(fmt::format("'{}': nothing follows a node's id but a comment", wire::printable(words.rest())));
    if (!by_id_.try_emplace(std::string(*id), topology_.nodes.size()).second)
      return fail(fmt::format("\"{}\" is the id of an earlier node", wire::printable(*id)));
    NodePlan node = next_;
    next_ = {};
    node.type = type;
    node.id = *id;
    node.ports.resize(*ports + 1);
    words.skip('#');
    const auto description = words.between('"', '"');
    node.description = description ? *description : *id;
    if (node.guid == 0) node.guid = guid_of(*id);
    if (const auto [earlier, is_new] = by_guid_.try_emplace(node.guid, topology_.nodes.size()); !is_new)
      return fail(fmt::format("{:#x} is the GUID of \"{}\" already", node.guid,
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
    if (topology_.nodes.empty()) return fail("a port stands before any node");
    NodePlan& node = topology_.nodes.back();
    const auto port = port_number(words);
    if (!error_.empty()) return;
    if (port == 0 || port > node.port_count())
      return fail(
          fmt::format("[{}]: \"{}\" has ports from 1 to {}", port, wire::printable(node.id), node.port_count()));
    PortPlan& plan = node.ports[port];
    if (const auto guid = words.between('(', ')')) {
      plan.guid = number_of<std::uint64_t>(*guid, 16);
      if (!plan.guid) return fail(fmt::format("({}): not a GUID", wire::printable(*guid)));
    }
    const auto peer = words.between('"', '"');
    if (!peer) return fail(fmt::format("[{}]: the id of the node at the other end is missing, in quotes", port));
    const auto peer_port = port_number(words);
    if (!error_.empty()) return;
    words.between('(', ')');
    if (!words.at_end()) return fail(fmt::format("'{}': not a comment", wire::printable(words.rest())));
    read_link(words.rest(), plan);
    cables_.push_back({{topology_.nodes.size() - 1, port}, std::string(*peer), peer_port, line_});
  }

  std::uint8_t port_number(Words& words) {
    const auto text = words.between('[', ']');
    const auto number = text ? number_of<std::uint8_t>(*text, 10) : std::nullopt;
    if (!number) fail(text ? fmt::format("[{}]: not a port", wire::printable(*text)) : "a port in brackets is missing");
    return number.value_or(0);
  }

  PortPlan& plan_of(PortEnd end) { return topology_.nodes[end.node].ports[end.port]; }

  /// Both ends may be told, or one.
  void connect() {
    for (const Cable& cable : cables_) {
      line_ = cable.line;
      const auto found = by_id_.find(cable.peer);
      if (found == by_id_.end()) return fail(fmt::format("there is no node \"{}\"", wire::printable(cable.peer)));
      const PortEnd peer{found->second, cable.peer_port};
      const NodePlan& node = topology_.nodes[peer.node];
      if (peer.port == 0 || peer.port > node.port_count())
        return fail(fmt::format("\"{}\" has ports from 1 to {}", wire::printable(node.id), node.port_count()));
      if (peer == cable.end) return fail("the port is connected with itself");
      if (!join(cable.end, peer) || !join(peer, cable.end)) return;
    }
    for (const Cable& cable : cables_) agree(plan_of(cable.end), plan_of({by_id_.at(cable.peer), cable.peer_port}));
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
  bool join(PortEnd end, PortEnd peer) {
    auto& known = plan_of(end).peer;
    if (known && *known != peer) {
      fail(fmt::format("port {} of \"{}\" is connected with port {} of \"{}\" already", end.port,
                       wire::printable(topology_.nodes[end.node].id), known->port,
                       wire::printable(topology_.nodes[known->node].id)));
      return false;
    }
    known = peer;
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t line_ = 0;
  std::string error_;
  NodePlan next_;
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

Result<Topology, std::string> read_topology(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace verbena::subnet
