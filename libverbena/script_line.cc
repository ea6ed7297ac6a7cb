#include "libverbena/script_line.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "emulator/fabric/nearest_word.h"
#include "emulator/fabric/quantity.h"
#include "libverbena/state.h"

namespace libverbena {
namespace {

constexpr verbena::Duration kTimeMax = verbena::seconds(3600);
constexpr std::uint64_t kMost24 = 0xffffff;
constexpr std::uint64_t kMost32 = UINT32_MAX;

template <class Header>
Header& made(std::optional<Header>& header) {
  return header ? *header : header.emplace();
}
template <class Number>
std::optional<std::uint64_t> widen(const std::optional<Number>& number) {
  return number ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

// RETH and AtomicETH both have an address and a key: which of them a packet has, its opcode says.
constexpr std::array<NumberField, 11> kNumbers{{
    {"msn", kMost24, [](const Packet& p) { return p.aeth ? std::optional<std::uint64_t>(p.aeth->msn) : std::nullopt; },
     [](Packet& p, std::uint64_t value) { made(p.aeth).msn = static_cast<std::uint32_t>(value); }},
    {"va", UINT64_MAX,
     [](const Packet& p) -> std::optional<std::uint64_t> {
       if (p.reth) return p.reth->address;
       return p.atomic ? std::optional(p.atomic->address) : std::nullopt;
     },
     [](Packet& p, std::uint64_t value) { made(p.reth).address = made(p.atomic).address = value; }},
    {"rkey", kMost32,
     [](const Packet& p) -> std::optional<std::uint64_t> {
       if (p.reth) return p.reth->rkey;
       return p.atomic ? std::optional<std::uint64_t>(p.atomic->rkey) : std::nullopt;
     },
     [](Packet& p, std::uint64_t value) {
       made(p.reth).rkey = made(p.atomic).rkey = static_cast<std::uint32_t>(value);
     }},
    {"length", kMost32,
     [](const Packet& p) { return p.reth ? std::optional<std::uint64_t>(p.reth->length) : std::nullopt; },
     [](Packet& p, std::uint64_t value) { made(p.reth).length = static_cast<std::uint32_t>(value); }},
    {"swap", UINT64_MAX, [](const Packet& p) { return p.atomic ? std::optional(p.atomic->swap_or_add) : std::nullopt; },
     [](Packet& p, std::uint64_t value) { made(p.atomic).swap_or_add = value; }},
    {"compare", UINT64_MAX, [](const Packet& p) { return p.atomic ? std::optional(p.atomic->compare) : std::nullopt; },
     [](Packet& p, std::uint64_t value) { made(p.atomic).compare = value; }},
    {"original", UINT64_MAX, [](const Packet& p) { return p.atomic_original; },
     [](Packet& p, std::uint64_t value) { p.atomic_original = value; }},
    {"immediate", kMost32, [](const Packet& p) { return widen(p.immediate); },
     [](Packet& p, std::uint64_t value) { p.immediate = static_cast<std::uint32_t>(value); }},
    {"invalidate", kMost32, [](const Packet& p) { return widen(p.invalidated_rkey); },
     [](Packet& p, std::uint64_t value) { p.invalidated_rkey = static_cast<std::uint32_t>(value); }},
    {"qkey", kMost32, [](const Packet& p) { return widen(p.qkey); },
     [](Packet& p, std::uint64_t value) { p.qkey = static_cast<std::uint32_t>(value); }},
    {"pkey", UINT16_MAX, [](const Packet& p) { return std::optional<std::uint64_t>(p.pkey); },
     [](Packet& p, std::uint64_t value) { p.pkey = static_cast<std::uint16_t>(value); }},
}};
constexpr NumberField kDestQp{"dest-qp", kMost24,
                              [](const Packet& p) { return std::optional<std::uint64_t>(p.dest_qp); },
                              [](Packet& p, std::uint64_t value) { p.dest_qp = static_cast<std::uint32_t>(value); }};

constexpr std::array<FlagField, 4> kFlags{{{"ack-request", &Packet::ack_request},
                                           {"solicited", &Packet::solicited},
                                           {"fecn", &Packet::fecn},
                                           {"becn", &Packet::becn}}};

constexpr std::array<SyndromeWord, 6> kSyndromes{{{"ack", kAck, 0xe0},
                                                  {"rnr-nak", kRnrNak, 0xe0},
                                                  {"nak-psn-sequence-error", kNakPsnSequenceError, 0xff},
                                                  {"nak-invalid-request", kNakInvalidRequest, 0xff},
                                                  {"nak-remote-access-error", kNakRemoteAccessError, 0xff},
                                                  {"nak-remote-operational-error", kNakRemoteOperationalError, 0xff}}};

std::string syndrome_name(std::uint8_t octet) {
  for (const SyndromeWord& word : kSyndromes)
    if ((octet & word.mask) == (word.octet & word.mask)) return std::string(word.name);
  return std::to_string(octet);
}

std::optional<Opcode> opcode_named(std::string_view name) {
  for (unsigned octet = 0; octet <= UINT8_MAX; ++octet)
    if (const auto opcode = static_cast<Opcode>(octet); !name.empty() && to_string(opcode) == name) return opcode;
  return std::nullopt;
}

/// A packet with all the headers that its opcode carries.
Packet whole_packet(Opcode opcode) {
  const wire::OpcodeInfo& info = wire::opcode_info(static_cast<wire::Opcode>(opcode));
  Packet packet{.opcode = opcode};
  if (info.has_aeth) packet.aeth.emplace();
  if (info.has_reth) packet.reth.emplace();
  if (info.has_atomic_eth) packet.atomic.emplace();
  if (info.has_atomic_ack_eth) packet.atomic_original = 0;
  if (info.has_immediate) packet.immediate = 0;
  if (info.has_invalidate) packet.invalidated_rkey = 0;
  if (info.has_deth) packet.qkey = 0;
  packet.payload.resize(info.has_payload ? 1 : 0);
  return packet;
}

std::optional<std::uint64_t> read_number(std::string_view text, std::uint64_t most) {
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// Reads one line; each function takes words and returns what is wrong with them.
class LineReader {
 public:
  LineReader(ScriptLine& line, std::vector<std::string_view> words) : line_(line), words_(std::move(words)) {}

  std::string read() {
    const std::string_view kind = take();
    if (kind == "silence") {
      line_.kind = ScriptLine::Kind::silence;
      if (std::string wrong = read_time("silence", take()); !wrong.empty()) return wrong;
      return next_ == words_.size() ? "" : "nothing stands behind the time of a silence";
    }
    if (kind != "expect" && kind != "inject")
      return quoted(kind) + " is none of expect, inject, silence" +
             fabric::did_you_mean(kind, {"expect", "inject", "silence"});
    line_.kind = kind == "expect" ? ScriptLine::Kind::expect : ScriptLine::Kind::inject;
    line_.from = take();
    if (take() != ">") return "'FROM > TO' stands behind " + std::string(kind);
    line_.to = take();
    const std::string_view opcode = take();
    const auto found = opcode_named(opcode);
    if (!found) return quoted(opcode) + " is no opcode";
    line_.opcode = *found;
    whole_ = whole_packet(*found);
    while (next_ < words_.size()) {
      const std::string_view word = take();
      std::string wrong = word == "then" ? read_action() : read_once(word);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  static std::string quoted(std::string_view word) { return "'" + std::string(word) + "'"; }
  std::string_view take() { return next_ < words_.size() ? words_[next_++] : std::string_view(); }

  std::string read_time(std::string_view name, std::string_view value) {
    const auto time = fabric::parse_duration(value, kTimeMax);
    if (!time) return quoted(value) + " is no time for " + std::string(name) + ": 500ns, 1.5us, 2ms, 1s";
    line_.time = Duration(time->ns);
    return "";
  }

  std::string read_action() {
    if (line_.kind != ScriptLine::Kind::expect) return "'then' is for a packet that is expected";
    if (line_.action != ScriptLine::Action::none || next_ + 1 != words_.size()) return "one action stands at the end";
    const std::string_view word = take();
    if (word == "drop") line_.action = ScriptLine::Action::drop;
    if (word == "duplicate") line_.action = ScriptLine::Action::duplicate;
    if (word == "corrupt") line_.action = ScriptLine::Action::corrupt;
    if (word.starts_with("delay=")) {
      const auto time = fabric::parse_duration(word.substr(6), kTimeMax);
      if (!time) return quoted(word.substr(6)) + " is no time for delay: 500ns, 1.5us, 2ms, 1s";
      line_.action = ScriptLine::Action::delay;
      line_.delay = Duration(time->ns);
    }
    if (line_.action == ScriptLine::Action::none)
      return quoted(word) + " is none of drop, duplicate, corrupt, delay=TIME" +
             fabric::did_you_mean(word, {"drop", "duplicate", "corrupt", "delay"});
    return "";
  }

  std::string read_once(std::string_view word) {
    std::string_view name = word.substr(0, word.find('='));
    if (name.starts_with("no-")) name.remove_prefix(3);
    if (std::find(named_.begin(), named_.end(), name) != named_.end()) return std::string(name) + " stands there twice";
    named_.push_back(name);
    return read_field(word);
  }
  std::string not_carried(std::string_view name) const {
    return to_string(line_.opcode) + " carries no " + std::string(name);
  }

  std::string read_field(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return read_flag(word);
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    const bool expects = line_.kind == ScriptLine::Kind::expect;
    if ((name == "within" && expects) || (name == "after" && !expects)) return read_time(name, value);
    if (name == "psn") {
      const bool is_negative = value.starts_with('-');
      const auto number = read_number(value.substr(is_negative ? 1 : 0), kMost24);
      if (!number) return not_a_number(word, kMost24);
      line_.psn = is_negative ? -static_cast<std::int64_t>(*number) : static_cast<std::int64_t>(*number);
      return "";
    }
    if (name == "len") {
      line_.payload_bytes = read_number(value, 4096);
      if (!line_.payload_bytes) return not_a_number(word, 4096);
      return *line_.payload_bytes == 0 || !whole_.payload.empty() ? "" : not_carried("payload");
    }
    if (name == "syndrome") return read_syndrome(value);
    if (name == kDestQp.name) return read_number_field(kDestQp, value, word);
    for (const NumberField& field : kNumbers)
      if (field.name == name) return read_number_field(field, value, word);
    return quoted(word) + " is no field";
  }

  static std::string not_a_number(std::string_view word, std::uint64_t most) {
    return quoted(word) + " wants a number up to " + std::to_string(most);
  }
  std::string read_number_field(const NumberField& field, std::string_view value, std::string_view word) {
    if (!field.get(whole_)) return not_carried(field.name);
    const auto number = read_number(value, field.most);
    if (!number) return not_a_number(word, field.most);
    line_.numbers.emplace_back(&field, *number);
    return "";
  }
  std::string read_syndrome(std::string_view value) {
    if (!whole_.aeth) return not_carried("syndrome");
    for (const SyndromeWord& word : kSyndromes)
      if (word.name == value) line_.syndrome = word;
    const auto octet = read_number(value, UINT8_MAX);
    if (octet) line_.syndrome = SyndromeWord{"", static_cast<std::uint8_t>(*octet), 0xff};
    return line_.syndrome ? "" : quoted(value) + " is no syndrome";
  }
  std::string read_flag(std::string_view word) {
    const bool is_set = !word.starts_with("no-");
    const std::string_view name = is_set ? word : word.substr(3);
    for (const FlagField& field : kFlags)
      if (field.name == name) {
        line_.flags.emplace_back(&field, is_set);
        return "";
      }
    return quoted(word) + " is no field";
  }

  ScriptLine& line_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
  std::vector<std::string_view> named_;
  Packet whole_;
};

}  // namespace

std::string ScriptLine::differences(const Packet& packet, std::int64_t relative_psn) const {
  std::string found;
  const auto say = [&found](const std::string& what) { found += (found.empty() ? "" : "; ") + what; };
  const auto compare = [&](std::string_view name, std::int64_t is, std::int64_t wanted) {
    if (is != wanted) say(std::string(name) + " is " + std::to_string(is) + ", not " + std::to_string(wanted));
  };
  if (packet.opcode != opcode) return "it is " + to_string(packet.opcode) + ", not " + to_string(opcode);
  if (psn) compare("psn", relative_psn, *psn);
  if (payload_bytes)
    compare("len", static_cast<std::int64_t>(packet.payload.size()), static_cast<std::int64_t>(*payload_bytes));
  // The opcode carries what the line names, or the line would not have been read.
  if (const Aeth aeth = packet.aeth.value_or(Aeth{});
      syndrome && (aeth.syndrome & syndrome->mask) != (syndrome->octet & syndrome->mask))
    say("syndrome is " + syndrome_name(aeth.syndrome) + ", not " + syndrome_name(syndrome->octet));
  for (const auto& [field, wanted] : numbers) {
    const std::uint64_t is = field->get(packet).value_or(0);
    if (is != wanted) say(std::string(field->name) + " is " + std::to_string(is) + ", not " + std::to_string(wanted));
  }
  for (const auto& [field, wanted] : flags)
    if (packet.*field->flag != wanted) say(std::string(field->name) + (wanted ? " is not set" : " is set"));
  return found;
}

Packet ScriptLine::packet(std::uint32_t first_psn) const {
  Packet packet{.opcode = opcode,
                .psn = static_cast<std::uint32_t>(first_psn + psn.value_or(0)) & static_cast<std::uint32_t>(kMost24)};
  for (const auto& [field, value] : numbers) field->set(packet, value);
  for (const auto& [field, value] : flags) packet.*field->flag = value;
  if (syndrome) made(packet.aeth).syndrome = syndrome->octet;
  packet.payload.resize(payload_bytes.value_or(0));
  for (std::size_t i = 0; i < packet.payload.size(); ++i) packet.payload[i] = static_cast<std::byte>(i);
  return packet;
}

Result<std::vector<ScriptLine>> read_script(std::string_view script) {
  std::vector<ScriptLine> lines;
  for (std::uint32_t number = 1; !script.empty(); ++number) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    const std::string_view text = script.substr(0, std::min(script.find('#'), end));
    script.remove_prefix(std::min(end + 1, script.size()));
    std::vector<std::string_view> words = words_of(text);
    if (words.empty()) continue;
    ScriptLine line;
    line.number = number;
    for (const std::string_view word : words) line.text += (line.text.empty() ? "" : " ") + std::string(word);
    if (const std::string wrong = LineReader(line, std::move(words)).read(); !wrong.empty())
      return invalid("script line " + std::to_string(number) + ": " + wrong + ": " + line.text);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string line_of(const Link& link, const Packet& packet, std::int64_t relative_psn) {
  std::string text =
      link.from + " > " + link.to + "  " + to_string(packet.opcode) + " psn=" + std::to_string(relative_psn);
  if (!packet.payload.empty()) text += " len=" + std::to_string(packet.payload.size());
  if (packet.aeth) text += " syndrome=" + syndrome_name(packet.aeth->syndrome);
  for (const NumberField& field : kNumbers)
    if (const auto value = field.get(packet); value && (field.name != "pkey" || *value != 0xffff))
      text += " " + std::string(field.name) + "=" + std::to_string(*value);
  for (const FlagField& field : kFlags)
    if (packet.*field.flag) text += " " + std::string(field.name);
  return text;
}

}  // namespace libverbena
