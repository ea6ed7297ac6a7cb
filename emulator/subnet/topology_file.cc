#include "emulator/subnet/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "emulator/subnet/number_of.h"
#include "emulator/subnet/port_link.h"
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
constexpr std::array kUnread{Unread{"include", "write the lines of that file here"},
                             Unread{"do", "commands of ibsim's console are not read; `verbena fault` changes a fabric"},
                             Unread{"module", "modules are not read; write each node by its whole id"}};

/// What stands in front of a node, and the most that it may be.
struct Key {
  std::string_view name;
  std::uint64_t most;
};
constexpr std::uint64_t kGuidMost = UINT64_MAX;
constexpr std::array kKeys{Key{"vendid", 0xffffff},      Key{"devid", 0xffff},     Key{"sysimgguid", kGuidMost},
                           Key{"switchguid", kGuidMost}, Key{"caguid", kGuidMost}, Key{"rtguid", kGuidMost}};

/// Of the file: both count from 1, columns in octets.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
};

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
  /// Where the next word stands, or would.
  const char* here() {
    skip_space();
    return left_.data();
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

/// The words of a comment, as spaces part them. What stands in quotes is prose, and no word.
class CommentWords {
 public:
  explicit CommentWords(std::string_view comment) : left_(comment) {
    while (!left_.empty() && left_.front() == '#') left_.remove_prefix(1);
  }
  /// Nothing: that was the last one. An empty word stands for what is in quotes.
  std::optional<std::string_view> next() {
    while (!left_.empty() && is_space(left_.front())) left_.remove_prefix(1);
    if (left_.empty()) return std::nullopt;
    if (const std::size_t end = left_.front() == '"' ? left_.find('"', 1) : left_.npos; end != left_.npos) {
      left_.remove_prefix(end + 1);
      return std::string_view{};
    }
    const auto end = std::ranges::find_if(left_, is_space);
    const std::string_view word(left_.begin(), end);
    left_ = std::string_view(end, left_.end());
    return word;
  }

 private:
  std::string_view left_;
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Topology, std::string> read() {
    while (!text_.empty() && error_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      line_text_ = text_.substr(0, end);
      read_line();
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (error_.empty()) connect();
    if (error_.empty() && topology_.nodes.empty())
      error_ = fmt::format("{}: no node: write lines such as {}, each with lines of its ports, such as [1] \"H1\"[1]",
                           file_, kNodeForm);
    if (!error_.empty()) return Failure{error_};
    return std::move(topology_);
  }

 private:
  struct Cable {
    PortEnd end;
    std::string peer;
    std::uint8_t peer_port = 0;
    Place peer_place;
    Place peer_port_place;
  };

  /// `at` is in the line that is read.
  Place place_of(const char* at) const { return {line_, static_cast<std::size_t>(at - line_text_.data()) + 1}; }
  void fail(Place at, std::string_view what) { error_ = fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what); }
  void fail(const char* at, std::string_view what) { fail(place_of(at), what); }
  void fail_at_rest(Words& words, std::string_view instead) {
    const char* const at = words.here();
    fail(at, fmt::format("'{}': {}", wire::printable(words.rest()), instead));
  }

  void read_line() {
    Words words(line_text_);
    if (words.at_end()) return;
    if (words.rest().front() == '[') return read_port(words);
    const char* const at = words.here();
    const std::string_view word = words.word();
    if (word == "Switch") return read_node(words, wire::NodeType::switch_);
    if (word == "Hca" || word == "Ca") return read_node(words, wire::NodeType::channel_adapter);
    if (word == "Rt" || word == "Router") return read_node(words, wire::NodeType::router);
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
    const auto key = std::ranges::find(kKeys, name, &Key::name);
    if (key == kKeys.end())
      return fail(name.data(), fmt::format("{}=: write vendid, devid, sysimgguid, switchguid, caguid or rtguid",
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
    if (!by_id_.try_emplace(std::string(*id), topology_.nodes.size()).second)
      return fail(id->data(),
                  fmt::format("\"{}\" is the id of an earlier node: write another one", wire::printable(*id)));
    NodePlan node = std::exchange(next_, {});
    node.type = type;
    node.id = *id;
    node.ports.resize(*ports + 1);
    words.skip('#');
    const auto description = words.between('"', '"');
    node.description = description ? *description : *id;
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
    const auto peer_port = read_port_number(words, kPortsMax);
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
    cables_.push_back(
        {{topology_.nodes.size() - 1, *port}, std::string(*peer), *peer_port, place_of(peer->data()), port_place});
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

  /// Both ends may be told, or one.
  void connect() {
    for (const Cable& cable : cables_) {
      const auto found = by_id_.find(cable.peer);
      if (found == by_id_.end())
        return fail(cable.peer_place, fmt::format("there is no node \"{}\": write the id of one of this file",
                                                  wire::printable(cable.peer)));
      const PortEnd peer{found->second, cable.peer_port};
      const NodePlan& node = topology_.nodes[peer.node];
      if (peer.port > node.port_count())
        return fail_port({cable.peer_port_place, std::to_string(peer.port), node.port_count()});
      if (peer == cable.end)
        return fail(cable.peer_place, "the port is connected with itself: write the port at the cable's other end");
      if (!join(cable, cable.end, peer) || !join(cable, peer, cable.end)) return;
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

  std::string_view text_;
  const std::string& file_;
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

Result<Topology, std::string> read_topology(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace verbena::subnet
