#include "scenarios/real/listeners.h"

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <fstream>
#include <sstream>

#include "emulator/host/node/service_directory.h"
#include "scenarios/real/process_environment.h"

namespace verbena::scenarios {
namespace {

constexpr const char* kListening = "0A";  // TCP_LISTEN in /proc/net/tcp
constexpr std::size_t kFields = 10;       // of a line of /proc/net/* that are looked at
using Fields = std::array<std::string, kFields>;

void add_sockets(const std::string& folder, std::set<std::string>& sockets) {
  DIR* const descriptors = opendir(folder.c_str());
  if (descriptors == nullptr) return;
  while (const dirent* descriptor = readdir(descriptors)) {
    std::array<char, PATH_MAX> target;
    const ssize_t bytes = readlink((folder + "/" + descriptor->d_name).c_str(), target.data(), target.size());
    const std::string name(target.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    if (name.starts_with("socket:[") && name.ends_with("]")) sockets.insert(name.substr(8, name.size() - 9));
  }
  closedir(descriptors);
}

/// Whether a line of the table is of one of the sockets, whose inode is in the field, and of a listener.
bool any_listens(const char* table, std::size_t inode, const std::set<std::string>& sockets,
                 bool (*is_listener)(const Fields&)) {
  std::ifstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Fields fields;
    for (std::string& word : fields) words >> word;
    if (is_listener(fields) && sockets.contains(fields[inode])) return true;
  }
  return false;
}

}  // namespace

std::set<std::string> sockets_of(const std::function<bool(pid_t process)>& is_chosen) {
  std::set<std::string> sockets;
  for (const pid_t process : all_processes())
    if (is_chosen(process)) add_sockets("/proc/" + std::to_string(process) + "/fd", sockets);
  return sockets;
}

bool has_listener(const std::set<std::string>& sockets) {
  // sl local remote state queues timer retransmissions uid timeout inode
  const auto by_tcp = [](const Fields& fields) { return fields[3] == kListening; };
  // number references protocol flags type state inode name
  const auto by_rdma_cm = [](const Fields& fields) { return host::names_listener(fields[7]); };
  return any_listens("/proc/net/tcp", 9, sockets, by_tcp) || any_listens("/proc/net/tcp6", 9, sockets, by_tcp) ||
         any_listens("/proc/net/unix", 6, sockets, by_rdma_cm);
}

bool node_listens(std::string_view fabric, const wire::Gid& node) {
  return has_listener(sockets_of([&](pid_t process) {
    const ProcessEnvironment environment(process);
    return environment.fabric() == fabric && environment.stands_on(node);
  }));
}

}  // namespace verbena::scenarios
