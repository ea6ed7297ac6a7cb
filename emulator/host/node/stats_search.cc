#include "emulator/host/node/stats_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "emulator/host/node/stats_file.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {

using Directory = std::unique_ptr<DIR, decltype([](DIR* directory) { closedir(directory); })>;
using FileIdentity = std::pair<dev_t, ino_t>;

bool is_number(const char* text) {
  return *text != '\0' && std::strspn(text, "0123456789") == std::strlen(text);
}

NodeCounters& node_of(const StatsFile::Block& block, std::vector<NodeCounters>& nodes) {
  const wire::Gid address = address_in(block.address);
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeCounters& node) { return node.address == address; });
  if (found != nodes.end()) return *found;
  nodes.push_back({address, address_in(block.device), block.port.load(), block.lid.load(), {}, {}});
  return nodes.back();
}

void add_block(const StatsFile::Block& block, std::vector<NodeCounters>& nodes) {
  const std::uint32_t process = block.process_id.load(std::memory_order_acquire);
  if (process == 0) return;
  NodeCounters& node = node_of(block, nodes);
  for (std::size_t i = 0; i < nic::kCounters; ++i)
    node.values[i] = add_count(static_cast<nic::Counter>(i), node.values[i], block.counters);
  if (kill(static_cast<pid_t>(process), 0) == 0) node.processes.push_back(process);
}

void add_file(const std::string& path, std::set<FileIdentity>& seen, std::vector<NodeCounters>& nodes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status{};
  const bool is_new = fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(kStatsFileBytes) &&
                      seen.insert({status.st_dev, status.st_ino}).second;
  void* mapping = is_new ? mmap(nullptr, kStatsFileBytes, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (mapping == MAP_FAILED) return;
  const auto& counted = *static_cast<const StatsFile*>(mapping);
  if (counted.magic.load(std::memory_order_acquire) == StatsFile::kMagic && counted.counters.load() == nic::kCounters)
    for (std::size_t i = 0; i < counted.used(); ++i) add_block(counted.blocks[i], nodes);
  munmap(mapping, kStatsFileBytes);
}

void add_process(const std::string& process, const std::string& memory_name, std::set<FileIdentity>& seen,
                 std::vector<NodeCounters>& nodes) {
  struct stat status{};
  if (stat(process.c_str(), &status) != 0 || !is_own_user(status.st_uid)) return;
  const Directory files(opendir((process + "/fd").c_str()));
  if (!files) return;
  while (const dirent* entry = readdir(files.get())) {
    const std::string path = process + "/fd/" + entry->d_name;
    char target[PATH_MAX];
    const ssize_t bytes = readlink(path.c_str(), target, sizeof target);
    if (bytes > 0 && std::string_view(target, static_cast<std::size_t>(bytes)) == memory_name)
      add_file(path, seen, nodes);
  }
}

}  // namespace

Result<std::vector<NodeCounters>, std::string> find_node_counters(std::string_view fabric) {
  const Directory processes(opendir("/proc"));
  if (!processes) return Failure{std::string("/proc cannot be read: ") + std::strerror(errno)};
  const std::string memory_name = std::string("/memfd:") + kStatsMemoryPrefix + std::string(fabric) + " (deleted)";
  std::set<FileIdentity> seen;
  std::vector<NodeCounters> nodes;
  while (const dirent* entry = readdir(processes.get()))
    if (is_number(entry->d_name)) add_process(std::string("/proc/") + entry->d_name, memory_name, seen, nodes);
  // What a `verbena exec --stats` keeps of processes that have ended is not a node's any more.
  std::erase_if(nodes, [](const NodeCounters& node) { return node.processes.empty(); });
  for (NodeCounters& node : nodes) std::sort(node.processes.begin(), node.processes.end());
  std::sort(nodes.begin(), nodes.end(), [](const NodeCounters& one, const NodeCounters& other) {
    return one.address.octets < other.address.octets;
  });
  return nodes;
}

}  // namespace verbena::host
