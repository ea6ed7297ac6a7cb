#include "scenarios/language/yaml_value.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>

#include "emulator/fabric/nearest_word.h"
#include "scenarios/language/keys.h"
#include "wire/assert.h"
#include "wire/printable.h"

namespace verbena::scenarios {
namespace {

constexpr std::size_t kShownCharactersMax = 60;

Place place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

std::string in_quotes(std::string_view text) {
  std::string shown(text.substr(0, kShownCharactersMax));
  if (text.size() > kShownCharactersMax) shown += "...";
  return "'" + wire::printable(shown) + "'";
}

std::string with_nearest(std::string_view word, std::span<const std::string_view> words) {
  std::string text;
  if (const std::string_view like = fabric::nearest(word, words); !like.empty())
    text += "did you mean '" + std::string(like) + "'? ";
  text += "Known here: ";
  for (const std::string_view known : words) text += (known == words.front() ? "" : ", ") + std::string(known);
  return text;
}

/// Notes where documents begin, and nothing else.
class DocumentPlaces final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { begin = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  YAML::Mark begin = YAML::Mark::null_mark();
};

/// Complains unless there is one document. yaml-cpp 0.7 finds documents without end in a text such as ",", so it is not
/// asked for all of them.
void check_single_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentPlaces places;
  if (!parser.HandleNextDocument(places)) complain({1, 1}, "is empty: write at least topology: and workloads:");
  if (parser.HandleNextDocument(places))
    complain(place_of(places.begin), "has several documents: write one scenario in a file");
}

/// Calls `each` with key, place of the key, and the value's node.
template <class Each>
void for_each_member(const YAML::Node& map, const std::string& name, Each each) {
  for (const auto& member : map) {
    const Place place = place_of(member.first.Mark());
    if (!member.first.IsScalar()) complain(place, "a key of " + name + " is not a plain word");
    each(member.first.Scalar(), place, member.second);
  }
}

}  // namespace

void complain(Place place, const std::string& text) {
  throw ReadError{{}, place, text};
}

std::string Value::shown() const {
  if (is_map()) return "(a map)";
  if (is_list()) return "(a list)";
  if (!is_word()) return "(nothing)";
  return in_quotes(node_.Scalar());
}

void Value::wrong(const std::string& help) const {
  complain(place_, name_ + " " + shown() + " is not understood: " + help);
}

void Value::wrong_choice(std::span<const std::string_view> known) const {
  std::string help = "use one of ";
  for (const std::string_view name : known) help += (name == known.front() ? "" : ", ") + std::string(name);
  wrong(help + fabric::did_you_mean(node_.Scalar(), known));
}

std::string Value::word() const {
  if (!is_word() || node_.Scalar().empty()) wrong("write one word");
  return node_.Scalar();
}

std::string Value::label() const {
  return wire::printable(word());
}

std::string Value::text() const {
  if (!is_word()) wrong("write a text");
  return node_.Scalar();
}

bool Value::yes_no() const {
  constexpr std::array<fabric::Named<bool>, 4> kWords{{{"true", true}, {"false", false}, {"yes", true}, {"no", false}}};
  return choice(kWords);
}

