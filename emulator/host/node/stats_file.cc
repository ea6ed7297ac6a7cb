#include "emulator/host/node/stats_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace verbena::host {
namespace {
StatsFile* map_file(int descriptor) {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < static_cast<off_t>(kStatsFileBytes))
    return nullptr;
  void* base = mmap(nullptr, kStatsFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return base == MAP_FAILED ? nullptr : static_cast<StatsFile*>(base);
}

void store(const wire::Gid& address, std::array<std::atomic<std::uint8_t>, 16>& into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i].store(address.octets[i], std::memory_order_relaxed);
}
}  // namespace

std::size_t StatsFile::used() const {
  return std::min<std::size_t>(claimed.load(std::memory_order_acquire), kBlocks);
}

bool make_stats_file(int descriptor) {
  if (ftruncate(descriptor, static_cast<off_t>(kStatsFileBytes)) != 0) return false;
  StatsFile* file = map_file(descriptor);
  if (file == nullptr) return false;
  file->counters.store(nic::kCounters, std::memory_order_relaxed);
  file->magic.store(StatsFile::kMagic, std::memory_order_release);
  munmap(file, kStatsFileBytes);
  return true;
}

int make_stats_memory(const std::string& fabric) {
  const int descriptor = memfd_create((kStatsMemoryPrefix + fabric).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Who has mapped it would be ended by whoever makes it shorter.
  if (descriptor >= 0 && make_stats_file(descriptor) &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return descriptor;
  if (descriptor >= 0) close(descriptor);
  return -1;
}

namespace {
/// Null: not ours.
StatsFile* open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  StatsFile* const file = map_file(descriptor);
  close(descriptor);
  if (file == nullptr || file->magic.load(std::memory_order_acquire) == StatsFile::kMagic) return file;
  munmap(file, kStatsFileBytes);
  return nullptr;
}
}  // namespace

const FaultHits* FaultHits::in(const std::string& path) {
  if (path.empty()) return nullptr;
  static std::mutex mutex;
  static auto* const known = new std::map<std::string, std::unique_ptr<FaultHits>>();
  const std::scoped_lock lock(mutex);
  const auto [at, is_new] = known->try_emplace(path);
  if (is_new)
    if (StatsFile* const file = open_file(path)) at->second = std::make_unique<FaultHits>(*file);
  return at->second.get();
}

std::unique_ptr<StatsBlock> StatsBlock::open(const std::string& path, const std::string& fabric,
                                             const wire::Gid& address, std::uint8_t slot,
                                             std::span<const wire::Gid> further_ports) {
  std::unique_ptr<StatsBlock> block(new StatsBlock);
  const auto count = static_cast<std::uint32_t>(1 + further_ports.size());
  std::array<nic::Counters*, nic::kPortsMax> counters;
  counters.fill(&block->private_.front());
  for (std::uint32_t i = 0; i < count; ++i) counters[i] = &block->private_[i];
  block->ports_ = nic::PortCounters(counters);
  if (path.empty()) block->own_memory_ = make_stats_memory(fabric);
  const int descriptor = path.empty() ? block->own_memory_ : ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return block;
  StatsFile* file = map_file(descriptor);
  if (!path.empty()) close(descriptor);
  if (file == nullptr) return block;
  const bool usable = file->magic.load(std::memory_order_acquire) == StatsFile::kMagic &&
                      file->counters.load(std::memory_order_relaxed) == nic::kCounters &&
                      file->claimed.load(std::memory_order_relaxed) <= StatsFile::kBlocks;  // one too many is seen
  const std::uint32_t first = usable ? file->claimed.fetch_add(count, std::memory_order_acq_rel) : StatsFile::kBlocks;
  if (first + count > StatsFile::kBlocks) {
    munmap(file, kStatsFileBytes);
    return block;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    StatsFile::Block& mine = file->blocks[first + i];
    store(i == 0 ? address : further_ports[i - 1], mine.address);
    store(address, mine.device);
    mine.port.store(i + 1, std::memory_order_relaxed);
    mine.slot.store(slot, std::memory_order_relaxed);
    mine.process_id.store(static_cast<std::uint32_t>(getpid()), std::memory_order_release);
    counters[i] = &mine.counters;
  }
  for (std::uint32_t i = count; i < nic::kPortsMax; ++i) counters[i] = counters.front();
  block->file_ = file;
  block->first_ = first;
  block->ports_ = nic::PortCounters(counters);
  return block;
}

void StatsBlock::tell_lid(std::uint32_t port, wire::Lid lid) {
  if (file_ != nullptr) file_->blocks[first_ + port - 1].lid.store(lid.value(), std::memory_order_relaxed);
}

StatsBlock::~StatsBlock() {
  if (file_ != nullptr) munmap(file_, kStatsFileBytes);
  if (own_memory_ >= 0) close(own_memory_);
}

void StatsBlock::make_private() {
  if (own_memory_ >= 0) close(std::exchange(own_memory_, -1));
  if (file_ == nullptr) return;
  std::vector<std::byte> copy(kStatsFileBytes);
  std::memcpy(copy.data(), static_cast<const void*>(file_), copy.size());
  void* base = mmap(file_, kStatsFileBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (base != MAP_FAILED) std::memcpy(base, copy.data(), copy.size());
}

}  // namespace verbena::host
