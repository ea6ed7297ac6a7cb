#include "scenarios/real/process_environment.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstdlib>

#include "emulator/host/config/own_node.h"
#include "emulator/host/os/descriptor.h"

namespace verbena::scenarios {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  DIR* const processes = opendir("/proc");
  if (processes == nullptr) return all;
  while (const dirent* entry = readdir(processes))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0)
      all.push_back(static_cast<pid_t>(std::atoi(entry->d_name)));
  closedir(processes);
  return all;
}

ProcessEnvironment::ProcessEnvironment(pid_t process) {
  const std::string path = "/proc/" + std::to_string(process) + "/environ";
  const host::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> part;
  for (ssize_t got = 0; file && (got = read(file.get(), part.data(), part.size())) > 0;)
    octets_.append(part.data(), static_cast<std::size_t>(got));
}

const char* ProcessEnvironment::find(std::string_view name) const {
  for (std::size_t at = 0; at < octets_.size();) {
    const std::string_view entry = octets_.c_str() + at;
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return entry.size() == name.size() + 1 ? nullptr : entry.data() + name.size() + 1;
    at += entry.size() + 1;
  }
  return nullptr;
}

std::string_view ProcessEnvironment::fabric() const {
  const char* const name = find(host::kFabricVariable);
  return name == nullptr ? std::string_view() : name;
}

bool ProcessEnvironment::stands_on(const wire::Gid& node) const {
  const auto own = host::own_node_by([this](const char* name) { return find(name); });
  return own.kind == host::OwnNode::Kind::known && own.address == node;
}

}  // namespace verbena::scenarios
