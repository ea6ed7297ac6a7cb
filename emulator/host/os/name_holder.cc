#include "emulator/host/os/name_holder.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "emulator/host/os/descriptor.h"
#include "emulator/host/os/same_user.h"

namespace verbena::host {
namespace {
// UNIX_DIAG_UID and what asks for it are younger than the headers of some distributions (Linux 5.3).
constexpr std::uint32_t kShowUser = 0x40;
constexpr std::uint16_t kUserAttribute = 7;

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

std::optional<uid_t> user_of(std::uint32_t inode) {
  const Descriptor asker(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!asker) return std::nullopt;
  struct Question {
    nlmsghdr header;
    unix_diag_req request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = UINT32_MAX;
  question.request.udiag_ino = inode;
  question.request.udiag_show = kShowUser;
  question.request.udiag_cookie[0] = question.request.udiag_cookie[1] = UINT32_MAX;
  if (::send(asker.get(), &question, sizeof question, 0) != sizeof question) return std::nullopt;
  alignas(nlmsghdr) std::array<std::byte, 1024> answer;
  const ssize_t bytes = ::recv(asker.get(), answer.data(), answer.size(), MSG_DONTWAIT);  // it is there by now
  nlmsghdr header;
  if (bytes < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(unix_diag_msg)))) return std::nullopt;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  std::size_t at = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(unix_diag_msg)));
  for (rtattr attribute; at + sizeof attribute <= static_cast<std::size_t>(bytes); at += RTA_ALIGN(attribute.rta_len)) {
    std::memcpy(&attribute, answer.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute) break;
    if (attribute.rta_type != kUserAttribute || attribute.rta_len < RTA_LENGTH(sizeof(uid_t))) continue;
    uid_t user = 0;
    std::memcpy(&user, answer.data() + at + RTA_LENGTH(0), sizeof user);
    return user;
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
  const auto user = user_of(*inode);
  const std::string process = process_with(*inode);
  if (user && *user != own_user())
    return " (user " + std::to_string(*user) + " squats on the name '@" + std::string(name) + "'" +
           (process.empty() ? "" : ": " + process) + "; see docs/security.md)";
  return process.empty() ? std::string() : " (" + process + ")";
}

}  // namespace verbena::host
