#include "cli/exec/stats_report.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "emulator/host/config/environment.h"
#include "emulator/host/node/node_directory.h"
#include "wire/counted.h"

namespace verbena::cli {
namespace {

wire::Gid address_of(const host::StatsFile::Block& block) {
  wire::Gid address;
  for (std::size_t i = 0; i < address.octets.size(); ++i) address.octets[i] = block.address[i].load();
  return address;
}

/// Those that are not zero, one a line.
std::string lines_of(const StatsReport::Sums& sums) {
  std::size_t width = 0;
  for (const auto& [name, sum] : sums) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, sum] : sums)
    if (sum != 0) text += fmt::format("  {:{}} {:>14}\n", name, width, sum);
  return text;
}

nlohmann::ordered_json json_of(const StatsReport::Sums& sums) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, sum] : sums) json[std::string(name)] = sum;
  return json;
}

}  // namespace

StatsReport::~StatsReport() {
  if (mapping_ != nullptr) munmap(mapping_, host::kStatsFileBytes);
  if (descriptor_ >= 0) close(descriptor_);
}

bool StatsReport::open(const std::string& fabric) {
  descriptor_ = host::make_stats_memory(fabric);
  if (descriptor_ < 0) return false;
  void* mapping = mmap(nullptr, host::kStatsFileBytes, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (mapping == MAP_FAILED) return false;
  mapping_ = mapping;
  return setenv(host::kStatsVariable, path().c_str(), 1) == 0;
}

std::string StatsReport::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

std::span<const host::StatsFile::Block> StatsReport::blocks() const {
  const auto& file = *static_cast<const host::StatsFile*>(mapping_);
  return {file.blocks.data(), std::min(file.used(), host::StatsFile::kBlocks)};
}

/// A process has a block for each device that it has opened.
std::size_t StatsReport::processes() const {
  std::set<std::uint32_t> ids;
  for (const auto& block : blocks()) ids.insert(block.process_id.load());
  return ids.size();
}

std::vector<wire::Gid> StatsReport::devices() const {
  std::set<std::array<std::uint8_t, 16>> addresses;
  for (const auto& block : blocks()) addresses.insert(address_of(block).octets);
  std::vector<wire::Gid> devices;
  for (const auto& octets : addresses) devices.push_back({octets});
  return devices;
}

StatsReport::Sums StatsReport::sums(std::optional<wire::Gid> device) const {
  Sums sums;
  for (std::size_t i = 0; i < nic::kCounters; ++i) {
    const auto counter = static_cast<nic::Counter>(i);
    std::uint64_t sum = 0;
    for (const auto& block : blocks())
      if (!device || address_of(block) == *device) sum = host::add_count(counter, sum, block.counters);
    sums.emplace_back(nic::to_string(counter), sum);
  }
  return sums;
}

std::string StatsReport::text(std::string_view nodes, bool by_device) const {
  std::string text =
      fmt::format("verbena: counters of {}, {}\n", nodes, wire::counted(processes(), "process", "processes"));
  const Sums all = sums();
  text += lines_of(all);
  if (by_device)
    for (const wire::Gid& device : devices())
      text += fmt::format(" of the device {}\n{}", host::address_text(device), lines_of(sums(device)));
  const auto refused = nic::to_string(nic::Counter::posts_refused_unpolled);
  if (std::ranges::any_of(all, [&](const auto& one) { return one.first == refused && one.second != 0; }))
    text +=
        "  (posts were refused although requests were done: their completions, not polled, hold the queue's slots)\n";
  if (static_cast<const host::StatsFile*>(mapping_)->claimed.load() > host::StatsFile::kBlocks)
    text += fmt::format("  (only the first {} processes are counted)\n", host::StatsFile::kBlocks);
  return text;
}

std::string StatsReport::json() const {
  nlohmann::ordered_json json{{"processes", processes()}, {"counters", json_of(sums())}};
  json["devices"] = nlohmann::ordered_json::array();
  for (const wire::Gid& device : devices())
    json["devices"].push_back({{"address", host::address_text(device)}, {"counters", json_of(sums(device))}});
  return json.dump() + "\n";
}

}  // namespace verbena::cli
