#include "emulator/host/os/memory_access.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "emulator/host/os/cancellation_shield.h"
#include "emulator/host/os/descriptor.h"

namespace verbena::host {
namespace {

constexpr std::size_t kPopulatedBytesMax = std::size_t{1} << 20;

std::uintptr_t page_bytes() {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Linux 5.14; headers of older systems lack the names.
int populate(std::uintptr_t from, std::uintptr_t to, MemoryUse use) {
  constexpr int kPopulateRead = 22;
  constexpr int kPopulateWrite = 23;
  return madvise(reinterpret_cast<void*>(from), to - from, use == MemoryUse::write ? kPopulateWrite : kPopulateRead);
}

bool can_populate() {
  static const bool can = [] {
    alignas(64) char octet = 0;
    const auto at = reinterpret_cast<std::uintptr_t>(&octet) & ~(page_bytes() - 1);
    return populate(at, at + page_bytes(), MemoryUse::write) == 0;
  }();
  return can;
}

/// The lines of /proc/self/maps, in the order of addresses, without memory but one buffer.
class MapLines {
 public:
  MapLines() : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

  /// Nothing: at the end, or a line that is longer than any name of a file.
  std::optional<std::string_view> next() {
    for (;;) {
      const std::string_view rest(buffer_ + begin_, filled_ - begin_);
      if (const std::size_t bytes = rest.find('\n'); bytes != std::string_view::npos) {
        begin_ += bytes + 1;
        return rest.substr(0, bytes);
      }
      std::memmove(buffer_, rest.data(), rest.size());
      begin_ = 0;
      filled_ = rest.size();
      const ssize_t got = file_ ? read(file_.get(), buffer_ + filled_, sizeof buffer_ - filled_) : 0;
      if (got <= 0) return std::nullopt;
      filled_ += static_cast<std::size_t>(got);
    }
  }

 private:
  Descriptor file_;
  std::size_t begin_ = 0;
  std::size_t filled_ = 0;
  char buffer_[8192];
};

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool readable = false, writable = false;
};

std::optional<std::uintptr_t> take_hexadecimal(std::string_view& text) {
  std::uintptr_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// proc(5): "08048000-08056000 r-xp ..."
std::optional<Mapping> mapping_of(std::string_view line) {
  const auto begin = take_hexadecimal(line);
  if (!begin || !line.starts_with('-')) return std::nullopt;
  line.remove_prefix(1);
  const auto end = take_hexadecimal(line);
  if (!end || line.size() < 3) return std::nullopt;
  return Mapping{*begin, *end, line[1] == 'r', line[2] == 'w'};
}

/// Nothing: the list could not be read as far as the range.
std::optional<bool> is_allowed_by_maps(std::uintptr_t from, std::uintptr_t to, MemoryUse use) {
  const CancellationShield shield;
  MapLines lines;
  while (const auto line = lines.next()) {
    const auto mapping = mapping_of(*line);
    if (!mapping) return std::nullopt;
    if (mapping->end <= from) continue;
    const bool is_allowed = use == MemoryUse::write ? mapping->writable : mapping->readable;
    if (mapping->begin > from || !is_allowed) return false;
    if (mapping->end >= to) return true;
    from = mapping->end;
  }
  return std::nullopt;
}

bool is_mapped(std::uintptr_t from, std::uintptr_t to) {
  constexpr std::size_t kPagesAtOnce = 4096;
  unsigned char resident[kPagesAtOnce];
  for (; from < to; from += kPagesAtOnce * page_bytes()) {
    const std::size_t bytes = std::min<std::uintptr_t>(to - from, kPagesAtOnce * page_bytes());
    if (mincore(reinterpret_cast<void*>(from), bytes, resident) != 0 && errno == ENOMEM) return false;
  }
  return true;
}

}  // namespace

bool may_access(std::uintptr_t address, std::size_t length, MemoryUse use) {
  if (length == 0) return true;
  const std::uintptr_t from = address & ~(page_bytes() - 1);
  const std::uintptr_t to = (address + length + page_bytes() - 1) & ~(page_bytes() - 1);
  if (to <= from) return false;  // beyond the last page
  if (to - from <= kPopulatedBytesMax && can_populate()) return populate(from, to, use) == 0;
  const auto answer = is_allowed_by_maps(from, to, use);
  return answer ? *answer : is_mapped(from, to);
}

}  // namespace verbena::host
