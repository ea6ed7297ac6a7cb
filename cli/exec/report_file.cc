#include "cli/exec/report_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace verbena::cli {

bool ReportFile::open(const char* name) {
  descriptor_ = host::Descriptor(memfd_create(name, MFD_CLOEXEC));
  return static_cast<bool>(descriptor_);
}

std::string ReportFile::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_.get());
}

std::string ReportFile::text() const {
  std::string text;
  std::array<char, 4096> part{};
  for (off_t at = 0;;) {
    const ssize_t got = pread(descriptor_.get(), part.data(), part.size(), at);
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace verbena::cli
