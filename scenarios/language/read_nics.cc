// The `nic:` and `nics:` of a scenario, and the profiles that they name.
// Tested by: tests/scenarios/language/read_scenario_test.cc
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>

#include "emulator/fabric/congestion_words.h"
#include "emulator/fabric/loss_recovery_words.h"
#include "emulator/fabric/nearest_word.h"
#include "scenarios/language/parts.h"

namespace verbena::scenarios {
namespace {

constexpr std::size_t kProfileNameMax = 60;
constexpr std::uint64_t kAcknowledgeEveryMax = 1 << 20;

/// The keys that a profile file and a NIC share: a NIC's own word goes before its profile's.
void read_behaviour(const Section& section, NicProfile& profile) {
  if (const auto value = section.find("nak-latency")) profile.nak_latency = value->duration();
  if (const auto value = section.find("acknowledge-latency")) profile.acknowledge_latency = value->duration();
  if (const auto value = section.find("nak-reaction-latency")) profile.nak_reaction_latency = value->duration();
  if (const auto value = section.find("implied-nak-latency")) profile.implied_nak_latency = value->duration();
  if (const auto value = section.find("timeout-min")) profile.timeout_min = value->duration();
  if (const auto value = section.find("cnp-interval")) profile.cnp_interval = value->duration();
  read_settings(section, fabric::congestion_words(), profile.congestion);
  read_settings(section, fabric::loss_recovery_words(), profile.loss_recovery);
  if (profile.congestion.wants().notifications && profile.cnp_interval.ns == 0)
    profile.cnp_interval = fabric::kCnpIntervalDefault;
  if (const auto value = section.find("page-fault-delay")) profile.page_fault_delay = value->duration();
  if (const auto value = section.find("dscp")) profile.dscp = static_cast<std::uint8_t>(value->number(0, kDscpMax));
  if (const auto value = section.find("cnp-dscp"))
    profile.cnp_dscp = static_cast<std::uint8_t>(value->number(0, kDscpMax));
  if (const auto value = section.find("acknowledge-every"))
    profile.acknowledge_every = static_cast<std::uint32_t>(value->number(0, kAcknowledgeEveryMax));
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
NicProfile read_profile_text(const std::string& text, const std::string& path, const std::string& name) {
  try {
    const Section section(parse_text(text), "profile");
    NicProfile profile;
    read_behaviour(section, profile);
    if (const auto own = section.find("name"); own && own->word() != name)
      own->wrong("the file's name says '" + name + "'");
    if (const auto description = section.find("description")) (void)description->text();
    profile.name = name;
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

NicProfile read_profile(const Value& value, const std::string& file_name, const ReadOptions& options) {
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

std::uint32_t read_mtu(const Value& value) {
  constexpr std::array<fabric::Named<std::uint32_t>, 5> kMtus{
      {{"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}};
  return value.choice(kMtus);
}

void read_nic(const Section& nic, const std::string& file_name, const ReadOptions& options, NicSettings& settings) {
  if (const auto value = nic.find("profile")) settings.profile = read_profile(*value, file_name, options);
  read_behaviour(nic, settings.profile);
  const auto code = [&nic](std::string_view key, std::uint64_t least, std::uint64_t most, std::uint8_t& into,
                           bool& stated) {
    const auto value = nic.find(key);
    if (value) into = static_cast<std::uint8_t>(value->number(least, most));
    stated = stated || value.has_value();
  };
  if (const auto value = nic.find("mtu")) settings.mtu_bytes = read_mtu(*value);
  NicSettings::Stated& stated = settings.stated;
  code("timeout", 0, 31, settings.timeout, stated.timeout);
  code("retry-count", 0, 7, settings.retry_count, stated.retry_count);
  code("rnr-retry", 0, 7, settings.rnr_retry, stated.rnr_retry);
  code("min-rnr-timer", 0, 31, settings.min_rnr_timer, stated.min_rnr_timer);
  code("read-depth", 1, 128, settings.read_depth, stated.read_depth);
  if (const auto value = nic.find("speed")) settings.rate_bits_per_second = value->rate();
  if (const auto value = nic.find("window"))
    settings.window_bytes = static_cast<std::uint32_t>(value->size(4096, kMessageBytesMax));
}

}  // namespace

std::vector<NicSettings> read_nics(const Section& scenario, const ElementNames& names, const std::string& file_name,
                                   const ReadOptions& options) {
  NicSettings common;
  if (const auto nic = scenario.find("nic")) read_nic(Section(*nic, "nic"), file_name, options, common);
  std::vector<NicSettings> nics(names.topology().hosts, common);
  const auto own = scenario.find("nics");
  if (!own) return nics;
  std::vector<bool> seen(nics.size());
  for (const auto& [name, value] : members(*own)) {
    const auto host = names.find_host(name);
    if (!host) complain(value.place(), "nics: '" + name + "': " + names.no_host(name));
    if (seen[*host]) complain(value.place(), "nics: node '" + name + "' is written twice");
    seen[*host] = true;
    read_nic(Section(value, "nic"), file_name, options, nics[*host]);
  }
  return nics;
}

}  // namespace verbena::scenarios
