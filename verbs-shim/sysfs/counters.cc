#include "verbs-shim/sysfs/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulator/host/config/variables.h"
#include "emulator/host/node/stats_file.h"
#include "verbs-shim/sysfs/numbered_entries.h"
#include "verbs-shim/sysfs/values.h"

namespace verbena::path {

namespace {

using host::StatsFile;
using nic::Counter;

constexpr std::size_t kFilesMax = 256;  // of one node

class CounterSum {
 public:
  explicit CounterSum(const wire::Gid& address) : gid_(address.octets) {}
  /// Adds up what `fd`'s blocks of this address say.
  void add_file(int fd) {
    struct stat status;
    if (syscall(SYS_fstat, fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(StatsFile))) return;
    for (std::size_t i = 0; i < seen_count_; ++i)
      if (seen_[i] == status.st_ino) return;  // a process and its child, or `verbena exec` and its programs
    if (seen_count_ == kFilesMax || !is_of_our_layout(fd)) return;
    seen_[seen_count_++] = status.st_ino;
    for (std::size_t i = 0; i < StatsFile::kBlocks; ++i) {
      alignas(StatsFile::Block) std::byte memory[sizeof(StatsFile::Block)];
      const auto offset = static_cast<off_t>(offsetof(StatsFile, blocks) + i * sizeof(StatsFile::Block));
      if (pread(fd, memory, sizeof memory, offset) != static_cast<ssize_t>(sizeof memory)) return;
      const auto& block = *reinterpret_cast<const StatsFile::Block*>(memory);
      if (block.process_id.load(std::memory_order_relaxed) == 0) break;
      if (!is_of_this_port(block)) continue;
      for (std::size_t counter = 0; counter < nic::kCounters; ++counter)
        sums_[counter] = host::add_count(static_cast<Counter>(counter), sums_[counter], block.counters);
    }
  }
  std::uint64_t operator[](Counter counter) const { return sums_[static_cast<std::size_t>(counter)]; }

 private:
  static bool is_of_our_layout(int fd) {
    alignas(StatsFile) std::byte memory[offsetof(StatsFile, claimed)];
    std::uint64_t magic = 0;
    std::uint32_t counters = 0;
    if (pread(fd, memory, sizeof memory, 0) != static_cast<ssize_t>(sizeof memory)) return false;
    std::memcpy(&magic, memory + offsetof(StatsFile, magic), sizeof magic);
    std::memcpy(&counters, memory + offsetof(StatsFile, counters), sizeof counters);
    return magic == StatsFile::kMagic && counters == nic::kCounters;
  }
  bool is_of_this_port(const StatsFile::Block& block) const {
    for (std::size_t i = 0; i < gid_.size(); ++i)
      if (block.address[i].load(std::memory_order_relaxed) != gid_[i]) return false;
    return true;
  }

  std::array<std::uint8_t, 16> gid_;
  std::array<ino_t, kFilesMax> seen_{};
  std::size_t seen_count_ = 0;
  std::array<std::uint64_t, nic::kCounters> sums_{};
};

/// Whether a descriptor of some process is a file of counters of our fabric.
bool is_counters(const char* path, const char* wanted, std::size_t wanted_bytes) {
  char target[PATH_MAX];
  const ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof target);
  return length >= static_cast<ssize_t>(wanted_bytes) && std::memcmp(target, wanted, wanted_bytes) == 0;
}

void add_all(CounterSum& sum) {
  char wanted[PATH_MAX];
  const int wanted_bytes = std::snprintf(wanted, sizeof wanted, "/memfd:%s%s (deleted)", host::kStatsMemoryPrefix,
                                         host::variable(host::kFabricVariable, host::kFabricDefault));
  if (wanted_bytes <= 0 || static_cast<std::size_t>(wanted_bytes) >= sizeof wanted) return;
  NumberedEntries processes("/proc");
  for (long process = processes.next(); process >= 0; process = processes.next()) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%ld/fd", process);
    NumberedEntries descriptors(path);  // none of another user's
    for (long fd = descriptors.next(); fd >= 0; fd = descriptors.next()) {
      std::snprintf(path, sizeof path, "/proc/%ld/fd/%ld", process, fd);
      if (!is_counters(path, wanted, static_cast<std::size_t>(wanted_bytes))) continue;
      const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
      if (file < 0) continue;
      sum.add_file(file);
      close(file);
    }
  }
}

std::uint64_t value_of(PortCounter counter, const CounterSum& sum) {
  switch (counter) {
    case PortCounter::port_xmit_data:
      return sum[Counter::tx_bytes] / 4;
    case PortCounter::port_rcv_data:
      return sum[Counter::rx_bytes] / 4;
    case PortCounter::port_xmit_packets:
      return sum[Counter::tx_packets];
    case PortCounter::port_rcv_packets:
      return sum[Counter::rx_packets];
    case PortCounter::port_rcv_errors:
      return sum[Counter::rx_dropped_malformed] + sum[Counter::rx_dropped_icrc];
    case PortCounter::link_downed:
      return sum[Counter::link_downed];
    case PortCounter::none:
      break;
  }
  return 0;
}

std::size_t write_number(char* into, std::size_t size, std::uint64_t value) {
  const int length = std::snprintf(into, size, "%llu\n", static_cast<unsigned long long>(value));
  return length < 0 ? 0 : static_cast<std::size_t>(length) < size ? static_cast<std::size_t>(length) : size;
}

}  // namespace

std::size_t write_port_counter(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned argument) {
  const int before = errno;
  CounterSum sum(of.address);
  const auto counter = static_cast<PortCounter>(argument);
  if (counter != PortCounter::none) add_all(sum);
  errno = before;
  return write_number(into, size, value_of(counter, sum));
}

std::size_t write_hardware_counter(char* into, std::size_t size, const host::DeviceIdentity& of, unsigned argument) {
  const int before = errno;
  CounterSum sum(of.address);
  add_all(sum);
  errno = before;
  return write_number(into, size, sum[static_cast<Counter>(argument)]);
}

}  // namespace verbena::path