std::uint64_t Value::number(std::uint64_t least, std::uint64_t most) const {
  const auto value = is_word() ? fabric::parse_number(node_.Scalar()) : std::nullopt;
  if (!value || *value < least || *value > most)
    wrong("write a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

double Value::percentile() const {
  const auto thousandths = is_word() ? fabric::parse_scaled(node_.Scalar(), 3) : std::nullopt;
  if (!thousandths || *thousandths > 100'000) wrong("write a number from 0 to 100 such as 50, 99 or 99.9");
  return static_cast<double>(*thousandths) / 1000;
}

double Value::decimal() const {
  const auto thousandths = is_word() ? fabric::parse_scaled(node_.Scalar(), 3) : std::nullopt;
  if (!thousandths) wrong("write a number such as 2 or 1.25");
  return static_cast<double>(*thousandths) / 1000;
}

std::uint32_t Value::probability() const {
  const auto share = is_word() ? fabric::parse_probability(node_.Scalar()) : std::nullopt;
  if (!share) wrong("write a share such as 70% or 0.7");
  return *share;
}

Duration Value::duration() const {
  const auto value = is_word() ? fabric::parse_duration(node_.Scalar(), kScenarioTimeMax) : std::nullopt;
  if (!value) wrong("write a time of at most 86400s such as 500ns, 10us, 1.5ms or 2s");
  return *value;
}

std::uint64_t Value::rate() const {
  const auto value = is_word() ? fabric::parse_rate(node_.Scalar()) : std::nullopt;
  if (!value || *value == 0 || *value > kRateMax)
    wrong("write a rate above 0 and up to 100Tbps such as 10Mbps, 2.5Gbps or 100Gbps");
  return *value;
}

std::uint64_t Value::size(std::uint64_t least, std::uint64_t most) const {
  const auto value = is_word() ? fabric::parse_octets(node_.Scalar()) : std::nullopt;
  if (!value || *value < least || *value > most)
    wrong("write a size from " + std::to_string(least) + " to " + std::to_string(most) +
          " octets such as 64, 4KiB or 1MiB");
  return *value;
}

std::vector<Value> Value::items() const {
  if (!is_list()) return {*this};
  std::vector<Value> found;
  for (const YAML::Node& item : node_) found.emplace_back(item, name_, place_of(item.Mark()));
  if (found.empty()) complain(place_, name_ + " is an empty list: leave it out, or write something in it");
  return found;
}

Section::Section(const Value& map, std::string_view section) : Section(map, section, keys_of(section)) {}

Section::Section(const Value& map, std::string_view section, std::span<const std::string_view> known)
    : section_(section), keys_(known), place_(map.place()) {
  if (!map.is_map()) map.wrong("write a map with keys: " + with_nearest("", known));
  for_each_member(map.node_, map.name(), [&](const std::string& key, Place place, const YAML::Node& node) {
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (!is_known && key == "true" && std::find(known.begin(), known.end(), "on") != known.end())
      complain(place, "unknown key 'true': what wrote this file took the word on for a boolean (YAML 1.1): write link");
    if (!is_known && section_ == "packet" && key.find('=') != key.npos)
      complain(place, "unknown key " + in_quotes(key) + " in " + map.name() +
                          ": the words of a fault are one text, without commas: write packet: \"drop 0.1% qp=0\"");
    if (!is_known)
      complain(place, "unknown key " + in_quotes(key) + " in " + map.name() + ": " + with_nearest(key, known));
    if (has(key)) complain(place, "key " + in_quotes(key) + " is written twice in " + map.name());
    const Place value_place = place_of(node.Mark());
    entries_.emplace_back(key, Value(node, key, node.IsNull() || value_place.line == 0 ? place : value_place));
  });
}

bool Section::may_have(std::string_view key) const {
  return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
}

std::optional<Value> Section::find(std::string_view key) const {
  VERBENA_ASSERT(may_have(key));
  for (const auto& [name, value] : entries_)
    if (name == key) return value;
  return std::nullopt;
}

Value Section::need(std::string_view key, std::string_view example) const {
  auto value = find(key);
  if (!value)
    complain(place_,
             "key '" + std::string(key) + "' is missing: write " + std::string(key) + ": " + std::string(example));
  return *value;
}

void Section::exclude(std::string_view one, std::string_view other) const {
  if (!has(one) || !has(other)) return;
  complain(find(other)->place(),
           "'" + std::string(one) + "' and '" + std::string(other) + "' exclude each other: write one of them");
}

std::vector<std::string> keys_written(const Value& map) {
  std::vector<std::string> keys;
  if (map.is_map())
    for (const auto& [key, value] : members(map)) keys.push_back(key);
  return keys;
}

std::vector<std::pair<std::string, Value>> members(const Value& map) {
  if (!map.is_map()) map.wrong("write a map");
  std::vector<std::pair<std::string, Value>> found;
  for_each_member(map.node(), map.name(), [&](const std::string& key, Place place, const YAML::Node& node) {
    const Place value_place = place_of(node.Mark());
    found.emplace_back(key, Value(node, key, node.IsNull() || value_place.line == 0 ? place : value_place));
  });
  return found;
}

namespace {

/// YAML allows no tab where a line is indented, and yaml-cpp complains about something else there, or a line later.
void check_indentation(std::string_view text, const YAML::Mark& mark) {
  if (mark.is_null()) return;
  int line = 0;  // as marks count
  for (std::size_t at = 0; at < text.size() && line <= mark.line; ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t word = std::min(text.find_first_not_of(" \t-", at), end);
    const std::size_t tab = text.find('\t', at);
    if (line + 1 >= mark.line && tab < word)
      complain({static_cast<std::uint32_t>(line) + 1, static_cast<std::uint32_t>(tab - at) + 1},
               "is not YAML: a line is indented with blanks, not tabs");
    at = end + 1;
  }
}

void check_octets(std::string_view text) {
  const std::size_t zero = text.find('\0');
  if (zero == text.npos) return;
  const std::string_view before = text.substr(0, zero);
  const auto line = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0
  complain({line, static_cast<std::uint32_t>(zero - begin) + 1},
           "is not a text: it has an octet that is zero; save it as UTF-8");
}

}  // namespace

Value parse_text(std::string_view text) {
  if (text.size() > kScenarioBytesMax)
    complain({}, "is larger than " + std::to_string(kScenarioBytesMax) + " octets: a scenario is a short text");
  check_octets(text);
  try {
    const std::string whole(text);
    check_single_document(whole);
    const YAML::Node document = YAML::Load(whole);
    if (document.IsNull()) complain({1, 1}, "is empty: write at least topology: and workloads:");
    return Value(document, "the scenario", place_of(document.Mark()));
  } catch (const YAML::Exception& error) {
    check_indentation(text, error.mark);
    complain(place_of(error.mark), "is not YAML: " + error.msg);
  }
}

}  // namespace verbena::scenarios
