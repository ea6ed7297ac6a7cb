#include "scenarios/real/program_mark.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "emulator/host/link/shm/shm_channel.h"

namespace verbena::scenarios {
namespace {

constexpr std::string_view kVariable = "VERBENA_PROGRAM";

/// The octets of a file of /proc, as far as they can be read.
std::string contents_of(const std::string& path) {
  std::string all;
  const host::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> part;
  for (ssize_t got = 0; file && (got = read(file.get(), part.data(), part.size())) > 0;)
    all.append(part.data(), static_cast<std::size_t>(got));
  return all;
}

bool has_entry(std::string_view environment, std::string_view entry) {
  for (std::size_t at = environment.find(entry); at != environment.npos; at = environment.find(entry, at + 1)) {
    const std::size_t end = at + entry.size();
    const bool begins = at == 0 || environment[at - 1] == '\0';
    if (begins && (end == environment.size() || environment[end] == '\0')) return true;
  }
  return false;
}

}  // namespace

ProgramMark::ProgramMark() {
  static std::atomic<unsigned> number{0};
  // A process number comes again, but not within a nanosecond.
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  entry_ = std::string(kVariable) + "=" + std::to_string(getpid()) + "." + std::to_string(number++) + "." +
           std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec);
}

void ProgramMark::put_on() const {
  setenv(std::string(kVariable).c_str(), entry_.c_str() + kVariable.size() + 1, 1);
}

std::vector<pid_t> ProgramMark::wearers() const {
  std::vector<pid_t> found;
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return found;
  while (const dirent* entry = readdir(processes)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    if (has_entry(contents_of(std::string("/proc/") + entry->d_name + "/environ"), entry_))
      found.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
  }
  closedir(processes);
  return found;
}

}  // namespace verbena::scenarios
