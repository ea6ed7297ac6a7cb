#include "verbs-shim/sysfs/tree.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "emulator/host/node/network_device.h"
#include "verbs-shim/sysfs/nodes.h"
#include "verbs-shim/sysfs/real.h"
#include "verbs-shim/sysfs/values.h"
#include "verbs-shim/sysfs/working.h"

namespace verbena::path {

namespace {

constexpr int kLinksMax = 16;

constexpr std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

constexpr std::size_t last_slash(const char* path) {
  std::size_t at = 0;
  for (std::size_t i = 0; path[i] != 0; ++i)
    if (path[i] == '/') at = i;
  return at;
}

struct Parents {
  std::size_t of[kNodeCount] = {};
  bool complete = true;
};

constexpr Parents find_parents() {
  Parents parents;
  for (std::size_t i = 1; i < kNodeCount; ++i) {
    const std::size_t length = last_slash(kNodes[i].path);
    bool found = false;
    for (std::size_t j = 0; j < i && !found; ++j) {
      if (length_of(kNodes[j].path) != length) continue;
      bool same = true;
      for (std::size_t k = 0; k < length; ++k) same = same && kNodes[i].path[k] == kNodes[j].path[k];
      if (!same || kNodes[j].kind == NodeKind::file || kNodes[j].kind == NodeKind::link) continue;
      parents.of[i] = j;
      found = true;
    }
    parents.complete = parents.complete && found;
  }
  return parents;
}
constexpr Parents kParents = find_parents();
static_assert(kParents.complete, "a node stands before its directory in the table");

bool is_named(const Node& node, const char* name, std::size_t length) {
  char own[kPathBytesMax];
  return expand(node.name(), own, sizeof own) == length && std::memcmp(own, name, length) == 0;
}

bool is_child(std::size_t index, const Node& parent) {
  const Node& node = kNodes[index];
  return kParents.of[index] == index_of(parent) && (node.exists == nullptr || node.exists(node.argument));
}

const Node* find_child(const Node& parent, const char* name, std::size_t length) {
  for (std::size_t i = 1; i < kNodeCount; ++i)
    if (is_child(i, parent) && is_named(kNodes[i], name, length)) return &kNodes[i];
  return nullptr;
}

bool begins_with(const char* path, const char* prefix, std::size_t length) {
  return std::strncmp(path, prefix, length) == 0;
}

bool fail(Target& target, int error) {
  target.kind = Target::Kind::error;
  target.error = error;
  return true;
}

/// A path that left the tree: what the real directory `from` is called, and the rest.
bool leave(Target& target, const Node& from, const char* rest) {
  const std::size_t length = expand(from.path, target.elsewhere, sizeof target.elsewhere);
  if (length + std::strlen(rest) + 2 > sizeof target.elsewhere) return fail(target, ENAMETOOLONG);
  target.elsewhere[length] = '/';
  std::strcpy(target.elsewhere + length + 1, rest);
  target.kind = Target::Kind::elsewhere;
  return true;
}

/// Replaces the walk's rest by a link's target and what follows the link.
bool splice(char (&rest)[kPathBytesMax], const Node& from, const char* after) {
  char joined[kPathBytesMax];
  const std::size_t length = expand(from.text, joined, sizeof joined);
  if (length + std::strlen(after) + 2 > sizeof joined) return false;
  joined[length] = '/';
  std::strcpy(joined + length + 1, after);
  std::strcpy(rest, *after == 0 ? (joined[length] = 0, joined) : joined);
  return true;
}

bool walk(const Node* at, char (&rest)[kPathBytesMax], bool follow, Target& target) {
  int links = 0;
  const char* cursor = rest;
  bool wants_directory = false;  // the path ends in a slash
  for (;;) {
    while (*cursor == '/') ++cursor;
    if (*cursor == 0) break;
    std::size_t length = std::strcspn(cursor, "/");
    wants_directory = cursor[length] == '/';
    if (at->kind == NodeKind::file || at->kind == NodeKind::character_device) return fail(target, ENOTDIR);
    if (length == 1 && cursor[0] == '.') {
      ++cursor;
      continue;
    }
    if (length == 2 && cursor[0] == '.' && cursor[1] == '.') {
      at = at->parent();
      cursor += 2;
      continue;
    }
    const Node* next = find_child(*at, cursor, length);
    if (next == nullptr) {
      // Names that begin as ours do are hidden even where the real system has them (infiniband_mad).
      const bool hidden = std::strcmp(at->path, "/sys/class") == 0 && begins_with(cursor, "infiniband", 10);
      return at->kind == NodeKind::passage && !hidden ? leave(target, *at, cursor) : fail(target, ENOENT);
    }
    cursor += length;
    if (next->kind == NodeKind::link && (follow || wants_directory)) {
      if (++links > kLinksMax) return fail(target, ELOOP);
      if (!splice(rest, *next, cursor)) return fail(target, ENAMETOOLONG);
      cursor = rest;
      continue;
    }
    if (next->kind == NodeKind::link && cursor[0] != 0) return fail(target, ENOTDIR);
    at = next;
  }
  if (wants_directory && (at->kind == NodeKind::file || at->kind == NodeKind::character_device))
    return fail(target, ENOTDIR);
  if (at->kind == NodeKind::passage) {
    target.node = at;
    return leave(target, *at, ".");
  }
  target.kind = Target::Kind::node;
  target.node = at;
  return true;
}

// A directory's memfd: its size is this and the node's index. Sparse, so it costs no memory.
constexpr std::int64_t kDirectorySizeBase = std::int64_t{0x56424e} << 32;
std::atomic<bool> made_directories{false};

}  // namespace

const Node* Node::parent() const {
  return &kNodes[kParents.of[index_of(*this)]];
}
const char* Node::name() const {
  return *path == 0 ? path : path + last_slash(path) + 1;
}

std::size_t index_of(const Node& node) {
  return static_cast<std::size_t>(&node - kNodes);
}

const Node& node_at(std::size_t index) {
  return kNodes[index];
}

bool is_ours(const char* path) {
  if (path[0] != '/') return false;
  if (path[1] == 's') {
    constexpr char kNet[] = "/sys/class/net";
    constexpr std::size_t kNetBytes = sizeof kNet - 1;
    for (const char* const beginning : {"/sys/class/infiniband", "/sys/devices/pci" VERBENA_PCI_DOMAIN ":",
                                        "/sys/bus/pci/devices/" VERBENA_PCI_DOMAIN ":"})
      if (begins_with(path, beginning, std::strlen(beginning))) return true;
    return begins_with(path, kNet, kNetBytes) && (path[kNetBytes] == '/' || path[kNetBytes] == 0);
  }
  return path[1] == 'd' && begins_with(path, "/dev/infiniband", 15) && (path[15] == '/' || path[15] == 0);
}

bool resolve(int directory_fd, const char* path, bool follow, Target& target) {
  if (path == nullptr) return false;
  const Node* at = &kNodes[0];
  if (path[0] == '/') {
    if (!is_ours(path)) return false;
  } else {
    at = node_of_descriptor(directory_fd);
    if (at == nullptr) return false;
    if (path[0] == 0) return fail(target, ENOENT);
  }
  char rest[kPathBytesMax];
  const std::size_t length = strnlen(path, sizeof rest);
  if (length == sizeof rest) return fail(target, ENAMETOOLONG);
  std::memcpy(rest, path, length + 1);
  return walk(at, rest, follow, target);
}

const Node* child(const Node& parent, std::size_t n) {
  for (std::size_t i = 1; i < kNodeCount; ++i)
    if (is_child(i, parent) && n-- == 0) return &kNodes[i];
  return nullptr;
}

std::size_t expand(const char* text, char* into, std::size_t size) {
  const host::DeviceIdentity device = own_device();
  std::size_t length = 0;
  for (; *text != 0; ++text) {
    char buffer[IF_NAMESIZE];
    const bool is_name = *text == '%' || *text == '&';
    const char* const piece = *text == '%'   ? device.name.c_str()
                              : *text == '&' ? host::network_device_of(device, device.address, buffer)
                                             : text;
    const std::size_t piece_bytes = is_name ? std::strlen(piece) : 1;
    if (length + piece_bytes + 1 > size) break;
    std::memcpy(into + length, piece, piece_bytes);
    length += piece_bytes;
  }
  into[length] = 0;
  return length;
}

std::size_t content_of(const Node& node, char* into, std::size_t size) {
  if (node.write != nullptr) return node.write(into, size, node.argument);
  const std::size_t length = std::strlen(node.text);
  std::memcpy(into, node.text, length < size ? length : size);
  return length < size ? length : size;
}

const Node* node_of_descriptor(int fd) {
  if (fd == AT_FDCWD) return working_node();
  if (fd < 0 || !made_directories.load(std::memory_order_relaxed)) return nullptr;
  const int before = errno;
  struct stat status;
  const bool known = real_fstat(fd, status) && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
                     status.st_size >= kDirectorySizeBase &&
                     status.st_size < kDirectorySizeBase + static_cast<std::int64_t>(kNodeCount);
  errno = before;
  return known ? &kNodes[status.st_size - kDirectorySizeBase] : nullptr;
}

int make_directory_descriptor(const Node& node, bool close_on_exec) {
  const int sized = memfd_create("verbena-directory", MFD_CLOEXEC);
  if (sized < 0) return -1;
  int fd = -1;
  if (ftruncate(sized, kDirectorySizeBase + static_cast<std::int64_t>(index_of(node))) == 0) {
    // O_PATH: a directory cannot be read(), and neither may this (it is petabytes of zeros).
    char self[32];
    std::snprintf(self, sizeof self, "/proc/self/fd/%d", sized);
    fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, self, O_PATH | (close_on_exec ? O_CLOEXEC : 0)));
  }
  const int error = errno;
  close(sized);
  errno = error;
  if (fd >= 0) made_directories.store(true, std::memory_order_relaxed);
  return fd;
}

}  // namespace verbena::path
