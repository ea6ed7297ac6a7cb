#include "emulator/host/os/name_holder.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "emulator/host/os/name_owner.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {
/// Of the socket that has the name, in /proc/net/unix.
std::optional<std::uint32_t> inode_of(std::string_view name) {
  std::ifstream table("/proc/net/unix");
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string skipped;
    std::uint32_t inode = 0;
    std::string path;
    for (int i = 0; i < 6; ++i) fields >> skipped;  // Num RefCount Protocol Flags Type St
    if (fields >> inode >> path && path == "@" + std::string(name)) return inode;
  }
  return std::nullopt;
}

/// The process and its name, of those whose descriptors we may see.
std::string process_with(std::uint32_t inode) {
  namespace fs = std::filesystem;
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end; process.increment(error)) {
    const std::string number = process->path().filename();
    if (number.find_first_not_of("0123456789") != number.npos) continue;
    std::error_code hidden;
    for (fs::directory_iterator open(process->path() / "fd", hidden); !hidden && open != end; open.increment(hidden)) {
      std::error_code gone;
      if (fs::read_symlink(open->path(), gone) != wanted) continue;
      std::string name;
      std::getline(std::ifstream(process->path() / "comm"), name);
      return "process " + number + (name.empty() ? "" : ", " + name);
    }
  }
  return {};
}

}  // namespace

std::string describe_name_holder(const AbstractName& wanted) {
  const std::string_view name = wanted.text();
  const auto inode = inode_of(name);
  if (!inode) return {};
  const auto user = owner_of(wanted);
  const std::string process = process_with(*inode);
  if (user && *user != own_user())
    return " (user " + std::to_string(*user) + " squats on the name '@" + std::string(name) + "'" +
           (process.empty() ? "" : ": " + process) + "; see docs/security.md)";
  return process.empty() ? std::string() : " (" + process + ")";
}

}  // namespace verbena::host
