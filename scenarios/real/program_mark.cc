#include "scenarios/real/program_mark.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>

#include "emulator/host/config/own_node.h"
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

/// The variable in the octets of an environment; null: it is not there, or empty.
const char* find_variable(const std::string& environment, std::string_view name) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::string_view entry = environment.c_str() + at;
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return entry.size() == name.size() + 1 ? nullptr : entry.data() + name.size() + 1;
    at += entry.size() + 1;
  }
  return nullptr;
}

std::vector<pid_t> processes_with(const std::function<bool(const std::string& environment)>& is_wanted) {
  std::vector<pid_t> found;
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return found;
  while (const dirent* entry = readdir(processes)) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    if (is_wanted(contents_of(std::string("/proc/") + entry->d_name + "/environ")))
      found.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
  }
  closedir(processes);
  return found;
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

bool ProgramMark::is_on(const std::string& environment) const {
  const char* const value = find_variable(environment, kVariable);
  return value != nullptr && std::string_view(value) == std::string_view(entry_).substr(kVariable.size() + 1);
}

std::vector<pid_t> ProgramMark::wearers() const {
  return processes_with([this](const std::string& environment) { return is_on(environment); });
}

std::vector<pid_t> ProgramMark::wearers_on(const wire::Gid& node) const {
  return processes_with([&](const std::string& environment) {
    if (!is_on(environment)) return false;
    const auto own = host::own_node_by([&](const char* name) { return find_variable(environment, name); });
    return own.kind == host::OwnNode::Kind::known && own.address == node;
  });
}

}  // namespace verbena::scenarios
