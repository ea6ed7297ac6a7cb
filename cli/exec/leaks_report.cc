#include "cli/exec/leaks_report.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "emulator/host/config/variables.h"
#include "wire/counted.h"

namespace verbena::cli {
namespace {

std::string read_whole(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  for (off_t at = 0;;) {
    const ssize_t got = pread(descriptor, part.data(), part.size(), at);
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

}  // namespace

LeaksReport::~LeaksReport() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool LeaksReport::open() {
  descriptor_ = memfd_create("verbena-leaks", MFD_CLOEXEC);
  return descriptor_ >= 0 && setenv(host::kLeaksVariable, path().c_str(), 1) == 0;
}

std::string LeaksReport::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_);
}

LeaksReport::Judged LeaksReport::judge() const {
  std::istringstream lines(read_whole(descriptor_));
  Judged judged{.text = {}, .is_clean = true};
  std::string line;
  bool is_judged = false;
  while (std::getline(lines, line)) {
    std::istringstream record(line);
    std::string word;
    std::uint64_t process = 0, left = 0, made = 0;
    if (record >> word && word == host::kLeaksRecord && record >> process >> left >> made) {
      is_judged = true;
      judged.is_clean = judged.is_clean && left == 0;
      line = left == 0 ? fmt::format("verbena: process {} has destroyed all that it made ({})", process,
                                     wire::counted(made, "object", "objects"))
                       : fmt::format("verbena: process {} has left {} of {}", process, left,
                                     wire::counted(made, "object", "objects"));
    }
    judged.text += line + "\n";
  }
  if (is_judged) return judged;
  return {.text = "verbena: no process that made objects of verbs has ended by itself: leaks were not judged\n",
          .is_clean = false};
}

}  // namespace verbena::cli
