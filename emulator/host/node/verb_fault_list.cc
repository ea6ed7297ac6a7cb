#include "emulator/host/node/verb_fault_list.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace verbena::host {
namespace {

constexpr std::size_t kBytes = sizeof(HostFileHeader) + sizeof(VerbFaultList);

/// Whether it is such a list, of this user, and its fabric process lives.
bool is_list(int file, struct stat& status) {
  return detail::is_held(file) && detail::header_of(file, kVerbFaultLists) && ::fstat(file, &status) == 0 &&
         status.st_size >= static_cast<off_t>(kBytes);
}

}  // namespace

VerbFaultReader::Seen VerbFaultReader::look() {
  const int before = errno;
  Seen seen;
  const int file = ::open(verb_fault_list_path(fabric_).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file >= 0) {
    struct stat status{};
    if (is_list(file, status)) {
      if (list_.load() == nullptr || inode_ != status.st_ino) {
        void* const mapping = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        list_ = mapping == MAP_FAILED
                    ? nullptr
                    : reinterpret_cast<VerbFaultList*>(static_cast<std::byte*>(mapping) + sizeof(HostFileHeader));
        inode_ = status.st_ino;
      }
      if (list_.load() != nullptr) seen = read();
      seen.file = status.st_ino;
    }
    ::close(file);
  }
  errno = before;
  return seen;
}

VerbFaultReader::Seen VerbFaultReader::read() const {
  constexpr int kTriesMax = 1000;
  const VerbFaultList& list = *list_.load();
  for (int i = 0; i < kTriesMax; ++i) {
    Seen seen{.sequence = list.sequence.load(std::memory_order_acquire), .faults = {}, .file = 0};
    if (seen.sequence % 2 != 0) continue;
    for (std::size_t place = 0; place < list.entries.size(); ++place) {
      const VerbFaultList::Entry& entry = list.entries[place];
      const std::uint32_t number = entry.number.load(std::memory_order_relaxed);
      if (number == 0 || entry.node != node_) continue;
      const auto end = std::ranges::find(entry.text, '\0');
      seen.faults.push_back({number, place, std::string(entry.text.begin(), end)});
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (list.sequence.load(std::memory_order_relaxed) == seen.sequence) return seen;
  }
  return {};
}

void VerbFaultReader::add_hit(std::uint32_t number, std::size_t place) const {
  VerbFaultList* const list = list_.load();
  if (list == nullptr || place >= list->entries.size()) return;
  VerbFaultList::Entry& entry = list->entries[place];
  if (entry.number.load(std::memory_order_relaxed) == number) entry.hits.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace verbena::host
