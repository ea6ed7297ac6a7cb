#include "cli/exec/stats_report.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "emulator/host/config/environment.h"
#include "emulator/host/node/stats_file.h"
#include "wire/counted.h"

namespace verbena::cli {

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

std::size_t StatsReport::processes() const {
  return std::min(static_cast<const host::StatsFile*>(mapping_)->used(), host::StatsFile::kBlocks);
}

std::vector<std::pair<std::string_view, std::uint64_t>> StatsReport::sums() const {
  const auto& file = *static_cast<const host::StatsFile*>(mapping_);
  std::vector<std::pair<std::string_view, std::uint64_t>> sums;
  for (std::size_t i = 0; i < nic::kCounters; ++i) {
    const auto counter = static_cast<nic::Counter>(i);
    std::uint64_t sum = 0;
    for (std::size_t block = 0; block < processes(); ++block)
      sum = host::add_count(counter, sum, file.blocks[block].counters);
    sums.emplace_back(nic::to_string(counter), sum);
  }
  return sums;
}

std::string StatsReport::text(std::string_view nodes) const {
  const std::size_t blocks = processes();
  std::string text = fmt::format("verbena: counters of {}, {}\n", nodes, wire::counted(blocks, "process", "processes"));
  std::size_t width = 0;
  for (std::size_t i = 0; i < nic::kCounters; ++i)
    width = std::max(width, nic::to_string(static_cast<nic::Counter>(i)).size());
  bool has_refused = false;
  for (const auto& [name, sum] : sums()) {
    if (sum != 0) text += fmt::format("  {:{}} {:>14}\n", name, width, sum);
    has_refused = has_refused || (sum != 0 && name == nic::to_string(nic::Counter::posts_refused_unpolled));
  }
  if (has_refused)
    text +=
        "  (posts were refused although requests were done: their completions, not polled, hold the queue's slots)\n";
  if (static_cast<const host::StatsFile*>(mapping_)->claimed.load() > host::StatsFile::kBlocks)
    text += fmt::format("  (only the first {} processes are counted)\n", host::StatsFile::kBlocks);
  return text;
}

std::string StatsReport::json() const {
  nlohmann::ordered_json json{{"processes", processes()}, {"counters", nlohmann::ordered_json::object()}};
  for (const auto& [name, sum] : sums()) json["counters"][std::string(name)] = sum;
  return json.dump() + "\n";
}

}  // namespace verbena::cli
