// Memory and limits: shared files in memory, wake-ups, huge pages, locked memory, open files, /dev/shm.
// Tested by: tests/cli/doctor_test.cc
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "cli/doctor/probes.h"
#include "emulator/host/os/descriptor.h"

namespace verbena::cli::doctor {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string size_text(std::uint64_t bytes) {
  if (bytes == RLIM_INFINITY) return "unlimited";
  return bytes >= kMiB ? fmt::format("{} MiB", bytes / kMiB) : fmt::format("{} KiB", bytes >> 10);
}

Finding shared_file() {
  constexpr std::size_t kBytes = 1 << 16;
  Finding finding{"a file in memory that processes share (memfd)", State::ok, "made, sealed and mapped", {}, {}, true};
  const host::Descriptor file(memfd_create("verbena-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool made = file && ftruncate(file.get(), kBytes) == 0 && fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0;
  void* const mapped = made ? mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  if (mapped != MAP_FAILED) {
    munmap(mapped, kBytes);
    return finding;
  }
  finding.state = State::missing;
  finding.found = std::strerror(errno);
  finding.follows = "no program can run on a node";
  finding.remedy = "allow memfd_create in the container's seccomp profile";
  return finding;
}

Finding wake_up() {
  Finding finding{"wake-ups of sleeping processes (eventfd)", State::ok, "written and read", {}, {}, true};
  const host::Descriptor event(eventfd(0, EFD_CLOEXEC));
  std::uint64_t one = 1;
  if (event && write(event.get(), &one, sizeof one) == sizeof one && read(event.get(), &one, sizeof one) == sizeof one)
    return finding;
  finding.state = State::missing;
  finding.found = std::strerror(errno);
  finding.follows = "no program can run on a node";
  finding.remedy = "allow eventfd2 in the container's seccomp profile";
  return finding;
}

/// Of the mapping that begins at `at`, in KiB.
std::uint64_t huge_kib_of(const void* at) {
  std::ifstream table("/proc/self/smaps");
  const std::string begin = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(at));
  bool is_ours = false;
  for (std::string line; std::getline(table, line);) {
    if (line.find('-') < 20 && line.find(' ') > line.find('-')) is_ours = line.starts_with(begin);
    if (is_ours && line.starts_with("AnonHugePages:")) return std::strtoull(line.c_str() + 14, nullptr, 10);
  }
  return 0;
}

/// Simulations ask for them so, and so do programs with large buffers.
bool gets_huge_pages() {
  constexpr std::size_t kBytes = 8 * kMiB;
  void* const room = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  const bool asked = madvise(room, kBytes, MADV_HUGEPAGE) == 0;
  std::memset(room, 1, kBytes);
  const bool got = asked && huge_kib_of(room) != 0;
  munmap(room, kBytes);
  return got;
}

Finding huge_pages() {
  Finding finding{"huge pages", State::ok, "memory got some", {}, {}};
  if (gets_huge_pages()) return finding;
  finding.state = State::limited;
  const std::string setting = first_line_of("/sys/kernel/mm/transparent_hugepage/enabled");
  finding.found = "memory got none (transparent_hugepage: " + (setting.empty() ? "unknown" : setting) + ")";
  finding.follows = "large simulations are slower";
  finding.remedy = "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  return finding;
}

Finding locked_memory() {
  constexpr std::size_t kBytes = 16 * kMiB;
  Finding finding{"locked memory", State::ok, {}, {}, {}};
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  void* const room = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool locked = room != MAP_FAILED && mlock(room, kBytes) == 0;
  if (room != MAP_FAILED) munmap(room, kBytes);
  finding.found =
      fmt::format("limit {}, {} MiB {}", size_text(limit.rlim_cur), kBytes / kMiB, locked ? "locked" : "refused");
  if (locked) return finding;
  finding.state = State::limited;
  finding.follows = "nothing on a node (Verbena locks no memory), but a program may lock some by itself";
  finding.remedy = "ulimit -l unlimited; in a container --ulimit memlock=-1";
  return finding;
}

Finding open_files() {
  constexpr rlim_t kEnough = 1024;  // two descriptors for each peer and some
  Finding finding{"open files", State::ok, {}, {}, {}};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  finding.found = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("limit {}", limit.rlim_cur);
  if (limit.rlim_cur >= kEnough) return finding;
  finding.state = State::limited;
  finding.follows = "a process with many peers or connections runs out of descriptors";
  finding.remedy = fmt::format("ulimit -n {}", kEnough);
  return finding;
}

Finding shm_folder() {
  constexpr std::uint64_t kEnough = 256 * kMiB;
  Finding finding{"/dev/shm", State::ok, {}, {}, {}};
  struct statvfs status{};
  const bool is_there = statvfs("/dev/shm", &status) == 0;
  const std::uint64_t bytes = is_there ? status.f_bavail * status.f_frsize : 0;
  finding.found = is_there ? size_text(bytes) + " free" : std::strerror(errno);
  if (bytes >= kEnough) return finding;
  finding.state = State::limited;
  finding.follows = "nothing of Verbena's, which has no files there; MPI and UCX may want more between ranks of a node";
  finding.remedy = "in a container --shm-size 1g";
  return finding;
}

}  // namespace

Group look_at_memory() {
  return {"Memory and limits", {shared_file(), wake_up(), huge_pages(), locked_memory(), open_files(), shm_folder()}};
}

}  // namespace verbena::cli::doctor
