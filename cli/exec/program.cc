#include "cli/exec/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace verbena::cli {

namespace {

constexpr int kShebangDepthMax = 4;  // the kernel's limit is of this order

bool is_executable_file(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::vector<char> read_start(const std::string& path) {
  std::vector<char> bytes(64 * 1024);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t size = read(fd, bytes.data(), bytes.size());
  close(fd);
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

/// The interpreter of a `#!` line.
std::optional<std::string> shebang(const std::vector<char>& start) {
  if (start.size() < 2 || start[0] != '#' || start[1] != '!') return std::nullopt;
  std::string_view line(start.data() + 2, start.size() - 2);
  line = line.substr(0, line.find('\n'));
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  line.remove_prefix(first);
  return std::string(line.substr(0, line.find_first_of(" \t\r")));
}

template <class Header, class Segment>
bool has_interpreter(const std::vector<char>& start) {
  Header header;
  if (start.size() < sizeof header) return true;
  std::memcpy(&header, start.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t offset = static_cast<std::size_t>(header.e_phoff) + i * header.e_phentsize;
    Segment segment;
    if (offset > start.size() || start.size() - offset < sizeof segment) return true;  // cannot be told
    std::memcpy(&segment, start.data() + offset, sizeof segment);
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

bool gains_privileges(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) return true;
  return getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::optional<std::string> why_not(const std::string& path, int depth) {
  if (gains_privileges(path))
    return "setuid, setgid or has file capabilities, and the dynamic linker ignores LD_PRELOAD for it";
  const std::vector<char> start = read_start(path);
  if (const auto interpreter = shebang(start); interpreter && depth < kShebangDepthMax)
    return why_not(*interpreter, depth + 1);
  if (start.size() < EI_NIDENT || std::memcmp(start.data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (start[EI_CLASS] == ELFCLASS32) return "a 32-bit program, and Verbena's libraries are 64-bit";
  if (!has_interpreter<Elf64_Ehdr, Elf64_Phdr>(start)) return "statically linked";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  for (;;) {
    const std::size_t end = rest.find(':');
    const std::string_view directory = rest.substr(0, end);
    std::string candidate = (directory.empty() ? "." : std::string(directory)) + "/" + name;
    if (is_executable_file(candidate)) return candidate;
    if (end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 1);
  }
}

std::optional<std::string> why_not_preloadable(const std::string& path) {
  return why_not(path, 0);
}

}  // namespace verbena::cli
