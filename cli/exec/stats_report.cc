#include "cli/exec/stats_report.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "emulator/host/node/node_directory.h"
#include "wire/counted.h"

namespace verbena::cli {
namespace {

/// Those that are not zero, one a line.
std::string lines_of(const StatsReport::Sums& sums) {
  std::size_t width = 0;
  for (const auto& [name, sum] : sums) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, sum] : sums)
    if (sum != 0) text += fmt::format("  {:{}} {:>14}\n", name, width, sum);
  return text;
}

/// `ports`: of one device after the other.
template <class Port, class Visit>
void for_each_device(const std::vector<Port>& ports, Visit&& visit) {
  for (auto first = ports.begin(); first != ports.end();) {
    const auto end = std::find_if(first, ports.end(), [&](const Port& port) { return port.device != first->device; });
    visit(std::span<const Port>(first, end));
    first = end;
  }
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
  return true;
}

std::string StatsReport::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

std::span<const host::StatsFile::Block> StatsReport::blocks() const {
  const auto& file = *static_cast<const host::StatsFile*>(mapping_);
  return {file.blocks.data(), std::min(file.used(), host::StatsFile::kBlocks)};
}

/// A process has a block for each port of each device that it has opened.
std::size_t StatsReport::processes() const {
  std::set<std::uint32_t> ids;
  for (const auto& block : blocks())
    if (const std::uint32_t id = block.process_id.load(std::memory_order_acquire); id != 0) ids.insert(id);
  return ids.size();
}

std::vector<StatsReport::Port> StatsReport::ports() const {
  using Octets = std::array<std::uint8_t, 16>;
  std::set<std::tuple<Octets, std::uint32_t, Octets>> seen;
  for (const auto& block : blocks())
    if (block.process_id.load(std::memory_order_acquire) != 0)
      seen.emplace(host::address_in(block.device).octets, block.port.load(), host::address_in(block.address).octets);
  std::vector<Port> ports;
  for (const auto& [device, number, address] : seen) ports.push_back({{device}, number, {address}});
  return ports;
}

StatsReport::Sums StatsReport::sum_of(std::span<const host::StatsFile::Block> blocks, std::span<const Port> ports) {
  Sums sums;
  for (std::size_t i = 0; i < nic::kCounters; ++i) {
    const auto counter = static_cast<nic::Counter>(i);
    std::uint64_t all = 0;
    for (const Port& port : ports) {
      std::uint64_t sum = 0;
      for (const auto& block : blocks)
        if (host::address_in(block.address) == port.address && host::address_in(block.device) == port.device)
          sum = host::add_count(counter, sum, block.counters);
      all += sum;
    }
    sums.emplace_back(nic::to_string(counter), all);
  }
  return sums;
}

StatsReport::Sums StatsReport::sums() const {
  return sum_of(blocks(), ports());
}

std::uint64_t StatsReport::hits_of(std::size_t fault) const {
  const auto& file = *static_cast<const host::StatsFile*>(mapping_);
  return fault < file.fault_hits.size() ? file.fault_hits[fault].load(std::memory_order_relaxed) : 0;
}

std::string StatsReport::text(std::string_view nodes, bool by_device, std::span<const std::string> faults) const {
  std::string text =
      fmt::format("verbena: counters of {}, {}\n", nodes, wire::counted(processes(), "process", "processes"));
  const Sums all = sums();
  text += lines_of(all);
  const std::vector<Port> seen = ports();
  if (by_device)
    for_each_device(seen, [&](std::span<const Port> device) {
      const std::string name = fmt::format("the device {}", host::address_text(device.front().device));
      text += fmt::format(" of {}\n{}", name, lines_of(sum_of(blocks(), device)));
      for (const Port& port : device)
        if (device.size() != 1)
          text += fmt::format(" of port {} of {}\n{}", port.number, name, lines_of(sum_of(blocks(), {&port, 1})));
    });
  const auto refused = nic::to_string(nic::Counter::posts_refused_unpolled);
  if (std::ranges::any_of(all, [&](const auto& one) { return one.first == refused && one.second != 0; }))
    text +=
        "  (posts were refused although requests were done: their completions, not polled, hold the queue's slots)\n";
  if (static_cast<const host::StatsFile*>(mapping_)->claimed.load() > host::StatsFile::kBlocks)
    text += fmt::format("  (only the first {} ports that processes opened are counted)\n", host::StatsFile::kBlocks);
  if (!faults.empty()) text += " faults, and how often they have hit\n";
  for (std::size_t i = 0; i < faults.size(); ++i)
    text += fmt::format("  {:>8}  {}\n", hits_of(i) == 0 ? "never" : std::to_string(hits_of(i)), faults[i]);
  return text;
}

std::string StatsReport::json(std::span<const std::string> faults) const {
  nlohmann::ordered_json json{{"processes", processes()}, {"counters", json_of(sums())}};
  json["devices"] = nlohmann::ordered_json::array();
  const std::vector<Port> all = ports();
  for_each_device(all, [&](std::span<const Port> of_device) {
    auto by_port = nlohmann::ordered_json::array();
    for (const Port& port : of_device)
      by_port.push_back({{"port", port.number},
                         {"address", host::address_text(port.address)},
                         {"counters", json_of(sum_of(blocks(), {&port, 1}))}});
    json["devices"].push_back({{"address", host::address_text(of_device.front().device)},
                               {"counters", json_of(sum_of(blocks(), of_device))},
                               {"ports", std::move(by_port)}});
  });
  json["faults"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < faults.size(); ++i)
    json["faults"].push_back({{"fault", faults[i]}, {"hits", hits_of(i)}});
  return json.dump() + "\n";
}

}  // namespace verbena::cli
