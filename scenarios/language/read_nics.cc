// The `nic:` and `nics:` of a scenario, and the profiles that they name.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <sstream>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "emulator/fabric/nearest_word.h"
#include "scenarios/language/keys.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

constexpr std::size_t kProfileNameMax = 60;

std::uint64_t read_number(const Value& value, const fabric::NicWord& word) {
  switch (word.value) {
    case fabric::NicValue::time:
      return static_cast<std::uint64_t>(value.duration().ns);
    case fabric::NicValue::rate:
      return value.rate();
    case fabric::NicValue::octets:
      return value.size(word.least, word.most);
    case fabric::NicValue::number:
      return value.number(word.least, word.most);
    case fabric::NicValue::choice:
      return value.choice(word.choices);
  }
  return 0;
}

/// The value itself, or that of the rail in a list of them.
Value value_of_rail(const Value& value, const fabric::NicWord& word, RailPlace place) {
  if (!value.is_list() || word.each == fabric::NicWord::Each::node) return value;
  std::vector<Value> values = value.items();
  if (values.size() != place.rails)
    complain(value.place(), std::string(word.name) + " has " + std::to_string(values.size()) +
                                " values: give one for all, or one of each rail, of which there " +
                                (place.rails == 1 ? "is 1" : "are " + std::to_string(place.rails)));
  return std::move(values[place.rail]);
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  if (std::filesystem::file_size(path, error) > kScenarioBytesMax || error) return std::nullopt;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The errors of a profile speak of its own file.
fabric::NicSettings read_profile_text(const std::string& text, const std::string& path, const std::string& name) {
  try {
    const Section section(parse_text(text), "profile");
    fabric::NicSettings profile;
    read_nic_words(section, fabric::nic_words(), true, profile);
    if (const auto own = section.find("name"); own && own->word() != name)
      own->wrong("the file's name says '" + name + "'");
    if (const auto description = section.find("description")) (void)description->text();
    return profile;
  } catch (ReadError& error) {
    error.file_name = path;
    throw;
  }
}

/// `folders` have nothing but profiles.
std::string profile_meant(const std::string& name, std::span<const std::filesystem::path> folders) {
  std::vector<std::string> names;
  for (const auto& folder : folders) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  }
  std::ranges::sort(names);  // a folder has no order
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fabric::did_you_mean(name, known);
}

fabric::NicSettings read_profile(const Value& value, const std::string& file_name, const ReadOptions& options) {
  const std::string name = value.word();
  const bool plain = name.size() <= kProfileNameMax && std::all_of(name.begin(), name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
                     });
  if (!plain) value.wrong("a profile's name has small letters, digits, - and _; its file is NAME.yaml");
  const std::filesystem::path beside = std::filesystem::path(file_name).parent_path();
  std::vector<std::filesystem::path> folders{beside, beside / "profiles"};
  for (const std::string& folder : options.profile_folders) folders.emplace_back(folder);
  std::string looked_in;
  for (const auto& folder : folders) {
    const std::filesystem::path path = folder / (name + ".yaml");
    if (const auto text = read_file(path)) return read_profile_text(*text, path.string(), name);
    looked_in += (looked_in.empty() ? "" : ", ") + path.string();
  }
  value.wrong("there is no such profile; looked for " + looked_in + profile_meant(name, std::span(folders).subspan(1)));
}

std::string wire_meant(const std::string& word) {
  std::vector<std::string_view> names;
  for (const wire::WireKind& kind : wire::kWireKinds) names.push_back(kind.name);
  return fabric::did_you_mean(word, names);
}

/// A profile has a word for all that it may speak of; the rest is the NIC's.
void take_profile(const fabric::NicSettings& profile, NicSettings& settings) {
  const fabric::NicSettings before = settings;
  static_cast<fabric::NicSettings&>(settings) = profile;
  for (const fabric::NicWord& word : fabric::nic_words())
    if (const auto said = word.get(before); said && !is_nic_key(word, true)) word.set(settings, *said);
}

void read_nic(const Section& nic, const std::string& file_name, const ReadOptions& options, RailPlace place,
              NicSettings& settings) {
  if (const auto value = nic.find("profile")) {
    take_profile(read_profile(*value, file_name, options), settings);
    settings.profile = value->word();
  }
  read_nic_words(nic, fabric::nic_words(), false, settings, place);
}

}  // namespace

void read_nic_words(const Section& section, std::span<const fabric::NicWord> words, bool is_profile,
                    fabric::NicSettings& into, RailPlace place) {
  for (const fabric::NicWord& word : words)
    if (is_nic_key(word, is_profile))
      if (const auto value = section.find(word.name))
        word.set(into, read_number(value_of_rail(*value, word, place), word));
  read_settings(section, fabric::congestion_words(), into.congestion);
  read_settings(section, fabric::loss_recovery_words(), into.loss_recovery);
  into.cnp_interval = fabric::cnp_interval_of(into.congestion, into.cnp_interval);
}

wire::Medium read_medium(const Section& scenario) {
  const auto value = scenario.find("wire");
  const wire::WireKind* const kind = value ? wire::find_wire_kind(value->word()) : nullptr;
  return kind != nullptr && kind->is_infiniband ? wire::Medium::infiniband : wire::Medium::ethernet;
}

std::vector<NicSettings> read_nics(const Section& scenario, const ElementNames& names, const std::string& file_name,
                                   const ReadOptions& options) {
  const fabric::Topology& topology = names.topology();
  const bool is_infiniband = topology.medium == wire::Medium::infiniband;
  NicSettings common;
  if (const auto value = scenario.find("wire")) {
    const wire::WireKind* const kind = wire::find_wire_kind(value->word());
    if (kind == nullptr) value->wrong("use " + std::string(wire::kWireRule) + wire_meant(value->word()));
    common.wire = static_cast<std::uint8_t>(kind - wire::kWireKinds);
  }
  const auto read_section = [&](const Section& nic, std::uint32_t host, NicSettings& settings) {
    if (const auto value = nic.find("wire"))
      if (const wire::WireKind* const kind = wire::find_wire_kind(value->word());
          is_infiniband || (kind != nullptr && kind->is_infiniband))
        value->wrong("all NICs of a network are on InfiniBand or none is: say `wire:` for the scenario");
    read_nic(nic, file_name, options, {topology.rail_of(host), topology.rails}, settings);
  };
  std::vector<NicSettings> nics(topology.hosts, common);
  if (const auto nic = scenario.find("nic")) {
    for (std::uint32_t rail = 0; rail < topology.rails; ++rail) read_section(Section(*nic, "nic"), rail, nics[rail]);
    for (std::uint32_t host = topology.rails; host < topology.hosts; ++host) nics[host] = nics[topology.rail_of(host)];
  }
  const auto own = scenario.find("nics");
  if (!own) return nics;
  std::set<std::string> seen;
  // What is said of a rail goes before what is said of its node.
  for (const bool of_rails : {false, true})
    for (const auto& [name, value] : members(*own)) {
      const std::vector<std::uint32_t> hosts = names.find_hosts(name);
      if (hosts.empty()) complain(value.place(), "nics: '" + name + "': " + names.no_host(name));
      if (of_rails != (hosts.size() < names.topology().rails)) continue;
      if (!seen.insert(name).second) complain(value.place(), "nics: node '" + name + "' is written twice");
      for (const std::uint32_t host : hosts) read_section(Section(value, "nic"), host, nics[host]);
    }
  return nics;
}

}  // namespace verbena::scenarios
